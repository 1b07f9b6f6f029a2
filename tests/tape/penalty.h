/* SPDX-License-Identifier: Apache-2.0 */
/* penalty.h - a value that is computed from the gradients of a case (cases.h).
 * Its gradients are second derivatives, for second.c and golden.c. */
#ifndef TESTS_TAPE_PENALTY_H
#define TESTS_TAPE_PENALTY_H

#include "tests/tape/cases.h"

#include <stdlib.h>
#include <string.h>

/* A case, and weights of its result. */
struct penalty {
    const struct tape_rig *rig;
    struct data *data;
    size_t i;      /* which case */
    ssq_tensor *w; /* of the case's result; NULL before it is known */
};

/* The same w[j] as in golden.py. */
static inline ssq_tensor *penalty_weights(const struct tape_rig *r,
                                          const ssq_tensor *like)
{
    ssq_tensor *w = NULL;
    int64_t shape[SSQ_MAX_RANK], n = ssq_tensor_elements(like);
    float *x = malloc(((size_t)n + 1) * sizeof(*x));
    if (x == NULL)
        tap_bail("no memory");
    for (int i = 0; i < ssq_tensor_rank(like); i++)
        shape[i] = ssq_tensor_size(like, i);
    for (int64_t j = 0; j < n; j++)
        x[j] = (float)((j * 7 + 5) % 23 - 11) / 16.0f;
    w = rig_floats(r, ssq_tensor_rank(like), shape, x);
    free(x);
    return w;
}

/* The loss sum(w y^2), of a case's result y. */
static inline ssq_var penalty_loss(ssq_tape *t, struct penalty *p)
{
    ssq_var y = cases[p->i].fn(t, p->data);
    const ssq_tensor *like = ssq_var_tensor(y);
    if (like == NULL)
        return y;
    if (p->w == NULL)
        p->w = penalty_weights(p->rig, like);
    return ssq_sum_var(ssq_mul_var(ssq_square_var(y), ssq_var_input(t, p->w)),
                       NULL);
}

/* sum(g^2) + sum(g) over the gradients g of the loss for all parameters. */
static inline ssq_var penalty_fn(ssq_tape *t, void *user)
{
    struct penalty *p = user;
    ssq_var loss = penalty_loss(t, p), vars[16], sum = SSQ_VAR_NONE;
    size_t n = 0;
    for (size_t i = 0; i < ssq_params_count(p->rig->params); i++) {
        ssq_param_info info = SSQ_PARAM_INFO_INIT;
        NEED(ssq_params_get(p->rig->params, i, &info));
        if (strstr(info.name, "running_") != NULL)
            continue; /* states */
        vars[n++] = ssq_var_named(t, info.name);
    }
    ssq_tape_grad(t, loss, vars, n, SSQ_TAPE_GRAD(.create_graph = true), vars);
    for (size_t i = 0; i < n; i++) {
        ssq_var g = ssq_add_var(ssq_square_var(vars[i]), vars[i]);
        g = ssq_sum_var(g, NULL);
        sum = i == 0 ? g : ssq_add_var(sum, g);
    }
    return sum;
}

#endif
