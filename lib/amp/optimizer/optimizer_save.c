/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_save.c - save an optimizer as a blob, and load it: parameters,
 * masters, moments, t and the random counter.
 *
 * One function walks through everything in one order, for every purpose, so
 * that measuring, writing and reading cannot disagree. Tensors are copied
 * directly to and from their position in the blob, so a mapped file needs no
 * second copy in memory. */
#include "lib/amp/common/blob.h"
#include "lib/amp/optimizer/optimizer.h"

#include <string.h>

/* What a walk does at each tensor. COUNT has no blob, and adds the bytes. CHECK
 * reads a whole blob and changes nothing. If everything is valid, LOAD reads it
 * again and uses the values. */
enum walk { WALK_COUNT, WALK_SAVE, WALK_CHECK, WALK_LOAD };

struct saving {
    ssq_queue *queue;
    const ssq_optimizer *o;
    enum walk walk;
    struct blob b;
    const char *what;     /* begins an error's text */
    uint32_t counters[2]; /* t and the random counter */
};

static ssq_status optimizer_save_differs(const struct saving *s,
                                         const char *name, const char *field,
                                         unsigned long long got,
                                         unsigned long long want)
{
    return error_set(SSQ_ERR_INVALID,
                     "%s: %s of %.40s is %llu in the blob, expected %llu",
                     s->what, field, name, got, want);
}

/* Compare a number that must be the same in the blob. Saving writes the number
 * of this optimizer. Loading reads the blob's into x and discards it: a
 * difference is an error. */
static ssq_status optimizer_save_same(struct saving *s, const char *name,
                                      const char *field, uint64_t want)
{
    uint64_t x = want;
    blob_u64(&s->b, &x);
    return s->walk == WALK_CHECK && x != want
               ? optimizer_save_differs(s, name, field, x, want)
               : SSQ_OK;
}

/* Process the bytes of a tensor. The position is taken even if there are no
 * bytes, because a gap may come before it. A blob that ends too early has no
 * position for the tensor. A check needs none: blob_done() reports it. */
static ssq_status optimizer_save_tensor(struct saving *s, const ssq_tensor *t)
{
    uint64_t bytes =
        (uint64_t)view_elements(&t->view) * dtype_bytes(t->view.dtype);
    void *at = blob_bytes(&s->b, (size_t)bytes);
    if (bytes == 0)
        return SSQ_OK;
    if (s->walk == WALK_SAVE)
        return queue_download(s->queue, &t->view, at, bytes);
    return s->walk == WALK_LOAD ? queue_upload(s->queue, &t->view, at, bytes)
                                : SSQ_OK;
}

/* A name is its length and its bytes, without the terminating 0. An error shows
 * both names. The blob's name may contain anything, so it is cut to the length
 * of ours. */
static ssq_status optimizer_save_name_of(struct saving *s, const char *name)
{
    size_t n = strlen(name);
    ssq_status st = optimizer_save_same(s, name, "the length of the name", n);
    if (st != SSQ_OK)
        return st;
    char *at = blob_bytes(&s->b, n);
    if (s->walk == WALK_SAVE)
        memcpy(at, name, n);
    if (s->walk == WALK_CHECK && (at == NULL || memcmp(at, name, n) != 0))
        return error_set(SSQ_ERR_INVALID,
                         "%s: the blob has parameter %.*s, expected %.40s",
                         s->what, at == NULL ? 0 : (int)(n < 40 ? n : 40),
                         at == NULL ? "" : at, name);
    return SSQ_OK;
}

/* Return the slots of a parameter, a bit for each. Their tensors follow in the
 * blob. */
static uint64_t slots_of(const ssq_optimizer *o, size_t i)
{
    uint64_t bits = 0;
    for (size_t k = 0; k < SLOTS; k++)
        bits |= (uint64_t)(o->state->slot[i * SLOTS + k] != NULL) << k;
    return bits;
}

/* All numbers that determine how many bytes follow are compared before the
 * bytes. Masters and moments are saved with the model, because the lower bits
 * of a master cannot be derived from the model. */
static ssq_status parameter(struct saving *s, size_t i)
{
    const struct parameter *p = &s->o->params[i];
    const struct view *v = &p->param->view;
    ssq_status st = optimizer_save_name_of(s, p->name);
    if (st == SSQ_OK)
        st = optimizer_save_same(s, p->name, "the dtype", (uint64_t)v->dtype);
    if (st == SSQ_OK)
        st = optimizer_save_same(s, p->name, "the kind of master",
                                 p->master_kind);
    if (st == SSQ_OK)
        st = optimizer_save_same(s, p->name, "the set of moments",
                                 slots_of(s->o, i));
    if (st == SSQ_OK)
        st = optimizer_save_same(s, p->name, "the rank", (uint64_t)v->rank);
    for (int k = 0; k < v->rank && st == SSQ_OK; k++)
        st = optimizer_save_same(s, p->name, "a dimension",
                                 (uint64_t)v->shape[k]);
    if (st == SSQ_OK)
        st = optimizer_save_tensor(s, p->param);
    for (size_t k = 0; k < SLOTS && st == SSQ_OK; k++)
        if (s->o->state->slot[i * SLOTS + k] != NULL)
            st = optimizer_save_tensor(s, s->o->state->slot[i * SLOTS + k]);
    return st;
}

/* t is an unsigned word, and callers get it as an i32. No run reaches a
 * negative one. */
static ssq_status optimizer_save_check_counters(const struct saving *s)
{
    if (s->walk != WALK_CHECK || s->counters[CONTROL_T] <= INT32_MAX)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID, "%s: t is %d, expected 0 to %d", s->what,
                     (int)(int32_t)s->counters[CONTROL_T], INT32_MAX);
}

/* Walk through everything in order. The counters are copied like tensors,
 * directly to their position, because the host does not know them in a save.
 * The two numbers before them are u64, so blob_bytes() leaves no gap there, and
 * blob_u32() reads the words at the same position. */
static ssq_status optimizer_save_walk(struct saving *s, enum walk how)
{
    const ssq_optimizer *o = s->o;
    s->walk = how;
    ssq_status st =
        optimizer_save_same(s, "the optimizer", "the kind", o->kind);
    if (st == SSQ_OK)
        st = optimizer_save_same(s, "the optimizer", "the number of parameters",
                                 o->n);
    if (how != WALK_SAVE || st != SSQ_OK) {
        for (int k = 0; k < 2; k++)
            blob_u32(&s->b, &s->counters[k]);
    } else {
        st = queue_download(s->queue, &o->state->counters->view,
                            blob_bytes(&s->b, sizeof(s->counters)),
                            sizeof(s->counters));
    }
    if (st == SSQ_OK)
        st = optimizer_save_check_counters(s);
    if (st == SSQ_OK && how == WALK_LOAD)
        st = queue_upload_now(s->queue, &o->state->counters->view, s->counters,
                              sizeof(s->counters));
    for (size_t i = 0; i < o->n && st == SSQ_OK; i++)
        st = parameter(s, i);
    return st;
}

ssq_status optimizer_at_rest(ssq_queue *queue, ssq_optimizer *o,
                             const char *what)
{
    ssq_status st = optimizer_call(queue, o, what);
    if (st == SSQ_OK && queue_capturing(queue))
        st = error_set(SSQ_ERR_INVALID, "%s: a graph is being captured", what);
    if (st == SSQ_OK)
        st = optimizer_watch(queue, o);
    if (st == SSQ_OK && (o->at.stage != STAGE_READY || o->at.accumulating))
        st =
            error_set(SSQ_ERR_INVALID,
                      "%s: a step is under way: %s since the last update", what,
                      o->at.accumulating             ? "gradients were added up"
                      : o->at.stage == STAGE_CHECKED ? "gradients were checked"
                                                     : "it was stepped");
    return st == SSQ_OK ? optimizer_seal(queue, o, what) : st;
}

/* Check what save and load check first. */
static ssq_status optimizer_save_enter(ssq_queue *queue, ssq_optimizer *o,
                                       const char *what)
{
    ssq_status st = optimizer_call(queue, o, what);
    if (st == SSQ_OK && o->comm != NULL)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the optimizer is distributed: rank %u has a part "
                         "of it; ssq_checkpoint_save and _load are for all",
                         what, ssq_comm_rank(o->comm));
    return st == SSQ_OK ? optimizer_at_rest(queue, o, what) : st;
}

/* Without a blob the caller only gets the size, and nothing is copied. The blob
 * is sealed after the sync, because its checksum covers bytes that must have
 * arrived. */
ssq_status ssq_optimizer_save(ssq_queue *queue, ssq_optimizer *optimizer,
                              void *blob, size_t bytes, size_t *needed)
{
    const char *what = "optimizer_save";
    ssq_status st = optimizer_save_enter(queue, optimizer, what);
    if (st != SSQ_OK)
        return st;
    struct saving s = {.queue = queue, .o = optimizer, .what = what};
    blob_write(&s.b, NULL, 0, BLOB_OPTIMIZER);
    st = optimizer_save_walk(&s, WALK_COUNT);
    size_t size = blob_size(&s.b);
    if (st == SSQ_OK)
        st = blob_room(blob, bytes, size, needed, what);
    if (st != SSQ_OK || blob == NULL)
        return st;
    blob_write(&s.b, blob, size, BLOB_OPTIMIZER);
    st = optimizer_save_walk(&s, WALK_SAVE);
    ssq_status synced = queue_wait(queue); /* always: copies are in flight */
    if (st == SSQ_OK)
        st = synced;
    if (st == SSQ_OK)
        blob_seal(&s.b, BLOB_OPTIMIZER);
    return st;
}

/* The copies are a bundle, because half of another optimizer's state would be
 * invalid. t may have changed, and a schedule on the host needs it. */
ssq_status ssq_optimizer_load(ssq_queue *queue, ssq_optimizer *optimizer,
                              const void *blob, size_t bytes)
{
    const char *what = "optimizer_load";
    struct saving s = {.queue = queue, .o = optimizer, .what = what};
    ssq_status st = optimizer_save_enter(queue, optimizer, what);
    if (st == SSQ_OK)
        st = blob_read(&s.b, blob, bytes, BLOB_OPTIMIZER, what);
    if (st != SSQ_OK)
        return st;
    struct blob begin = s.b;
    st = optimizer_save_walk(&s, WALK_CHECK);
    if (st == SSQ_OK)
        st = blob_done(&s.b, what);
    if (st != SSQ_OK)
        return st;
    st = queue_bundle_begin(queue);
    if (st != SSQ_OK)
        return st;
    s.b = begin;
    st = queue_bundle_end(queue, optimizer_save_walk(&s, WALK_LOAD));
    if (st == SSQ_OK)
        optimizer_tell(queue, optimizer);
    ssq_status synced = queue_wait(queue); /* the caller owns the blob */
    return st == SSQ_OK ? synced : st;
}
