/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h - what backends get for top-k accuracy. Perplexity is an exp, and
 * has no op of its own. */
#ifndef LIB_OP_METRICS_METRICS_H
#define LIB_OP_METRICS_METRICS_H

#include "lib/core/core.h"

/** Rows of classes last; at least one row, possibly no class. Fewer than 2^31
 *  rows. */
struct top_k_accuracy_op {
    struct op op;
    /* how many of the best classes count as a hit, at least 1; rows with this
     * target are not counted */
    int64_t k, ignore_index;
    struct view x;              /* float */
    struct view target;         /* i32, x's shape, last stride 0 */
    struct view accuracy, hits; /* out, optional: one f32, one i32 */
};

#endif
