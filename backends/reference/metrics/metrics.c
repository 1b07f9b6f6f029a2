/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c - reference: top-k accuracy. */
#include "lib/op/metrics/metrics.h"

#include "backends/reference/rows.h"
#include "kernels/reduce/reduce.h"

/* Return a number that orders values as argmax does, so that accuracy with k =
 * 1 agrees with argmax. */
static uint32_t class_rank(const struct line *x, int64_t i)
{
    uint32_t bits = load_bits(x->base, x->dtype, x->at + i * x->stride);
    return argmax_rank(bits, x->dtype, false);
}

/* Return how many of n classes come before the target: classes with greater
 * values, and those with equal values and a smaller index. */
static int64_t classes_before(const struct line *x, int64_t n, int64_t target)
{
    uint32_t target_rank = class_rank(x, target);
    int64_t before = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t rank = class_rank(x, i);
        before += rank > target_rank || (rank == target_rank && i < target);
    }
    return before;
}

/* Count hits and rows. A row is a hit if fewer than k classes come before its
 * target. A row whose target is not a class is counted, and is never a hit.
 * Ignored rows are not counted. Without rows the accuracy is NaN. */
static ssq_status
reference_top_k_accuracy_run(struct backend_queue *queue,
                             const struct top_k_accuracy_op *op)
{
    (void)queue;
    const struct view *v[] = {&op->x, &op->target};
    const void *targets = view_host(&op->target);
    float *accuracy = view_host(&op->accuracy);
    int64_t n = op->x.shape[op->x.rank - 1];
    uint32_t hits = 0, rows = 0;
    struct walk w;
    walk_rows(&w, v, 2, 1);
    do {
        struct line x = line_of(&op->x, w.at[0]);
        int64_t target = (int32_t)load_bits(targets, SSQ_I32, w.at[1]);
        if (target == op->ignore_index)
            continue;
        rows++;
        if (target >= 0 && target < n)
            hits += classes_before(&x, n, target) < op->k;
    } while (walk_next(&w));
    if (accuracy != NULL)
        accuracy[0] = rows == 0 ? AS_F32(F32_NAN)
                                : s_div(u32_to_f32(hits), u32_to_f32(rows));
    if (op->hits.buffer != NULL)
        store_bits(view_host(&op->hits), SSQ_I32, 0, hits);
    return SSQ_OK;
}

REFERENCE_IMPL(top_k_accuracy);
