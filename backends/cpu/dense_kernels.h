/* SPDX-License-Identifier: Apache-2.0 */
/* dense_kernels.h - functions that take less time than memory does, of operands
 * whose elements are neighbours. */
#ifndef BACKENDS_CPU_DENSE_KERNELS_H
#define BACKENDS_CPU_DENSE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

#include <sesqui/dtype.h>

enum dense_kind { DENSE_CAST, DENSE_RELU, DENSE_ADD, DENSE_SUB, DENSE_MUL };

/** y = f(a), or of a and b. Casts are from one float dtype to another, to
 *  nearest; the others' operands have one dtype. y may be a or b. */
struct dense {
    enum dense_kind kind;
    ssq_dtype is, to; /* of a and b, and of y */
    const char *a, *b;
    char *y;
    bool past; /* y goes past the caches */
};

struct dense_kernels {
    /** Elements from .. end - 1. */
    void (*map)(const struct dense *d, size_t from, size_t end);
};

#endif
