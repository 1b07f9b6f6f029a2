/* SPDX-License-Identifier: Apache-2.0 */
/* channel_norm.c - reference: batch norm, group norm and their backward.
 *
 * A set of elements, and a channel of a set, is a box: a part of a view [n, c,
 * spatial..]. It is read line by line, in pieces of at most PIECE elements. A
 * line is the last dimension. */
#include "lib/op/norm/channel_merge.h"

#include "backends/reference/rows.h"
#include "kernels/scalar/convert.h"
#include "kernels/gemm/epilogue.h"

#include <math.h>

/* Elements that are loaded as float32 at a time. The dtype is tested once for a
 * piece, and not for each element. */
#define PIECE 128

/* Return n examples from n0 and c channels from c0 of a view. An absent view
 * stays absent. */
static struct view box(const struct view *v, int64_t n0, int64_t n, int64_t c0,
                       int64_t c)
{
    struct view b = *v;
    if (v->buffer == NULL)
        return b;
    b.offset += (uint64_t)(n0 * v->stride[0] + c0 * v->stride[1]) *
                dtype_bytes(v->dtype);
    b.shape[0] = n;
    b.shape[1] = c;
    return b;
}

/* Load n elements of a line, from i on; n is at most PIECE. */
static void unpack(float *t, const struct line *l, int64_t i, int64_t n)
{
    const float *full = l->base;
    const uint16_t *half = l->base;
    int64_t at = l->at + i * l->stride;
    if (l->dtype == SSQ_F32)
        for (int64_t k = 0; k < n; k++)
            t[k] = full[at + k * l->stride];
    else if (l->dtype == SSQ_F16)
        for (int64_t k = 0; k < n; k++)
            t[k] = f16_load(half[at + k * l->stride]);
    else
        for (int64_t k = 0; k < n; k++)
            t[k] = bf16_load(half[at + k * l->stride]);
}

/* A walk over the pieces of up to three views of one shape, in row-major
 * order. */
struct channel_norm_pieces {
    const struct view *v[3];
    struct walk w;
    int64_t length, i; /* elements of a line; first element of the piece */
    bool done;
};

/* Begin a walk over pieces. For fewer than three views, pass one of them again.
 * The walk is over lines, so it excludes the last dimension. */
static struct channel_norm_pieces
pieces_begin(const struct view *a, const struct view *b, const struct view *c)
{
    struct channel_norm_pieces p = {.v = {a, b, c},
                                    .length = a->shape[a->rank - 1]};
    walk_begin(&p.w, p.v, 3);
    p.w.rank--;
    return p;
}

/* Return the elements of the piece. The last piece of a line may be shorter. */
static int64_t piece_size(const struct channel_norm_pieces *p)
{
    return p->length - p->i < PIECE ? p->length - p->i : PIECE;
}

/* Load the piece of view k. */
static void piece_load(const struct channel_norm_pieces *p, int k, float *t)
{
    struct line l = line_of(p->v[k], p->w.at[k]);
    unpack(t, &l, p->i, piece_size(p));
}

/* Store the piece of view k, rounded to the dtype of the view. */
static void piece_store(const struct channel_norm_pieces *p, int k,
                        const float *t)
{
    struct line l = line_of(p->v[k], p->w.at[k]);
    for (int64_t i = 0; i < piece_size(p); i++)
        line_store(&l, p->i + i, t[i]);
}

/* Go to the next piece of the line, or the first one of the next line. */
static void pieces_next(struct channel_norm_pieces *p)
{
    p->i += PIECE;
    if (p->i < p->length)
        return;
    p->i = 0;
    p->done = !walk_next(&p->w);
}

/* Return element (i, j) of a statistic: of example i, or 0 for the whole batch,
 * and of set j. */
static float scalar_at(const struct view *v, int64_t i, int64_t j)
{
    return ((const float *)view_host(v))[i * v->stride[0] + j * v->stride[1]];
}

/* Return element c of a float32 parameter of channels; `absent` if the
 * parameter is absent. */
static float channel_at(const struct view *v, int64_t c, float absent)
{
    if (v->buffer == NULL)
        return absent;
    return ((const float *)view_host(v))[c * v->stride[0]];
}

/* Set element c of a parameter. This function and the next do nothing if the
 * view is absent. */
static void set_channel(const struct view *v, int64_t c, float x)
{
    if (v->buffer != NULL)
        ((float *)view_host(v))[c * v->stride[0]] = x;
}

static void set_scalar(const struct view *v, int64_t i, int64_t j, float x)
{
    if (v->buffer != NULL)
        ((float *)view_host(v))[i * v->stride[0] + j * v->stride[1]] = x;
}

struct channel_norm_statistics {
    float mean, rest, rstd; /* rest: the part of the mean that rounding has
                               removed */
    float running;          /* the variance toward which the running one
                               moves */
};

/* Return the sum of a box, in float64. Its order of summation therefore need
 * not be specified. */
static double sum_of(const struct view *x)
{
    double sum = 0.0;
    float t[PIECE];
    for (struct channel_norm_pieces p = pieces_begin(x, x, x); !p.done;
         pieces_next(&p)) {
        piece_load(&p, 0, t);
        for (int64_t i = 0; i < piece_size(&p); i++)
            sum += (double)t[i];
    }
    return sum;
}

/* Return the sum of squares about the mean. The rounded mean is subtracted
 * first, because E[x^2] - E[x]^2 would cancel. The mean of the n deviations
 * corrects the rounding of the mean. */
static double sum_of_squares(const struct view *x, float mean, double n)
{
    double squares = 0.0, apart = 0.0;
    float t[PIECE];
    for (struct channel_norm_pieces p = pieces_begin(x, x, x); !p.done;
         pieces_next(&p)) {
        piece_load(&p, 0, t);
        for (int64_t i = 0; i < piece_size(&p); i++) {
            double d = (double)t[i] - (double)mean;
            apart += d;
            squares += d * d;
        }
    }
    return squares_about_mean(squares, apart, n);
}

/* Compute the statistics of a box. The running variance is divided by n - less:
 * less is 1 if it must be unbiased, else 0. All are rounded to float32 before
 * they are used, so that backward gets the same bits from the saved ones. */
static struct channel_norm_statistics statistics_of(const struct view *x,
                                                    float eps, double less)
{
    double n = (double)view_elements(x);
    double mean = sum_of(x) / n;
    struct channel_norm_statistics s = {.mean = (float)mean};
    s.rest = isfinite(mean) && isfinite(s.mean) ? (float)(mean - (double)s.mean)
                                                : 0.0f;
    double squares = sum_of_squares(x, s.mean, n);
    s.rstd = s_rsqrt((float)(squares / n) + eps);
    s.running = (float)(squares / (n - less));
    return s;
}

/* Move a running statistic toward the statistic of this batch. Does nothing if
 * it is absent. */
static void update(const struct channel_norm_op *op, const struct view *running,
                   int64_t c, float x)
{
    if (running->buffer != NULL)
        set_channel(running, c,
                    merge_moved(op->keep, channel_at(running, c, 0.0f),
                                op->momentum, x));
}

/* Merge the statistics of channel c from all parts, and move the running ones
 * if the channel has elements. */
static struct channel_norm_statistics merged(const struct channel_norm_op *op,
                                             int64_t c)
{
    const struct channel_merged m = channel_merge(op, c);
    if (m.some) {
        update(op, &op->running_mean, c, m.mean);
        update(op, &op->running_var, c, m.running);
    }
    return (struct channel_norm_statistics){.mean = m.mean, .rstd = m.rstd};
}

/* Compute y of one channel of a set. An absent gamma or beta is omitted, and
 * not replaced by 1 or 0: adding 0 would change -0 to 0. */
static void normalise(const struct channel_norm_op *op, int64_t c,
                      struct channel_norm_statistics s, const struct view *x,
                      const struct view *y)
{
    bool scaled = op->gamma.buffer != NULL, moved = op->beta.buffer != NULL;
    float gamma = channel_at(&op->gamma, c, 1.0f);
    float beta = channel_at(&op->beta, c, 0.0f), t[PIECE];
    for (struct channel_norm_pieces p = pieces_begin(x, y, x); !p.done;
         pieces_next(&p)) {
        piece_load(&p, 0, t);
        for (int64_t i = 0; i < piece_size(&p); i++) {
            float z = (t[i] - s.mean) * s.rstd;
            z = scaled ? z * gamma : z;
            z = moved ? z + beta : z;
            t[i] = activate(z, op->activation);
        }
        piece_store(&p, 1, t);
    }
}

/* The elements of one set, which is element (i, g) of mean and rstd. */
struct channel_norm_extent {
    int64_t n0, n, c0, c;
};

/* Return the elements of set (i, g). If pooled, a set is one channel of all
 * examples: there are as many groups as channels, and i is 0. */
static struct channel_norm_extent extent_of(bool pooled, const struct view *x,
                                            int64_t groups, int64_t i,
                                            int64_t g)
{
    int64_t c = x->shape[1] / groups;
    struct channel_norm_extent e = {i, 1, g * c, c};
    if (pooled)
        e.n = x->shape[0];
    return e;
}

/* Process one set: get or compute its statistics, store the requested ones, and
 * normalise its channels. */
static void run_set(const struct channel_norm_op *op, int64_t i, int64_t g)
{
    struct channel_norm_extent e =
        extent_of(op->pooled, &op->x, op->groups, i, g);
    struct channel_norm_statistics s;
    if (op->given) {
        s.mean = channel_at(&op->running_mean, g, 0.0f);
        s.rstd = s_rsqrt(channel_at(&op->running_var, g, 0.0f) + op->eps);
    } else if (op->found.buffer != NULL) {
        s = merged(op, g);
    } else {
        struct view x = box(&op->x, e.n0, e.n, e.c0, e.c);
        s = statistics_of(&x, op->eps, op->population ? 0.0 : 1.0);
        update(op, &op->running_mean, g, s.mean);
        update(op, &op->running_var, g, s.running);
        set_channel(&op->rest, g, s.rest);
    }
    set_scalar(&op->mean, i, g, s.mean);
    set_scalar(&op->rstd, i, g, s.rstd);
    if (op->y.buffer == NULL)
        return;
    for (int64_t c = e.c0; c < e.c0 + e.c; c++) {
        struct view x = box(&op->x, e.n0, e.n, c, 1);
        struct view y = box(&op->y, e.n0, e.n, c, 1);
        normalise(op, c, s, &x, &y);
    }
}

/* Process all sets. A pooled set contains all examples, so i is always 0. */
static ssq_status channel_norm_run(struct backend_queue *queue,
                                   const struct channel_norm_op *op)
{
    (void)queue;
    for (int64_t i = 0; i < (op->pooled ? 1 : op->x.shape[0]); i++)
        for (int64_t g = 0; g < op->groups; g++)
            run_set(op, i, g);
    return SSQ_OK;
}

/* Sums of dy and of dy z over a box. All its elements have the same
 * statistics. */
struct channel_norm_sums {
    double dy, dy_z;
};

/* Compute the sums of a box, with dy multiplied by gamma. For gradients of
 * parameters gamma is 1. */
static struct channel_norm_sums sums_of(const struct view *x,
                                        const struct view *dy,
                                        struct channel_norm_statistics s,
                                        float gamma)
{
    struct channel_norm_sums sum = {0.0, 0.0};
    float t[PIECE], g[PIECE];
    for (struct channel_norm_pieces p = pieces_begin(x, dy, x); !p.done;
         pieces_next(&p)) {
        piece_load(&p, 0, t);
        piece_load(&p, 1, g);
        for (int64_t i = 0; i < piece_size(&p); i++) {
            float z = (t[i] - s.mean) * s.rstd, grad = g[i] * gamma;
            sum.dy += (double)grad;
            sum.dy_z += (double)grad * (double)z;
        }
    }
    return sum;
}

/* Return the statistics that the forward pass has saved, or that the caller has
 * recomputed. */
static struct channel_norm_statistics
saved(const struct channel_norm_backward_op *op, int64_t i, int64_t g)
{
    return (struct channel_norm_statistics){.mean = scalar_at(&op->mean, i, g),
                                            .rstd = scalar_at(&op->rstd, i, g)};
}

/* Compute dgamma and dbeta of channel c over all examples. Each example has its
 * own statistics, unless these are pooled. */
static void sum_channel(const struct channel_norm_backward_op *op, int64_t c)
{
    int64_t n = op->x.shape[0], g = c / (op->x.shape[1] / op->groups);
    struct channel_norm_sums total = {0.0, 0.0};
    for (int64_t i = 0; i < (op->pooled ? 1 : n); i++) {
        struct view x = box(&op->x, i, op->pooled ? n : 1, c, 1);
        struct view dy = box(&op->dy, i, op->pooled ? n : 1, c, 1);
        struct channel_norm_sums s = sums_of(&x, &dy, saved(op, i, g), 1.0f);
        total.dy += s.dy;
        total.dy_z += s.dy_z;
    }
    set_channel(&op->dgamma, c, (float)total.dy_z);
    set_channel(&op->dbeta, c, (float)total.dy);
}

/* Compute dx of channel c of a set: rstd (g - avg - z avg_z), where g = dy
 * gamma and the averages are over the set. Given statistics do not depend on x,
 * so dx is rstd g. */
static void store_dx(const struct channel_norm_backward_op *op, int64_t c,
                     const struct channel_norm_extent *e,
                     struct channel_norm_statistics s, float avg, float avg_z)
{
    struct view x = box(&op->x, e->n0, e->n, c, 1);
    struct view dy = box(&op->dy, e->n0, e->n, c, 1);
    struct view dx = box(&op->dx, e->n0, e->n, c, 1);
    float gamma = channel_at(&op->gamma, c, 1.0f), t[PIECE], g[PIECE];
    for (struct channel_norm_pieces p = pieces_begin(&x, &dy, &dx); !p.done;
         pieces_next(&p)) {
        piece_load(&p, 0, t);
        piece_load(&p, 1, g);
        for (int64_t i = 0; i < piece_size(&p); i++) {
            float z = (t[i] - s.mean) * s.rstd, grad = g[i] * gamma;
            t[i] =
                op->given ? s.rstd * grad : s.rstd * ((grad - avg) - z * avg_z);
        }
        piece_store(&p, 2, t);
    }
}

/* Compute dx of a channel from given averages, which do not include gamma. */
static void backward_given(const struct channel_norm_backward_op *op,
                           const struct channel_norm_extent *e, int64_t c)
{
    float gamma = channel_at(&op->gamma, c, 1.0f);
    store_dx(op, c, e, saved(op, 0, c), gamma * scalar_at(&op->average, 0, c),
             gamma * scalar_at(&op->average, 1, c));
}

/* Compute the averages over all channels of the set, then dx of each channel.
 * Sets are disjoint, so dx may be x or dy. */
static void backward_set(const struct channel_norm_backward_op *op, int64_t i,
                         int64_t g)
{
    struct channel_norm_extent e =
        extent_of(op->pooled, &op->x, op->groups, i, g);
    struct channel_norm_statistics s = saved(op, i, g);
    struct channel_norm_sums total = {0.0, 0.0};
    struct view whole = box(&op->x, e.n0, e.n, e.c0, e.c);
    double n = (double)view_elements(&whole);
    if (op->average.buffer != NULL) {
        backward_given(op, &e, g);
        return;
    }
    for (int64_t c = e.c0; c < e.c0 + e.c && !op->given; c++) {
        struct view x = box(&op->x, e.n0, e.n, c, 1);
        struct view dy = box(&op->dy, e.n0, e.n, c, 1);
        float gamma = channel_at(&op->gamma, c, 1.0f);
        struct channel_norm_sums part = sums_of(&x, &dy, s, gamma);
        total.dy += part.dy;
        total.dy_z += part.dy_z;
    }
    for (int64_t c = e.c0; c < e.c0 + e.c; c++)
        store_dx(op, c, &e, s, (float)(total.dy / n), (float)(total.dy_z / n));
}

/* Compute dgamma and dbeta before dx, because dx may be x or dy. */
static ssq_status
channel_norm_backward_run(struct backend_queue *queue,
                          const struct channel_norm_backward_op *op)
{
    (void)queue;
    if (op->dgamma.buffer != NULL || op->dbeta.buffer != NULL)
        for (int64_t c = 0; c < op->x.shape[1]; c++)
            sum_channel(op, c);
    if (op->dx.buffer == NULL)
        return SSQ_OK;
    for (int64_t i = 0; i < (op->pooled ? 1 : op->x.shape[0]); i++)
        for (int64_t g = 0; g < op->groups; g++)
            backward_set(op, i, g);
    return SSQ_OK;
}

REFERENCE_IMPL(channel_norm, channel_norm_run);
REFERENCE_IMPL(channel_norm_backward, channel_norm_backward_run);
