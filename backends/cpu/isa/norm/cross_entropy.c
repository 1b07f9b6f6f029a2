/* SPDX-License-Identifier: Apache-2.0 */
/* cross_entropy.c - rows of logits with a class each: the loss and its
 * gradient, with the arithmetic of kernels/loss/ in its order. */
#include "backends/cpu/isa.h"
#include "backends/cpu/isa/norm/exp_row.h"

/* A row while it is worked on. kept: its exponentials; or NULL, where they are
 * made again. */
struct cpu_cross_entropy_row {
    const char *x;
    ssq_dtype is;
    float *kept;
    floats most, total, sum_q, seed;
    size_t mine;
    float at_mine; /* the gradient there */
};

INLINE floats slope_at(const struct cpu_cross_entropy_row *r, size_t i,
                       size_t n)
{
    floats e;
    if (r->kept != NULL)
        e = floats_load(r->kept + i);
    else
        e = floats_exp_neg((i + LANES <= n
                                ? row_load(r->is, r->x, i)
                                : row_rest(r->is, r->x, i, n, 0.0f)) -
                           r->most);
    return ((e / r->total) * r->sum_q) * r->seed;
}

/* q is 0 except for the target: there is nothing to be taken from others. */
INLINE floats made(const void *row, size_t i, size_t n)
{
    const struct cpu_cross_entropy_row *r = row;
    floats g = slope_at(r, i, n);
    if (r->mine - i < LANES) /* else it wraps around */
        g[r->mine - i] = r->at_mine;
    return g;
}

/* Of a row that does not count: 0, or NaN. */
INLINE floats same(const void *value, size_t i, size_t n)
{
    (void)i;
    (void)n;
    return floats_splat(*(const float *)value);
}

INLINE float element(ssq_dtype is, const char *x, size_t i)
{
    return row_rest(is, x, i, i + 1, 0.0f)[0];
}

INLINE void row_of_none(ssq_dtype to, const struct cross_entropy_rows *c,
                        int64_t i)
{
    float value = c->row[i].mine == -1 ? 0.0f : AS_F32(F32_NAN);
    c->row[i].value = value;
    if (c->dx.p != NULL)
        row_put(to, row_of(&c->dx, i), c->n, c->past, same, &value);
}

INLINE void one_row(ssq_dtype is, ssq_dtype to,
                    const struct cross_entropy_rows *c, int64_t i, int64_t next,
                    float *kept)
{
    struct cross_entropy_row *facts = &c->row[i];
    struct cpu_cross_entropy_row r = {.x = row_of(&c->x, i),
                                      .mine = (size_t)facts->mine};
    float most = most_of_row(is, r.x, c->n);
    r.is = is;
    r.kept = c->n > ROW_KEPT || c->dx.p == NULL ? NULL : kept;
    r.most = floats_splat(most);
    float total =
        exp_sum_of_row(is, r.x, r.most, r.kept, c->n, row_of(&c->x, next));
    float x = element(is, r.x, r.mine), log_total = s_log(total);
    facts->value = 0.0f - facts->q * ((x - most) - log_total);
    if (c->dx.p == NULL)
        return;
    float p = s_exp_neg(x - most) / total;
    r.at_mine = (p * facts->q - facts->q) * facts->seed;
    r.total = floats_splat(total);
    r.sum_q = floats_splat(facts->q);
    r.seed = floats_splat(facts->seed);
    row_put(to, row_of(&c->dx, i), c->n, c->past, made, &r);
}

INLINE void rows_of(ssq_dtype is, ssq_dtype to,
                    const struct cross_entropy_rows *c, int64_t from,
                    int64_t end, float *kept)
{
    for (int64_t i = from; i < end; i++) {
        if (c->row[i].mine < 0)
            row_of_none(to, c, i);
        else
            one_row(is, to, c, i, i + 1 < end ? i + 1 : i, kept);
    }
}

static void rows(const struct cross_entropy_rows *c, int64_t from, int64_t end)
{
    float kept[ROW_KEPT + LANES];
    ssq_dtype to = c->dx.p == NULL ? c->x.dtype : c->dx.dtype;
    if (c->x.dtype != to)
        rows_of(c->x.dtype, to, c, from, end, kept);
    else if (to == SSQ_F32)
        rows_of(SSQ_F32, SSQ_F32, c, from, end, kept);
    else if (to == SSQ_F16)
        rows_of(SSQ_F16, SSQ_F16, c, from, end, kept);
    else
        rows_of(SSQ_BF16, SSQ_BF16, c, from, end, kept);
    row_fence();
}

extern const struct cross_entropy_kernels ISA_NAME(cross_entropy_kernels);
const struct cross_entropy_kernels ISA_NAME(cross_entropy_kernels) = {rows};
