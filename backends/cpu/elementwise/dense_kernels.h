/* SPDX-License-Identifier: Apache-2.0 */
/* dense_kernels.h - functions that are limited by memory, of operands whose
 * elements are adjacent. */
#ifndef BACKENDS_CPU_ELEMENTWISE_DENSE_KERNELS_H
#define BACKENDS_CPU_ELEMENTWISE_DENSE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

#include <sesqui/dtype.h>

enum dense_kind { DENSE_CAST, DENSE_RELU, DENSE_ADD, DENSE_SUB, DENSE_MUL };

/** y = f(a), or f(a, b). Casts are from one float dtype to another, rounded to
 *  nearest. Other functions have operands of one dtype. y may be a or b. */
struct dense {
    enum dense_kind kind;
    ssq_dtype is, to; /* of a and b, and of y */
    const char *a, *b;
    char *y;
    bool past; /* y is written by non-temporal stores */
};

struct dense_kernels {
    /** Compute elements from .. end - 1. */
    void (*map)(const struct dense *d, size_t from, size_t end);
};

#endif
