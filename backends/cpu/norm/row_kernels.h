/* SPDX-License-Identifier: Apache-2.0 */
/* row_kernels.h - what softmax, cross-entropy and layer norm call of an
 * instruction set: a run of rows, whose elements are neighbours. */
#ifndef BACKENDS_CPU_NORM_ROW_KERNELS_H
#define BACKENDS_CPU_NORM_ROW_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sesqui/dtype.h>

/** Rows of an operand. */
struct rows_at {
    char *p; /* row 0; NULL: the operand is absent */
    ssq_dtype dtype;
    int64_t apart; /* bytes from row to row */
};

/** y = softmax(x), or its logarithm. */
struct softmax_rows {
    struct rows_at x, y;
    size_t n; /* elements of a row */
    bool is_log;
    bool past; /* y goes past the caches */
};

/** dx = y (dy - sum(y dy)). */
struct softmax_slopes {
    struct rows_at y, dy, dx;
    size_t n;
    bool past;
};

/** The inputs of cross-entropy for a row, and its loss. */
struct cross_entropy_row {
    int64_t mine; /* the target's class; -1: the row is ignored; -2: no class */
    float q;      /* of it: its weight */
    float seed;   /* of the gradient */
    float value;  /* out */
};

/** The gradient of rows of logits that have a class each; dx may be absent. */
struct cross_entropy_rows {
    struct rows_at x, dx;
    struct cross_entropy_row *row; /* of all rows */
    size_t n;
    bool past;
};

/** mean and rstd have one float32 for each row. */
struct layer_norm_rows {
    struct rows_at x, y, mean, rstd;
    const float *gamma, *beta; /* or NULL */
    size_t n;
    float eps;
    bool is_rms;
    bool past;
};

struct layer_norm_slopes {
    struct rows_at x, dy, dx, mean, rstd;
    const float *gamma;
    size_t n;
    bool past;
};

/** Elements of a row whose exponentials are kept on the stack. */
#define ROW_KEPT 16384

/** Each is for rows from .. end - 1. */
struct softmax_kernels {
    void (*softmax)(const struct softmax_rows *s, int64_t from, int64_t end);
    void (*backward)(const struct softmax_slopes *s, int64_t from, int64_t end);
};

struct cross_entropy_kernels {
    void (*rows)(const struct cross_entropy_rows *c, int64_t from, int64_t end);
};

struct layer_norm_kernels {
    void (*layer_norm)(const struct layer_norm_rows *l, int64_t from,
                       int64_t end);
    /* sums: n sums of dy z, then n of dy; the rows are added to them. It may
     * be NULL */
    void (*backward)(const struct layer_norm_slopes *l, int64_t from,
                     int64_t end, float *sums);
};

#endif
