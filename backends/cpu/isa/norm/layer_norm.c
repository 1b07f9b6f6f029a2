/* SPDX-License-Identifier: Apache-2.0 */
/* layer_norm.c - rows of layer norm and RMS norm, and of their gradients, with
 * the arithmetic of kernels/norm/ in its order. */
#include "backends/cpu/isa.h"
#include "backends/cpu/isa/norm/row.h"
#include "kernels/norm/deviations.h"

/* A row while it is worked on. */
struct layer_norm_row {
    const char *x, *next;
    ssq_dtype is;
    const float *gamma, *beta;
    floats mean, rstd;
};

INLINE float sum_of_row(const struct layer_norm_row *r, ssq_dtype is, size_t n)
{
    struct row_lanes sum;
    size_t i = 0;
    row_zero(&sum);
    for (; i + ROW_STEP <= n; i += ROW_STEP) {
        ROW_EACH(v)
        sum.v[v] += row_load(is, r->x, i + v * LANES);
    }
    for (int v = 0; i + LANES <= n; v++, i += LANES)
        sum.v[v] += row_load(is, r->x, i);
    if (i < n)
        sum.v[i % ROW_STEP / LANES] += row_rest(is, r->x, i, n, 0.0f);
    return row_sum(&sum);
}

INLINE floats square_of(floats x)
{
    return x * x;
}

INLINE void add_deviation(floats d, floats *apart, floats *squares)
{
    *apart += d;
    *squares += d * d;
}

/* Vectors of a step whose two sums, with mean and element, fit in 16 registers:
 * all steps of a row by the first ones, then by the next. */
#define AT_ONCE 4

/* Both sums of the row's whole steps, for some vectors of each. */
INLINE void add_steps(const struct layer_norm_row *r, ssq_dtype is, size_t n,
                      int first, floats *apart, floats *squares)
{
    floats d[AT_ONCE], s[AT_ONCE];
    _Pragma("GCC unroll 16") for (int v = 0; v < AT_ONCE; v++) d[v] = s[v] =
        (floats){0};
    for (size_t i = (size_t)first * LANES; i < n / ROW_STEP * ROW_STEP;
         i += ROW_STEP) {
        row_fetch(is, r->next, i, AT_ONCE * LANES);
        _Pragma("GCC unroll 16") for (int v = 0; v < AT_ONCE; v++)
            add_deviation(row_load(is, r->x, i + v * LANES) - r->mean, &d[v],
                          &s[v]);
    }
    _Pragma("GCC unroll 16") for (int v = 0; v < AT_ONCE; v++)
    {
        apart[first + v] = d[v];
        squares[first + v] = s[v];
    }
}

/* The sum of the squares of x - mean and, of a layer norm, that of x - mean: by
 * both the mean is corrected, and the squares are about that. centred is a
 * constant. */
INLINE float squares_of_row(struct layer_norm_row *r, ssq_dtype is, size_t n,
                            bool centred)
{
    struct row_lanes apart, squares;
    size_t i = 0;
    row_zero(&apart);
    row_zero(&squares);
    if (centred) {
        _Pragma("GCC unroll 4") for (int v = 0; v < ROW_VECTORS; v += AT_ONCE)
            add_steps(r, is, n, v, apart.v, squares.v);
        i = n / ROW_STEP * ROW_STEP;
    }
    for (; i + ROW_STEP <= n; i += ROW_STEP) { /* the mean is 0 */
        row_fetch(is, r->next, i, ROW_STEP);
        ROW_EACH(v)
        squares.v[v] += square_of(row_load(is, r->x, i + v * LANES));
    }
    for (int v = 0; i + LANES <= n; v++, i += LANES)
        add_deviation(row_load(is, r->x, i) - r->mean, &apart.v[v],
                      &squares.v[v]);
    if (i < n)
        add_deviation(row_rest(is, r->x, i, n, r->mean[0]) - r->mean,
                      &apart.v[i % ROW_STEP / LANES],
                      &squares.v[i % ROW_STEP / LANES]);
    float square = row_sum(&squares);
    if (!centred)
        return square;
    float sum = row_sum(&apart), c = s_div(sum, (float)n);
    r->mean = floats_splat(deviations_mean(r->mean[0], c));
    return deviations_squares(square, sum, c);
}

INLINE floats made(const void *row, size_t i, size_t n)
{
    const struct layer_norm_row *r = row;
    bool part = i + LANES > n;
    floats x =
        part ? row_rest(r->is, r->x, i, n, 0.0f) : row_load(r->is, r->x, i);
    x = (x - r->mean) * r->rstd;
    if (r->gamma != NULL)
        x *= part ? row_rest(SSQ_F32, (const char *)r->gamma, i, n, 0.0f)
                  : floats_load(r->gamma + i);
    if (r->beta != NULL)
        x += part ? row_rest(SSQ_F32, (const char *)r->beta, i, n, 0.0f)
                  : floats_load(r->beta + i);
    return x;
}

static void put_float(const struct rows_at *at, int64_t row, float x)
{
    if (at->p != NULL)
        *(float *)row_of(at, row) = x;
}

INLINE void rows_of(ssq_dtype is, ssq_dtype to, const struct layer_norm_rows *l,
                    int64_t from, int64_t end)
{
    const float n = (float)l->n;
    const int64_t group = row_group(l->n);
    struct layer_norm_row r[ROW_GROUP];
    for (int64_t i = from; i < end; i += group) {
        int64_t some = size_least(group, end - i);
        for (int64_t k = 0; k < some; k++) {
            int64_t next = i + k + (i + k + group < end ? group : 0);
            r[k] = (struct layer_norm_row){.x = row_of(&l->x, i + k),
                                           .next = row_of(&l->x, next),
                                           .is = is,
                                           .gamma = l->gamma,
                                           .beta = l->beta};
            float mean =
                l->is_rms ? 0.0f : s_div(sum_of_row(&r[k], is, l->n), n);
            r[k].mean = floats_splat(mean);
        }
        for (int64_t k = 0; k < some; k++) {
            float squares = l->is_rms ? squares_of_row(&r[k], is, l->n, false)
                                      : squares_of_row(&r[k], is, l->n, true);
            float rstd = s_rsqrt(s_div(squares, n) + l->eps);
            r[k].rstd = floats_splat(rstd);
            put_float(&l->mean, i + k, r[k].mean[0]);
            put_float(&l->rstd, i + k, rstd);
        }
        for (int64_t k = 0; k < some && l->y.p != NULL; k++) {
            struct layer_norm_row one = r[k];
            one.is = is; /* a constant again, which no load has to ask for */
            row_put(to, row_of(&l->y, i + k), l->n, l->past, made, &one);
        }
    }
}

static void layer_norm(const struct layer_norm_rows *l, int64_t from,
                       int64_t end)
{
    ssq_dtype x = l->x.dtype;
    if (x != l->y.dtype)
        rows_of(x, l->y.dtype, l, from, end);
    else if (x == SSQ_F32)
        rows_of(SSQ_F32, SSQ_F32, l, from, end);
    else if (x == SSQ_F16)
        rows_of(SSQ_F16, SSQ_F16, l, from, end);
    else
        rows_of(SSQ_BF16, SSQ_BF16, l, from, end);
    row_fence();
}

/* ---- backward ---- */

struct layer_norm_slope {
    const char *x, *dy, *next_x, *next_dy;
    ssq_dtype is, dy_is;
    const float *gamma;
    float *dgamma, *dbeta; /* or NULL */
    floats mean, rstd, avg, avg_z;
    size_t half; /* elements of half a row */
};

/* Of an element: x normalised again, dy, and dy gamma. */
struct terms {
    floats z, dy, g;
};

INLINE struct terms terms_of(const struct layer_norm_slope *r, size_t i,
                             size_t n)
{
    struct terms t;
    if (i + LANES <= n) {
        t.z = row_load(r->is, r->x, i);
        t.dy = row_load(r->dy_is, r->dy, i);
    } else {
        t.z = row_rest(r->is, r->x, i, n, r->mean[0]);
        t.dy = row_rest(r->dy_is, r->dy, i, n, 0.0f);
    }
    t.z = (t.z - r->mean) * r->rstd;
    t.g = t.dy;
    if (r->gamma != NULL)
        t.g *= i + LANES <= n
                   ? floats_load(r->gamma + i)
                   : row_rest(SSQ_F32, (const char *)r->gamma, i, n, 0.0f);
    return t;
}

INLINE void add_to(float *sum, size_t i, size_t n, floats x)
{
    if (i + LANES <= n) {
        floats_store(sum + i, floats_load(sum + i) + x);
        return;
    }
    x += row_rest(SSQ_F32, (const char *)sum, i, n, 0.0f);
    cells_store_part(SSQ_F32, (char *)(sum + i), x, (uint32_t)(n - i));
}

/* Sums of g and of g z, and the row's share of dgamma and dbeta. */
INLINE void join(const struct layer_norm_slope *r, size_t i, size_t n,
                 floats *sum, floats *dot)
{
    struct terms t = terms_of(r, i, n);
    *sum += t.g;
    *dot += t.g * t.z;
    if (r->dgamma != NULL) {
        add_to(r->dgamma, i, n, t.dy * t.z);
        add_to(r->dbeta, i, n, t.dy);
    }
}

/* Half a step of the next row: each of two passes brings a half of it. */
INLINE void fetch_next(const struct layer_norm_slope *r, size_t i)
{
    row_fetch(r->is, r->next_x, i, ROW_STEP / 2);
    row_fetch(r->dy_is, r->next_dy, i, ROW_STEP / 2);
}

INLINE void find_averages(struct layer_norm_slope *r, size_t n, bool has_mean)
{
    struct row_lanes sum, dot;
    size_t i = 0;
    row_zero(&sum);
    row_zero(&dot);
    for (; i + ROW_STEP <= n; i += ROW_STEP) {
        fetch_next(r, i / 2);
        ROW_EACH(v)
        join(r, i + v * LANES, n, &sum.v[v], &dot.v[v]);
    }
    for (int v = 0; i < n; v++, i += LANES)
        join(r, i, n, &sum.v[v], &dot.v[v]);
    float avg = has_mean ? s_div(row_sum(&sum), (float)n) : 0.0f;
    r->avg = floats_splat(avg);
    r->avg_z = floats_splat(s_div(row_sum(&dot), (float)n));
}

INLINE floats slope_made(const void *row, size_t i, size_t n)
{
    const struct layer_norm_slope *r = row;
    struct terms t = terms_of(r, i, n);
    if (i / LANES % ROW_VECTORS == 0)
        fetch_next(r, r->half + i / 2);
    return r->rstd * ((t.g - r->avg) - t.z * r->avg_z);
}

INLINE void slopes_of(ssq_dtype is, ssq_dtype dy_is, ssq_dtype dx_is,
                      const struct layer_norm_slopes *l, int64_t from,
                      int64_t end, float *sums)
{
    bool has_mean = l->mean.p != NULL;
    for (int64_t i = from; i < end; i++) {
        int64_t next = i + 1 < end ? i + 1 : i;
        struct layer_norm_slope r = {.x = row_of(&l->x, i),
                                     .dy = row_of(&l->dy, i),
                                     .next_x = row_of(&l->x, next),
                                     .next_dy = row_of(&l->dy, next),
                                     .is = is,
                                     .dy_is = dy_is,
                                     .half = l->n / 2,
                                     .gamma = l->gamma,
                                     .dgamma = sums,
                                     .dbeta =
                                         sums == NULL ? NULL : sums + l->n};
        if (has_mean)
            r.mean = floats_splat(*(const float *)row_of(&l->mean, i));
        r.rstd = floats_splat(*(const float *)row_of(&l->rstd, i));
        find_averages(&r, l->n, has_mean);
        if (l->dx.p != NULL)
            row_put(dx_is, row_of(&l->dx, i), l->n, l->past, slope_made, &r);
    }
}

static void backward(const struct layer_norm_slopes *l, int64_t from,
                     int64_t end, float *sums)
{
    ssq_dtype x = l->x.dtype;
    if (x != l->dy.dtype || x != l->dx.dtype)
        slopes_of(x, l->dy.dtype, l->dx.dtype, l, from, end, sums);
    else if (x == SSQ_F32)
        slopes_of(SSQ_F32, SSQ_F32, SSQ_F32, l, from, end, sums);
    else if (x == SSQ_F16)
        slopes_of(SSQ_F16, SSQ_F16, SSQ_F16, l, from, end, sums);
    else
        slopes_of(SSQ_BF16, SSQ_BF16, SSQ_BF16, l, from, end, sums);
    row_fence();
}

extern const struct layer_norm_kernels ISA_NAME(layer_norm_kernels);
const struct layer_norm_kernels ISA_NAME(layer_norm_kernels) = {layer_norm,
                                                                backward};
