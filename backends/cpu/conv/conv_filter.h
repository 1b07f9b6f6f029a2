/* SPDX-License-Identifier: Apache-2.0 */
/* conv_filter.h - the filter of a convolution as panels of a GEMM's operand a.
 */
#ifndef BACKENDS_CPU_CONV_CONV_FILTER_H
#define BACKENDS_CPU_CONV_CONV_FILTER_H

#include "backends/cpu/conv/conv_kernels.h"
#include "lib/op/conv/conv.h"

/** A part of the filter: some of its taps, of all channels. */
struct conv_filter {
    const struct conv_op *op;
    const struct conv_kernels *kernels;
    const int64_t *tap; /* the element of each tap, of the first channels */
    uint32_t taps;
    uint32_t height;  /* rows of a panel */
    int64_t rows;     /* channels of the result */
    int64_t elements; /* channels that are added up, in words of */
    uint32_t pair;    /* 1, or 2 of bf16 */
};

/** Return the words of a panel. */
size_t conv_filter_panel(const struct conv_filter *f);

/** Pack panel i of a group: for each word of channels, for each tap, `height`
 * words. Up to GEMM_SLACK words after the panel are overwritten. */
void conv_filter_pack(const struct conv_filter *f, int64_t group, int64_t i,
                      float *to);

/** Return element `at` of a filter or a bias as float32. */
float conv_element(const struct view *v, int64_t at);

#endif
