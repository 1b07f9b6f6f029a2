/* SPDX-License-Identifier: Apache-2.0 */
/* norm.c - passes of batch norm over a channel, whose lines lie apart.
 *
 * A sum has SUMS lanes side by side. They are put aside after SHORT additions
 * each: so no chain is longer than one of SHORT and one of the sums put aside,
 * however many lines are shorter than a vector. */
#include "backends/cpu/isa.h"
#include "backends/cpu/isa/cells.h"
#include "backends/cpu/norm/norm_kernels.h"
#include "kernels/gemm/epilogue.h"

#define VECTORS (64 / LANES)
#define SHORT   32

struct norm_sums {
    floats now[VECTORS], aside[VECTORS];
    uint32_t next; /* vectors that were added since */
};

/* Which one is added to turns with every vector. */
INLINE void sums_add(struct norm_sums *s, floats x)
{
    s->now[s->next % VECTORS] += x;
    if (++s->next < SHORT * VECTORS)
        return;
    for (int i = 0; i < VECTORS; i++) {
        s->aside[i] += s->now[i];
        s->now[i] = (floats){0};
    }
    s->next = 0;
}

static float sums_fold(struct norm_sums *s)
{
    float lane[64];
    for (int i = 0; i < VECTORS; i++)
        floats_store(lane + i * LANES, s->aside[i] + s->now[i]);
    for (int half = 32; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            lane[i] += lane[i + half];
    return lane[0];
}

/* 0 in lanes without an element: from n on. */
INLINE floats first_of(floats x, uint32_t n)
{
#if LANES == 16
    if (n < LANES)
        return _mm512_maskz_mov_ps((__mmask16)((1u << n) - 1u), x);
#else
    for (uint32_t i = n; i < LANES; i++)
        x[i] = 0.0f;
#endif
    return x;
}

INLINE const char *line_of(const struct norm_lines *l, int64_t i)
{
    return l->data + i * l->apart * cell_bytes(l->dtype);
}

INLINE floats some(const struct norm_lines *l, const char *line, uint32_t i,
                   uint32_t n)
{
    return cells_load(l->dtype, line + i * cell_bytes(l->dtype), n);
}

static float sum(const struct norm_channel *c, const struct norm_lines *x)
{
    struct norm_sums s = {0};
    for (int64_t l = 0; l < c->lines; l++) {
        const char *from = line_of(x, l);
        for (uint32_t i = 0; i < c->line; i += LANES)
            sums_add(&s, some(x, from, i, c->line - i));
    }
    return sums_fold(&s);
}

static void deviations(const struct norm_channel *c, const struct norm_lines *x,
                       float sums[2])
{
    const floats mean = floats_splat(c->mean);
    struct norm_sums s = {0}, squares = {0};
    for (int64_t l = 0; l < c->lines; l++) {
        const char *from = line_of(x, l);
        for (uint32_t i = 0; i < c->line; i += LANES) {
            uint32_t n = c->line - i;
            floats v = first_of(some(x, from, i, n) - mean, n);
            sums_add(&s, v);
            sums_add(&squares, v * v);
        }
    }
    sums[0] = sums_fold(&s);
    sums[1] = sums_fold(&squares);
}

static void sum_dy(const struct norm_channel *c, const struct norm_lines *x,
                   const struct norm_lines *dy, float sums[2])
{
    const floats mean = floats_splat(c->mean), rstd = floats_splat(c->rstd);
    struct norm_sums s = {0}, s_z = {0};
    for (int64_t l = 0; l < c->lines; l++) {
        const char *x_line = line_of(x, l), *dy_line = line_of(dy, l);
        for (uint32_t i = 0; i < c->line; i += LANES) {
            uint32_t n = c->line - i;
            floats e = some(dy, dy_line, i, n);
            floats z = (some(x, x_line, i, n) - mean) * rstd;
            sums_add(&s, e);
            sums_add(&s_z, first_of(z * e, n));
        }
    }
    sums[0] = sums_fold(&s);
    sums[1] = sums_fold(&s_z);
}

/* An activation but relu. */
static floats activated(floats x, uint32_t activation)
{
    for (int i = 0; i < LANES; i++)
        x[i] = activate(x[i], activation);
    return x;
}

static void apply(const struct norm_channel *c, const struct norm_lines *x,
                  const struct norm_lines *y)
{
    const floats mean = floats_splat(c->mean), rstd = floats_splat(c->rstd);
    const floats gamma = floats_splat(c->gamma), beta = floats_splat(c->beta);
    for (int64_t l = 0; l < c->lines; l++) {
        const char *from = line_of(x, l);
        char *to = y->data + (line_of(y, l) - y->data);
        for (uint32_t i = 0; i < c->line; i += LANES) {
            uint32_t n = c->line - i;
            floats v = (some(x, from, i, n) - mean) * rstd * gamma + beta;
            if (c->activation == ACT_RELU)
                v = (floats)((words)v & ~(words)(v < 0.0f));
            else if (c->activation != ACT_NONE)
                v = activated(v, c->activation);
            cells_store(y->dtype, to + i * cell_bytes(y->dtype), v, n);
        }
    }
}

static void gradient(const struct norm_channel *c, const struct norm_lines *x,
                     const struct norm_lines *dy, const struct norm_lines *dx)
{
    const floats mean = floats_splat(c->mean), rstd = floats_splat(c->rstd);
    const floats gamma = floats_splat(c->gamma), avg = floats_splat(c->avg);
    const floats avg_z = floats_splat(c->avg_z);
    for (int64_t l = 0; l < c->lines; l++) {
        const char *x_line = line_of(x, l), *dy_line = line_of(dy, l);
        char *to = dx->data + (line_of(dx, l) - dx->data);
        for (uint32_t i = 0; i < c->line; i += LANES) {
            uint32_t n = c->line - i;
            floats e = some(dy, dy_line, i, n) * gamma;
            if (!c->given) {
                floats z = (some(x, x_line, i, n) - mean) * rstd;
                e = e - avg - z * avg_z;
            }
            cells_store(dx->dtype, to + i * cell_bytes(dx->dtype), rstd * e, n);
        }
    }
}

extern const struct norm_kernels ISA_NAME(norm_kernels);
const struct norm_kernels ISA_NAME(norm_kernels) = {.width = LANES,
                                                    .sum = sum,
                                                    .deviations = deviations,
                                                    .sum_dy = sum_dy,
                                                    .apply = apply,
                                                    .gradient = gradient};
