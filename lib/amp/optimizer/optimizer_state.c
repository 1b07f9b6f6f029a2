/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_state.c - masters, moments and words: created at the first use.
 *
 * All memory of an optimizer is allocated here at once: either the whole state
 * exists or none of it. Each slot of each group is one flat buffer without
 * gaps, in the order of ssq_optimizer_add (several buffers if a device binds
 * less).
 *
 * The lists of views are created here once, and are the same in every step. A
 * step therefore costs the host a few ops, for any number of parameters. */
#include "lib/amp/optimizer/optimizer.h"

#include <sesqui/ops/data.h>

#include "lib/amp/optimizer/split.h"
#include "lib/core/core.h"
#include "lib/amp/optimizer/buckets.h"
#include "lib/amp/optimizer/shards.h"

#include <stdio.h>

static void put_tensor(ssq_tensor *t)
{
    if (t != NULL)
        object_put(&t->object);
}

/* Arrays may be incomplete or absent: missing tensors are NULL. */
static void optimizer_state_put_tensors(ssq_tensor **t, size_t n)
{
    for (size_t i = 0; t != NULL && i < n; i++)
        put_tensor(t[i]);
    mem_free(t);
}

static void put_list(struct view_list *l)
{
    if (l != NULL)
        object_put(&l->object);
}

static void put_lists(struct lists *l)
{
    put_list(l->check);
    put_list(l->unscale);
    put_list(l->step);
    *l = (struct lists){NULL, NULL, NULL};
}

/* The state may be incomplete. Commands and graphs that will still run hold its
 * buffers and lists. */
void state_free(struct state *s)
{
    if (s == NULL)
        return;
    readback_put(s->readback);
    put_tensor(s->counters);
    put_tensor(s->control);
    put_tensor(s->table);
    put_tensor(s->record);
    put_tensor(s->stats);
    put_tensor(s->ratio);
    optimizer_state_put_tensors(s->slot, s->n * SLOTS);
    optimizer_state_put_tensors(s->flat, s->groups);
    optimizer_state_put_tensors(s->sum, s->n);
    put_lists(&s->grads);
    put_lists(&s->sums);
    put_list(s->to_master);
    put_list(s->to_model);
    put_list(s->schedules);
    put_list(s->accumulate);
    buckets_free(s->buckets);
    shards_free(s->shards);
    mem_free(s);
}

/* ---- slots ---- */

/* A master depends on the dtype of the parameter, other slots on the options of
 * its group. A rank without an element of a parameter has no slot of it. */
static bool has_slot(const ssq_optimizer *o, const struct state *s, size_t i,
                     int slot)
{
    const struct parameter *p = &o->params[i];
    if (shard_count(o, s, i) == 0 && view_elements(&p->param->view) > 0)
        return false;
    if (slot == SLOT_MASTER)
        return p->master_kind == MASTER_F32 || p->master_kind == MASTER_SPLIT;
    return p->group->slot[slot];
}

/* Return the bytes of a parameter in a slot. Slots are float32 for any dtype of
 * the parameter, except for the 16 bits of a remainder. */
static uint64_t slot_bytes(const ssq_optimizer *o, const struct state *s,
                           size_t i, int slot)
{
    const struct parameter *p = &o->params[i];
    uint64_t n = (uint64_t)shard_count(o, s, i);
    return n * (slot == SLOT_MASTER && p->master_kind == MASTER_SPLIT ? 2 : 4);
}

/* Set *part to elements from .. from + n - 1 of a flat tensor, in the
 * parameter's shape. A remainder stays flat, because it has two bytes for each
 * element. The slice holds the buffer, so the flat tensor may be destroyed. */
static ssq_status optimizer_state_cut(const ssq_tensor *flat, uint64_t from,
                                      uint64_t n, const struct view *shape,
                                      ssq_tensor **part)
{
    ssq_tensor *slice = NULL;
    ssq_status st = ssq_tensor_slice(flat, 0, (int64_t)from,
                                     (int64_t)(from + n), 1, &slice);
    if (st != SSQ_OK || shape == NULL) {
        if (st == SSQ_OK)
            *part = slice;
        return st;
    }
    st = ssq_tensor_reshape(slice, shape->rank, shape->shape, part);
    object_put(&slice->object);
    return st;
}

/* A fill without elements would do nothing, and is left out. */
static ssq_status optimizer_state_fill(ssq_queue *queue, const ssq_tensor *t,
                                       float value)
{
    struct fill_op op = {.op = OP_HEADER(fill, y),
                         .bits = AS_U32(value),
                         .y = tensor_view(t, ACCESS_WRITE)};
    return view_elements(&op.y) == 0 ? SSQ_OK : queue_enqueue(queue, &op.op);
}

/* Set the initial value of a slot. Only Adagrad's sum, which is its only slot,
 * may begin with another value than 0. A master is written from the model
 * later. */
static ssq_status optimizer_state_fill_slot(ssq_queue *queue,
                                            const ssq_group *g, int slot,
                                            const ssq_tensor *flat)
{
    if (slot == SLOT_MASTER)
        return SSQ_OK;
    struct fpenv env = fpenv_enter();
    float value = (float)g->options.initial_accumulator; /* or 0 */
    FPENV_KEEP(value);
    fpenv_leave(env);
    return optimizer_state_fill(queue, flat, value);
}

/* Parameters in the order of their groups. Within a group they are in the order
 * in which they were added. */
struct grouped {
    size_t *number; /* of each parameter; owned */
    size_t *end;    /* by group: one past its last parameter; owned */
};

static void grouped_free(struct grouped *by)
{
    mem_free(by->number);
    mem_free(by->end);
}

/* Counting sort: count the parameters of each group, then place them. */
static ssq_status grouped_make(const ssq_optimizer *o, struct grouped *by)
{
    size_t at = 0;
    by->number = mem_alloc_array(o->n, sizeof(*by->number));
    by->end = mem_alloc_array(o->n_groups, sizeof(*by->end));
    if (by->number == NULL || by->end == NULL)
        return error_nomem("optimizer", o->n * sizeof(*by->number));
    for (size_t i = 0; i < o->n; i++)
        by->end[o->params[i].group->index]++;
    for (unsigned g = 0; g < o->n_groups; g++) {
        size_t n = by->end[g];
        by->end[g] = at;
        at += n;
    }
    for (size_t i = 0; i < o->n; i++)
        by->number[by->end[o->params[i].group->index]++] = i;
    return SSQ_OK;
}

/* Return the end of the parameters from `at` on whose slot fits into one
 * buffer. A parameter is never divided between buffers. If it is too long by
 * itself, it is also in one buffer, and lists have it in pieces. A flat master
 * is one buffer of any length, because the caller requested this. */
static size_t flat_end(const struct state *s, const ssq_group *g, int slot,
                       const struct grouped *by, size_t at, uint64_t *bytes)
{
    const ssq_optimizer *o = g->optimizer;
    uint64_t limit = o->device->props.binding_bytes;
    *bytes = 0;
    for (; at < by->end[g->index]; at++) {
        size_t i = by->number[at];
        if (!has_slot(o, s, i, slot))
            continue;
        uint64_t b = slot_bytes(o, s, i, slot);
        bool full = *bytes >= limit || b > limit - *bytes;
        if (*bytes > 0 && full && !o->options.flat_master)
            break;
        *bytes += b;
    }
    return at;
}

/* Create one flat buffer for `count` parameters of a group. Split and float32
 * masters are never in one buffer: an optimizer has only one kind. If no
 * parameter has the slot, the buffer is empty and released before this returns,
 * except for a flat master, which a caller may request. */
static ssq_status make_flat(ssq_queue *queue, struct state *s, ssq_group *g,
                            int slot, const size_t *number, size_t count,
                            uint64_t bytes)
{
    const ssq_optimizer *o = g->optimizer;
    bool split = slot == SLOT_MASTER && o->options.master == SSQ_MASTER_SPLIT;
    uint64_t size = split ? 1 : 4, at = 0;
    const int64_t n = (int64_t)(bytes / size);
    ssq_tensor *flat = NULL;
    ssq_status st =
        tensor_create(o->device, split ? SSQ_U8 : SSQ_F32, 1, &n, &flat);
    if (st != SSQ_OK)
        return st;
    st = optimizer_state_fill_slot(queue, g, slot, flat);
    for (size_t k = 0; k < count && st == SSQ_OK; k++) {
        size_t i = number[k];
        const struct parameter *p = &o->params[i];
        if (!has_slot(o, s, i, slot))
            continue;
        uint64_t part = slot_bytes(o, s, i, slot) / size;
        struct view shape = shard_view(o, s, i, &p->param->view);
        st = optimizer_state_cut(flat, at, part, split ? NULL : &shape,
                                 &s->slot[i * SLOTS + (size_t)slot]);
        at += part;
    }
    if (st == SSQ_OK && slot == SLOT_MASTER && o->options.flat_master) {
        object_get(&flat->object);
        s->flat[g->index] = flat;
    }
    object_put(&flat->object);
    return st;
}

/* Create a slot of a group whose first parameter is by->number[from]. A group
 * without parameters has one empty buffer. */
static ssq_status optimizer_state_make_slot(ssq_queue *queue, struct state *s,
                                            ssq_group *g, int slot,
                                            const struct grouped *by,
                                            size_t from)
{
    ssq_status st;
    do {
        uint64_t bytes;
        size_t end = flat_end(s, g, slot, by, from, &bytes);
        st = make_flat(queue, s, g, slot, by->number + from, end - from, bytes);
        from = end;
    } while (from < by->end[g->index] && st == SSQ_OK);
    return st;
}

/* Create all slots, group by group. Tensors are stored in the state as they are
 * created, so that state_free() finds them if something fails. */
static ssq_status make_slots(ssq_queue *queue, const ssq_optimizer *o,
                             struct state *s)
{
    s->slot = mem_alloc_array(o->n * SLOTS, sizeof(ssq_tensor *));
    s->flat = mem_alloc_array(o->n_groups, sizeof(ssq_tensor *));
    if (s->slot == NULL || s->flat == NULL)
        return error_nomem("optimizer", o->n * SLOTS * sizeof(ssq_tensor *));
    struct grouped by = {NULL, NULL};
    ssq_status st = grouped_make(o, &by);
    size_t from = 0;
    for (ssq_group *g = o->groups; g != NULL && st == SSQ_OK; g = g->next) {
        for (int slot = 0; slot < SLOTS && st == SSQ_OK; slot++)
            st = optimizer_state_make_slot(queue, s, g, slot, &by, from);
        from = by.end[g->index];
    }
    grouped_free(&by);
    return st;
}

/* ---- lists ---- */

/* Return the view that a check or step reads for parameter i: its gradient, or
 * the float32 sum of several; only this rank's part. */
static struct view optimizer_state_gradient(const ssq_optimizer *o,
                                            const struct state *s, bool sums,
                                            size_t i)
{
    return shard_view(o, s, i,
                      sums ? &s->sum[i]->view : &o->params[i].grad->view);
}

/* Return the cut of a parameter, which is the same for all its operands: piece
 * k of each has the same elements. */
static struct cut cut_param(const ssq_optimizer *o, const struct state *s,
                            size_t i)
{
    struct view part = shard_view(o, s, i, &o->params[i].param->view);
    return cut_of(o->device, &part);
}

/* Set the pieces of an operand of a parameter: every `step`-th view of the
 * list, from `at` on. */
static void optimizer_state_set_pieces(struct view_list *l, size_t at,
                                       size_t step, const struct cut *cut,
                                       const struct view *v, enum access access)
{
    for (size_t k = 0; k < cut->pieces; k++) {
        struct view piece = cut_piece(cut, v, k);
        list_set(l, at + k * step, &piece, access);
    }
}

/* Create a list with an entry for each piece, of PARAM_VIEWS consecutive views.
 * Views of slots that do not exist are absent. */
static struct view_list *step_list(const ssq_optimizer *o,
                                   const struct state *s, bool sums)
{
    struct view_list *l = list_create(s->pieces * PARAM_VIEWS, "optimizer");
    if (l == NULL)
        return NULL;
    for (size_t i = 0, at = 0; i < o->n; i++) {
        struct cut cut = cut_param(o, s, i);
        struct view p = shard_view(o, s, i, &o->params[i].param->view);
        struct view g = optimizer_state_gradient(o, s, sums, i);
        optimizer_state_set_pieces(l, at, PARAM_VIEWS, &cut, &p, ACCESS_UPDATE);
        optimizer_state_set_pieces(l, at + 1, PARAM_VIEWS, &cut, &g,
                                   ACCESS_READ);
        for (size_t k = 0; k < SLOTS; k++)
            if (s->slot[i * SLOTS + k] != NULL)
                optimizer_state_set_pieces(l, at + 2 + k, PARAM_VIEWS, &cut,
                                           &s->slot[i * SLOTS + k]->view,
                                           ACCESS_UPDATE);
        at += cut.pieces * PARAM_VIEWS;
    }
    return l;
}

/* Create lists over gradients, or over their sums. unscale writes the gradients
 * in both cases, because the caller reads these. All three lists are created,
 * or none. */
static ssq_status make_lists(const ssq_optimizer *o, const struct state *s,
                             bool sums, struct lists *l)
{
    l->check = list_create(s->pieces, "optimizer");
    l->unscale = list_create(2 * s->pieces, "optimizer");
    l->step = step_list(o, s, sums);
    if (l->check == NULL || l->unscale == NULL || l->step == NULL) {
        put_lists(l);
        return SSQ_ERR_NOMEM;
    }
    for (size_t i = 0, at = 0; i < o->n; i++) {
        struct cut cut = cut_param(o, s, i);
        struct view g = optimizer_state_gradient(o, s, sums, i),
                    out = optimizer_state_gradient(o, s, false, i);
        optimizer_state_set_pieces(l->check, at, 1, &cut, &g, ACCESS_READ);
        optimizer_state_set_pieces(l->unscale, at, 1, &cut, &g, ACCESS_READ);
        optimizer_state_set_pieces(l->unscale, s->pieces + at, 1, &cut, &out,
                                   ACCESS_WRITE);
        at += cut.pieces;
    }
    return SSQ_OK;
}

/* Create a list of pairs from the model to masters and remainders, or back to
 * the model. Remainders are not written back: the model is the other half of
 * them. A list cannot grow, so the first pass counts the views and the second
 * sets them.
 */
static struct view_list *master_list(const ssq_optimizer *o,
                                     const struct state *s, bool to_model)
{
    size_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        struct view_list *l = pass == 0 ? NULL : list_create(n, "optimizer");
        if (pass == 1 && l == NULL)
            return NULL;
        n = 0;
        for (size_t i = 0; i < o->n; i++) {
            const ssq_tensor *m = s->slot[i * SLOTS + SLOT_MASTER];
            struct view p = shard_view(o, s, i, &o->params[i].param->view);
            if (m == NULL ||
                (to_model && o->params[i].master_kind != MASTER_F32))
                continue;
            struct cut cut = cut_param(o, s, i);
            if (l != NULL) {
                optimizer_state_set_pieces(
                    l, n, 2, &cut, to_model ? &m->view : &p, ACCESS_READ);
                optimizer_state_set_pieces(
                    l, n + 1, 2, &cut, to_model ? &p : &m->view, ACCESS_WRITE);
            }
            n += 2 * cut.pieces;
        }
        if (pass == 1)
            return l;
    }
    return NULL;
}

/* ---- words ---- */

/* Create the control block from the host's options. tick's words and the
 * counters are 0. The readback begins with the same words, so that a read
 * before the first step returns them. `counters` is a separate tensor of the
 * first two words, for visits and copies. */
static ssq_status make_control(ssq_queue *queue, const ssq_optimizer *o,
                               struct state *s)
{
    const int64_t n = CONTROL_WORDS + (int64_t)o->n_groups * GROUP_WORDS;
    uint32_t *words = mem_alloc_array((size_t)n, sizeof(*words));
    if (words == NULL)
        return error_nomem("optimizer", (size_t)n * sizeof(*words));
    words[CONTROL_CLIP] = optimizer_clip_word(o->options.clip_norm);
    words[CONTROL_WANT_NORM] =
        o->options.clip_norm > 0.0 || optimizer_reads(o->kind, OPTION_LAMB);
    words[CONTROL_SEED_LO] = (uint32_t)o->options.seed;
    words[CONTROL_SEED_HI] = (uint32_t)(o->options.seed >> 32);
    words[CONTROL_MAGIC] = CONTROL_MAGIC_VALUE;
    for (const ssq_group *g = o->groups; g != NULL; g = g->next)
        group_words(o->kind, &g->options,
                    words + CONTROL_WORDS + (size_t)g->index * GROUP_WORDS);
    s->readback = readback_create(words, CONTROL_WORDS, CONTROL_MAGIC);
    ssq_status st = s->readback == NULL ? SSQ_ERR_NOMEM : SSQ_OK;
    if (st == SSQ_OK)
        st = tensor_create(o->device, SSQ_I32, 1, &n, &s->control);
    if (st == SSQ_OK)
        st = upload_words(queue, s->control, 0, words, (uint64_t)n);
    if (st == SSQ_OK)
        st = ssq_tensor_slice(s->control, 0, CONTROL_T, CONTROL_RANDOM + 1, 1,
                              &s->counters);
    mem_free(words);
    return st;
}

/* Create the table of facts about parameters that kernels need. */
static ssq_status optimizer_state_make_table(ssq_queue *queue,
                                             const ssq_optimizer *o,
                                             struct state *s)
{
    const int64_t shape[2] = {(int64_t)o->n, TABLE_WORDS};
    uint32_t *words = mem_alloc_array(o->n * TABLE_WORDS, sizeof(*words));
    if (words == NULL)
        return error_nomem("optimizer", o->n * TABLE_WORDS * sizeof(*words));
    for (size_t i = 0; i < o->n; i++) {
        uint32_t *w = words + i * TABLE_WORDS;
        const struct parameter *p = &o->params[i];
        w[TABLE_GROUP] = p->group->index;
        w[TABLE_ID] = p->id;
        w[TABLE_MASTER] = p->master_kind;
        uint64_t first = p->first + (uint64_t)shard_from(s, i);
        w[TABLE_FIRST_LO] = (uint32_t)first;
        w[TABLE_FIRST_HI] = (uint32_t)(first >> 32);
    }
    ssq_status st = tensor_create(o->device, SSQ_I32, 2, shape, &s->table);
    if (st == SSQ_OK)
        st = upload_words(queue, s->table, 0, words, o->n * TABLE_WORDS);
    mem_free(words);
    return st;
}

/* Statistics begin as 0. LAMB's ratios are written by each step before they are
 * read. */
static ssq_status make_extras(ssq_queue *queue, const ssq_optimizer *o,
                              struct state *s)
{
    const int64_t n = (int64_t)o->n, stats[2] = {n, STAT_WORDS};
    ssq_status st = record_create(queue, &s->record);
    if (st == SSQ_OK && optimizer_reads(o->kind, OPTION_LAMB))
        st = tensor_create(o->device, SSQ_F32, 1, &n, &s->ratio);
    if (st != SSQ_OK || !o->options.statistics)
        return st;
    st = tensor_create(o->device, SSQ_I32, 2, stats, &s->stats);
    return st == SSQ_OK ? optimizer_state_fill(queue, s->stats, 0.0f) : st;
}

/* ---- the whole ---- */

/* A schedule that was set before the first use has no table yet. Tables belong
 * to the groups, not to the state. If something fails later they stay there,
 * and are not created again. */
static ssq_status make_schedules(ssq_queue *queue, ssq_optimizer *o)
{
    ssq_status st = SSQ_OK;
    for (ssq_group *g = o->groups; g != NULL; g = g->next)
        for (int k = 0; k < 2 && st == SSQ_OK; k++) {
            struct schedule *s = &g->schedule[k];
            if (s->on && s->words == NULL)
                st = schedule_upload(queue, s, &s->words);
        }
    return st;
}

/* Write masters from the model. If the values that the model was rounded from
 * are known, use those. Both halves of a split master are written: the model is
 * rounded again, as such masters need it. */
static ssq_status begin_masters(ssq_queue *queue, const ssq_optimizer *o,
                                const struct state *s)
{
    struct master_op op = {.op = OP_LIST_HEADER(master, s->to_master),
                           .n = (uint32_t)(s->to_master->n / 2)};
    ssq_status st = op.n == 0 ? SSQ_OK : queue_enqueue(queue, &op.op);
    for (size_t i = 0; i < o->n && st == SSQ_OK; i++) {
        const struct parameter *p = &o->params[i];
        const ssq_tensor *master = s->slot[i * SLOTS + SLOT_MASTER];
        if ((master == NULL && s->shards == NULL) ||
            p->master_kind == MASTER_SELF || p->master_kind == MASTER_NONE ||
            !origin_fresh(p->origin) || view_elements(&p->param->view) == 0)
            continue;
        if (s->shards != NULL) {
            st = shards_write(queue, o, s, i, p->origin->tensor);
            origin_settle(p->origin);
        } else if (p->master_kind == MASTER_F32)
            st = ssq_copy(queue, SSQ_COPY(.x = p->origin->tensor, .y = master));
        else {
            st = split_write(queue, p->origin->tensor, p->param, master);
            origin_settle(p->origin);
        }
    }
    return st;
}

/* Slots come before the lists that contain them, and tables of schedules before
 * the list of these. Masters come last, because only they are read from the
 * caller's memory. If the state is then abandoned, commands that were enqueued
 * for it write memory that they hold and that nothing reads. */
static ssq_status optimizer_state_build(ssq_queue *queue, ssq_optimizer *o,
                                        struct state *s)
{
    ssq_status st = make_control(queue, o, s);
    for (size_t i = 0; i < o->n; i++)
        s->pieces += cut_param(o, s, i).pieces;
    if (st == SSQ_OK)
        st = optimizer_state_make_table(queue, o, s);
    if (st == SSQ_OK)
        st = make_extras(queue, o, s);
    if (st == SSQ_OK)
        st = make_slots(queue, o, s);
    if (st == SSQ_OK)
        st = make_lists(o, s, false, &s->grads);
    if (st == SSQ_OK)
        st = make_schedules(queue, o);
    if (st != SSQ_OK)
        return st;
    s->to_master = master_list(o, s, false);
    s->to_model = master_list(o, s, true);
    s->schedules = schedules_list(o, NULL, 0, NULL);
    if (s->to_master == NULL || s->to_model == NULL || s->schedules == NULL)
        return SSQ_ERR_NOMEM;
    return begin_masters(queue, o, s);
}

/* Refused in a capture: the initialisation would be in the graph, and each
 * launch would restart the training. The slots of each group are decided now.
 * Its options may change later, but not its slots. */
ssq_status optimizer_seal(ssq_queue *queue, ssq_optimizer *o, const char *what)
{
    if (o->state != NULL)
        return SSQ_OK;
    if (o->n == 0)
        return error_set(SSQ_ERR_INVALID, "%s: the optimizer has no parameters",
                         what);
    if (queue_capturing(queue))
        return error_set(SSQ_ERR_INVALID,
                         "%s: a graph is being captured and the optimizer was "
                         "never used: call ssq_optimizer_model_to_master or "
                         "take a step before the capture",
                         what);
    struct state *s = mem_alloc(sizeof(*s));
    if (s == NULL)
        return error_nomem(what, sizeof(*s));
    s->n = o->n;
    s->groups = o->n_groups;
    for (ssq_group *g = o->groups; g != NULL; g = g->next)
        for (int k = SLOT_A; k < SLOTS; k++)
            g->slot[k] = slot_used(g, k);
    ssq_status st =
        o->comm == NULL ? SSQ_OK : shards_create(queue, o, &s->shards);
    if (st == SSQ_OK)
        st = optimizer_state_build(queue, o, s);
    if (st == SSQ_OK)
        o->state = s;
    else
        state_free(s);
    return st;
}

/* Create the sums: separate float32 tensors in the gradients' shapes. In lists
 * they are cut like the parameters. */
static ssq_status make_sums(const ssq_optimizer *o, struct state *s)
{
    s->sum = mem_alloc_array(o->n, sizeof(ssq_tensor *));
    if (s->sum == NULL)
        return error_nomem("optimizer", o->n * sizeof(ssq_tensor *));
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < o->n && st == SSQ_OK; i++) {
        const struct view *v = &o->params[i].grad->view;
        st = tensor_create(o->device, SSQ_F32, v->rank, v->shape, &s->sum[i]);
    }
    if (st == SSQ_OK)
        st = make_lists(o, s, true, &s->sums);
    if (st != SSQ_OK)
        return st;
    size_t pieces = 0;
    for (size_t i = 0; i < o->n; i++)
        pieces += cut_of(o->device, &o->params[i].grad->view).pieces;
    s->accumulate = list_create(2 * pieces, "optimizer");
    if (s->accumulate == NULL)
        return SSQ_ERR_NOMEM;
    for (size_t i = 0, at = 0; i < o->n; i++) {
        struct cut cut = cut_of(o->device, &o->params[i].grad->view);
        optimizer_state_set_pieces(s->accumulate, at, 1, &cut,
                                   &o->params[i].grad->view, ACCESS_READ);
        optimizer_state_set_pieces(s->accumulate, pieces + at, 1, &cut,
                                   &s->sum[i]->view, ACCESS_UPDATE);
        at += cut.pieces;
    }
    return SSQ_OK;
}

/* `accumulate` is created last, so it shows if the sums exist. If something
 * fails, the rest is released, and the next call tries again. */
ssq_status optimizer_sums(ssq_optimizer *o)
{
    struct state *s = o->state;
    if (s->accumulate != NULL)
        return SSQ_OK;
    ssq_status st = make_sums(o, s);
    if (st != SSQ_OK) {
        optimizer_state_put_tensors(s->sum, s->n);
        s->sum = NULL;
        put_lists(&s->sums);
    }
    return st;
}
