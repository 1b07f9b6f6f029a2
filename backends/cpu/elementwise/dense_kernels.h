/* SPDX-License-Identifier: Apache-2.0 */
/* dense_kernels.h - functions that are limited by memory, of operands whose
 * elements are adjacent. */
#ifndef BACKENDS_CPU_ELEMENTWISE_DENSE_KERNELS_H
#define BACKENDS_CPU_ELEMENTWISE_DENSE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

#include <sesqui/dtype.h>

/** y = f(a): a cast from one float dtype to another, rounded to nearest; relu;
 * a + beta, a - beta, a * beta. y = f(a, b): alpha a + beta b, each product and
 * the sum rounded; a + b, a - b, a * b; relu's gradient: b if a is above 0 or
 * NaN, else 0. Operands but a cast's have one dtype. y may be a or b. */
enum dense_kind {
    DENSE_CAST,
    DENSE_RELU,
    DENSE_ADD_ONE,
    DENSE_SUB_ONE,
    DENSE_MUL_ONE,
    DENSE_AXPBY, /* from here on there is a b */
    DENSE_ADD,
    DENSE_SUB,
    DENSE_MUL,
    DENSE_RELU_BACKWARD
};

struct dense {
    enum dense_kind kind;
    ssq_dtype is, to; /* of a and b, and of y */
    const char *a, *b;
    char *y;
    float alpha, beta;
    bool past; /* y is written by non-temporal stores */
};

struct dense_kernels {
    /** Compute elements from .. end - 1. */
    void (*map)(const struct dense *d, size_t from, size_t end);
};

#endif
