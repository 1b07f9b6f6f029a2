/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.c - rows of softmax, of its logarithm and of its gradient, with the
 * arithmetic of kernels/softmax/ in its order. */
#include "backends/cpu/isa.h"
#include "backends/cpu/isa/norm/exp_row.h"

/* A row while it is worked on. kept: its exponentials; or NULL, where they are
 * made again. */
struct softmax_row {
    const char *x;
    ssq_dtype is;
    bool is_log;
    float *kept;
    floats most, factor;
};

INLINE floats made(const void *row, size_t i, size_t n)
{
    const struct softmax_row *r = row;
    if (r->kept != NULL)
        return floats_load(r->kept + i) * r->factor;
    floats x = i + LANES <= n ? row_load(r->is, r->x, i)
                              : row_rest(r->is, r->x, i, n, 0.0f);
    if (r->is_log)
        return (x - r->most) - r->factor;
    return floats_exp_neg(x - r->most) * r->factor;
}

/* kept has room for ROW_KEPT elements and a vector more. */
INLINE void rows_of(ssq_dtype is, ssq_dtype to, const struct softmax_rows *s,
                    int64_t from, int64_t end, float *kept)
{
    const int64_t group = row_group(s->n);
    const size_t room = (s->n + LANES - 1) / LANES * LANES;
    struct softmax_row r[ROW_GROUP];
    for (int64_t i = from; i < end; i += group) {
        int64_t some = size_least(group, end - i);
        for (int64_t k = 0; k < some; k++) {
            r[k] = (struct softmax_row){
                .x = row_of(&s->x, i + k), .is = is, .is_log = s->is_log};
            r[k].kept = s->is_log || s->n > ROW_KEPT ? NULL : kept + k * room;
            r[k].most = floats_splat(most_of_row(is, r[k].x, s->n));
        }
        for (int64_t k = 0; k < some; k++) {
            int64_t next = i + k + (i + k + group < end ? group : 0);
            struct softmax_row one = r[k];
            float total = exp_sum_of_row(is, one.x, one.most, one.kept, s->n,
                                         row_of(&s->x, next));
            r[k].factor = floats_splat(s->is_log ? s_log(total) : s_rcp(total));
        }
        for (int64_t k = 0; k < some; k++) {
            struct softmax_row one = r[k];
            one.is = is; /* a constant again, which no load has to ask for */
            row_put(to, row_of(&s->y, i + k), s->n, s->past, made, &one);
        }
    }
}

static void softmax(const struct softmax_rows *s, int64_t from, int64_t end)
{
    float kept[ROW_KEPT + LANES];
    if (s->x.dtype != s->y.dtype)
        rows_of(s->x.dtype, s->y.dtype, s, from, end, kept);
    else if (s->x.dtype == SSQ_F32)
        rows_of(SSQ_F32, SSQ_F32, s, from, end, kept);
    else if (s->x.dtype == SSQ_F16)
        rows_of(SSQ_F16, SSQ_F16, s, from, end, kept);
    else
        rows_of(SSQ_BF16, SSQ_BF16, s, from, end, kept);
    row_fence();
}

/* ---- backward ---- */

struct softmax_slope {
    const char *y, *dy, *next_y, *next_dy;
    ssq_dtype is, dy_is;
    floats sum;
};

INLINE float dot_of_row(const struct softmax_slope *r, size_t n)
{
    struct row_lanes sum = {0};
    size_t i = 0;
    for (; i + ROW_STEP <= n; i += ROW_STEP)
        ROW_EACH(v)
        {
            size_t at = i + v * LANES;
            sum.v[v] +=
                row_load(r->dy_is, r->dy, at) * row_load(r->is, r->y, at);
        }
    for (int v = 0; i + LANES <= n; v++, i += LANES)
        sum.v[v] += row_load(r->dy_is, r->dy, i) * row_load(r->is, r->y, i);
    if (i < n)
        sum.v[i % ROW_STEP / LANES] += row_rest(r->dy_is, r->dy, i, n, 0.0f) *
                                       row_rest(r->is, r->y, i, n, 0.0f);
    return row_sum(&sum);
}

INLINE floats slope_made(const void *row, size_t i, size_t n)
{
    const struct softmax_slope *r = row;
    if (i + LANES > n)
        return row_rest(r->is, r->y, i, n, 0.0f) *
               (row_rest(r->dy_is, r->dy, i, n, 0.0f) - r->sum);
    fetch_near(r->next_y + (int64_t)i * cell_bytes(r->is));
    fetch_near(r->next_dy + (int64_t)i * cell_bytes(r->dy_is));
    return row_load(r->is, r->y, i) * (row_load(r->dy_is, r->dy, i) - r->sum);
}

INLINE void slopes_of(ssq_dtype is, ssq_dtype dy_is, ssq_dtype dx_is,
                      const struct softmax_slopes *s, int64_t from, int64_t end)
{
    for (int64_t i = from; i < end; i++) {
        int64_t next = i + 1 < end ? i + 1 : i;
        struct softmax_slope r = {.y = row_of(&s->y, i),
                                  .dy = row_of(&s->dy, i),
                                  .next_y = row_of(&s->y, next),
                                  .next_dy = row_of(&s->dy, next),
                                  .is = is,
                                  .dy_is = dy_is};
        r.sum = floats_splat(dot_of_row(&r, s->n));
        row_put(dx_is, row_of(&s->dx, i), s->n, s->past, slope_made, &r);
    }
}

static void softmax_backward(const struct softmax_slopes *s, int64_t from,
                             int64_t end)
{
    ssq_dtype y = s->y.dtype;
    if (y != s->dy.dtype || y != s->dx.dtype)
        slopes_of(y, s->dy.dtype, s->dx.dtype, s, from, end);
    else if (y == SSQ_F32)
        slopes_of(SSQ_F32, SSQ_F32, SSQ_F32, s, from, end);
    else if (y == SSQ_F16)
        slopes_of(SSQ_F16, SSQ_F16, SSQ_F16, s, from, end);
    else
        slopes_of(SSQ_BF16, SSQ_BF16, SSQ_BF16, s, from, end);
    row_fence();
}

extern const struct softmax_kernels ISA_NAME(softmax_kernels);
const struct softmax_kernels ISA_NAME(softmax_kernels) = {softmax,
                                                          softmax_backward};
