/* SPDX-License-Identifier: Apache-2.0 */
/* mma_test.c - are the products of a variant of gemm_mma.nv right?
 *
 * Integers, and numbers that are subnormal in the factors' type, whose sums are
 * exact in float32 in any order: more than a tile each way and more stages than
 * there is room for, none of them full at the end. Any other bits refuse the
 * variant, by what they look like. */
#include "backends/mma/mma.h"

#include <math.h>
#include <string.h>

/** More than a tile each way, and of k: no multiples of anything. */
#define MORE_M 3u
#define MORE_N 5u
#define K      133u
#define MOST   (128u + 8u)
/** Bytes of an operand in the test's memory; all operands have the size that d
 *  has. Lines are longer than what they hold, by less than 8. */
#define ROOM ((size_t)MOST * MOST * sizeof(float))
/** Fewer than tiles: a group has to continue to another one. */
#define GROUPS 3u

/* A set of numbers: integers of at most `most`, scaled; the sums of K products
 * stay below 2^24 times the scales' product. */
struct mma_test_set {
    const char *name;
    int a_most, b_most;
    float a_scale[2], b_scale[2]; /* f16, bf16 */
};

static const struct mma_test_set sets[] = {
    {"integers", 120, 120, {1.0f, 1.0f}, {1.0f, 1.0f}},
    {"subnormal factors", 200, 4, {0x1p-24f, 0x1p-100f}, {1.0f, 0x1p60f}}};
#define SETS (sizeof(sets) / sizeof(sets[0]))

/* Operands in the test's memory, and the host's copy of one with the integers
 * behind both factors. */
enum { A, B, D, OPERANDS };
struct host {
    union {
        uint16_t bits[ROOM / 2];
        float sums[ROOM / 4];
    };
    int16_t a[MOST * MOST], b[MOST * MOST]; /* a by rows, b by columns */
};

struct tool_mma_test {
    const struct mma *mma;
    struct backend_device *device;
    ssq_dtype dtype;
    unsigned variant;
    const struct mma_test_set *set;
    uint32_t m, n;
    struct mma_bench bench;
    struct host *host;
    struct gemm_mma_args args;
};

/* The i-th of a row of integers from -most to most, the same ones each time. */
static int mma_test_draw(uint32_t i, int most)
{
    uint32_t x = (i + 1u) * 2654435761u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return (int)(x % (uint32_t)(2 * most + 1)) - most;
}

/* Elements from a line to the next. */
static uint32_t mma_test_line(uint32_t elements)
{
    return (elements + 7u) / 8u * 8u;
}

static void set_args(struct tool_mma_test *t)
{
    struct gemm_mma_args *x = &t->args;
    bool a = (t->variant & MMA_A_TURNED) != 0,
         b = (t->variant & MMA_B_TURNED) != 0;
    memset(x, 0, sizeof(*x));
    x->g.m = t->m;
    x->g.n = t->n;
    x->g.k = K;
    x->g.batch = 1;
    x->g.alpha = 1.0f;
    x->g.types = GEMM_TYPES((uint32_t)t->dtype, (uint32_t)t->dtype, 0u, 0u,
                            (uint32_t)SSQ_F32);
    x->g.d_row = t->n;
    x->a_row = a ? 1 : mma_test_line(K);
    x->a_column = a ? mma_test_line(t->m) : 1;
    x->b_row = b ? mma_test_line(t->n) : 1;
    x->b_column = b ? 1 : mma_test_line(K);
}

/* ---- numbers ---- */

static uint16_t mma_test_encode(const struct tool_mma_test *t, float x)
{
    return (uint16_t)(t->dtype == SSQ_F16 ? f16_store(x) : bf16_store(x));
}

/* Draw a factor of `lines` lines of K, write it with the steps of its order,
 * and send it. Between lines are NaNs, which no sum may read. */
static ssq_status mma_test_send(struct tool_mma_test *t, int what,
                                uint32_t lines, uint32_t step, uint32_t along)
{
    bool is_a = what == A, bf16 = t->dtype == SSQ_BF16;
    int most = is_a ? t->set->a_most : t->set->b_most;
    float scale = is_a ? t->set->a_scale[bf16] : t->set->b_scale[bf16];
    int16_t *value = is_a ? t->host->a : t->host->b;
    memset(t->host->bits, 0xff, sizeof(t->host->bits));
    for (uint32_t i = 0; i < lines * K; i++) {
        value[i] = (int16_t)mma_test_draw((uint32_t)what * 77777u + i, most);
        t->host->bits[i / K * step + i % K * along] =
            mma_test_encode(t, (float)value[i] * scale);
    }
    return t->mma->calls->bench_write(t->device, &t->bench,
                                      (uint64_t)what * ROOM, t->host->bits,
                                      sizeof(t->host->bits));
}

static ssq_status mma_test_send_all(struct tool_mma_test *t)
{
    const struct gemm_mma_args *x = &t->args;
    ssq_status st = mma_test_send(t, A, t->m, x->a_row, x->a_column);
    if (st == SSQ_OK)
        st = mma_test_send(t, B, t->n, x->b_column, x->b_row);
    memset(t->host->bits, 0xff, sizeof(t->host->bits));
    return st != SSQ_OK ? st
                        : t->mma->calls->bench_write(t->device, &t->bench,
                                                     D * ROOM, t->host->bits,
                                                     sizeof(t->host->bits));
}

static ssq_status mma_test_multiply(struct tool_mma_test *t,
                                    const struct backend_kernel *code)
{
    const struct mma_calls *calls = t->mma->calls;
    struct launch l = {.code = code,
                       .groups = GROUPS,
                       .nwords = sizeof(t->args) / sizeof(uint32_t)};
    memcpy(l.param, &t->args, sizeof(t->args));
    mma_bind(&l, t->bench.mem, D * ROOM, ROOM, 2, ACCESS_WRITE);
    mma_bind(&l, NULL, 0, 0, 4, ACCESS_READ);
    mma_bind(&l, t->bench.mem, A * ROOM, ROOM, 1, ACCESS_READ);
    mma_bind(&l, t->bench.mem, B * ROOM, ROOM, 1, ACCESS_READ);
    ssq_status st = calls->bench_launch(t->device, &t->bench, &l);
    return st != SSQ_OK
               ? st
               : calls->bench_read(t->device, &t->bench, D * ROOM,
                                   t->host->bits, sizeof(t->host->bits));
}

/* ---- what is right, and what is wrong ---- */

static float mma_test_result(const struct tool_mma_test *t, uint32_t at)
{
    bool bf16 = t->dtype == SSQ_BF16;
    const int16_t *a = t->host->a + (size_t)(at / t->n) * K,
                  *b = t->host->b + (size_t)(at % t->n) * K;
    int sum = 0;
    for (uint32_t q = 0; q < K; q++)
        sum += a[q] * b[q];
    return (float)sum * t->set->a_scale[bf16] * t->set->b_scale[bf16];
}

/* Are they about right, as sums of 16 bits are? */
static bool mma_test_is_rounded(const struct tool_mma_test *t)
{
    bool bf16 = t->dtype == SSQ_BF16;
    float one = (float)(t->set->a_most * t->set->b_most) *
                t->set->a_scale[bf16] * t->set->b_scale[bf16];
    for (uint32_t i = 0; i < t->m * t->n; i++) {
        float x = t->host->sums[i], y = mma_test_result(t, i);
        if (!(fabsf(x - y) <= 0x1p-4f * (fabsf(y) + one)))
            return false;
    }
    return true;
}

/* Is every row the one of another place in its matrix of 16? */
static bool are_moved(const struct tool_mma_test *t)
{
    for (uint32_t i = 0; i < t->m / 16u * 16u * t->n; i++)
        if (t->host->sums[i] !=
            mma_test_result(t, (i / t->n ^ 8u) * t->n + i % t->n))
            return false;
    return true;
}

static bool mma_test_compare(struct tool_mma_test *t, struct why *why)
{
    uint32_t n = 0, first = 0;
    for (uint32_t i = 0; i < t->m * t->n; i++)
        if (t->host->sums[i] != mma_test_result(t, i) && n++ == 0)
            first = i;
    if (n == 0)
        return true;
    return mma_refuse(
        why,
        "it fails the self-test of %s%s%s, tiles of %u: %s: %s: %u of %u "
        "wrong, [%u,%u] is %g and not %g",
        t->dtype == SSQ_F16 ? "f16" : "bf16",
        (t->variant & MMA_A_TURNED) != 0 ? ", a turned" : "",
        (t->variant & MMA_B_TURNED) != 0 ? ", b turned" : "",
        mma_tile(t->variant), t->set->name,
        are_moved(t)             ? "rows have changed places"
        : mma_test_is_rounded(t) ? "sums are rounded to less than float32"
                                 : "wrong sums",
        n, t->m * t->n, first / t->n, first % t->n,
        (double)t->host->sums[first], (double)mma_test_result(t, first));
}

/* ---- the test ---- */

static ssq_status test_all(struct tool_mma_test *t,
                           const struct backend_kernel *code, bool *right,
                           struct why *why)
{
    ssq_status st = SSQ_OK;
    *right = true;
    for (size_t i = 0; st == SSQ_OK && *right && i < SETS; i++) {
        t->set = &sets[i];
        st = mma_test_send_all(t);
        if (st == SSQ_OK)
            st = mma_test_multiply(t, code);
        if (st == SSQ_OK)
            *right = mma_test_compare(t, why);
    }
    return st;
}

ssq_status mma_test(const struct mma *mma, struct backend_device *d,
                    ssq_dtype dtype, unsigned variant, bool *right,
                    struct why *why)
{
    const struct backend_kernel *code;
    struct tool_mma_test t = {.mma = mma,
                              .device = d,
                              .dtype = dtype,
                              .variant = variant,
                              .m = mma_tile(variant) + MORE_M,
                              .n = mma_tile(variant) + MORE_N};
    *right = false;
    ssq_status st = mma_code(mma, d, dtype, variant, &code);
    if (st != SSQ_OK)
        return st;
    set_args(&t);
    t.host = mma->core->mem_alloc(sizeof(*t.host));
    if (t.host == NULL)
        return mma->core->error_set(SSQ_ERR_NOMEM,
                                    "%s: the self-test of mma: %zu bytes",
                                    mma->backend, sizeof(*t.host));
    st = mma->calls->bench_open(d, OPERANDS * ROOM, &t.bench);
    if (st == SSQ_OK) {
        st = test_all(&t, code, right, why);
        mma->calls->bench_close(d, &t.bench);
    }
    mma->core->mem_free(t.host);
    return st;
}
