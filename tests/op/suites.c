/* SPDX-License-Identifier: Apache-2.0 */
/* suites.c - the list of all case tables, for `sesqui verify`. */
#include "tests/op/suite.h"

#include <stddef.h>

/* one line per table: declared and listed */
/* clang-format off */
#define SUITES(X) \
    X(random) \
    X(dropout) \
    X(init) \
    X(reduce) \
    X(reduce_backward) \
    X(argmax) \
    X(l2_norm) \
    X(gather) \
    X(scatter_add) \
    X(one_hot) \
    X(fill) \
    X(copy) \
    X(arrange) \
    X(cast) \
    X(unary) \
    X(unary_backward) \
    X(binary) \
    X(binary_backward) \
    X(compare) \
    X(where) \
    X(scale) \
    X(softmax) \
    X(softmax_backward) \
    X(cross_entropy) \
    X(loss) \
    X(layer_norm) \
    X(layer_norm_backward) \
    X(batch_norm) \
    X(batch_norm_backward) \
    X(group_norm) \
    X(group_norm_backward) \
    X(lstm_cell) \
    X(lstm_cell_backward) \
    X(gru_cell) \
    X(gru_cell_backward) \
    X(lstm) \
    X(gru) \
    X(gemm) \
    X(gemm_exact) \
    X(gemm_shapes) \
    X(gemm_misuse) \
    X(gemm_explain) \
    X(conv) \
    X(conv_backward) \
    X(conv_transpose) \
    X(max_pool) \
    X(max_pool_backward) \
    X(avg_pool) \
    X(avg_pool_backward) \
    X(slide_misuse) \
    X(optimizer) \
    X(attention) \
    X(attention_backward) \
    X(attention_edges) \
    X(attention_misuse) \
    X(rotary) \
    X(metrics) \
    /* the end of the list */
/* clang-format on */

#define X(NAME) extern const struct suite NAME##_suite;
SUITES(X)
#undef X

const struct suite *const suites[] = {
#define X(NAME) &NAME##_suite,
    SUITES(X)
#undef X
        NULL,
};
