/* SPDX-License-Identifier: Apache-2.0 */
/* copy.c - copies between the host and the device.
 *
 * Where the host can reach the memory and the queue has nothing to do, they are
 * memcpys. Otherwise they go through the staging memory of submissions, in
 * order with the launches: uploaded data is read at the call, data that is
 * downloaded arrives when its submission is retired. */
#include "backends/vulkan/coopmat.h"
#include "backends/vulkan/queue.h"

#include <string.h>

#include "lib/core/module/data.h"

/** Pieces of staging memory begin at multiples of this many bytes. */
#define PIECE_ALIGN 16u

static const struct vulkan_mem *vulkan_copy_mem_of(const struct view *v)
{
    return (const struct vulkan_mem *)v->buffer->mem;
}

/* With the queue's lock: is nothing recorded or in progress? */
static bool is_quiet(struct backend_queue *q)
{
    struct backend_device *d = q->device;
    if (q->recording != NULL)
        return false;
    pthread_mutex_lock(&d->lock);
    const char *call;
    bool quiet = vulkan_retire(q, &call) == VK_SUCCESS && q->first == NULL;
    pthread_mutex_unlock(&d->lock);
    return quiet;
}

/* Get the submission to put a copy into, one that has some room in its staging
 * memory, and *room: the bytes that are free. The staging memory is made here,
 * so that queues which copy nothing this way have none. */
static ssq_status stage(struct backend_queue *q, bool up,
                        struct vulkan_submission **submission, uint64_t *room)
{
    for (;;) {
        ssq_status st = vulkan_submission_get(q, submission);
        if (st != SSQ_OK)
            return st;
        struct vulkan_submission *s = *submission;
        struct vulkan_mem **mem = up ? &s->up : &s->down;
        if (*mem == NULL)
            st = vulkan_mem_create(q->device, SUBMISSION_STAGING,
                                   up ? VULKAN_FROM_HOST : VULKAN_TO_HOST, mem);
        if (st != SSQ_OK)
            return st;
        *room = SUBMISSION_STAGING - (up ? s->up_used : s->down_used);
        if (*room > 0 && (up || s->narrivals < SUBMISSION_ARRIVALS))
            return SSQ_OK;
        st = vulkan_submission_send(q);
        if (st != SSQ_OK)
            return st;
    }
}

static uint64_t whole_pieces(uint64_t bytes)
{
    return (bytes + PIECE_ALIGN - 1u) & ~(uint64_t)(PIECE_ALIGN - 1u);
}

/* Bytes of a view, from `at` on, as the barriers want them. */
static struct binding piece(const struct view *v, uint64_t at, uint64_t bytes,
                            enum access access)
{
    return (struct binding){v->buffer->mem, v->buffer->offset + v->offset + at,
                            bytes, 1, access};
}

/* Record a copy, after a barrier if the device's side needs one. The staging
 * memory needs none: each part of it is used once. */
static void vulkan_copy(struct backend_queue *q, struct vulkan_submission *s,
                        VkBuffer from, VkBuffer to, VkBufferCopy part,
                        const struct binding *device)
{
    const struct record_command c = {
        .kind = RECORD_COPY,
        .barrier = vulkan_record_touch(&q->hazards, device, 1),
        .of.copy = {from, to, part}};
    vulkan_record(&s->rec, &c);
    s->launches++;
}

/* The first command may be refused with nothing in progress; those after it
 * must find the staging memory that they copy through. */
ssq_status vulkan_reserve(struct backend_queue *q,
                          const struct command *commands, size_t n)
{
    pthread_mutex_lock(&q->lock);
    ssq_status st = vulkan_queue_check(q);
    for (size_t i = 1; i < n && st == SSQ_OK; i++) {
        enum op_id id = commands[i].op->id;
        struct vulkan_submission *s;
        uint64_t room;
        if (id == OP_upload || id == OP_download)
            st = stage(q, id == OP_upload, &s, &room);
    }
    pthread_mutex_unlock(&q->lock);
    return st;
}

/* Upload through staging memory, by as many copies as it takes. With the
 * queue's lock. */
static ssq_status vulkan_copy_send(struct backend_queue *q,
                                   const struct upload_op *op,
                                   const unsigned char *host)
{
    const struct vulkan_mem *m = vulkan_copy_mem_of(&op->dst);
    for (uint64_t at = 0, n; at < op->bytes; at += n) {
        struct vulkan_submission *s;
        ssq_status st = stage(q, true, &s, &n);
        /* Half an upload cannot be taken back: a queue that has begun one
         * fails. */
        if (st != SSQ_OK)
            return at == 0 ? st : vulkan_queue_broken(q, st);
        n = n < op->bytes - at ? n : op->bytes - at;
        memcpy((char *)s->up->map + s->up_used, host + at, (size_t)n);
        struct binding to = piece(&op->dst, at, n, ACCESS_WRITE);
        vulkan_copy(q, s, s->up->buffer, m->buffer,
                    (VkBufferCopy){s->up_used, to.offset, n}, &to);
        s->up_used += whole_pieces(n);
    }
    return SSQ_OK;
}

static ssq_status vulkan_copy_upload(struct backend_queue *q,
                                     const struct upload_op *op)
{
    const unsigned char *host = op->host == NULL ? op->inlined : op->host;
    void *map = vulkan_copy_mem_of(&op->dst)->map;
    pthread_mutex_lock(&q->lock);
    ssq_status st = vulkan_queue_check(q);
    if (st == SSQ_OK && map != NULL && is_quiet(q))
        memcpy((char *)map + op->dst.buffer->offset + op->dst.offset, host,
               (size_t)op->bytes);
    else if (st == SSQ_OK)
        st = vulkan_copy_send(q, op, host);
    pthread_mutex_unlock(&q->lock);
    return st;
}

/* Download through staging memory; retire_first() brings it to the caller's.
 * With the queue's lock. */
static ssq_status vulkan_copy_fetch(struct backend_queue *q,
                                    const struct download_op *op)
{
    const struct vulkan_mem *m = vulkan_copy_mem_of(&op->src);
    for (uint64_t at = 0, n; at < op->bytes; at += n) {
        struct vulkan_submission *s;
        ssq_status st = stage(q, false, &s, &n);
        if (st != SSQ_OK)
            return at == 0 ? st : vulkan_queue_broken(q, st);
        n = n < op->bytes - at ? n : op->bytes - at;
        struct binding from = piece(&op->src, at, n, ACCESS_READ);
        vulkan_copy(q, s, m->buffer, s->down->buffer,
                    (VkBufferCopy){from.offset, s->down_used, n}, &from);
        s->arrivals[s->narrivals++] =
            (struct vulkan_arrival){(char *)op->host + at, s->down_used, n};
        s->down_used += whole_pieces(n);
    }
    return SSQ_OK;
}

static ssq_status vulkan_copy_download(struct backend_queue *q,
                                       const struct download_op *op)
{
    const struct vulkan_mem *m = vulkan_copy_mem_of(&op->src);
    pthread_mutex_lock(&q->lock);
    ssq_status st = vulkan_queue_check(q);
    /* Mapped memory that is not cached is read far slower by the host than
     * copied by the device. */
    if (st == SSQ_OK && m->map != NULL && m->cached && is_quiet(q))
        memcpy(op->host,
               (const char *)m->map + op->src.buffer->offset + op->src.offset,
               (size_t)op->bytes);
    else if (st == SSQ_OK)
        st = vulkan_copy_fetch(q, op);
    pthread_mutex_unlock(&q->lock);
    return st;
}

const struct upload_impl vulkan_uploads[] = {
    {.name = "write", .run = vulkan_copy_upload}, {.name = NULL}};
const struct download_impl vulkan_downloads[] = {
    {.name = "read", .run = vulkan_copy_download}, {.name = NULL}};
