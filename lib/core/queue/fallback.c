/* SPDX-License-Identifier: Apache-2.0 */
/* fallback.c - run on the host what a device cannot do, when asked to.
 *
 * All buffers of the op are copied to the host in full. The reference does the
 * op on the copies, and buffers that it wrote are copied back. This is slow and
 * waits for the queue, so it must be requested (host_fallback). Fallbacks are
 * counted, and are logged once per op and reason. */
#include "lib/core/queue/fallback.h"

#include "lib/core/module/registry.h"
#include "lib/core/queue/dispatch.h"
#include "lib/core/queue/queue.h"
#include "lib/core/queue/replay.h"
#include "lib/core/queue/submit.h"

#include <stdio.h>
#include <string.h>

/* A reason that was logged. */
struct fallback_reason {
    struct fallback_reason *next;
    char text[]; /* of dispatch(), with the op's name and every refusal */
};

/* A range of bytes of a buffer; empty if begin is end. */
struct fallback_range {
    uint64_t begin, end;
};

/* A copy in host memory, for the reference, of the bytes of a buffer that the
 * op uses. Other bytes are not copied: another queue may write them at the same
 * time, and in an imported buffer they may belong to another library. */
struct mirror {
    ssq_buffer *real;       /* the device's buffer; the op's views hold it */
    ssq_buffer copy;        /* used in its place; never counted or freed */
    struct backend_mem mem; /* of copy; its host memory is owned */
    struct fallback_range used,
        written; /* by all views, and by views that write */
};

/* One mirror per buffer, even if several views use it. Overlapping operands and
 * in-place updates therefore keep their meaning. n mirrors are in use. */
struct mirrors {
    size_t n;
    struct mirror m[];
};

void fallback_free_reasons(ssq_device *device)
{
    while (device->fallback_reason != NULL) {
        struct fallback_reason *s = device->fallback_reason;
        device->fallback_reason = s->next;
        mem_free(s);
    }
}

/* True if this text is new; it is then remembered. Without memory it stays new,
 * and is logged again rather than lost. */
static bool fallback_is_new(ssq_device *device, const char *text)
{
    size_t bytes = strlen(text) + 1;
    pthread_mutex_lock(&device->queues_lock);
    struct fallback_reason *s = device->fallback_reason;
    while (s != NULL && strcmp(s->text, text) != 0)
        s = s->next;
    bool found = s != NULL;
    s = found ? NULL : mem_alloc(sizeof(*s) + bytes);
    if (s != NULL) {
        memcpy(s->text, text, bytes);
        s->next = device->fallback_reason;
        device->fallback_reason = s;
    }
    pthread_mutex_unlock(&device->queues_lock);
    return !found;
}

/* Return the implementations of the reference backend, which has every op. */
static const struct op_table *reference_table(void)
{
    const struct registry_entry *e =
        registry_find("reference", sizeof("reference") - 1);
    return e == NULL || e->backend == NULL ? NULL : e->backend->ops;
}

static void extend(struct fallback_range *r, const struct view *v)
{
    uint64_t span = view_span(v);
    if (span == 0)
        return;
    bool none = r->begin == r->end;
    if (none || v->offset < r->begin)
        r->begin = v->offset;
    if (none || v->offset + span > r->end)
        r->end = v->offset + span;
}

/* Add a view to the mirror of its buffer. */
static void mirrors_add_view(struct mirrors *all, const struct view *v)
{
    struct mirror *m = all->m;
    if (v->buffer == NULL)
        return;
    while (m < all->m + all->n && m->real != v->buffer)
        m++;
    if (m == all->m + all->n)
        all->n++;
    m->real = v->buffer;
    extend(&m->used, v);
    if ((v->access & ACCESS_WRITE) != 0)
        extend(&m->written, v);
}

static ssq_status mirror_alloc(struct mirror *m)
{
    m->mem.bytes = m->used.end - m->used.begin;
    m->copy = *m->real;
    m->copy.offset = 0;
    m->copy.mem = m->mem.bytes == 0 ? NULL : &m->mem;
    if (m->mem.bytes == 0)
        return SSQ_OK;
    m->mem.host = mem_alloc(m->mem.bytes);
    return m->mem.host == NULL ? error_nomem("fallback", m->mem.bytes) : SSQ_OK;
}

static void mirrors_free(struct mirrors *all)
{
    for (size_t i = 0; all != NULL && i < all->n; i++)
        mem_free(all->m[i].mem.host);
    mem_free(all);
}

static size_t list_views(const struct op *op)
{
    return op->list == NULL ? 0 : op->list->n;
}

/* Create empty mirrors of all buffers of the op. */
static ssq_status mirrors_create(const struct op *op, struct mirrors **out)
{
    size_t n = op->nviews + list_views(op);
    size_t bytes = sizeof(struct mirrors) + n * sizeof(struct mirror);
    struct mirrors *all = mem_alloc(bytes);
    if (all == NULL)
        return error_nomem("fallback", bytes);
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < op->nviews; i++)
        mirrors_add_view(all, &op_views_const(op)[i]);
    for (size_t i = 0; i < list_views(op); i++)
        mirrors_add_view(all, &op->list->v[i]);
    for (size_t i = 0; i < all->n && st == SSQ_OK; i++)
        st = mirror_alloc(&all->m[i]);
    if (st != SSQ_OK) {
        mirrors_free(all);
        return st;
    }
    *out = all;
    return SSQ_OK;
}

/* Return a view of a range of bytes of a buffer. */
static struct view fallback_bytes_of(ssq_buffer *buffer,
                                     const struct fallback_range *r)
{
    return (struct view){.buffer = buffer,
                         .offset = r->begin,
                         .dtype = SSQ_U8,
                         .rank = 1,
                         .shape = {(int64_t)(r->end - r->begin)},
                         .stride = {1}};
}

/* Submit a copy between the host and the device. It bypasses queue_enqueue(),
 * which calls this file. */
static ssq_status fallback_copy(ssq_queue *queue, struct op *op)
{
    struct choice choice;
    ssq_status st = dispatch(queue->device, op, &choice);
    const struct command c = {.op = op, .impl = choice.index};
    return st == SSQ_OK ? queue_submit(queue, &c, 1, NULL) : st;
}

/* Copy what is used to the host, or what is written back, and wait. A range
 * that is only written is also copied to the host, because a view may leave out
 * elements of it: these are copied back as they were. */
static ssq_status fallback_transfer(ssq_queue *queue, const struct mirrors *all,
                                    bool back)
{
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < all->n && st == SSQ_OK; i++) {
        const struct mirror *m = &all->m[i];
        const struct fallback_range *r = back ? &m->written : &m->used;
        struct view v = fallback_bytes_of(m->real, r);
        char *host = (char *)m->mem.host + (r->begin - m->used.begin);
        if (r->begin == r->end)
            continue;
        struct upload_op up = upload_of(&v, host, r->end - r->begin);
        struct download_op down = download_of(&v, host, r->end - r->begin);
        st = fallback_copy(queue, back ? &up.op : &down.op);
    }
    /* even after a failure: a copy must not use mirrors that are freed */
    ssq_status sync = queue_wait(queue);
    return st != SSQ_OK ? st : sync;
}

/* Make a view refer to the mirror of its buffer. An absent view stays absent.
 */
static void redirect(struct mirrors *all, struct view *v)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->m[i].real == v->buffer) {
            v->buffer = &all->m[i].copy;
            v->offset -= view_span(v) == 0 ? v->offset : all->m[i].used.begin;
            return;
        }
}

/* Run a copy of the op whose views refer to the mirrors. The list of views is
 * shared and immutable, so it is copied as well. The reference needs no queue:
 * it has done the op when it returns. */
static ssq_status run_on_mirrors(const struct op *op, struct mirrors *all)
{
    size_t n = list_views(op);
    struct op *copy = mem_alloc(op->bytes);
    struct view_list *list =
        mem_alloc(sizeof(struct view_list) + n * sizeof(struct view));
    ssq_status st = SSQ_OK;
    if (copy == NULL || list == NULL) {
        st = error_nomem("fallback", op->bytes);
        goto out_free;
    }
    memcpy(copy, op, op->bytes);
    for (size_t i = 0; i < op->nviews; i++)
        redirect(all, &op_views(copy)[i]);
    if (op->list != NULL) {
        list->n = n;
        memcpy(list->v, op->list->v, n * sizeof(struct view));
        for (size_t i = 0; i < n; i++)
            redirect(all, &list->v[i]);
        copy->list = list;
    }
    const struct command c = {.op = copy};
    st = command_run(reference_table(), NULL, &c);
out_free:
    mem_free(copy);
    mem_free(list);
    return st;
}

/* Copy to the host, run the op, and copy back. */
static ssq_status mirrors_run(ssq_queue *queue, const struct op *op)
{
    struct mirrors *all = NULL;
    ssq_status st = mirrors_create(op, &all);
    if (st != SSQ_OK)
        return st;
    st = fallback_transfer(queue, all, false);
    if (st == SSQ_OK)
        st = run_on_mirrors(op, all);
    if (st == SSQ_OK)
        st = fallback_transfer(queue, all, true);
    mirrors_free(all);
    return st;
}

ssq_status fallback_run(ssq_queue *queue, const struct op *op)
{
    ssq_device *d = queue->device;
    char reason[ERROR_TEXT];
    /* Fallbacks use uploads and downloads, so these have no fallback. A pin
     * requests one implementation and no other. */
    if (!d->options.host_fallback || op->id == OP_upload ||
        op->id == OP_download || d->pins[op->id][0] != '\0')
        return SSQ_ERR_UNSUPPORTED;
    snprintf(reason, sizeof(reason), "%s", ssq_last_error());
    if (capture_dry(queue)) /* it would run, on the host */
        return SSQ_OK;
    if (queue->capture.graph != NULL)
        return error_set(SSQ_ERR_UNSUPPORTED,
                         "%s; no host fallback while a graph is being captured",
                         reason);
    if (fallback_is_new(d, reason))
        log_line(SSQ_LOG_WARNING, "dispatch", "%s; it runs on the host",
                 reason);
    /* Run the ops that the bundle has kept before this op, which cannot wait.
     * The bundle can then no longer run all or none. */
    ssq_graph *bundle;
    ssq_status st = bundle_suspend(queue, &bundle);
    if (st != SSQ_OK)
        return st;
    st = replay_pause(queue); /* no op of a trace can run on the host */
    if (st == SSQ_OK) {
        st = mirrors_run(queue, op);
        replay_resume(queue);
    }
    bundle_resume(queue, bundle);
    if (st != SSQ_OK)
        return st;
    queue->bundle.partial = true;
    atomic_fetch_add(&d->fallbacks, 1);
    return SSQ_OK;
}
