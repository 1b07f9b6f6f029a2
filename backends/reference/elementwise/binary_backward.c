/* SPDX-License-Identifier: Apache-2.0 */
/* binary_backward.c - reference: gradients of binary ops, summed over broadcast
 * dimensions in the order of kernels/reduce/norm.h. */
#include "lib/core/module/data.h"
#include "lib/op/elementwise/elementwise.h"

#include "backends/reference/reduce/fold.h"
#include "backends/reference/reference.h"
#include "kernels/scalar/convert.h"
#include "kernels/elementwise/elementwise.h"

/* The addresses of the inputs, which are computed once for an op and not for
 * each term. */
struct bases {
    const void *a, *b, *dy;
};

/* Return the term for these elements of a, b and dy. */
static float binary_backward_term(const struct binary_backward_op *op,
                                  const struct bases *base, int64_t a,
                                  int64_t b, int64_t dy)
{
    float ai = load_f32(base->a, op->a.dtype, a);
    float bi = load_f32(base->b, op->b.dtype, b);
    float dyi = load_f32(base->dy, op->dy.dtype, dy);
    return op->second != 0 ? binary_grad_b(op->kind, ai, bi, dyi)
                           : binary_grad_a(op->kind, ai, bi, dyi);
}

/* Sum the terms of each element of dx. The first dimensions of a, b and dy
 * belong to dx. dx was broadcast along the others, so its gradient is a sum
 * over them. struct fold adds in the same order as the kernels, so all devices
 * give the same bits. */
static ssq_status
reference_binary_backward_run(struct backend_queue *queue,
                              const struct binary_backward_op *op)
{
    (void)queue;
    const struct view *all[3] = {&op->a, &op->b, &op->dy};
    const struct bases base = {view_host(&op->a), view_host(&op->b),
                               view_host(&op->dy)};
    struct view kept[3], summed[3];
    for (int i = 0; i < 3; i++) {
        kept[i] = view_part(all[i], 0, op->dx.rank);
        summed[i] = view_part(all[i], op->dx.rank, op->dy.rank);
    }
    const struct view *k[] = {&kept[0], &kept[1], &kept[2], &op->dx};
    const struct view *s[] = {&summed[0], &summed[1], &summed[2]};
    void *dx = view_host(&op->dx);
    struct walk w, t;
    walk_begin(&w, k, 4);
    do {
        struct fold sum;
        fold_begin(&sum, false);
        walk_begin(&t, s, 3);
        do {
            fold_add(&sum, binary_backward_term(op, &base, w.at[0] + t.at[0],
                                                w.at[1] + t.at[1],
                                                w.at[2] + t.at[2]));
        } while (walk_next(&t));
        store_f32(dx, op->dx.dtype, w.at[3], s_canonical(fold_end(&sum)));
    } while (walk_next(&w));
    return SSQ_OK;
}

REFERENCE_IMPL(binary_backward);
