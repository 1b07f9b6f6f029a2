/* SPDX-License-Identifier: Apache-2.0 */
/* compare_values.c - compare values that must be equal on all ranks, every
 * compare_every steps. This finds the first step after which they differ. */
#include "lib/amp/optimizer/optimizer.h"
#include "lib/comm/parts.h"
#include "lib/tape/params.h"
#include "lib/train/trainer.h"

#include <stdio.h>

/* A list of tensors and copies of their names. While the arrays are NULL,
 * tensors are only counted. */
struct compared_list {
    char **names;
    const ssq_tensor **tensors;
    size_t n;
};

static ssq_status compared_add(struct compared_list *s, const char *name,
                               const ssq_tensor *t)
{
    size_t i = s->n++;
    if (s->names == NULL)
        return SSQ_OK;
    s->tensors[i] = t;
    s->names[i] = mem_strdup(name);
    return s->names[i] == NULL ? error_nomem("trainer_step", 1) : SSQ_OK;
}

static ssq_status compared_add_state(void *user, const struct state_of *state)
{
    return state->here == NULL ? SSQ_OK
                               : compared_add(user, state->name, state->here);
}

/* List the parameters and the scaler. The optimizer's states are included if
 * each rank has all of them. */
static ssq_status compared_add_all(const ssq_trainer *t,
                                   struct compared_list *s)
{
    ssq_status st = SSQ_OK;
    s->n = 0;
    for (size_t i = 0; i < t->params->n && st == SSQ_OK; i++) {
        const struct param *p = param_of(t->params, (uint32_t)i);
        if (!p->state) /* running statistics may differ between ranks */
            st = compared_add(s, p->name, p->tensor);
    }
    if (st == SSQ_OK && t->scaler != NULL)
        st = compared_add(s, "scaler", scaler_block(t->scaler));
    if (st == SSQ_OK && !t->shard)
        st = optimizer_states(t->optimizer, compared_add_state, s);
    return st;
}

static void compared_free(struct compared_list *s)
{
    for (size_t i = 0; s->names != NULL && i < s->n; i++)
        mem_free(s->names[i]);
    mem_free(s->names);
    mem_free(s->tensors);
}

ssq_status trainer_compare_values(ssq_trainer *t)
{
    struct compared_list s = {.n = 0};
    char tag[32];
    if (t->comm == NULL || t->compare_every == 0 ||
        t->steps % t->compare_every != 0)
        return SSQ_OK;
    ssq_status st = compared_add_all(t, &s);
    size_t n = s.n;
    s.names = mem_alloc_array(n, sizeof(*s.names));
    s.tensors = mem_alloc_array(n, sizeof(*s.tensors));
    if (st == SSQ_OK)
        st = s.names == NULL || s.tensors == NULL
                 ? error_nomem("trainer_step", n * sizeof(*s.names))
                 : compared_add_all(t, &s);
    (void)snprintf(tag, sizeof(tag), "step %llu", (unsigned long long)t->steps);
    if (st == SSQ_OK)
        st = comm_compare_tensors(
            t->queue, t->comm, (const char *const *)s.names, s.tensors, n, tag);
    compared_free(&s);
    return st;
}
