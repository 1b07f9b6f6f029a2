/* SPDX-License-Identifier: Apache-2.0 */
/* attention.c - what attention does with panels and blocks beside weights and
 * tiles; softcap, bias and dropout; numbers that are not finite. */
#include "backends/cpu/isa/attention/attention.h"

#include "kernels/elementwise/elementwise.h"
#include "kernels/random/random.h"

/* ---- odd scores ---- */

/* One row of products: capped, with the slopes of that. */
static void cap(float softcap, uint32_t n, float *x, float *bend)
{
    for (uint32_t i = 0; i < n; i++) {
        float t = s_div(x[i], softcap);
        x[i] = softcap * s_tanh(t);
        if (bend != NULL)
            bend[i] = s_tanh_grad(t);
    }
}

/* If the bias is -inf the score is -inf for any product. */
void ISA_NAME(attention_prepare)(const struct attention_scores *s, float *block)
{
    const uint32_t n = s->vectors * LANES;
    for (uint32_t j = 0; j < s->keys; j++, block += QUERY_BLOCK) {
        size_t at = (size_t)j * QUERY_BLOCK;
        for (uint32_t i = 0; i < n; i++)
            block[i] = s->scale * block[i];
        if (s->softcap != 0.0f)
            cap(s->softcap, n, block, s->bend == NULL ? NULL : s->bend + at);
        for (uint32_t i = 0; s->bias != NULL && i < n; i++) {
            float b = s->bias[at + i];
            block[i] = b == NONE ? b : block[i] + b;
        }
    }
}

words ISA_NAME(attention_dropped)(const struct attention_dropout *d,
                                  uint32_t first, uint32_t j)
{
    words gone;
    for (uint32_t i = 0; i < LANES; i++) {
        uint64_t at = d->word + (first + i) * d->tk + j;
        uint32_t r = random_u32(d->seed[0], d->seed[1], d->step, d->id,
                                (uint32_t)at, (uint32_t)(at >> 32));
        gone[i] = random_chance(r, d->threshold, d->all) ? UINT32_MAX : 0;
    }
    return gone;
}

/* ---- vectors of a query block ---- */

static void rescale(float *to, uint32_t rows, const float *factor)
{
    floats x = floats_load(factor), y = floats_load(factor + LANES);
    for (uint32_t i = 0; i < rows; i++, to += QUERY_BLOCK) {
        floats_store(to, floats_load(to) * x);
        floats_store(to + LANES, floats_load(to + LANES) * y);
    }
}

static void dots(const float *x, const float *y, uint32_t rows, float *sums)
{
    floats left = {0}, right = {0};
    for (uint32_t i = 0; i < rows; i++, x += QUERY_BLOCK, y += QUERY_BLOCK) {
        left = floats_fma(floats_load(x), floats_load(y), left);
        right =
            floats_fma(floats_load(x + LANES), floats_load(y + LANES), right);
    }
    floats_store(sums, left);
    floats_store(sums + LANES, right);
}

static void logs(const struct attention_state *state, uint32_t n, float *to)
{
    for (uint32_t i = 0; i < n; i++)
        to[i] = state->most[i] + s_log(state->total[i]);
}

static bool all_finite(const float *x, size_t n)
{
    const uint32_t infinite = 0x7f800000u;
    words odd = {0};
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        odd |= (words)((words_load(x + i) & infinite) == infinite);
    for (; i < n; i++)
        odd[0] |= (AS_U32(x[i]) & infinite) == infinite;
    uint32_t any = 0;
    for (int j = 0; j < LANES; j++)
        any |= odd[j];
    return any == 0;
}

/* ---- products of which some are not made ---- */

INLINE floats add_some(float f, floats x, floats sum)
{
    words skip = (words)((words)x == TILE_SKIP);
    return floats_choose(skip, floats_fma(floats_splat(f), x, sum), sum);
}

void ISA_NAME(attention_multiply)(const struct gemm_tile *t)
{
    const float *a = t->a;
    const char *b = t->b;
    for (uint32_t i = 0; i < t->rows; i++)
        for (uint32_t q = 0; q < t->columns; q += LANES) {
            char *to = (char *)t->to + i * t->to_row + 4 * q;
            floats sum = {0};
            if (t->from != NULL)
                sum = floats_load(t->from + i * t->from_row + q);
            for (uint32_t k = 0; k < t->depth; k++) {
                float f = a[(size_t)k * t->height + i];
                if (AS_U32(f) != TILE_SKIP)
                    sum =
                        add_some(f, floats_load(b + k * t->b_row + 4 * q), sum);
            }
            floats_store(to, sum);
        }
}

/* ---- results ---- */

void ISA_NAME(attention_store)(void *to, uint32_t dtype, int64_t to_row,
                               const float *from, size_t from_row,
                               uint32_t rows, uint32_t columns, float factor)
{
    const int64_t bytes = dtype == SSQ_F32 ? 4 : 2;
    float line[QUERY_BLOCK];
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t j = 0; j < columns; j += QUERY_BLOCK) {
            const float *x = from + i * from_row + j;
            char *d = (char *)to + (i * to_row + j) * bytes;
            uint32_t n = columns - j < QUERY_BLOCK ? columns - j : QUERY_BLOCK;
            floats_store(line, floats_load(x) * factor);
            floats_store(line + LANES, floats_load(x + LANES) * factor);
            if (n == QUERY_BLOCK)
                half_put(d, dtype, line, QUERY_BLOCK);
            else
                half_put(d, dtype, line, n);
        }
}

const struct attention_kernels ISA_NAME(attention) = {
    .weights = ISA_NAME(attention_weights),
    .factors = ISA_NAME(attention_factors),
    .rescale = rescale,
    .dots = dots,
    .logs = logs,
    .finite = all_finite,
    .multiply = ISA_NAME(attention_multiply),
    .store = ISA_NAME(attention_store),
};
