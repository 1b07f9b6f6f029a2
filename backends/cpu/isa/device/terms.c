/* SPDX-License-Identifier: Apache-2.0 */
/* terms.c - sums over ranks, by the vectors of one set of instructions; the
 * last elements one by one, by the arithmetic of kernels/scalar. */
#include "backends/cpu/device/terms.h"

#include "backends/cpu/isa/half.h"
#include "kernels/elementwise/elementwise.h"

/* Where mask has all bits of an element, a's, elsewhere b's. */
INLINE floats choose(words mask, floats a, floats b)
{
    return (floats)((mask & (words)a) | (~mask & (words)b));
}

INLINE words is_nan(floats x)
{
    return (words)(((words)x & 0x7fffffffu) > 0x7f800000u);
}

INLINE floats canonical(floats x)
{
    words quiet = (words){0} + 0x7fc00000u;
    return choose(is_nan(x), (floats)quiet, x);
}

/* A number's order among all that are not NaN, -0 below +0. */
INLINE ints order(floats x)
{
    ints u = (ints)x;
    return u ^ (ints)((words)(u >> 31) & 0x7fffffffu);
}

static void load(float *out, const uint16_t *from, ssq_dtype dtype, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        halves h = halves_load(from + i);
        floats_store(out + i,
                     dtype == SSQ_F16 ? floats_of_f16(h) : floats_of_bf16(h));
    }
    for (; i < n; i++)
        out[i] = dtype == SSQ_F16 ? f16_load(from[i]) : bf16_load(from[i]);
}

static void add(float *out, const float *a, const float *b, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        floats_store(out + i, floats_load(a + i) + floats_load(b + i));
    for (; i < n; i++)
        out[i] = a[i] + b[i];
}

static void maximum(float *out, const float *a, const float *b, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        floats x = floats_load(a + i), y = floats_load(b + i);
        floats most = choose((words)(order(x) >= order(y)), x, y);
        most = choose(is_nan(x), x, choose(is_nan(y), y, most));
        floats_store(out + i, canonical(most));
    }
    for (; i < n; i++)
        out[i] = f32_maximum(a[i], b[i]);
}

static void divide(float *out, const float *x, float by, size_t n)
{
    floats all = floats_splat(by);
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        floats_store(out + i, floats_load(x + i) / all);
    for (; i < n; i++)
        out[i] = x[i] / by;
}

static void store_f32(float *out, const float *x, size_t n)
{
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        floats_store(out + i, canonical(floats_load(x + i)));
    for (; i < n; i++)
        out[i] = s_canonical(x[i]);
}

static void store(void *out, const float *x, ssq_dtype dtype, size_t n)
{
    uint16_t *half = out;
    size_t i = 0;
    if (dtype == SSQ_F32) {
        store_f32(out, x, n);
        return;
    }
    for (; i + LANES <= n; i += LANES) {
        floats y = canonical(floats_load(x + i));
        halves h = dtype == SSQ_F16 ? f16_of_floats(y) : bf16_of_floats(y);
        memcpy(half + i, &h, sizeof(h));
    }
    for (; i < n; i++)
        half[i] = (uint16_t)(dtype == SSQ_F16 ? f16_store(s_canonical(x[i]))
                                              : bf16_store(s_canonical(x[i])));
}

static void maximum_i32(int32_t *out, const int32_t *a, const int32_t *b,
                        size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = a[i] > b[i] ? a[i] : b[i];
}

extern const struct term_kernels ISA_NAME(term_kernels);
const struct term_kernels ISA_NAME(term_kernels) = {.load = load,
                                                    .add = add,
                                                    .maximum = maximum,
                                                    .divide = divide,
                                                    .store = store,
                                                    .maximum_i32 = maximum_i32};
