/* SPDX-License-Identifier: Apache-2.0 */
/* split_k.c - products with a k that is too large for the loops of one item, or
 * for one launch. Slices of k are computed like a batch, and a second launch
 * adds their sums. */
#include "lib/plan/gemm/product.h"

/* Most float32s of partial sums if the driver does not limit loops: 64 MiB. */
#define MOST_WAITING (INT64_C(16) << 20)

/* Compute `splits` slices of k, beginning at k, into part: a batch of products,
 * each with the depth of a slice. alpha, beta, c and the bias belong to the
 * whole product; split_k_join() applies them. */
static void split_k_slices(struct plan *p, const struct product *g, int64_t k,
                           int64_t splits, int64_t slice,
                           const struct view *part)
{
    struct product s = {.batch = splits,
                        .m = g->m,
                        .n = g->n,
                        .k = slice,
                        .alpha = 1.0f,
                        .a = g->a,
                        .b = g->b,
                        .d = *part};
    product_cut(&s.a, 2, k, slice);
    product_cut(&s.b, 1, k, slice);
    s.a.shape[0] = s.b.shape[0] = splits;
    s.a.stride[0] = slice * s.a.stride[2];
    s.b.stride[0] = slice * s.b.stride[1];
    plan_tiled(p, &s);
}

/* Return a matrix as a batch of matrices of one row each; absent stays
 * absent. */
static struct view rows_as_matrices(struct view v)
{
    v.shape[0] = v.shape[1];
    v.stride[0] = v.stride[1];
    v.shape[1] = 1;
    return v;
}

/* Compute d from the sums of the slices. Each row is a product of ones and the
 * sums, so gemm_tiled.k does this, too, and its epilogue rounds. The ones are
 * one word with strides of 0. */
static void split_k_join(struct plan *p, const struct product *g,
                         const struct view *ones, const struct view *part)
{
    struct product s = *g;
    s.batch = g->m;
    s.m = 1;
    s.k = part->shape[0];
    s.a = *ones;
    s.a.dtype = SSQ_F32;
    s.a.rank = 3;
    for (int i = 0; i < 3; i++)
        s.a.stride[i] = 0;
    s.b = *part;
    s.b.shape[0] = g->m;
    s.b.stride[0] = part->stride[1];
    s.b.shape[1] = part->shape[0];
    s.b.stride[1] = part->stride[0];
    s.c = rows_as_matrices(g->c);
    s.bias = rows_as_matrices(g->bias);
    s.d = rows_as_matrices(g->d);
    plan_tiled(p, &s);
}

/* Compute some rows of a matrix, by slices of k whose sums are in part. The
 * last slice may be shorter; then it is a separate launch. */
static void split_k_rows(struct plan *p, const struct product *g, int64_t slice,
                         const struct view *ones, struct view *part)
{
    int64_t whole = g->k / slice, rest = g->k % slice;
    struct view last;
    part->rank = 3;
    part->shape[0] = whole + (rest > 0);
    part->shape[1] = g->m;
    part->shape[2] = g->n;
    part->stride[0] = g->m * g->n;
    part->stride[1] = g->n;
    part->stride[2] = 1;
    last = *part;
    product_cut(&last, 0, whole, 1);
    split_k_slices(p, g, 0, whole, slice, part);
    if (rest > 0)
        split_k_slices(p, g, whole * slice, 1, rest, &last);
    split_k_join(p, g, ones, part);
}

/* Record a product by split-K. As many rows of a matrix are computed together
 * as scratch has room for. The launches of a plan run in order, so all of them
 * share the scratch. */
void plan_split_k(struct plan *p, const struct product *g)
{
    const struct backend_limits *l = plan_limits(p);
    int64_t slice = product_depth(p, g), splits = size_div_up(g->k, slice);
    int64_t floats = (int64_t)(l->binding_bytes / sizeof(float));
    if (l->iterations == 0)
        floats = size_least(floats, MOST_WAITING);
    int64_t rows = size_least(g->m, size_most(1, floats / (splits * g->n)));
    struct view ones, part;
    uint32_t *one = plan_words(p, 1, &ones);
    if (one == NULL)
        return;
    *one = 0x3f800000u;
    plan_scratch(p, SSQ_F32, (uint64_t)(splits * rows * g->n), &part);
    for (int64_t z = 0; z < g->batch && !plan_failed(p); z++)
        for (int64_t i = 0; i < g->m; i += rows) {
            struct product size = {.batch = 1, .m = rows, .n = g->n};
            struct product some = product_part(g, &size, z, i, 0);
            split_k_rows(p, &some, slice, &ones, &part);
        }
}
