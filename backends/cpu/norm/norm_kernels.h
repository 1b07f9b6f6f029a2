/* SPDX-License-Identifier: Apache-2.0 */
/* norm_kernels.h - what batch norm calls of an instruction set: passes over a
 * channel, which is lines of neighbours, one for each image. */
#ifndef BACKENDS_CPU_NORM_NORM_KERNELS_H
#define BACKENDS_CPU_NORM_NORM_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include <sesqui/dtype.h>

/** A channel of an operand. */
struct norm_lines {
    char *data;
    ssq_dtype dtype;
    int64_t apart; /* elements from line to line */
};

/** The values of a channel that a pass uses. */
struct norm_channel {
    int64_t lines;
    uint32_t line; /* elements of each */
    uint32_t activation;
    float mean, rstd, gamma, beta;
    float avg, avg_z; /* of the gradient; given: there are none */
    bool given;
};

struct norm_kernels {
    uint32_t width;
    float (*sum)(const struct norm_channel *c, const struct norm_lines *x);
    /** Sums of x - mean, and of its squares. */
    void (*deviations)(const struct norm_channel *c, const struct norm_lines *x,
                       float sums[2]);
    /** Sums of dy, and of dy z, where z is (x - mean) rstd. */
    void (*sum_dy)(const struct norm_channel *c, const struct norm_lines *x,
                   const struct norm_lines *dy, float sums[2]);
    void (*apply)(const struct norm_channel *c, const struct norm_lines *x,
                  const struct norm_lines *y);
    void (*gradient)(const struct norm_channel *c, const struct norm_lines *x,
                     const struct norm_lines *dy, const struct norm_lines *dx);
};

#endif
