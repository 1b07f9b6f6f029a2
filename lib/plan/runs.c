/* SPDX-License-Identifier: Apache-2.0 */
/* runs.c - the operands of elementwise kernels. */
#include "lib/plan/runs.h"

static void swap(int64_t *a, int64_t *b)
{
    int64_t t = *a;
    *a = *b;
    *b = t;
}

/* Swap two dimensions in all operands, which keep a common shape. */
static void swap_dimensions(struct runs *r, int i, int j)
{
    for (int k = 0; k < r->n; k++) {
        swap(&r->v[k].shape[i], &r->v[k].shape[j]);
        swap(&r->v[k].stride[i], &r->v[k].stride[j]);
    }
}

void runs_init(struct runs *r, const struct view *const *v, int n)
{
    struct view *all[RUNS_OPERANDS];
    r->n = n;
    for (int k = 0; k < n; k++) {
        r->v[k] = *v[k];
        all[k] = &r->v[k];
    }
    /* sort the dimensions by the output's strides, largest first */
    const struct view *y = &r->v[n - 1];
    for (int i = 1; i < y->rank; i++)
        for (int j = i; j > 0 && y->stride[j - 1] < y->stride[j]; j--)
            swap_dimensions(r, j - 1, j);
    views_collapse(all, n);
}

struct run_shape runs_shape(const struct runs *r, uint32_t kind)
{
    const struct view *first = &r->v[0];
    struct run_shape s = {.n = (uint32_t)view_elements(first),
                          .form = (uint32_t)first->rank | kind << 16};
    for (int k = 0; k < r->n; k++)
        s.form |= (uint32_t)r->v[k].dtype << (4 + 3 * k);
    for (int i = 1; i < first->rank; i++)
        s.size[i - 1] = (uint32_t)first->shape[i];
    return s;
}

void runs_steps(const struct runs *r, int k, uint32_t steps[RUN_RANK])
{
    walk_steps(&r->v[k], 0, r->v[k].rank, steps);
}

void runs_bind(struct plan *p, const struct view *v, enum access access,
               uint32_t cell, uint32_t other)
{
    plan_bind_as(p, v, cell, access);
    plan_bind_as(p, v, other, access);
}
