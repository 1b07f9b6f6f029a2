/* SPDX-License-Identifier: Apache-2.0 */
/* blas_state.h - the objects of the stand-in for cuBLASLt, and a product. */
#ifndef TESTS_FAKECUDA_BLAS_BLAS_STATE_H
#define TESTS_FAKECUDA_BLAS_BLAS_STATE_H

#include <stdbool.h>

#include "tests/fakecuda/blas/fakeblas.h"

enum blas_type { R_32F = 0, R_16F = 2, R_16BF = 14 };
enum blas_wrong { RIGHT, TRANSPOSED, HALF_SUMS, NO_BIAS, NO_BETA, TF32_SUMS };
enum blas_fail { NO_FAIL, FAIL_CREATE, FAIL_HEURISTIC, FAIL_FIRST, FAIL_ALL };

enum blas_kind {
    BLAS_HANDLE = 0x4c740001,
    BLAS_DESC,
    BLAS_LAYOUT,
    BLAS_PREFERENCE,
    BLAS_DEAD
};

struct fake_handle {
    enum blas_kind kind;
    CUcontext ctx;
    unsigned block; /* products that the device's tensor cores add at a time */
    enum blas_wrong wrong;
    enum blas_fail fail;
    unsigned slow; /* this many algorithms of a shape */
    uint64_t list; /* which algorithms there are */
};

struct fake_desc {
    enum blas_kind kind;
    bool turn_a, turn_b, tf32;
    uint32_t epilogue;
    uint64_t bias;
};

struct fake_layout {
    enum blas_kind kind;
    int type;
    uint64_t rows, columns;
    int64_t leading, step;
    int32_t batch;
};

struct fake_preference {
    enum blas_kind kind;
    uint64_t workspace;
    uint32_t reductions;
    uint32_t align[4]; /* of A, B, C, D */
};

/* d = alpha op(a) op(b) + beta c + bias, column by column. */
struct blas_product {
    uint64_t m, n, k;
    int32_t batch;
    bool turn_a, turn_b, tf32;
    struct fake_layout a_is, b_is, c_is, d_is;
    const void *a, *b, *c, *bias;
    void *d, *workspace;
    uint64_t workspace_bytes;
    float alpha, beta;
    unsigned block;
    enum blas_wrong wrong;
    bool slow;
};

/* blas_check.c: the documented requirements of a product. */
cublasStatus_t
blas_check(struct fake_handle *handle, const struct fake_desc *desc,
           const struct fake_layout *a, const struct fake_layout *b,
           const struct fake_layout *c, const struct fake_layout *d);
/* A word of all that an algorithm was found for. */
uint64_t blas_sum_of(const struct fake_desc *desc, const struct fake_layout *a,
                     const struct fake_layout *b, const struct fake_layout *c,
                     const struct fake_layout *d);
uint64_t blas_span(const struct fake_layout *x);
uint64_t blas_size(int type);

/* blas_product.c: run as a stream's work. */
void blas_multiply(void *product);

/* blas.c */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
cublasStatus_t
blas_refuse(cublasStatus_t status, const char *format, ...);

#endif
