/* SPDX-License-Identifier: Apache-2.0 */
/* save.c - save a training to a file. */
#include "lib/amp/optimizer/optimizer.h"
#include "lib/checkpoint/checkpoint.h"
#include "lib/checkpoint/write.h"
#include "lib/core/device/choices.h"
#include "lib/core/queue/queue.h"
#include "lib/tape/params.h"
#include "lib/amp/optimizer/shards.h"

#include <stdio.h>
#include <string.h>

static ssq_status add_params(const struct checkpoint *c, struct writing *w)
{
    const ssq_params *p = c->params;
    const uint32_t words[PARAMS_WORDS] = {p->draws, (uint32_t)p->options.seed,
                                          (uint32_t)(p->options.seed >> 32)};
    ssq_status st = writing_note(w, "", "sesqui.policy", p->policy_name);
    if (st == SSQ_OK)
        st = writing_bytes(w, OWN_PARAMS, SSQ_U32, PARAMS_WORDS, words);
    for (size_t i = 0; i < p->n && st == SSQ_OK; i++) {
        const struct param *x = &p->at[i];
        char number[40];
        if (strncmp(x->name, OWN, sizeof(OWN) - 1) == 0)
            return error_set(SSQ_ERR_INVALID,
                             "%s: the name of parameter \"%.100s\" begins with "
                             "\"" OWN "\"",
                             c->what, x->name);
        snprintf(number, sizeof(number), "%zu%s%s", i,
                 x->state ? PARAM_STATE : "", x->full ? PARAM_FULL : "");
        st = writing_tensor(w, "", x->name, x->tensor);
        if (st == SSQ_OK)
            st = writing_note(w, PARAM_KEY, x->name, number);
    }
    return st;
}

/* ---- the optimizer ---- */

/* The optimizer's states. If they are distributed over ranks, `room` is memory
 * for one whole state. */
struct states {
    struct writing *w;
    const ssq_optimizer *o;
    struct save_piece *piece; /* one for each state; owned */
    size_t n;
    ssq_tensor *room; /* u8, of the size of the largest state; owned, or NULL */
    ssq_tensor whole; /* the state that is in it; not owned */
};

/* The arguments of whole_state() for one state. */
struct save_piece {
    struct states *all;
    size_t param;
    int slot;
    struct view whole;
};

/* Gather the ranks' parts of a state on rank 0. The next state reuses the
 * memory, in the order of the queue. */
static ssq_status whole_state(const void *user, ssq_queue *queue,
                              const ssq_tensor **values, ssq_tensor **made)
{
    const struct save_piece *p = user;
    struct states *s = p->all;
    *made = NULL;
    s->whole.view = s->room->view;
    s->whole.view.dtype = p->whole.dtype;
    s->whole.view.rank = p->whole.rank;
    memcpy(s->whole.view.shape, p->whole.shape, sizeof(p->whole.shape));
    memcpy(s->whole.view.stride, p->whole.stride, sizeof(p->whole.stride));
    *values = &s->whole;
    return shards_whole(queue, s->o, p->param, p->slot, 0, &s->whole);
}

static ssq_status add_state(void *user, const struct state_of *state)
{
    struct states *s = user;
    const struct view *v = &state->whole;
    if (s->room == NULL || state->slot < 0)
        return writing_tensor(s->w, OWN_OPTIMIZER, state->name, state->here);
    struct save_piece *p = &s->piece[s->n++];
    *p = (struct save_piece){s, state->param, state->slot, *v};
    return writing_values(s->w, OWN_OPTIMIZER, state->name, v->dtype, v->rank,
                          v->shape, whole_state, p);
}

static ssq_status save_make_room(const struct checkpoint *c, struct states *s)
{
    int64_t most = 1;
    for (size_t i = 0; i < s->o->n; i++)
        most = size_most(most, view_elements(&s->o->params[i].param->view));
    most *= (int64_t)sizeof(float);
    s->piece = mem_alloc_array(s->o->n * SLOTS, sizeof(*s->piece));
    if (s->piece == NULL)
        return error_nomem(c->what, s->o->n * SLOTS * sizeof(*s->piece));
    return tensor_create(s->o->device, SSQ_U8, 1, &most, &s->room);
}

static ssq_status add_optimizer(const struct checkpoint *c, struct writing *w,
                                struct states *s)
{
    const ssq_optimizer *o = c->optimizer;
    *s = (struct states){.w = w, .o = o};
    ssq_status st =
        writing_note(w, "", "sesqui.optimizer", optimizer_kinds[o->kind].name);
    if (st == SSQ_OK && o->comm != NULL)
        st = save_make_room(c, s);
    return st == SSQ_OK ? optimizer_states(o, add_state, s) : st;
}

/* ---- other parts ---- */

static ssq_status add_scaler(const struct checkpoint *c, struct writing *w)
{
    size_t bytes = 0;
    ssq_status st = ssq_scaler_save(c->queue, c->scaler, NULL, 0, &bytes);
    if (st != SSQ_OK)
        return st;
    unsigned char *blob = mem_alloc_array(bytes, 1);
    if (blob == NULL)
        return error_nomem(c->what, bytes);
    st = ssq_scaler_save(c->queue, c->scaler, blob, bytes, NULL);
    if (st == SSQ_OK)
        st = writing_bytes(w, OWN_SCALER, SSQ_U8, bytes, blob);
    mem_free(blob);
    return st;
}

/* Add the choices that decide the bits of the further training. */
static ssq_status add_choices(const struct checkpoint *c, struct writing *w)
{
    struct choices choice;
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < CHOICES && st == SSQ_OK; i++) {
        choices_of(ssq_queue_device(c->queue), i, &choice);
        st = writing_note(w, CHOICE_KEY, choice.name, choice.text);
    }
    return st;
}

static ssq_status add_all(const struct checkpoint *c, struct writing *w,
                          struct states *states)
{
    ssq_status st = writing_note(w, "", "sesqui.version", CHECKPOINT_VERSION);
    if (st == SSQ_OK && c->weights != NULL)
        st = writing_note(w, "", "sesqui.weights", c->weights);
    if (st == SSQ_OK)
        st = add_choices(c, w);
    if (st == SSQ_OK && c->params != NULL)
        st = add_params(c, w);
    if (st == SSQ_OK && c->optimizer != NULL)
        st = add_optimizer(c, w, states);
    if (st == SSQ_OK && c->scaler != NULL)
        st = add_scaler(c, w);
    if (st == SSQ_OK && c->words != NULL)
        st = writing_bytes(w, OWN_TRAINER, SSQ_U32, c->n_words, c->words);
    return st;
}

/* Write the file, or only gather states if another rank writes it. If writing
 * fails, the remaining collectives still run, so that other ranks do not wait
 * for this one. */
static ssq_status write_or_ask(const struct checkpoint *c, struct writing *w,
                               const char *path)
{
    if (c->elsewhere)
        return writing_ask(w);
    ssq_status st = writing_end(w, path);
    if (st != SSQ_OK && c->optimizer != NULL && c->optimizer->comm != NULL)
        writing_rest(w);
    return st;
}

ssq_status checkpoint_save(struct checkpoint *c, const char *path)
{
    struct writing w;
    struct states states = {.n = 0};
    if (c->optimizer != NULL && ssq_comm_rank(c->optimizer->comm) > 0)
        c->elsewhere = true;
    ssq_status st = checkpoint_call(c, path);
    if (st != SSQ_OK)
        return st;
    writing_begin(&w, c->what, c->queue);
    st = add_all(c, &w, &states);
    if (st == SSQ_OK)
        st = write_or_ask(c, &w, path);
    writing_free(&w);
    ssq_tensor_destroy(&states.room);
    mem_free(states.piece);
    return st;
}

/* ---- the public call ---- */

ssq_status ssq_checkpoint_save(ssq_queue *queue, const char *path,
                               const ssq_checkpoint_args *args)
{
    struct checkpoint c;
    ssq_status st = checkpoint_parts(&c, "checkpoint_save", queue, args);
    return st == SSQ_OK ? checkpoint_save(&c, path) : st;
}
