/* SPDX-License-Identifier: Apache-2.0 */
/* golden_onnx.h - numbers of ONNX's reference evaluator, onnx 1.23.2,
 * in float64. Written by golden_onnx.py, which has the problems. */
#ifndef CONFORMANCE_GOLDEN_ONNX_H
#define CONFORMANCE_GOLDEN_ONNX_H

static const double golden_onnx_batch_mean[] = {
    -0.234375,
    -0.13802083333333334,
};
static const double golden_onnx_batch_var[] = {
    0.53776041666666663,
    0.72848849826388884,
};
static const double golden_onnx_gru_y[] = {
    0.066370493645887207,   -0.023997122088419046, 0.33074401348907734,
    0.21718113412357856,    0.24778778412680236,   -0.030924812848803669,
    0.39585815387943923,    0.087751339025605987,  0.40712611129739817,
    0.00081656773429131246, 0.50302566467420995,   0.070275836142436029,
};

#endif
