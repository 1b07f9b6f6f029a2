/* SPDX-License-Identifier: Apache-2.0 */
/* rotary.c - cases of rotary positions and their backward. */
#include "conformance/bounds_attention.h"
#include "conformance/case.h"
#include "conformance/difference.h"

#define F32        SSQ_F32
#define F16        SSQ_F16
#define BF16       SSQ_BF16
#define DENSE      LAYOUT_DENSE
#define PADDED     LAYOUT_PADDED
#define TRANSPOSED LAYOUT_TRANSPOSED

enum positions {
    FROM_OFFSET,
    PER_TOKEN, /* [t] */
    PER_BATCH, /* [d0, 1.., t] */
    FAR_AWAY,  /* [t], the ends of int32 among them */
    CACHED,    /* cos and sin, [t, dims / 2] */
    CACHED_ALL /* cos and sin, x's shape with dims / 2, one of x's dtype */
};

struct rotary_entry {
    int rank;
    int64_t shape[4];
    ssq_dtype in, out;
    enum layout layout_in, layout_out;
    enum fill fill;
    enum positions positions;
    int64_t offset, dims;
    double base; /* 0: a table of frequencies */
    bool interleaved, in_place;
};

static const struct rotary_entry table[] = {
    {2, {1, 2}, F32, F32, DENSE, DENSE, FILL_NORMAL, 0, 0, 0, 1e4, 0, 0},
    {2, {7, 2}, F32, F32, DENSE, DENSE, FILL_NORMAL, 0, 0, 0, 1e4, 1, 0},
    {2, {7, 8}, F32, F32, DENSE, DENSE, FILL_NORMAL, 0, 0, 0, 1e4, 0, 0},
    {2, {7, 8}, F32, F32, DENSE, DENSE, FILL_NORMAL, 0, 0, 0, 1e4, 1, 0},
    {4, {2, 3, 5, 8}, F16, F16, DENSE, DENSE, FILL_NORMAL, 0, 0, 0, 1e4, 0, 1},
    {4,
     {2, 3, 5, 8},
     BF16,
     BF16,
     PADDED,
     PADDED,
     FILL_NORMAL,
     0,
     3,
     0,
     1e4,
     1,
     1},
    {4,
     {2, 3, 5, 8},
     F32,
     F16,
     TRANSPOSED,
     PADDED,
     FILL_NORMAL,
     0,
     -4,
     0,
     5e5,
     0,
     0},
    {4,
     {2, 3, 5, 8},
     BF16,
     F32,
     PADDED,
     TRANSPOSED,
     FILL_NORMAL,
     0,
     0,
     6,
     1e4,
     1,
     0},
    {3, {3, 5, 11}, F32, F32, DENSE, DENSE, FILL_NORMAL, 0, 0, 4, 1e4, 0, 0},
    {3, {3, 5, 11}, F16, F32, DENSE, DENSE, FILL_NORMAL, 0, 0, 10, 1e4, 1, 0},
    {3, {3, 5, 11}, F32, BF16, DENSE, PADDED, FILL_NORMAL, 0, 0, 2, 1e4, 0, 0},
    {3,
     {3, 5, 8},
     F32,
     F32,
     DENSE,
     DENSE,
     FILL_NORMAL,
     PER_TOKEN,
     0,
     0,
     1e4,
     0,
     1},
    {4,
     {2, 3, 5, 8},
     F16,
     F16,
     DENSE,
     DENSE,
     FILL_NORMAL,
     PER_BATCH,
     0,
     0,
     1e4,
     1,
     0},
    {4,
     {2, 3, 5, 8},
     F32,
     F32,
     PADDED,
     DENSE,
     FILL_NORMAL,
     PER_BATCH,
     0,
     4,
     1e4,
     0,
     1},
    {3,
     {2, 6, 8},
     F32,
     F32,
     DENSE,
     DENSE,
     FILL_NORMAL,
     FAR_AWAY,
     0,
     0,
     1e4,
     0,
     0},
    {3,
     {2, 6, 8},
     BF16,
     F16,
     DENSE,
     DENSE,
     FILL_NORMAL,
     FAR_AWAY,
     0,
     0,
     1e4,
     1,
     0},
    {2,
     {5, 8},
     F32,
     F32,
     DENSE,
     DENSE,
     FILL_NORMAL,
     0,
     INT32_MAX - 4,
     0,
     1e4,
     0,
     0},
    {2,
     {5, 8},
     F32,
     F32,
     DENSE,
     DENSE,
     FILL_NORMAL,
     0,
     INT32_MIN,
     0,
     1e4,
     1,
     0},
    {2, {9, 512}, F32, F32, DENSE, DENSE, FILL_NORMAL, 0, 1000, 0, 1e4, 0, 0},
    {2, {3, 514}, F16, F16, DENSE, DENSE, FILL_NORMAL, 0, 4096, 0, 5e5, 1, 0},
    {2, {7, 8}, F32, F32, DENSE, DENSE, FILL_NORMAL, 0, 0, 0, 1.0, 0, 0},
    {2, {7, 8}, F32, F32, DENSE, DENSE, FILL_NORMAL, 0, 0, 0, 1e-3, 0, 0},
    {2, {7, 8}, F32, F32, DENSE, DENSE, FILL_NORMAL, 0, 0, 0, 0, 0, 0},
    {3,
     {2, 7, 9},
     F16,
     F16,
     PADDED,
     DENSE,
     FILL_NORMAL,
     PER_TOKEN,
     0,
     6,
     0,
     1,
     0},
    {2, {7, 8}, F32, F32, DENSE, DENSE, FILL_NORMAL, CACHED, 0, 0, 1, 0, 0},
    {3, {6, 5, 9}, F16, F16, PADDED, DENSE, FILL_NORMAL, CACHED, 0, 6, 1, 1, 1},
    {2,
     {9, 8},
     BF16,
     F32,
     DENSE,
     PADDED,
     FILL_NORMAL,
     CACHED_ALL,
     0,
     0,
     1,
     0,
     0},
    {4,
     {2, 3, 5, 8},
     F16,
     F16,
     DENSE,
     DENSE,
     FILL_NORMAL,
     CACHED_ALL,
     0,
     4,
     1,
     1,
     0},
    {2, {16, 8}, F32, F32, DENSE, DENSE, FILL_SPECIAL, 0, 0, 0, 1e4, 0, 0},
    {2, {16, 9}, F16, F16, DENSE, DENSE, FILL_SPECIAL, 0, 0, 6, 1e4, 1, 1},
    {2, {16, 9}, BF16, F32, DENSE, DENSE, FILL_SPECIAL, 0, 0, 6, 1e4, 0, 0},
    {2, {7, 8}, F32, F32, DENSE, DENSE, FILL_HUGE, 0, 0, 0, 1e4, 0, 0},
    {2, {7, 8}, F16, F16, DENSE, DENSE, FILL_HUGE, 0, 0, 0, 1e4, 1, 1},
    {2, {7, 8}, F32, F16, DENSE, DENSE, FILL_TINY, 0, 0, 0, 1e4, 0, 0},
    {2, {7, 8}, BF16, BF16, DENSE, DENSE, FILL_TINY, 0, 0, 0, 1e4, 0, 0},
    {2, {7, 8}, F32, F32, DENSE, DENSE, FILL_NAN, 0, 0, 0, 1e4, 0, 0},
    {3, {0, 7, 8}, F32, F32, DENSE, DENSE, FILL_NORMAL, 0, 0, 0, 1e4, 0, 0},
    {3,
     {2, 0, 8},
     F32,
     F32,
     DENSE,
     DENSE,
     FILL_NORMAL,
     PER_TOKEN,
     0,
     0,
     1e4,
     0,
     0},
    {3, {2, 7, 0}, F32, F32, DENSE, DENSE, FILL_NORMAL, 0, 0, 0, 1e4, 0, 0},
};
#define ENTRIES COUNT(table)

/* The operands of an entry, forward or backward. */
struct rotary_place {
    const struct rotary_entry *e;
    bool backward;
    int64_t t, d, dims;
    struct operand x, y, position, freq, cosine, sine;
};

static void make_positions(struct harness *b, struct rotary_place *p)
{
    static const double far[] = {2147483647.0, -2147483648.0, 16777217.0,
                                 -1.0,         0.0,           1e6};
    const struct rotary_entry *e = p->e;
    int64_t shape[4], n = p->t;
    for (int i = 0; i < e->rank - 1; i++)
        shape[i] = i == 0 ? e->shape[0] : 1;
    shape[e->rank - 2] = p->t;
    bool batch = e->positions == PER_BATCH;
    if (batch)
        n *= e->shape[0];
    double *v = harness_alloc(b, (size_t)n * sizeof(*v));
    for (int64_t i = 0; i < n; i++)
        v[i] = e->positions == FAR_AWAY
                   ? far[i % 6]
                   : floor(2000.0 * harness_uniform(b)) - 200;
    harness_values(b, &p->position, SSQ_I32, batch ? e->rank - 1 : 1,
                   batch ? shape : &p->t, DENSE, v);
}

/* Numbers that no angle need have. */
static void make_caches(struct harness *b, struct rotary_place *p)
{
    const struct rotary_entry *e = p->e;
    bool all = e->positions == CACHED_ALL;
    int64_t shape[4];
    for (int i = 0; i < e->rank; i++)
        shape[i] = e->shape[i];
    shape[e->rank - 1] = p->dims / 2;
    const int64_t *s = all ? shape : shape + e->rank - 2;
    harness_input(b, &p->cosine, all ? e->in : F32, all ? e->rank : 2, s,
                  PADDED, FILL_NORMAL);
    harness_input(b, &p->sine, F32, all ? e->rank : 2, s, DENSE, FILL_NORMAL);
}

static void make_place(struct harness *b, struct rotary_place *p)
{
    const struct rotary_entry *e = p->e;
    p->t = e->shape[e->rank - 2];
    p->d = e->shape[e->rank - 1];
    p->dims = e->dims == 0 ? p->d : e->dims;
    int64_t pairs = p->dims / 2;
    harness_input(b, &p->x, e->in, e->rank, e->shape, e->layout_in, e->fill);
    if (e->in_place)
        p->y = p->x;
    else
        harness_output(b, &p->y, e->out, e->rank, e->shape, e->layout_out);
    if (e->positions >= CACHED)
        make_caches(b, p);
    else
        make_positions(b, p);
    double *v = harness_alloc(b, (size_t)pairs * sizeof(*v));
    for (int64_t i = 0; i < pairs; i++)
        v[i] = e->base == 0.0
                   ? harness_uniform(b)
                   : (double)(float)powl(e->base, -2.0L * (long double)i /
                                                      (long double)p->dims);
    harness_values(b, &p->freq, F32, 1, &pairs, DENSE, v);
}

static ssq_status rotary_call(struct harness *b, const struct rotary_place *p)
{
    const struct rotary_entry *e = p->e;
    bool cached = e->positions >= CACHED;
    const ssq_tensor *position =
        e->positions == FROM_OFFSET || cached ? NULL : p->position.t;
    const ssq_tensor *freq = e->base == 0.0 ? p->freq.t : NULL;
    if (p->backward) {
        ssq_rotary_backward_args a = SSQ_ROTARY_BACKWARD_INIT;
        a.dy = p->x.t;
        a.dx = p->y.t;
        a.position = position;
        a.freq = freq;
        a.offset = e->offset;
        a.dims = e->dims;
        a.base = e->base;
        a.interleaved = e->interleaved;
        a.cos = cached ? p->cosine.t : NULL;
        a.sin = cached ? p->sine.t : NULL;
        return ssq_rotary_backward(b->queue, &a);
    }
    ssq_rotary_args a = SSQ_ROTARY_INIT;
    a.x = p->x.t;
    a.y = p->y.t;
    a.position = position;
    a.freq = freq;
    a.offset = e->offset;
    a.dims = e->dims;
    a.base = e->base;
    a.interleaved = e->interleaved;
    a.cos = cached ? p->cosine.t : NULL;
    a.sin = cached ? p->sine.t : NULL;
    return ssq_rotary(b->queue, &a);
}

/* The float32 product of the position and the frequency: exact in float64,
 * then rounded. */
static double angle_of(const struct rotary_place *p, int64_t row, int64_t pair)
{
    const struct rotary_entry *e = p->e;
    int64_t j = row % p->t, rows = 1;
    double position = (double)(e->offset + j);
    for (int i = 1; i < e->rank - 1; i++)
        rows *= e->shape[i];
    if (e->positions == PER_BATCH)
        j += row / rows * p->t;
    if (e->positions != FROM_OFFSET)
        position = p->position.value[j];
    return (double)(float)((double)(float)position * p->freq.value[pair]);
}

/* c and s of a pair of a row. */
static void turn_of(const struct rotary_place *p, int64_t row, int64_t pair,
                    double *c, double *s)
{
    if (p->e->positions >= CACHED) {
        int64_t r = p->e->positions == CACHED ? row % p->t : row;
        *c = p->cosine.value[r * (p->dims / 2) + pair];
        *s = p->sine.value[r * (p->dims / 2) + pair];
        return;
    }
    double angle = angle_of(p, row, pair);
    *c = cos(angle);
    *s = sin(angle);
}

/* y and its error from x: forward, or with sign -1 backward. */
static void rotary_oracle(const struct rotary_place *p, double sign,
                          const double *x, double *want, double *error)
{
    int64_t n = p->d == 0 ? 0 : p->x.n / p->d, pairs = p->dims / 2;
    for (int64_t row = 0; row < n; row++) {
        const double *r = x + row * p->d;
        for (int64_t i = p->dims; i < p->d; i++) {
            want[row * p->d + i] = r[i];
            error[row * p->d + i] = 0.0;
        }
        for (int64_t i = 0; i < pairs; i++) {
            int64_t one = p->e->interleaved ? 2 * i : i;
            int64_t two = p->e->interleaved ? 2 * i + 1 : i + pairs;
            double a = r[one], b = r[two], c, s;
            turn_of(p, row, i, &c, &s);
            s *= sign;
            want[row * p->d + one] = a * c - b * s;
            want[row * p->d + two] = b * c + a * s;
            error[row * p->d + one] = bound_rotary(a, b, c, s);
            error[row * p->d + two] = bound_rotary(b, a, c, s);
        }
    }
}

struct rotary_slope {
    const struct rotary_place *p;
    const double *dy;
    double *y, *error;
};

static double rotary_weighted(const void *data, const double *x)
{
    const struct rotary_slope *s = data;
    double sum = 0.0;
    rotary_oracle(s->p, 1.0, x, s->y, s->error);
    for (int64_t i = 0; i < s->p->x.n; i++)
        sum += s->dy[i] * s->y[i];
    return sum;
}

/* The gradient of the forward oracle, which is linear. */
static bool rotary_difference(struct harness *b, const struct rotary_place *p,
                              const double *dx)
{
    size_t n = (size_t)p->x.n;
    double *x = harness_alloc(b, n * sizeof(*x)), size = 1.0;
    struct rotary_slope s = {p, p->x.value, harness_alloc(b, n * sizeof(*x)),
                             harness_alloc(b, n * sizeof(*x))};
    for (size_t i = 0; i < n; i++) {
        x[i] = 2.0 * harness_uniform(b) - 1.0;
        size += 4.0 * fabs(p->x.value[i]);
    }
    return difference_check(b, rotary_weighted, &s, x, n, dx, 0.5, 0.0, size);
}

static bool rotary_run_table(struct harness *b, const struct rotary_entry *e,
                             bool backward)
{
    struct rotary_place p = {.e = e, .backward = backward};
    make_place(b, &p);
    size_t n = (size_t)p.x.n;
    double *want = harness_alloc(b, n * sizeof(*want));
    double *error = harness_alloc(b, n * sizeof(*want));
    rotary_oracle(&p, backward ? -1.0 : 1.0, p.x.value, want, error);
    if (backward && e->fill == FILL_NORMAL && n <= 300 &&
        !rotary_difference(b, &p, want))
        return false;
    b->flops = 30.0 * (double)n;
    b->bytes =
        (double)n * (ssq_dtype_bits(e->in) + ssq_dtype_bits(e->out)) / 8.0;
    HARNESS_OP(b, rotary_call(b, &p));
    harness_read(b, &p.y);
    return harness_bound(b, &p.y, want, error) && harness_same(b, &p.y) &&
           (e->in_place || harness_unchanged(b, &p.x));
}

/* There and back is where it was, to the roundings of both. */
static bool run_back(struct harness *b)
{
    const struct rotary_entry e = {2,     {33, 16},    F32, F32, DENSE,
                                   DENSE, FILL_NORMAL, 0,   0,   0,
                                   1e4,   false,       true};
    struct rotary_place p = {.e = &e};
    make_place(b, &p);
    size_t n = (size_t)p.x.n;
    double *x = harness_alloc(b, n * sizeof(*x)),
           *y = harness_alloc(b, n * sizeof(*x));
    double *error = harness_alloc(b, n * sizeof(*x));
    double *back = harness_alloc(b, n * sizeof(*x));
    for (size_t i = 0; i < n; i++)
        x[i] = p.x.value[i];
    rotary_oracle(&p, 1.0, x, y, error);
    HARNESS_OP(b, rotary_call(b, &p));
    p.backward = true;
    HARNESS_OP(b, rotary_call(b, &p));
    harness_read(b, &p.y);
    rotary_oracle(&p, -1.0, y, x, back); /* x up to float64 */
    for (int64_t r = 0; r < 33; r++)
        for (int64_t i = 0; i < 8; i++) {
            int64_t one = r * 16 + i, two = one + 8;
            double e1 = bound_store(y[one], error[one], F32);
            double e2 = bound_store(y[two], error[two], F32);
            error[one] = back[one] + (e1 + e2) * (1.0 + 0x1p-20);
            error[two] = back[two] + (e1 + e2) * (1.0 + 0x1p-20);
        }
    return harness_bound(b, &p.y, x, error);
}

/* A graph records the table of frequencies, too. */
static bool rotary_run_graph(struct harness *b)
{
    const struct rotary_entry e = {2,     {5, 300},    F32,  F32, DENSE,
                                   DENSE, FILL_NORMAL, 0,    7,   0,
                                   1e4,   false,       false};
    struct rotary_place p = {.e = &e};
    ssq_graph *graph = NULL;
    if (b->bench || b->admit)
        return true;
    make_place(b, &p);
    double *want = harness_alloc(b, (size_t)p.x.n * sizeof(*want));
    double *error = harness_alloc(b, (size_t)p.x.n * sizeof(*want));
    rotary_oracle(&p, 1.0, p.x.value, want, error);
    harness_status(b, ssq_graph_begin(b->queue));
    harness_status(b, rotary_call(b, &p));
    harness_status(b, ssq_graph_end(b->queue, &graph));
    for (int i = 0; i < 2; i++)
        harness_status(b, ssq_graph_launch(b->queue, graph));
    harness_read(b, &p.y);
    ssq_graph_destroy(&graph);
    return harness_bound(b, &p.y, want, error);
}

static void rotary_refuse(struct harness *b, const ssq_rotary_args *a,
                          const char *words)
{
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_rotary(b->queue, a), words);
}

static bool run_numbers(struct harness *b)
{
    const int64_t shape[] = {2, 3, 5}, three = 3;
    struct operand x, y, position;
    harness_input(b, &x, F32, 3, shape, DENSE, FILL_NORMAL);
    harness_output(b, &y, F32, 3, shape, DENSE);
    harness_input(b, &position, SSQ_I32, 1, &three, DENSE, FILL_ZERO);
    ssq_rotary_args a = SSQ_ROTARY_INIT;
    a.x = x.t;
    a.y = y.t;
    rotary_refuse(
        b, &a,
        "rotary: all 5 elements of a row are rotated, expected an even number");
    a.dims = 3;
    rotary_refuse(b, &a, "dims is 3, expected an even number up to 5");
    a.dims = 6;
    rotary_refuse(b, &a, "dims is 6, expected an even number up to 5");
    a.dims = -2;
    rotary_refuse(b, &a, "dims is -2, expected");
    a.dims = 4;
    a.base = 0.0;
    rotary_refuse(b, &a, "base is 0, expected finite and > 0");
    a.base = (double)INFINITY;
    rotary_refuse(b, &a, "base is inf");
    a.base = (double)NAN;
    rotary_refuse(b, &a, "base is nan");
    a.base = 1e4;
    a.offset = INT32_MAX - 1;
    rotary_refuse(b, &a,
                  "positions from 2147483646 on, 3 of them, exceed int32");
    a.offset = (int64_t)INT32_MIN - 1;
    rotary_refuse(b, &a,
                  "positions from -2147483649 on, 3 of them, exceed int32");
    a.offset = 1;
    a.position = position.t;
    rotary_refuse(b, &a, "offset is 1, expected 0 with position");
    return harness_unchanged(b, &y);
}

static bool rotary_run_shapes(struct harness *b)
{
    const int64_t shape[] = {2, 3, 6}, four = 4;
    struct operand x, y, position, freq;
    harness_input(b, &x, F32, 3, shape, DENSE, FILL_NORMAL);
    harness_output(b, &y, F32, 3, shape, DENSE);
    harness_input(b, &position, SSQ_I32, 1, &four, DENSE, FILL_ZERO);
    harness_input(b, &freq, F32, 1, &four, DENSE, FILL_NORMAL);
    ssq_rotary_args a = SSQ_ROTARY_INIT;
    a.y = y.t;
    rotary_refuse(b, &a, "rotary: x is NULL");
    a.x = freq.t;
    a.y = freq.t;
    rotary_refuse(b, &a, "rotary: x is [4], expected [.., t, d]");
    a.x = x.t;
    rotary_refuse(b, &a, "x is [2,3,6], y is [4]");
    a.y = y.t;
    a.position = position.t;
    rotary_refuse(
        b, &a,
        "position is [4], which does not broadcast to [2,3,6] without "
        "its last dimension");
    a.position = freq.t;
    rotary_refuse(b, &a, "position is f32, expected i32");
    a.position = NULL;
    a.freq = freq.t;
    rotary_refuse(b, &a, "freq is [4], expected [3]");
    a.freq = position.t;
    rotary_refuse(b, &a, "freq is i32, expected f32");
    a.struct_size = 4;
    rotary_refuse(b, &a, "struct_size is 4");
    ssq_rotary_backward_args d = SSQ_ROTARY_BACKWARD_INIT;
    d.dy = x.t;
    harness_refused_as(b, SSQ_ERR_INVALID, ssq_rotary_backward(b->queue, &d),
                       "rotary_backward: dx is NULL");
    return harness_unchanged(b, &y) && harness_unchanged(b, &x);
}

static bool run_caches(struct harness *b)
{
    const int64_t shape[] = {2, 3, 6}, three = 3, cache[] = {3, 3};
    struct operand x, y, position, freq, c, wrong;
    harness_input(b, &x, F32, 3, shape, DENSE, FILL_NORMAL);
    harness_output(b, &y, F32, 3, shape, DENSE);
    harness_input(b, &position, SSQ_I32, 1, &three, DENSE, FILL_ZERO);
    harness_input(b, &freq, F32, 1, &three, DENSE, FILL_NORMAL);
    harness_input(b, &c, F32, 2, cache, DENSE, FILL_NORMAL);
    harness_input(b, &wrong, F32, 2, shape, DENSE, FILL_NORMAL);
    ssq_rotary_args a = SSQ_ROTARY_INIT;
    a.x = x.t;
    a.y = y.t;
    a.cos = c.t;
    rotary_refuse(b, &a, "rotary: sin is NULL and cos is not");
    a.cos = NULL;
    a.sin = c.t;
    rotary_refuse(b, &a, "rotary: cos is NULL and sin is not");
    a.cos = wrong.t;
    rotary_refuse(b, &a, "cos is [2,3], which does not broadcast to [2,3,3]");
    a.cos = c.t;
    a.sin = wrong.t;
    rotary_refuse(b, &a, "sin is [2,3], which does not broadcast to [2,3,3]");
    a.sin = position.t;
    rotary_refuse(b, &a, "sin is i32, expected f32, f16, bf16");
    a.sin = c.t;
    a.offset = 1;
    rotary_refuse(
        b, &a,
        "cos and sin with position NULL, freq NULL, offset 1, expected none "
        "of the three");
    a.offset = 0;
    a.position = position.t;
    rotary_refuse(b, &a, "cos and sin with position given");
    a.position = NULL;
    a.freq = freq.t;
    rotary_refuse(b, &a, "cos and sin with position NULL, freq given");
    return harness_unchanged(b, &y) && harness_unchanged(b, &c);
}

static const char *const named[] = {
    "rotary there and back", "rotary f32 5x300 in a graph, launched twice",
    "rotary refuses numbers", "rotary refuses shapes and dtypes",
    "rotary refuses caches"};

static bool rotary_run(struct harness *b, size_t i)
{
    static bool (*const runs[])(struct harness *) = {
        run_back, rotary_run_graph, run_numbers, rotary_run_shapes, run_caches};
    if (i < 2 * ENTRIES)
        return rotary_run_table(b, &table[i / 2], i % 2 != 0);
    return runs[i - 2 * ENTRIES](b);
}

static void rotary_describe(size_t i, char *text, size_t bytes)
{
    static const char *const positions[] = {"offset",      "[t] from",
                                            "[n, t] from", "far from",
                                            "of a cache,", "of a whole cache,"};
    char shape[64];
    if (i >= 2 * ENTRIES) {
        snprintf(text, bytes, "%s", named[i - 2 * ENTRIES]);
        return;
    }
    const struct rotary_entry *e = &table[i / 2];
    struct shape s = {e->rank, {0}};
    for (int k = 0; k < e->rank; k++)
        s.d[k] = e->shape[k];
    snprintf(text, bytes,
             "rotary%s %s to %s %s %s to %s, %s, positions %s %lld, dims %lld, "
             "base %g%s%s",
             i % 2 != 0 ? "_backward" : "", ssq_dtype_name(e->in),
             ssq_dtype_name(e->out), shape_text(&s, shape, sizeof(shape)),
             layout_text(e->layout_in), layout_text(e->layout_out),
             fill_text(e->fill), positions[e->positions], (long long)e->offset,
             (long long)e->dims, e->base, e->interleaved ? ", interleaved" : "",
             e->in_place ? ", in place" : "");
}

extern const struct suite rotary_suite;
const struct suite rotary_suite = {.op = "rotary",
                                   .name = "rotary",
                                   .n = 2 * ENTRIES + COUNT(named),
                                   .describe = rotary_describe,
                                   .run = rotary_run,
                                   .bit_equal = true,
                                   .floor = 80};
