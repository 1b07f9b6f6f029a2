/* SPDX-License-Identifier: Apache-2.0 */
/* params_stages.c - the states of a set's gradients in a capture.
 *
 * A backward changes the states when it is called, but a capture runs nothing:
 * its end restores them, and each launch sets them as the captured calls did.
 * Whether a backward adds to a gradient or overwrites it is fixed in the
 * graph. */
#include "lib/tape/params.h"

#include <string.h>

/* One byte for each parameter: its state, and whether a call since the last
 * snapshot has added to a gradient from before that snapshot. */
#define ADDED       0x80
#define STATE(BYTE) ((enum grad_state)((BYTE) & ~ADDED))

struct grads {
    unsigned char *state; /* owned; NULL: a snapshot without parameters */
    size_t n;
    uint32_t removals; /* numbers mean the same parameters until a removal */
};

static ssq_status params_stages_save(struct object *owner, void *snapshot)
{
    ssq_params *p = (ssq_params *)owner;
    struct grads *to = snapshot;
    unsigned char *state = NULL;
    if (p->n > 0) {
        state = mem_alloc(p->n);
        if (state == NULL)
            return error_nomem("graph", p->n);
    }
    for (size_t i = 0; i < p->n; i++) {
        struct param *x = &p->at[i];
        state[i] = (unsigned char)(x->grad_state | (x->added ? ADDED : 0));
        x->added = x->begun = false;
    }
    *to = (struct grads){state, p->n, p->removals};
    return SSQ_OK;
}

static void params_stages_drop(void *snapshot)
{
    struct grads *s = snapshot;
    mem_free(s->state);
    *s = (struct grads){NULL, 0, 0};
}

static void params_stages_restore(struct object *owner, const void *snapshot)
{
    ssq_params *p = (ssq_params *)owner;
    const struct grads *s = snapshot;
    if (s->removals != p->removals)
        return;
    for (size_t i = 0; i < p->n && i < s->n; i++)
        p->at[i].grad_state = STATE(s->state[i]);
}

/* No state makes a captured step incomplete. */
static int params_stages_number(const void *snapshot)
{
    (void)snapshot;
    return 0;
}

/* Refuse to add to a gradient that is stale. */
static ssq_status params_stages_ready(struct object *owner, const void *begin,
                                      const void *end)
{
    const ssq_params *p = (const ssq_params *)owner;
    const struct grads *e = end;
    (void)begin;
    if (e->removals != p->removals)
        return SSQ_OK;
    for (size_t i = 0; i < e->n && i < p->n; i++)
        if ((e->state[i] & ADDED) != 0 && p->at[i].grad_state != GRAD_FULL)
            return error_set(
                SSQ_ERR_INVALID,
                "graph_launch: the graph adds to the gradient of \"%s\", which "
                "has been cleaned since: launch it after a backward, or "
                "capture the pass after ssq_params_clean",
                p->at[i].name);
    return SSQ_OK;
}

static void params_stages_launched(ssq_queue *queue, struct object *owner,
                                   const void *begin, const void *end)
{
    ssq_params *p = (ssq_params *)owner;
    const struct grads *b = begin, *e = end;
    (void)queue;
    if (e->removals != p->removals)
        return;
    for (size_t i = 0; i < e->n && i < p->n; i++)
        if (i >= b->n || STATE(b->state[i]) != STATE(e->state[i]))
            p->at[i].grad_state = STATE(e->state[i]);
}

static const struct stages stages = {
    .what = "parameters",
    .bytes = sizeof(struct grads),
    .save = params_stages_save,
    .restore = params_stages_restore,
    .drop = params_stages_drop,
    .number = params_stages_number,
    .ready = params_stages_ready,
    .launched = params_stages_launched,
};

ssq_status params_watch(ssq_params *params, ssq_queue *queue)
{
    return capture_watch(queue, &params->object, &stages);
}
