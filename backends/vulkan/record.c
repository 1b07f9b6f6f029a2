/* SPDX-License-Identifier: Apache-2.0 */
/* record.c - launches in a command buffer: descriptors, parameters, barriers.
 *
 * A recording has a descriptor set and a slot of parameters per launch,
 * made with it: a launch allocates nothing, and so cannot fail for want of
 * memory.
 *
 * A launch can be written into the command buffer if its pipeline is ready.
 * While it is still compiled, the launch and all commands after it are kept in
 * a list, and are written when the command buffer is sent. */
#include "backends/vulkan/vulkan.h"

#include <string.h>

/* Descriptors for as many sets as there are launches. Sets are never freed one
 * by one: the pool goes with the recording. */
static ssq_status vulkan_record_make_pool(struct vulkan_recording *r)
{
    const VkDescriptorPoolSize sizes[] = {
        {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, r->room * LAUNCH_BINDINGS},
        {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC, r->room}};
    const VkDescriptorPoolCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
        .maxSets = r->room,
        .poolSizeCount = 2,
        .pPoolSizes = sizes};
    VkResult e = VK(CreateDescriptorPool)(r->device->vk, &info, NULL, &r->pool);
    return e == VK_SUCCESS
               ? SSQ_OK
               : vulkan_error(r->device->core, "vkCreateDescriptorPool", e);
}

/** Sets that are asked for at a time: an array of this many layouts is on the
 * stack. */
#define SETS 64u

/* All sets have the device's one layout, which must be repeated for each. */
static ssq_status allocate_sets(struct vulkan_recording *r)
{
    VkDescriptorSetLayout layouts[SETS];
    for (uint32_t i = 0; i < SETS; i++)
        layouts[i] = r->device->set_layout;
    for (uint32_t i = 0; i < r->room; i += SETS) {
        const VkDescriptorSetAllocateInfo info = {
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
            .descriptorPool = r->pool,
            .descriptorSetCount = r->room - i < SETS ? r->room - i : SETS,
            .pSetLayouts = layouts};
        VkResult e =
            VK(AllocateDescriptorSets)(r->device->vk, &info, &r->sets[i]);
        if (e != VK_SUCCESS)
            return vulkan_error(r->device->core, "vkAllocateDescriptorSets", e);
    }
    return SSQ_OK;
}

/* All sets, each with the parameters bound already: only their offset, which
 * is given when a set is bound, tells one launch's from another's. */
static ssq_status make_sets(struct vulkan_recording *r)
{
    r->sets = r->device->core->mem_alloc(r->room * sizeof(*r->sets));
    r->bound = r->device->core->mem_alloc(r->room * sizeof(*r->bound));
    if (r->sets == NULL || r->bound == NULL)
        return vulkan_no_memory(r->device->core, r->room * sizeof(*r->sets));
    ssq_status st = allocate_sets(r);
    for (uint32_t i = 0; i < r->room && st == SSQ_OK; i++) {
        const VkWriteDescriptorSet write = {
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
            .dstSet = r->sets[i],
            .dstBinding = VULKAN_PARAM_BINDING,
            .descriptorCount = 1,
            .descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC,
            .pBufferInfo = &r->nothing};
        VK(UpdateDescriptorSets)(r->device->vk, 1, &write, 0, NULL);
    }
    return st;
}

ssq_status vulkan_recording_open(struct backend_device *device, uint32_t room,
                                 uint32_t list, struct vulkan_recording *r)
{
    memset(r, 0, sizeof(*r));
    r->device = device;
    r->room = room;
    if (list > 0) {
        r->list = device->core->mem_alloc(list * sizeof(*r->list));
        if (r->list == NULL)
            return vulkan_no_memory(device->core, list * sizeof(*r->list));
    }
    ssq_status st =
        vulkan_mem_create(device, (uint64_t)room * 2 * VULKAN_PARAM_BYTES,
                          VULKAN_FROM_HOST, &r->params);
    if (st == SSQ_OK)
        st = vulkan_record_make_pool(r);
    if (st == SSQ_OK) {
        r->nothing =
            (VkDescriptorBufferInfo){r->params->buffer, 0, VULKAN_PARAM_BYTES};
        st = make_sets(r);
    }
    if (st != SSQ_OK)
        vulkan_recording_close(r);
    return st;
}

void vulkan_recording_close(struct vulkan_recording *r)
{
    if (r->device == NULL)
        return;
    if (r->pool != VK_NULL_HANDLE) /* and the sets */
        VK(DestroyDescriptorPool)(r->device->vk, r->pool, NULL);
    if (r->params != NULL)
        vulkan_mem_destroy(r->device, r->params);
    r->device->core->mem_free(r->sets);
    r->device->core->mem_free(r->bound);
    r->device->core->mem_free(r->list);
    memset(r, 0, sizeof(*r));
}

/* Accesses of every kind that this backend makes, and the stages that make
 * them: a barrier between all of them need not know what comes next. */
#define ACCESSES                                                               \
    (VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |                  \
     VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT)
#define STAGES                                                                 \
    (VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT)

/* A barrier of all memory. Its source is writes alone: that earlier reads are
 * over before a later write begins follows from the order of the stages. */
static void emit_barrier(const struct vulkan_recording *r)
{
    const VkMemoryBarrier all = {.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                 .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT |
                                                  VK_ACCESS_TRANSFER_WRITE_BIT,
                                 .dstAccessMask = ACCESSES};
    VK(CmdPipelineBarrier)
    (r->commands, STAGES, STAGES, 0, 1, &all, 0, NULL, 0, NULL);
}

static void emit_launch(const struct vulkan_recording *r,
                        const struct record_launch *l)
{
    const uint32_t offset = l->slot * VULKAN_PARAM_BYTES;
    VK(CmdBindPipeline)
    (r->commands, VK_PIPELINE_BIND_POINT_COMPUTE, l->code->pipeline);
    VK(CmdBindDescriptorSets)
    (r->commands, VK_PIPELINE_BIND_POINT_COMPUTE, r->device->layout, 0, 1,
     &r->sets[l->slot], 1, &offset);
    VK(CmdDispatch)(r->commands, l->groups, 1, 1);
}

/* Write a command into the command buffer. */
static void emit(const struct vulkan_recording *r,
                 const struct record_command *c)
{
    if (c->barrier)
        emit_barrier(r);
    switch (c->kind) {
    case RECORD_LAUNCH:
        emit_launch(r, &c->of.launch);
        break;
    case RECORD_COPY:
        VK(CmdCopyBuffer)
        (r->commands, c->of.copy.from, c->of.copy.to, 1, &c->of.copy.part);
        break;
    case RECORD_PART:
        VK(CmdExecuteCommands)(r->commands, 1, &c->of.part);
        break;
    case RECORD_TIME:
        VK(CmdWriteTimestamp)
        (r->commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, c->of.time.pool,
         c->of.time.i);
        break;
    }
}

void vulkan_record(struct vulkan_recording *r, const struct record_command *c)
{
    if (r->listed == 0 &&
        (c->kind != RECORD_LAUNCH || vulkan_compile_ready(c->of.launch.code)))
        emit(r, c);
    else
        r->list[r->listed++] = *c;
}

bool vulkan_record_ready(const struct vulkan_recording *r)
{
    for (uint32_t i = 0; i < r->listed; i++)
        if (r->list[i].kind == RECORD_LAUNCH &&
            !vulkan_compile_ready(r->list[i].of.launch.code) &&
            !vulkan_compile_failed(r->list[i].of.launch.code))
            return false;
    return true;
}

ssq_status vulkan_record_finish(struct vulkan_recording *r)
{
    for (uint32_t i = 0; i < r->listed; i++) {
        const struct record_command *c = &r->list[i];
        if (c->kind == RECORD_LAUNCH) {
            ssq_status st = vulkan_compile_wait(r->device, c->of.launch.code);
            if (st != SSQ_OK)
                return st;
        }
        emit(r, c);
    }
    r->listed = 0;
    return SSQ_OK;
}

bool vulkan_record_touch(struct vulkan_hazards *h, const struct binding *b,
                         uint32_t n)
{
    bool barrier = vulkan_hazard(h, b, n);
    if (barrier) /* of all memory: nothing earlier must be remembered */
        vulkan_hazard_clear(h);
    vulkan_hazard_add(h, b, n);
    return barrier;
}

void vulkan_record_name(struct vulkan_recording *r, const char *name)
{
    r->last[r->named++ % VULKAN_LAST] = name;
}

/* Describe an operand of a launch for its set; *place is where it begins within
 * what the descriptor shows, in units, because a descriptor's offset must be a
 * multiple of storage_align and an operand's need not be.
 * An operand that is absent or has no bytes gets memory that is only this
 * launch's: a range may not be empty, and what sees the command buffer and not
 * the kernel has to take it for written. */
static void vulkan_record_describe(const struct vulkan_recording *r,
                                   uint32_t slot, const struct binding *b,
                                   VkDescriptorBufferInfo *info,
                                   uint32_t *place)
{
    if (b->access == ACCESS_NONE || b->bytes == 0) {
        *info = r->nothing;
        info->offset = (uint64_t)(r->room + slot) * VULKAN_PARAM_BYTES;
        *place = 0;
        return;
    }
    uint64_t rest = b->offset % r->device->caps.storage_align;
    info->buffer = ((const struct vulkan_mem *)b->mem)->buffer;
    info->offset = b->offset - rest;
    /* whole words: a kernel may be made to load 4 bytes for 2 */
    info->range = (rest + b->bytes + 3u) & ~UINT64_C(3);
    if (info->range > b->mem->bytes - info->offset)
        info->range = b->mem->bytes - info->offset;
    *place = (uint32_t)(rest / b->unit);
}

/* Take from a set the operands that its last launch had and this one has not.
 * No kernel reads them, but lavapipe 22.3 takes a reference to everything that
 * is bound, which may have been destroyed since: they get the parameters
 * instead. Adds to write, behind its first `from`; returns how many it has
 * then. */
static uint32_t unbind(struct vulkan_recording *r, uint32_t slot, uint32_t from,
                       VkWriteDescriptorSet *write)
{
    static const VkWriteDescriptorSet none = {
        .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
        .descriptorCount = 1,
        .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER};
    uint32_t n = r->bound[slot];
    for (uint32_t i = from; i < n; i++) {
        write[i] = none;
        write[i].dstSet = r->sets[slot];
        write[i].dstBinding = i;
        write[i].pBufferInfo = &r->nothing;
    }
    r->bound[slot] = (uint8_t)from;
    return n > from ? n : from;
}

void vulkan_record_launch(struct vulkan_recording *r, struct vulkan_hazards *h,
                          const struct launch *l)
{
    VkDescriptorBufferInfo info[LAUNCH_BINDINGS];
    VkWriteDescriptorSet write[LAUNCH_BINDINGS];
    uint32_t slot = r->used++;
    uint32_t *param =
        (uint32_t *)((char *)r->params->map + slot * VULKAN_PARAM_BYTES);
    memcpy(param, l->param, l->nwords * sizeof(*param));
    for (uint32_t i = 0; i < l->nbindings; i++) {
        /* The first words of the parameters are the operands' places: the core
         * left them for the backend to fill. */
        vulkan_record_describe(r, slot, &l->binding[i], &info[i], &param[i]);
        write[i] = (VkWriteDescriptorSet){
            .sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
            .dstSet = r->sets[slot],
            .dstBinding = i,
            .descriptorCount = 1,
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .pBufferInfo = &info[i]};
    }
    uint32_t n = unbind(r, slot, l->nbindings, write);
    VK(UpdateDescriptorSets)(r->device->vk, n, write, 0, NULL);
    const struct record_command c = {
        .kind = RECORD_LAUNCH,
        .barrier = vulkan_record_touch(h, l->binding, l->nbindings),
        .of.launch = {l->code, slot, l->groups}};
    vulkan_record(r, &c);
    vulkan_record_name(r, l->code->entry.kernel->name);
}
