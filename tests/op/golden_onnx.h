/* SPDX-License-Identifier: Apache-2.0 */
/* golden_onnx.h - numbers of ONNX's reference evaluator, onnx 1.23.2,
 * in float64. Written by golden_onnx.py, which has the problems. */
#ifndef TESTS_OP_GOLDEN_ONNX_H
#define TESTS_OP_GOLDEN_ONNX_H

static const double golden_onnx_batch_mean[] = {
    -0.234375,
    -0.13802083333333334,
};
static const double golden_onnx_batch_var[] = {
    0.53776041666666663,
    0.72848849826388884,
};

#endif
