/* SPDX-License-Identifier: Apache-2.0 */
/* repeat.c - spans: follow a sequence that is known, or learn a new one.
 *
 * A span follows a known sequence op by op. If the next op differs, the span
 * switches to another known sequence that has the same beginning and then this
 * op. If none exists, the span becomes a new sequence, which begins with the
 * ops followed so far. */
#include "lib/core/queue/repeat.h"

#include "lib/core/queue/sequence.h"
#include "lib/core/queue/witness.h"

/* Sequences that a queue remembers: one for each combination of a shape and a
 * micro-batch. The one that was seen least recently is dropped. */
#define MOST_SEQUENCES 16
/* If this many sequences were learnt and none came again, learning stops for
 * REST spans. A program with different operands each time then pays nothing. */
#define FRUITLESS 24
#define REST      256 /* spans */

enum mode {
    FOLLOWS, /* a known sequence, up to the place; ops wait */
    LEARNS,  /* a new sequence; ops are enqueued */
    PLAIN    /* ops are enqueued */
};

struct repeat {
    pthread_mutex_t lock; /* guards the rest; taken before a queue's lock */
    struct sequence *all;
    size_t n;
    _Atomic(const void *) owner; /* of the current span; NULL: no span */
    enum mode mode;
    unsigned paused;
    struct sequence *follows, *learnt;
    struct sequence *last; /* of the previous span */
    struct place at;       /* in the followed sequence: the next entry */
    size_t bundle_from;    /* at.entry when the bundle began */
    bool in_op;            /* LEARNS: in an op, until repeat_enqueued() */
    uint64_t spans;
    unsigned fruitless; /* sequences learnt since one came again */
    unsigned pins;      /* device->pinned when the last span began */
    uint64_t rest;      /* nothing is learnt before this span */
};

/* ---- known sequences ---- */

static void core_repeat_forget(struct repeat *r, struct sequence *s)
{
    for (struct sequence **at = &r->all; *at != NULL; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            r->n--;
            break;
        }
    for (struct sequence *k = r->all; k != NULL; k = k->next)
        if (k->after == s)
            k->after = NULL;
    if (r->last == s)
        r->last = NULL;
    if (r->follows == s)
        r->follows = NULL;
    sequence_free(s);
}

static void forget_all(struct repeat *r)
{
    while (r->all != NULL)
        core_repeat_forget(r, r->all);
}

static void forget_oldest(struct repeat *r)
{
    struct sequence *oldest = r->all;
    for (struct sequence *s = r->all; s != NULL; s = s->next)
        if (s->used < oldest->used)
            oldest = s;
    core_repeat_forget(r, oldest);
}

/* Note that s was followed or learnt to its end, after the last sequence. */
static void came(struct repeat *r, struct sequence *s)
{
    s->used = r->spans;
    if (r->last != NULL)
        r->last->after = s;
    r->last = s;
}

static bool may_learn(const struct repeat *r)
{
    return r->spans >= r->rest;
}

/* Count a sequence that was learnt. If too many have not come again, forget all
 * of them: they hold memory for nothing. */
static void count_learnt(struct repeat *r)
{
    if (++r->fruitless < FRUITLESS)
        return;
    r->fruitless = 0;
    r->rest = r->spans + REST;
    forget_all(r);
}

/* Add the learnt sequence to the known ones. */
static void keep_learnt(struct repeat *r)
{
    struct sequence *s = r->learnt;
    r->learnt = NULL;
    if (s == NULL || s->n == 0) {
        sequence_free(s);
        return;
    }
    sequence_close(s);
    if (r->n == MOST_SEQUENCES)
        forget_oldest(r);
    s->next = r->all;
    r->all = s;
    r->n++;
    came(r, s);
    count_learnt(r);
}

/* Give up learning: an op cannot be repeated, or memory is missing. */
static void drop_learnt(struct repeat *r)
{
    sequence_free(r->learnt);
    r->learnt = NULL;
    r->mode = PLAIN;
    count_learnt(r);
}

/* ---- handing over ---- */

static struct part *part_at(const struct repeat *r)
{
    const struct sequence *s = r->follows;
    return s == NULL || r->at.part >= s->n ? NULL : s->part[r->at.part];
}

static size_t commands_to(const struct part *p, size_t entry)
{
    return entry == 0 ? 0 : p->entry[entry - 1].end;
}

/* Launch all of a part. The backend's form of its graph is made at the first
 * launch, when the part comes again. Witnesses know of the ops already. */
static ssq_status repeat_launch(ssq_queue *q, struct part *p)
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
    return queue_submit_told(q, runs ? g->runs : g->commands,
                             runs ? g->n_runs : g->n, &g->object);
}

/* Launch the current part if all its ops have come. There are two exceptions.
 * Within a bundle nothing is launched, because the bundle may still fail. The
 * last part of the sequence is launched only if `last` is set, because the span
 * may continue. */
static ssq_status repeat_advance(ssq_queue *q, struct repeat *r, bool last)
{
    struct part *p = part_at(r);
    if (p == NULL || r->at.entry < p->n || q->bundle_depth > 0 ||
        (!last && r->at.part + 1 == r->follows->n))
        return SSQ_OK;
    ssq_status st = repeat_launch(q, p);
    if (st == SSQ_OK) {
        r->at.part++;
        r->at.entry = 0;
    }
    return st;
}

/* Copy the waiting commands of the current bundle into a graph for it. */
static ssq_status fill_bundle(ssq_queue *q, const struct repeat *r,
                              ssq_graph **bundle)
{
    const struct part *p = part_at(r);
    ssq_status st = graph_create(q->device, "bundle", bundle);
    for (size_t i = commands_to(p, r->bundle_from);
         i < commands_to(p, r->at.entry) && st == SSQ_OK; i++)
        st = command_copy(*bundle, &p->graph->commands[i]);
    return st;
}

/* Leave the followed sequence: hand over the waiting commands, and learn a new
 * sequence that begins with them. If this fails, nothing has changed. */
static ssq_status diverge(ssq_queue *q, struct repeat *r)
{
    const struct part *p = part_at(r);
    ssq_graph *bundle = NULL;
    ssq_status st = SSQ_OK;
    size_t from = q->bundle_depth > 0 ? r->bundle_from : r->at.entry;
    if (q->bundle_depth > 0 && p != NULL)
        st = fill_bundle(q, r, &bundle);
    else if (q->bundle_depth > 0)
        st = graph_create(q->device, "bundle", &bundle);
    if (st == SSQ_OK && p != NULL && from > 0)
        st = queue_submit_told(q, p->graph->commands, commands_to(p, from),
                               &p->graph->object);
    if (st != SSQ_OK) {
        if (bundle != NULL)
            object_put(&bundle->object);
        return st;
    }
    q->bundle = q->bundle_depth > 0 ? bundle : q->bundle;
    r->mode = PLAIN;
    if (may_learn(r))
        r->learnt = r->follows == NULL ? sequence_create()
                                       : sequence_fork(r->follows, &r->at);
    r->follows = NULL;
    if (r->learnt != NULL)
        r->mode = LEARNS;
    return SSQ_OK;
}

/* ---- ops ---- */

/* Switch to another sequence that had the same scratch and the same ops so far,
 * and has this op next. False if there is none. */
static bool follow_other(struct repeat *r, const struct op *op)
{
    const struct sequence *was = r->follows;
    for (struct sequence *s = r->all; s != NULL; s = s->next) {
        bool alike = s != was && s->n_scratch >= r->at.scratch;
        for (size_t i = 0; i < r->at.scratch && alike; i++)
            alike = s->scratch[i] == was->scratch[i];
        const struct sequence_entry *e = alike ? sequence_at(s, &r->at) : NULL;
        if (e == NULL || !op_same(e->op, op) || !sequence_alike(was, s, &r->at))
            continue;
        r->follows = s;
        return true;
    }
    return false;
}

/* Let the op wait, as the next op of the followed sequence. */
static ssq_status wait_for_more(ssq_queue *q, struct repeat *r,
                                const struct op *op)
{
    r->at.entry++;
    ssq_status st = repeat_advance(q, r, false);
    if (st == SSQ_OK)
        witness_tell(q, op);
    else
        r->at.entry--;
    return st;
}

static bool takes(ssq_queue *q, struct repeat *r, const struct op *op,
                  ssq_status *st)
{
    if (r->mode == FOLLOWS) {
        const struct sequence_entry *e = sequence_at(r->follows, &r->at);
        if ((e != NULL && op_same(e->op, op)) || follow_other(r, op)) {
            *st = wait_for_more(q, r, op);
            return true;
        }
        *st = diverge(q, r);
        if (*st != SSQ_OK)
            return true;
    }
    if (r->mode != LEARNS)
        return false;
    /* two ops at the same time, by two threads: their commands would mix */
    if (r->in_op || !sequence_add(r->learnt, q->device, op))
        drop_learnt(r);
    else
        r->in_op = true;
    return false;
}

/* Return the queue's repeat, locked, if a span has begun and ops belong to it;
 * else NULL. */
static struct repeat *repeat_enter(ssq_queue *q)
{
    struct repeat *r = atomic_load_explicit(&q->repeat, memory_order_acquire);
    if (r == NULL || atomic_load(&r->owner) == NULL)
        return NULL;
    pthread_mutex_lock(&r->lock);
    if (atomic_load(&r->owner) != NULL && r->paused == 0 && q->capture == NULL)
        return r;
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

static void repeat_leave(struct repeat *r)
{
    pthread_mutex_unlock(&r->lock);
}

bool repeat_takes(ssq_queue *queue, const struct op *op, ssq_status *st)
{
    struct repeat *r = repeat_enter(queue);
    *st = SSQ_OK;
    if (r == NULL)
        return false;
    bool waits = takes(queue, r, op, st);
    repeat_leave(r);
    return waits;
}

void repeat_learn(ssq_queue *queue, const struct command *c)
{
    struct repeat *r = repeat_enter(queue);
    if (r == NULL)
        return;
    if (r->mode == LEARNS && (!r->in_op || !sequence_command(r->learnt, c)))
        drop_learnt(r);
    repeat_leave(r);
}

/* An op that has no command has run on the host, and cannot be repeated. */
void repeat_enqueued(ssq_queue *queue, ssq_status st)
{
    struct repeat *r = repeat_enter(queue);
    if (r == NULL)
        return;
    if (r->mode == LEARNS &&
        (st != SSQ_OK || !r->in_op || !sequence_has_command(r->learnt)))
        drop_learnt(r);
    r->in_op = false;
    repeat_leave(r);
}

bool repeat_bundle_begin(ssq_queue *queue)
{
    struct repeat *r = repeat_enter(queue);
    if (r == NULL)
        return false;
    bool waits = r->mode == FOLLOWS;
    r->bundle_from = r->at.entry;
    repeat_leave(r);
    return waits;
}

ssq_status repeat_bundle_end(ssq_queue *queue, ssq_status st)
{
    struct repeat *r = repeat_enter(queue);
    if (r == NULL)
        return st;
    if (r->mode == FOLLOWS && st == SSQ_OK)
        st = repeat_advance(queue, r, false);
    if (r->mode == FOLLOWS && st != SSQ_OK)
        r->at.entry = r->bundle_from;
    if (r->mode == LEARNS && st != SSQ_OK)
        drop_learnt(r);
    repeat_leave(r);
    return st;
}

/* ---- scratch ---- */

ssq_buffer *repeat_scratch(ssq_queue *queue, uint64_t bytes)
{
    struct repeat *r = repeat_enter(queue);
    ssq_buffer *b = NULL;
    if (r == NULL)
        return NULL;
    if (r->mode == FOLLOWS && r->at.scratch < r->follows->n_scratch)
        b = r->follows->scratch[r->at.scratch];
    if (b != NULL && b->bytes == bytes) {
        object_get(&b->object);
        r->at.scratch++;
    } else {
        b = NULL;
        if (r->mode == FOLLOWS) /* its op cannot be the followed one */
            (void)diverge(queue, r);
    }
    repeat_leave(r);
    return b;
}

void repeat_scratch_learn(ssq_queue *queue, ssq_buffer *buffer)
{
    struct repeat *r = repeat_enter(queue);
    if (r == NULL)
        return;
    if (r->mode == LEARNS && !sequence_scratch(r->learnt, buffer))
        drop_learnt(r);
    repeat_leave(r);
}

/* ---- pauses ---- */

/* Hand over the waiting ops, and let later ops begin another part. */
static ssq_status repeat_settle(ssq_queue *q, struct repeat *r)
{
    ssq_status st = SSQ_OK;
    const struct part *p = r->mode == FOLLOWS ? part_at(r) : NULL;
    if (r->mode == FOLLOWS && q->bundle_depth == 0 && p != NULL &&
        r->at.entry == p->n)
        st = repeat_advance(q, r, true);
    else if (r->mode == FOLLOWS && (q->bundle_depth > 0 || r->at.entry > 0))
        st = diverge(q, r);
    if (st != SSQ_OK || r->mode != LEARNS)
        return st;
    if (r->in_op || q->bundle_depth > 0)
        drop_learnt(r);
    else
        sequence_close(r->learnt);
    return SSQ_OK;
}

ssq_status repeat_pause(ssq_queue *queue)
{
    struct repeat *r =
        atomic_load_explicit(&queue->repeat, memory_order_acquire);
    ssq_status st = SSQ_OK;
    if (r == NULL)
        return SSQ_OK;
    pthread_mutex_lock(&r->lock);
    if (atomic_load(&r->owner) != NULL && r->paused == 0 &&
        queue->capture == NULL)
        st = repeat_settle(queue, r);
    if (st == SSQ_OK)
        r->paused++;
    pthread_mutex_unlock(&r->lock);
    return st;
}

void repeat_resume(ssq_queue *queue)
{
    struct repeat *r =
        atomic_load_explicit(&queue->repeat, memory_order_acquire);
    if (r == NULL)
        return;
    pthread_mutex_lock(&r->lock);
    r->paused--;
    pthread_mutex_unlock(&r->lock);
}

ssq_status repeat_flush(ssq_queue *queue)
{
    ssq_status st = repeat_pause(queue);
    if (st == SSQ_OK)
        repeat_resume(queue);
    return st;
}

/* ---- spans ---- */

/* End a span that follows a sequence. If it has reached the end, the sequence
 * has come again. If it stopped earlier, its ops become a new sequence. */
static ssq_status end_followed(ssq_queue *q, struct repeat *r, bool *whole)
{
    const struct part *p = part_at(r);
    ssq_status st = SSQ_OK;
    if (p != NULL && r->at.entry == p->n)
        st = repeat_advance(q, r, true);
    if (st != SSQ_OK)
        return st;
    if (r->at.part == r->follows->n) {
        *whole = true;
        r->fruitless = 0;
        came(r, r->follows);
    } else if (r->at.part > 0 || r->at.entry > 0) {
        st = diverge(q, r);
        if (st == SSQ_OK)
            keep_learnt(r);
    }
    return st;
}

static ssq_status core_repeat_end(ssq_queue *q, struct repeat *r, bool *whole)
{
    ssq_status st = SSQ_OK;
    if (r->mode == FOLLOWS)
        st = end_followed(q, r, whole);
    else if (r->mode == LEARNS)
        keep_learnt(r);
    if (st != SSQ_OK)
        return st;
    r->mode = PLAIN;
    r->follows = NULL;
    atomic_store(&r->owner, NULL);
    return SSQ_OK;
}

/* Begin a span. Follow the sequence that came after the last one, else the last
 * one itself. */
static void core_repeat_begin(const ssq_queue *q, struct repeat *r,
                              const void *owner)
{
    if (r->pins != q->device->pinned) /* implementations may differ now */
        forget_all(r);
    r->pins = q->device->pinned;
    r->spans++;
    r->at = (struct place){0, 0, 0};
    r->in_op = false;
    r->mode = PLAIN;
    r->follows = r->last == NULL          ? r->all
                 : r->last->after != NULL ? r->last->after
                                          : r->last;
    if (r->follows != NULL)
        r->mode = FOLLOWS;
    else if (may_learn(r) && (r->learnt = sequence_create()) != NULL)
        r->mode = LEARNS;
    atomic_store(&r->owner, owner);
}

ssq_status repeat_create(ssq_queue *queue)
{
    if (atomic_load(&queue->repeat) != NULL)
        return SSQ_OK;
    struct repeat *r = mem_alloc(sizeof(*r)), *none = NULL;
    if (r == NULL)
        return error_nomem("repeat", sizeof(*r));
    pthread_mutex_init(&r->lock, NULL);
    r->mode = PLAIN;
    if (!atomic_compare_exchange_strong(&queue->repeat, &none, r))
        repeat_free(r);
    return SSQ_OK;
}

ssq_status repeat_begin(ssq_queue *queue, const void *owner)
{
    struct repeat *r = atomic_load(&queue->repeat);
    ssq_status st = SSQ_OK;
    bool whole;
    if (r == NULL)
        return SSQ_OK;
    pthread_mutex_lock(&r->lock);
    if (atomic_load(&r->owner) != NULL)
        st = core_repeat_end(queue, r, &whole);
    if (st == SSQ_OK && queue->capture == NULL)
        core_repeat_begin(queue, r, owner);
    pthread_mutex_unlock(&r->lock);
    return st;
}

ssq_status repeat_end(ssq_queue *queue, const void *owner, bool *whole)
{
    struct repeat *r = atomic_load(&queue->repeat);
    ssq_status st = SSQ_OK;
    *whole = false;
    if (r == NULL)
        return SSQ_OK;
    pthread_mutex_lock(&r->lock);
    if (atomic_load(&r->owner) == owner)
        st = core_repeat_end(queue, r, whole);
    pthread_mutex_unlock(&r->lock);
    return st;
}

void repeat_forget(ssq_queue *queue)
{
    struct repeat *r = atomic_load(&queue->repeat);
    bool whole;
    if (r == NULL)
        return;
    pthread_mutex_lock(&r->lock);
    if (atomic_load(&r->owner) == NULL ||
        core_repeat_end(queue, r, &whole) == SSQ_OK)
        forget_all(r);
    pthread_mutex_unlock(&r->lock);
}

/* ---- with the queue ---- */

void repeat_free(struct repeat *r)
{
    if (r == NULL)
        return;
    sequence_free(r->learnt);
    forget_all(r);
    pthread_mutex_destroy(&r->lock);
    mem_free(r);
}

void repeat_hold(struct repeat *r)
{
    if (r != NULL)
        pthread_mutex_lock(&r->lock);
}

void repeat_let_go(struct repeat *r)
{
    if (r != NULL)
        pthread_mutex_unlock(&r->lock);
}
