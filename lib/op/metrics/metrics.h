/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h - the op of top-k accuracy. Perplexity is an exp, by the unary
 * op. */
#ifndef LIB_OP_METRICS_METRICS_H
#define LIB_OP_METRICS_METRICS_H

#include <sesqui/ops/metrics.h>

#include "lib/core/core.h"

/** The classes are the last dimension. At least one row, fewer than 2^31 rows;
 *  possibly no class. */
struct top_k_accuracy_op {
    struct op op;
    /* k: how many of the best classes count as a hit, at least 1; rows with the
     * target ignore_index are not counted */
    int64_t k, ignore_index;
    struct view x;              /* float */
    struct view target;         /* i32, x's shape, last stride 0 */
    struct view accuracy, hits; /* out, optional: one f32, one i32 */
};

/** ssq_top_k_accuracy() with another name of the call in error texts. */
ssq_status op_top_k_accuracy(ssq_queue *queue,
                             const ssq_top_k_accuracy_args *args,
                             const char *name);

#endif
