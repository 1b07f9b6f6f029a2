/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c - match the ops of an iteration with a trace, or record a new trace.
 *
 * Ops are compared with a recorded trace one by one. If the next op differs,
 * the iteration switches to another trace that has the same beginning and then
 * this op. If none exists, a new trace is recorded, which begins with the ops
 * matched so far. */
#include "lib/core/queue/replay.h"

#include "lib/core/queue/observer.h"
#include "lib/core/queue/queue.h"
#include "lib/core/queue/submit.h"
#include "lib/core/queue/trace.h"

/* Traces of a queue: one for each combination of a shape and a micro-batch. The
 * least recently used one is dropped. */
#define MAX_TRACES 16
/* If this many traces were recorded in a row and none was replayed, recording
 * stops for RECORD_PAUSE iterations. A program with different operands each
 * time then pays nothing. */
#define MAX_UNMATCHED 24
#define RECORD_PAUSE  256 /* iterations */

enum replay_mode {
    MATCHING,  /* ops are compared with a trace, up to a position */
    RECORDING, /* ops are enqueued, and recorded in a new trace */
    INACTIVE   /* ops are only enqueued */
};

struct replay {
    pthread_mutex_t lock; /* guards the rest; taken before a queue's lock */
    struct trace *all;    /* the recorded traces, newest first */
    size_t n;             /* their number */
    _Atomic(const void *) owner; /* of the iteration; NULL: none has begun */
    enum replay_mode mode;
    unsigned paused;        /* nested pauses without a resume */
    struct trace *matched;  /* MATCHING: the trace that ops are compared with */
    struct trace *recorded; /* RECORDING: the new trace */
    struct trace *last;     /* of the previous iteration */
    struct trace_position at; /* in the matched trace: the next entry */
    size_t bundle_from;       /* at.entry when the bundle began */
    bool in_op;               /* RECORDING: in an op, until replay_enqueued() */
    uint64_t iterations;      /* begun so far */
    unsigned unmatched;       /* traces recorded since one was replayed */
    unsigned pins;            /* device->pinned when the last iteration began */
    uint64_t record_from;     /* nothing is recorded before this iteration */
};

/* ---- traces ---- */

static void replay_drop_trace(struct replay *r, struct trace *t)
{
    for (struct trace **at = &r->all; *at != NULL; at = &(*at)->next)
        if (*at == t) {
            *at = t->next;
            r->n--;
            break;
        }
    for (struct trace *k = r->all; k != NULL; k = k->next)
        if (k->after == t)
            k->after = NULL;
    if (r->last == t)
        r->last = NULL;
    if (r->matched == t)
        r->matched = NULL;
    trace_free(t);
}

static void replay_drop_all(struct replay *r)
{
    while (r->all != NULL)
        replay_drop_trace(r, r->all);
}

static void replay_drop_oldest(struct replay *r)
{
    struct trace *oldest = r->all;
    for (struct trace *t = r->all; t != NULL; t = t->next)
        if (t->used < oldest->used)
            oldest = t;
    replay_drop_trace(r, oldest);
}

/* Set the last trace to t, which was replayed or recorded to its end. */
static void replay_set_last(struct replay *r, struct trace *t)
{
    t->used = r->iterations;
    if (r->last != NULL)
        r->last->after = t;
    r->last = t;
}

static bool replay_may_record(const struct replay *r)
{
    return r->iterations >= r->record_from;
}

/* Count a trace that was recorded. If too many were not replayed, release all
 * of them: they hold memory for nothing. */
static void replay_count_recorded(struct replay *r)
{
    if (++r->unmatched < MAX_UNMATCHED)
        return;
    r->unmatched = 0;
    r->record_from = r->iterations + RECORD_PAUSE;
    replay_drop_all(r);
}

/* Add the recorded trace to the list. */
static void replay_keep_recorded(struct replay *r)
{
    struct trace *t = r->recorded;
    r->recorded = NULL;
    if (t == NULL || t->n == 0) {
        trace_free(t);
        return;
    }
    trace_close_part(t);
    if (r->n == MAX_TRACES)
        replay_drop_oldest(r);
    t->next = r->all;
    r->all = t;
    r->n++;
    replay_set_last(r, t);
    replay_count_recorded(r);
}

/* Stop recording: an op cannot be replayed, or memory is missing. */
static void replay_drop_recorded(struct replay *r)
{
    trace_free(r->recorded);
    r->recorded = NULL;
    r->mode = INACTIVE;
    replay_count_recorded(r);
}

/* ---- submitting ---- */

static struct trace_part *replay_part(const struct replay *r)
{
    const struct trace *t = r->matched;
    return t == NULL || r->at.part >= t->n ? NULL : t->part[r->at.part];
}

static size_t part_commands_to(const struct trace_part *p, size_t entry)
{
    return entry == 0 ? 0 : p->entry[entry - 1].end;
}

/* Launch all of a part. The backend's form of its graph is created at the first
 * launch, when the part is replayed. The ops' writes were already reported. */
static ssq_status replay_launch(ssq_queue *q, struct trace_part *p)
{
    ssq_graph *g = p->graph;
    bool recorded;
    ssq_status st = queue_recorded(q, &recorded);
    if (st != SSQ_OK)
        return st;
    if (!p->compiled)
        graph_compile(q, g);
    p->compiled = true;
    bool runs = g->runs != NULL && !recorded;
    return queue_submit(q, runs ? g->runs : g->commands,
                        runs ? g->n_runs : g->n, &g->object);
}

/* Launch the current part if all its ops were matched. There are two
 * exceptions. Within a bundle nothing is launched, because the bundle may still
 * fail. The last part of the trace is launched only if `last` is set, because
 * the iteration may continue. */
static ssq_status replay_advance(ssq_queue *q, struct replay *r, bool last)
{
    struct trace_part *p = replay_part(r);
    if (p == NULL || r->at.entry < p->n || q->bundle.depth > 0 ||
        (!last && r->at.part + 1 == r->matched->n))
        return SSQ_OK;
    ssq_status st = replay_launch(q, p);
    if (st == SSQ_OK) {
        r->at.part++;
        r->at.entry = 0;
    }
    return st;
}

/* Copy the matched commands of the current bundle into a graph for it. */
static ssq_status replay_fill_bundle(ssq_queue *q, const struct replay *r,
                                     ssq_graph **bundle)
{
    const struct trace_part *p = replay_part(r);
    ssq_status st = graph_create(q->device, "bundle", bundle);
    for (size_t i = part_commands_to(p, r->bundle_from);
         i < part_commands_to(p, r->at.entry) && st == SSQ_OK; i++)
        st = graph_append_copy(*bundle, &p->graph->commands[i]);
    return st;
}

/* Leave the matched trace: submit the matched commands, and record a new trace
 * that begins with them. If this fails, nothing has changed. */
static ssq_status replay_diverge(ssq_queue *q, struct replay *r)
{
    const struct trace_part *p = replay_part(r);
    ssq_graph *bundle = NULL;
    ssq_status st = SSQ_OK;
    size_t from = q->bundle.depth > 0 ? r->bundle_from : r->at.entry;
    if (q->bundle.depth > 0 && p != NULL)
        st = replay_fill_bundle(q, r, &bundle);
    else if (q->bundle.depth > 0)
        st = graph_create(q->device, "bundle", &bundle);
    if (st == SSQ_OK && p != NULL && from > 0)
        st = queue_submit(q, p->graph->commands, part_commands_to(p, from),
                          &p->graph->object);
    if (st != SSQ_OK) {
        if (bundle != NULL)
            object_put(&bundle->object);
        return st;
    }
    q->bundle.graph = q->bundle.depth > 0 ? bundle : q->bundle.graph;
    r->mode = INACTIVE;
    if (replay_may_record(r))
        r->recorded = r->matched == NULL ? trace_create()
                                         : trace_fork(r->matched, &r->at);
    r->matched = NULL;
    if (r->recorded != NULL)
        r->mode = RECORDING;
    return SSQ_OK;
}

/* ---- ops ---- */

/* Switch to another trace that has the same scratch and the same ops so far,
 * and has this op next. False if none exists. */
static bool replay_switch_trace(struct replay *r, const struct op *op)
{
    const struct trace *was = r->matched;
    for (struct trace *t = r->all; t != NULL; t = t->next) {
        bool same = t != was && t->n_scratch >= r->at.scratch;
        for (size_t i = 0; i < r->at.scratch && same; i++)
            same = t->scratch[i] == was->scratch[i];
        const struct trace_entry *e = same ? trace_entry_at(t, &r->at) : NULL;
        if (e == NULL || !op_same(e->op, op) || !trace_equal(was, t, &r->at))
            continue;
        r->matched = t;
        return true;
    }
    return false;
}

/* Match the op, which is the next op of the trace. */
static ssq_status replay_match_next(ssq_queue *q, struct replay *r,
                                    const struct op *op)
{
    r->at.entry++;
    ssq_status st = replay_advance(q, r, false);
    if (st == SSQ_OK)
        observers_report(q, op);
    else
        r->at.entry--;
    return st;
}

static bool replay_match_op(ssq_queue *q, struct replay *r, const struct op *op,
                            ssq_status *st)
{
    if (r->mode == MATCHING) {
        const struct trace_entry *e = trace_entry_at(r->matched, &r->at);
        if ((e != NULL && op_same(e->op, op)) || replay_switch_trace(r, op)) {
            *st = replay_match_next(q, r, op);
            return true;
        }
        *st = replay_diverge(q, r);
        if (*st != SSQ_OK)
            return true;
    }
    if (r->mode != RECORDING)
        return false;
    /* two ops at the same time, by two threads: their commands would mix */
    if (r->in_op || !trace_add_op(r->recorded, q->device, op))
        replay_drop_recorded(r);
    else
        r->in_op = true;
    return false;
}

/* Return the queue's replay, locked, if an iteration has begun and ops belong
 * to it; else NULL. */
static struct replay *replay_lock(ssq_queue *q)
{
    struct replay *r = atomic_load_explicit(&q->replay, memory_order_acquire);
    if (r == NULL || atomic_load(&r->owner) == NULL)
        return NULL;
    pthread_mutex_lock(&r->lock);
    if (atomic_load(&r->owner) != NULL && r->paused == 0 &&
        q->capture.graph == NULL)
        return r;
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

static void replay_unlock(struct replay *r)
{
    pthread_mutex_unlock(&r->lock);
}

/* True for work that may differ although its op is equal: a transfer from or to
 * memory of the host, which may contain other bytes, and a call of another
 * library. */
static bool replay_differs(const struct op *op)
{
    return op->id == OP_download || op->id == OP_call ||
           (op->id == OP_upload &&
            ((const struct upload_op *)op)->host != NULL);
}

bool replay_match(ssq_queue *queue, const struct op *op, ssq_status *st)
{
    if (replay_differs(op)) {
        *st = replay_pause(queue);
        return *st != SSQ_OK;
    }
    struct replay *r = replay_lock(queue);
    *st = SSQ_OK;
    if (r == NULL)
        return false;
    bool matched = replay_match_op(queue, r, op, st);
    replay_unlock(r);
    return matched;
}

void replay_record_command(ssq_queue *queue, const struct command *c)
{
    struct replay *r = replay_lock(queue);
    if (r == NULL)
        return;
    if (r->mode == RECORDING &&
        (!r->in_op || !trace_add_command(r->recorded, c)))
        replay_drop_recorded(r);
    replay_unlock(r);
}

/* An op that has no command has run on the host, and cannot be replayed. */
void replay_enqueued(ssq_queue *queue, const struct op *op, ssq_status st)
{
    if (replay_differs(op)) {
        replay_resume(queue);
        return;
    }
    struct replay *r = replay_lock(queue);
    if (r == NULL)
        return;
    if (r->mode == RECORDING &&
        (st != SSQ_OK || !r->in_op || !trace_has_command(r->recorded)))
        replay_drop_recorded(r);
    r->in_op = false;
    replay_unlock(r);
}

bool replay_bundle_begin(ssq_queue *queue)
{
    struct replay *r = replay_lock(queue);
    if (r == NULL)
        return false;
    bool matching = r->mode == MATCHING;
    r->bundle_from = r->at.entry;
    replay_unlock(r);
    return matching;
}

ssq_status replay_bundle_end(ssq_queue *queue, ssq_status st)
{
    struct replay *r = replay_lock(queue);
    if (r == NULL)
        return st;
    if (r->mode == MATCHING && st == SSQ_OK)
        st = replay_advance(queue, r, false);
    if (r->mode == MATCHING && st != SSQ_OK)
        r->at.entry = r->bundle_from;
    if (r->mode == RECORDING && st != SSQ_OK)
        replay_drop_recorded(r);
    replay_unlock(r);
    return st;
}

/* ---- scratch ---- */

ssq_buffer *replay_scratch(ssq_queue *queue, uint64_t bytes)
{
    struct replay *r = replay_lock(queue);
    ssq_buffer *b = NULL;
    if (r == NULL)
        return NULL;
    if (r->mode == MATCHING && r->at.scratch < r->matched->n_scratch)
        b = r->matched->scratch[r->at.scratch];
    if (b != NULL && b->bytes == bytes) {
        object_get(&b->object);
        r->at.scratch++;
    } else {
        b = NULL;
        if (r->mode == MATCHING) /* its op cannot be the next one */
            (void)replay_diverge(queue, r);
    }
    replay_unlock(r);
    return b;
}

void replay_record_scratch(ssq_queue *queue, ssq_buffer *buffer)
{
    struct replay *r = replay_lock(queue);
    if (r == NULL)
        return;
    if (r->mode == RECORDING && !trace_add_scratch(r->recorded, buffer))
        replay_drop_recorded(r);
    replay_unlock(r);
}

/* ---- pauses ---- */

/* Submit the matched ops, and let later ops begin another part. */
static ssq_status replay_submit_matched(ssq_queue *q, struct replay *r)
{
    ssq_status st = SSQ_OK;
    const struct trace_part *p = r->mode == MATCHING ? replay_part(r) : NULL;
    if (r->mode == MATCHING && q->bundle.depth == 0 && p != NULL &&
        r->at.entry == p->n)
        st = replay_advance(q, r, true);
    else if (r->mode == MATCHING && (q->bundle.depth > 0 || r->at.entry > 0))
        st = replay_diverge(q, r);
    if (st != SSQ_OK || r->mode != RECORDING)
        return st;
    if (r->in_op || q->bundle.depth > 0)
        replay_drop_recorded(r);
    else
        trace_close_part(r->recorded);
    return SSQ_OK;
}

ssq_status replay_pause(ssq_queue *queue)
{
    struct replay *r =
        atomic_load_explicit(&queue->replay, memory_order_acquire);
    ssq_status st = SSQ_OK;
    if (r == NULL)
        return SSQ_OK;
    pthread_mutex_lock(&r->lock);
    if (atomic_load(&r->owner) != NULL && r->paused == 0 &&
        queue->capture.graph == NULL)
        st = replay_submit_matched(queue, r);
    if (st == SSQ_OK)
        r->paused++;
    pthread_mutex_unlock(&r->lock);
    return st;
}

void replay_resume(ssq_queue *queue)
{
    struct replay *r =
        atomic_load_explicit(&queue->replay, memory_order_acquire);
    if (r == NULL)
        return;
    pthread_mutex_lock(&r->lock);
    r->paused--;
    pthread_mutex_unlock(&r->lock);
}

ssq_status replay_flush(ssq_queue *queue)
{
    ssq_status st = replay_pause(queue);
    if (st == SSQ_OK)
        replay_resume(queue);
    return st;
}

/* ---- iterations ---- */

/* End an iteration that matched a trace. If it has reached the end, the trace
 * was replayed. If it stopped earlier, its ops become a new trace. */
static ssq_status replay_end_matched(ssq_queue *q, struct replay *r,
                                     bool *whole)
{
    const struct trace_part *p = replay_part(r);
    ssq_status st = SSQ_OK;
    if (p != NULL && r->at.entry == p->n)
        st = replay_advance(q, r, true);
    if (st != SSQ_OK)
        return st;
    if (r->at.part == r->matched->n) {
        *whole = true;
        r->unmatched = 0;
        replay_set_last(r, r->matched);
    } else if (r->at.part > 0 || r->at.entry > 0) {
        st = replay_diverge(q, r);
        if (st == SSQ_OK)
            replay_keep_recorded(r);
    }
    return st;
}

static ssq_status replay_end_locked(ssq_queue *q, struct replay *r, bool *whole)
{
    ssq_status st = SSQ_OK;
    if (r->mode == MATCHING)
        st = replay_end_matched(q, r, whole);
    else if (r->mode == RECORDING)
        replay_keep_recorded(r);
    if (st != SSQ_OK)
        return st;
    r->mode = INACTIVE;
    r->matched = NULL;
    atomic_store(&r->owner, NULL);
    return SSQ_OK;
}

/* Begin an iteration. Match it with the trace that followed the last one
 * before, else with the last one itself. */
static void replay_begin_locked(const ssq_queue *q, struct replay *r,
                                const void *owner)
{
    if (r->pins != q->device->pinned) /* implementations may differ now */
        replay_drop_all(r);
    r->pins = q->device->pinned;
    r->iterations++;
    r->at = (struct trace_position){0, 0, 0};
    r->in_op = false;
    r->mode = INACTIVE;
    r->matched = r->last == NULL          ? r->all
                 : r->last->after != NULL ? r->last->after
                                          : r->last;
    if (r->matched != NULL)
        r->mode = MATCHING;
    else if (replay_may_record(r) && (r->recorded = trace_create()) != NULL)
        r->mode = RECORDING;
    atomic_store(&r->owner, owner);
}

ssq_status replay_create(ssq_queue *queue)
{
    if (atomic_load(&queue->replay) != NULL)
        return SSQ_OK;
    struct replay *r = mem_alloc(sizeof(*r)), *none = NULL;
    if (r == NULL)
        return error_nomem("repeat", sizeof(*r));
    pthread_mutex_init(&r->lock, NULL);
    r->mode = INACTIVE;
    if (!atomic_compare_exchange_strong(&queue->replay, &none, r))
        replay_free(r);
    return SSQ_OK;
}

ssq_status replay_begin(ssq_queue *queue, const void *owner)
{
    struct replay *r = atomic_load(&queue->replay);
    ssq_status st = SSQ_OK;
    bool whole;
    if (r == NULL)
        return SSQ_OK;
    pthread_mutex_lock(&r->lock);
    if (atomic_load(&r->owner) != NULL)
        st = replay_end_locked(queue, r, &whole);
    if (st == SSQ_OK && queue->capture.graph == NULL)
        replay_begin_locked(queue, r, owner);
    pthread_mutex_unlock(&r->lock);
    return st;
}

ssq_status replay_end(ssq_queue *queue, const void *owner, bool *whole)
{
    struct replay *r = atomic_load(&queue->replay);
    ssq_status st = SSQ_OK;
    *whole = false;
    if (r == NULL)
        return SSQ_OK;
    pthread_mutex_lock(&r->lock);
    if (atomic_load(&r->owner) == owner)
        st = replay_end_locked(queue, r, whole);
    pthread_mutex_unlock(&r->lock);
    return st;
}

void replay_drop_traces(ssq_queue *queue)
{
    struct replay *r = atomic_load(&queue->replay);
    bool whole;
    if (r == NULL)
        return;
    pthread_mutex_lock(&r->lock);
    if (atomic_load(&r->owner) == NULL ||
        replay_end_locked(queue, r, &whole) == SSQ_OK)
        replay_drop_all(r);
    pthread_mutex_unlock(&r->lock);
}

/* ---- with the queue ---- */

void replay_free(struct replay *r)
{
    if (r == NULL)
        return;
    trace_free(r->recorded);
    replay_drop_all(r);
    pthread_mutex_destroy(&r->lock);
    mem_free(r);
}

void replay_hold(struct replay *r)
{
    if (r != NULL)
        pthread_mutex_lock(&r->lock);
}

void replay_let_go(struct replay *r)
{
    if (r != NULL)
        pthread_mutex_unlock(&r->lock);
}
