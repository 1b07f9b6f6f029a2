/* SPDX-License-Identifier: Apache-2.0 */
/* lt_test.c - the self-test of cuBLASLt: are its products correct?
 *
 * The factors are small integers, whose sums are exact in float32 in any order.
 * They are multiplied in all four orders of the factors, with two matrices in a
 * batch and three different sizes. A product that is transposed or summed in 16
 * bits therefore differs. The integers have few enough bits for TF32, which is
 * a separate kind.
 *
 * A last product has a result of the factors' type, with alpha, beta and a
 * bias. If any bits differ, this kind of factors does not use the library. The
 * reason names the fault if its pattern is known. */
#include "backends/cuda/lt.h"

#include <math.h>
#include <string.h>

#include "kernels/gemm/gemm_args.h"

/** Sizes in cuBLASLt's order; multiples of 8, as required in
 *  gemm_route.c. */
#define M      24
#define N      16
#define K      40
#define BATCH  2
#define ORDERS 4
#define A_SIZE ((size_t)M * K * BATCH)
#define B_SIZE ((size_t)K * N * BATCH)
#define D_SIZE ((size_t)M * N * BATCH)
/** Bytes of each operand in the test's memory: the size of the largest one in
 *  float32, rounded up to 256. */
#define ROOM ((A_SIZE * sizeof(float) + 255u) / 256u * 256u)

/** Operands in their order in memory, followed by the workspace. */
enum { A, B, C, D, BIAS, WORKSPACE };

struct cuda_lt_test {
    struct backend_device *device;
    struct lt_kind *kind;
    CUstream stream;
    struct backend_mem *mem;
    unsigned char *host; /* ROOM bytes, for transfers */
    bool bits16;         /* the result has the factors' type, with all
                            addends */
    uint32_t order;      /* bit 0: a is turned; bit 1: b is turned */
};

/* Return the i-th of a fixed sequence of integers from -most to most. */
static int lt_test_draw(uint32_t i, int most)
{
    uint32_t x = (i + 1u) * 2654435761u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return (int)(x % (uint32_t)(2 * most + 1)) - most;
}

/* Return element i of an operand, counted column by column even if it is
 * turned. Sums of factors are exact. With all addends they are below 256, up to
 * which bfloat16 has all integers. */
static int lt_test_value(const struct cuda_lt_test *t, int what, size_t i)
{
    int most = what == A || what == B ? (t->bits16 ? 1 : 120) : 16;
    return lt_test_draw((uint32_t)what * 100000u + (uint32_t)i, most);
}

static int alpha(const struct cuda_lt_test *t)
{
    return t->bits16 ? 2 : 1;
}

static int beta(const struct cuda_lt_test *t)
{
    return t->bits16 ? 3 : 0;
}

static ssq_dtype result_type(const struct cuda_lt_test *t)
{
    return t->bits16 ? t->kind->dtype : SSQ_F32;
}

static size_t lt_test_put(ssq_dtype dtype, void *to, size_t at, float x)
{
    if (dtype == SSQ_F32)
        ((float *)to)[at] = x;
    else
        ((uint16_t *)to)[at] =
            (uint16_t)(dtype == SSQ_F16 ? f16_store(x) : bf16_store(x));
    return dtype == SSQ_F32 ? 4 : 2;
}

static float lt_test_get(ssq_dtype dtype, const void *from, size_t at)
{
    if (dtype == SSQ_F32)
        return ((const float *)from)[at];
    uint16_t bits = ((const uint16_t *)from)[at];
    return dtype == SSQ_F16 ? f16_load(bits) : bf16_load(bits);
}

static CUdeviceptr address(const struct cuda_lt_test *t, int what)
{
    return ((const struct cuda_mem *)t->mem)->address +
           (CUdeviceptr)what * ROOM;
}

/* Write an operand to the device, turned or not, and wait. */
static CUresult lt_test_send(struct cuda_lt_test *t, int what, ssq_dtype dtype,
                             size_t rows, size_t columns, bool turned)
{
    size_t matrix = rows * columns, each = 4;
    for (size_t i = 0; i < matrix * BATCH; i++) {
        size_t z = i / matrix, row = i % matrix % rows,
               column = i % matrix / rows;
        size_t at = turned ? row * columns + column : column * rows + row;
        each = lt_test_put(dtype, t->host, z * matrix + at,
                           (float)lt_test_value(t, what, i));
    }
    CUresult e = CU(t->device, MemcpyHtoDAsync)(
        address(t, what), t->host, matrix * BATCH * each, t->stream);
    return e == CUDA_SUCCESS ? CU(t->device, StreamSynchronize)(t->stream) : e;
}

static CUresult lt_test_send_all(struct cuda_lt_test *t)
{
    ssq_dtype factor = t->kind->dtype, result = result_type(t);
    CUresult e = lt_test_send(t, A, factor, M, K, (t->order & 1u) != 0);
    if (e == CUDA_SUCCESS)
        e = lt_test_send(t, B, factor, K, N, (t->order & 2u) != 0);
    if (e == CUDA_SUCCESS)
        e = lt_test_send(t, C, result, M, N, false);
    if (e == CUDA_SUCCESS)
        e = lt_test_send(t, BIAS, result, M, 1, false);
    return e;
}

static CUresult lt_test_receive(struct cuda_lt_test *t)
{
    size_t each = result_type(t) == SSQ_F32 ? 4 : 2;
    CUresult e = CU(t->device, MemcpyDtoHAsync)(t->host, address(t, D),
                                                D_SIZE * each, t->stream);
    return e == CUDA_SUCCESS ? CU(t->device, StreamSynchronize)(t->stream) : e;
}

static struct lt_matrix lt_test_matrix(int64_t rows, int64_t columns,
                                       bool turned)
{
    return (struct lt_matrix){.leading = turned ? columns : rows,
                              .batch = rows * columns,
                              .align = LT_ALIGN_MOST,
                              .turned = turned};
}

static struct lt_product lt_test_product_of(const struct cuda_lt_test *t)
{
    struct lt_product p;
    memset(&p, 0, sizeof(p));
    p.shape.m = M;
    p.shape.n = N;
    p.shape.k = K;
    p.shape.batch = BATCH;
    p.shape.a = lt_test_matrix(M, K, (t->order & 1u) != 0);
    p.shape.b = lt_test_matrix(K, N, (t->order & 2u) != 0);
    p.shape.c = p.shape.d = lt_test_matrix(M, N, false);
    p.shape.factors = (uint32_t)cuda_lt_type(t->kind->dtype);
    p.shape.result = (uint32_t)cuda_lt_type(result_type(t));
    p.shape.tf32 = t->kind->tf32;
    p.shape.bias = t->bits16;
    p.shape.bias_align = t->bits16 ? LT_ALIGN_MOST : 0;
    p.a = address(t, A);
    p.b = address(t, B);
    p.c = address(t, t->bits16 ? C : D);
    p.d = address(t, D);
    p.bias = t->bits16 ? address(t, BIAS) : 0;
    p.alpha = (float)alpha(t);
    p.beta = (float)beta(t);
    return p;
}

/* ---- expected results, and faults ---- */

/* Faults with a name: a part of the result is missing. */
enum part { ALL, NO_BIAS, NO_BETA, PARTS };
static const char *const lacks[PARTS] = {"", "the bias is missing",
                                         "beta c is missing"};

static float lt_test_result(const struct cuda_lt_test *t, size_t i,
                            enum part without)
{
    size_t z = i / (M * N), row = i % (M * N) % M, column = i % (M * N) / M;
    int sum = 0;
    for (size_t q = 0; q < K; q++)
        sum += lt_test_value(t, A, z * M * K + q * M + row) *
               lt_test_value(t, B, z * K * N + column * K + q);
    sum *= alpha(t);
    if (t->bits16 && without != NO_BETA)
        sum += beta(t) * lt_test_value(t, C, i);
    if (t->bits16 && without != NO_BIAS)
        sum += lt_test_value(t, BIAS, row);
    return (float)sum;
}

static size_t lt_test_wrong(const struct cuda_lt_test *t, enum part without,
                            size_t *first)
{
    size_t n = 0;
    for (size_t i = 0; i < D_SIZE; i++)
        if (lt_test_get(result_type(t), t->host, i) !=
                lt_test_result(t, i, without) &&
            n++ == 0)
            *first = i;
    return n;
}

/* Return whether the first matrix of d is transposed. */
static bool is_transposed(const struct cuda_lt_test *t)
{
    for (size_t i = 0; i < (size_t)M * N; i++)
        if (lt_test_get(result_type(t), t->host, i / M + i % M * N) !=
            lt_test_result(t, i, ALL))
            return false;
    return true;
}

/* Return whether the result is near the expected one, as are sums in 16 bits.
 * Infinities and NaN count as near: such sums may overflow. */
static bool lt_test_is_rounded(const struct cuda_lt_test *t)
{
    for (size_t i = 0; i < D_SIZE; i++) {
        float x = lt_test_get(result_type(t), t->host, i),
              y = lt_test_result(t, i, ALL);
        if (isfinite(x) && fabsf(x - y) > 0x1p-4f * (fabsf(y) + 120 * 120))
            return false;
    }
    return true;
}

static const char *fault(const struct cuda_lt_test *t)
{
    size_t i;
    for (int p = NO_BIAS; t->bits16 && p < PARTS; p++)
        if (lt_test_wrong(t, (enum part)p, &i) == 0)
            return lacks[p];
    if (is_transposed(t))
        return "the result is transposed";
    return lt_test_is_rounded(t) ? "sums are rounded to less than float32"
                                 : "wrong sums";
}

static const char *lt_test_name_of(const struct lt_kind *kind)
{
    if (kind->tf32)
        return "f32 as TF32";
    return kind->dtype == SSQ_F32   ? "f32"
           : kind->dtype == SSQ_F16 ? "f16"
                                    : "bf16";
}

static bool lt_test_compare(struct cuda_lt_test *t)
{
    size_t first = 0, n = lt_test_wrong(t, ALL, &first);
    if (n == 0)
        return true;
    return cuda_refuse(
        &t->kind->why,
        "it fails the self-test of %s in order %u: %s: %zu of %zu wrong, the "
        "first is %g and not %g",
        lt_test_name_of(t->kind), t->order, fault(t), n, D_SIZE,
        (double)lt_test_get(result_type(t), t->host, first),
        (double)lt_test_result(t, first, ALL));
}

/* ---- the test ---- */

static bool lt_test_failed(struct cuda_lt_test *t, CUresult e)
{
    return cuda_refuse(&t->kind->why, "its self-test: %s (%d)",
                       cuda_error_name(t->device->calls, e), (int)e);
}

static bool lt_test_multiply(struct cuda_lt_test *t)
{
    const struct lt_product p = lt_test_product_of(t);
    CUresult e = lt_test_send_all(t);
    if (e != CUDA_SUCCESS)
        return lt_test_failed(t, e);
    if (cuda_lt_multiply(t->device->lt, &p, address(t, WORKSPACE), t->stream,
                         &t->kind->why) != SSQ_OK)
        return false;
    e = lt_test_receive(t);
    return e == CUDA_SUCCESS ? lt_test_compare(t) : lt_test_failed(t, e);
}

static bool multiply_all(struct cuda_lt_test *t)
{
    bool right = true;
    for (t->order = 0; right && t->order < ORDERS; t->order++)
        right = lt_test_multiply(t);
    t->order = 0;
    t->bits16 = true;
    return right && lt_test_multiply(t);
}

bool cuda_lt_test(struct backend_device *d, struct lt_kind *kind)
{
    struct cuda_lt_test t = {.device = d, .kind = kind};
    uint64_t bytes = WORKSPACE * ROOM + d->lt->workspace_bytes;
    CUresult e = CU(d, StreamCreate)(&t.stream, CU_STREAM_NON_BLOCKING);
    if (e != CUDA_SUCCESS)
        return lt_test_failed(&t, e);
    t.host = d->core->mem_alloc(ROOM);
    bool there = t.host != NULL && cuda_alloc(d, bytes, &t.mem) == SSQ_OK;
    bool right = there ? multiply_all(&t)
                       : cuda_refuse(&kind->why, "no memory for its self-test");
    if (there) {
        (void)CU(d, StreamSynchronize)(t.stream);
        cuda_free(d, t.mem);
    }
    d->core->mem_free(t.host);
    (void)CU(d, StreamDestroy)(t.stream);
    return right;
}
