/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - launches recorded once, in secondary command buffers, and run again
 * and again without new descriptors.
 *
 * A graph is cut into parts, so that a queue can send what it has between two
 * of them. A queue whose submissions may not be as long as a part records the
 * launches of that part again: the device is too slow to be given this many at
 * once. */
#include "backends/vulkan/queue.h"

/** Launches of one part. */
#define PART 64u

/* Launches that follow each other, with their secondary command buffer,
 * descriptors, parameters. */
struct graph_part {
    struct vulkan_recording rec;
    /* rec.used of them, to be recorded again; the core keeps them longer than
     * the graph */
    const struct launch **launches;
};

struct backend_graph {
    struct backend_device *device;
    VkCommandPool pool;
    size_t n;
    struct graph_part parts[];
};

/* Begin a command buffer that may run while an earlier run of it has not ended:
 * a graph is launched again without waiting for it. */
static ssq_status vulkan_graph_begin(struct backend_graph *g,
                                     struct vulkan_recording *r)
{
    const VkCommandBufferAllocateInfo one = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = g->pool,
        .level = VK_COMMAND_BUFFER_LEVEL_SECONDARY,
        .commandBufferCount = 1};
    const VkCommandBufferInheritanceInfo nothing = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
    const VkCommandBufferBeginInfo often = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_SIMULTANEOUS_USE_BIT,
        .pInheritanceInfo = &nothing};
    VkResult e = VK(AllocateCommandBuffers)(g->device->vk, &one, &r->commands);
    if (e != VK_SUCCESS)
        return vulkan_error(g->device->core, "vkAllocateCommandBuffers", e);
    e = VK(BeginCommandBuffer)(r->commands, &often);
    return e == VK_SUCCESS
               ? SSQ_OK
               : vulkan_error(g->device->core, "vkBeginCommandBuffer", e);
}

/* Record a part, once its kernels are compiled. It begins without hazards:
 * graph_run() puts a barrier between a part and earlier work of its queue. */
static ssq_status vulkan_graph_record(struct backend_graph *g,
                                      struct graph_part *part,
                                      const struct launch *const *launches,
                                      uint32_t n)
{
    struct vulkan_hazards hazards = {.core = g->device->core};
    struct vulkan_recording *r = &part->rec;
    ssq_status st = vulkan_recording_open(g->device, n, 0, r);
    for (uint32_t i = 0; i < n && st == SSQ_OK; i++)
        st = vulkan_compile_wait(g->device, launches[i]->code);
    if (st != SSQ_OK)
        return st;
    part->launches = g->device->core->mem_alloc(n * sizeof(*part->launches));
    st = part->launches == NULL
             ? vulkan_no_memory(g->device->core, n * sizeof(*launches))
             : vulkan_graph_begin(g, r);
    if (st != SSQ_OK)
        return st;
    for (uint32_t i = 0; i < n; i++) {
        part->launches[i] = launches[i];
        vulkan_record_launch(r, &hazards, launches[i]);
    }
    vulkan_hazard_free(&hazards);
    VkResult e = VK(EndCommandBuffer)(r->commands);
    return e == VK_SUCCESS
               ? SSQ_OK
               : vulkan_error(g->device->core, "vkEndCommandBuffer", e);
}

ssq_status vulkan_graph_create(struct backend_queue *queue,
                               const struct launch *const *launches, size_t n,
                               struct backend_graph **graph)
{
    struct backend_device *d = queue->device;
    const VkCommandPoolCreateInfo pool = {
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .queueFamilyIndex = d->caps.family};
    size_t parts = (n + PART - 1) / PART;
    size_t bytes =
        sizeof(struct backend_graph) + parts * sizeof(struct graph_part);
    struct backend_graph *g = queue->device->core->mem_alloc(bytes);
    if (g == NULL)
        return vulkan_no_memory(queue->device->core, bytes);
    g->device = d;
    VkResult e = VK(CreateCommandPool)(d->vk, &pool, NULL, &g->pool);
    ssq_status st = e == VK_SUCCESS ? SSQ_OK
                                    : vulkan_error(queue->device->core,
                                                   "vkCreateCommandPool", e);
    for (; g->n < parts && st == SSQ_OK; g->n++) {
        size_t from = g->n * PART, rest = n - from;
        st = vulkan_graph_record(g, &g->parts[g->n], launches + from,
                                 rest < PART ? (uint32_t)rest : PART);
    }
    if (st != SSQ_OK) {
        vulkan_graph_free(g);
        return st;
    }
    *graph = g;
    return SSQ_OK;
}

/* Launch by launch, where a whole part is too long for a submission. With the
 * queue's lock, as below. */
static ssq_status run_anew(struct backend_queue *q,
                           const struct graph_part *part)
{
    ssq_status st = SSQ_OK;
    for (uint32_t i = 0; i < part->rec.used && st == SSQ_OK; i++)
        st = vulkan_submission_launch(q, part->launches[i]);
    return st;
}

/* A whole part in one submission that has room for it. Memory that it touches
 * is in its own command buffer and not remembered by the queue, so there is a
 * barrier before it, and the next command gets one. */
static ssq_status graph_run(struct backend_queue *q,
                            const struct graph_part *part)
{
    const struct vulkan_recording *r = &part->rec;
    struct vulkan_submission *s;
    ssq_status st = vulkan_submission_get(q, &s);
    if (st == SSQ_OK && s->launches > 0 && s->launches + r->used > s->limit) {
        st = vulkan_submission_send(q);
        if (st == SSQ_OK)
            st = vulkan_submission_get(q, &s);
    }
    if (st != SSQ_OK)
        return st;
    if (r->used > s->limit)
        return run_anew(q, part);
    q->hazards.all = q->hazards.all || q->hazards.count > 0;
    const struct record_command c = {
        .kind = RECORD_PART,
        .barrier = vulkan_record_touch(&q->hazards, NULL, 0),
        .of.part = r->commands};
    vulkan_record(&s->rec, &c);
    q->hazards.all = true;
    s->launches += r->used;
    /* the newest names of the part, oldest first, become the submission's */
    for (uint32_t i = VULKAN_LAST; i > 0; i--)
        if (i <= r->named)
            vulkan_record_name(&s->rec, r->last[(r->named - i) % VULKAN_LAST]);
    return SSQ_OK;
}

ssq_status vulkan_graph_launch(struct backend_queue *q,
                               struct backend_graph *graph)
{
    pthread_mutex_lock(&q->lock);
    ssq_status st = vulkan_queue_check(q);
    for (size_t i = 0; i < graph->n && st == SSQ_OK; i++)
        st = graph_run(q, &graph->parts[i]);
    pthread_mutex_unlock(&q->lock);
    return st;
}

void vulkan_graph_free(struct backend_graph *graph)
{
    struct backend_device *d = graph->device;
    if (graph->pool != VK_NULL_HANDLE) /* and its command buffers */
        VK(DestroyCommandPool)(d->vk, graph->pool, NULL);
    for (size_t i = 0; i < graph->n; i++) {
        vulkan_recording_close(&graph->parts[i].rec);
        graph->device->core->mem_free(graph->parts[i].launches);
    }
    graph->device->core->mem_free(graph);
}
