/* SPDX-License-Identifier: Apache-2.0 */
/* cut.c - products with operands that are too large for one launch.
 *
 * A sum is one chain along k, from the first product to the last. So its bits
 * do not depend on how the batch, m and n are divided. Nor do they depend on
 * how k is divided, if the sums stay in float32 between the parts. */
#include "lib/core/queue/window.h"
#include "lib/plan/gemm/product.h"

/* Sizes that are halved stay multiples of this. It is the depth of k that
 * gemm_tiled.k multiplies at a time. It pads k with zeros, so only the last
 * part of k may be padded. */
#define CUT_STEP 16

/* Most bytes before a view that a launch must bind as well. */
#define MOST_BEFORE 255u

struct product product_depths(const struct product *g, int64_t k, int64_t n)
{
    struct product part = *g;
    part.k = size_least(n, g->k - k);
    product_cut(&part.a, 2, k, part.k);
    product_cut(&part.b, 1, k, part.k);
    return part;
}

bool product_fits(const struct plan *p, const struct product *g)
{
    const struct view *v[] = {&g->a, &g->b, &g->c, &g->bias, &g->d};
    for (int i = 0; i < 5; i++)
        if (!window_view_fits(v[i], plan_limits(p)->binding_bytes))
            return false;
    return true;
}

/* Return the first operand of a part that may not fit into a launch, and set
 * *found to it. -1: all fit, with any first element of the part. */
static int unfit(const struct plan *p, const struct product *g,
                 const struct product *size, struct view *found)
{
    struct product part = product_part(g, size, 0, 0, 0);
    part = product_depths(&part, 0, size->k);
    struct view v[] = {part.a, part.b, part.c, part.bias, part.d};
    for (int i = 0; i < 5; i++) {
        *found = v[i];
        v[i].offset = MOST_BEFORE;
        if (!window_view_fits(&v[i], plan_limits(p)->binding_bytes))
            return i;
    }
    return -1;
}

/* Return the dimension along which v has the most bytes. */
static int widest(const struct view *v)
{
    int best = 0;
    for (int i = 1; i < 3; i++)
        if ((v->shape[i] - 1) * v->stride[i] >
            (v->shape[best] - 1) * v->stride[best])
            best = i;
    return best;
}

static int64_t half(int64_t n)
{
    int64_t h = size_div_up(size_div_up(n, 2), CUT_STEP) * CUT_STEP;
    return h < n ? h : size_div_up(n, 2);
}

/* Make *size smaller until the sums between parts of k fit into scratch. */
static void shrink_sums(const struct plan *p, const struct product *g,
                        struct product *size)
{
    int64_t floats = (int64_t)(plan_limits(p)->binding_bytes / sizeof(float));
    while (size->k < g->k && size->batch * size->m * size->n > floats) {
        int64_t *most = size->m > size->n ? &size->m : &size->n;
        most = size->batch > 1 ? &size->batch : most;
        if (*most == 1)
            return;
        *most = half(*most);
    }
}

bool product_shrink(const struct plan *p, const struct product *g,
                    struct product *size)
{
    struct view v;
    for (int i; (i = unfit(p, g, size, &v)) >= 0;) {
        int64_t *of_a[] = {&size->batch, &size->m, &size->k};
        int64_t *of_b[] = {&size->batch, &size->k, &size->n};
        int64_t *of_d[] = {&size->batch, &size->m, &size->n};
        int d = widest(&v);
        int64_t *n = i == 0 ? of_a[d] : i == 1 ? of_b[d] : of_d[d];
        int64_t least = n == &size->k ? CUT_STEP : 1;
        if (*n <= least)
            return false;
        *n = half(*n);
    }
    shrink_sums(p, g, size);
    return true;
}
