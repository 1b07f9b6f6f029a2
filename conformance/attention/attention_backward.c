/* SPDX-License-Identifier: Apache-2.0 */
/* attention_backward.c - cases of the gradients of attention. */
#include "conformance/attention/attention.h"

#include "conformance/difference.h"

#include <string.h>

#define F32    SSQ_F32
#define F16    SSQ_F16
#define BF16   SSQ_BF16
#define DENSE  PLACE_DENSE
#define PADDED PLACE_PADDED
#define TOKENS PLACE_TOKENS
#define NONE   MASK_NONE

/* batch heads kv_heads tq tk d dv in out place mask causal offset scale
 * dropout size softcap; out is the dtype of y, dy, and the gradients */
static const struct attention_case table[] = {
    {1, 1, 1, 1, 1, 1, 1, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {1, 1, 1, 1, 7, 1, 1, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {1, 1, 1, 1, 7, 1, 5, BF16, F32, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {1, 1, 1, 7, 1, 3, 2, F32, F32, PADDED, NONE, false, 0, 0, 0, 0, 0},
    {1, 1, 1, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {1, 1, 1, 7, 5, 4, 4, F16, F16, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {2, 3, 3, 5, 5, 8, 8, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {2, 3, 3, 5, 5, 8, 8, F16, F16, TOKENS, NONE, true, 0, 0, 0, 0, 0},
    {2, 3, 3, 5, 5, 8, 8, BF16, BF16, TOKENS, NONE, true, 0, 0, 0, 0, 0},
    {2, 3, 1, 5, 9, 8, 6, F32, F32, TOKENS, NONE, false, 0, 0, 0, 0, 0},
    {1, 4, 2, 3, 11, 8, 8, F16, F32, DENSE, NONE, true, 8, 0, 0, 0, 0},
    {2, 4, 2, 11, 3, 8, 8, BF16, F32, PADDED, NONE, true, -8, 0, 0, 0, 0},
    {1, 6, 2, 11, 3, 5, 7, F32, F16, DENSE, NONE, true, 0, 0, 0, 0, 0},
    {1, 2, 2, 6, 6, 4, 4, F32, F32, DENSE, NONE, true, -100, 0, 0, 0, 0},
    {1, 2, 1, 3, 5, 257, 257, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {1, 2, 1, 3, 5, 257, 1, F16, F16, TOKENS, NONE, false, 0, 0, 0, 0, 0},
    {1, 2, 1, 3, 5, 1, 257, BF16, BF16, PADDED, NONE, true, 2, 0, 0, 0, 0},
    {1, 2, 2, 17, 65, 64, 64, F16, F16, TOKENS, NONE, true, 48, 0, 0, 0, 0},
    {1, 2, 2, 17, 65, 64, 64, BF16, F32, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {1, 1, 1, 3, 1031, 16, 16, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {1, 1, 1, 257, 3, 16, 16, F16, F32, TOKENS, NONE, false, 0, 0, 0, 0, 0},
    {2, 3, 3, 5, 7, 4, 4, F32, F32, DENSE, MASK_FLOAT, false, 0, 0, 0, 0, 0},
    {1, 3, 1, 5, 7, 4, 3, F16, F16, TOKENS, MASK_FLOAT, true, 2, 0, 0, 0, 0},
    {2, 3, 3, 5, 7, 4, 4, F32, F32, DENSE, MASK_KEYS, false, 0, 0, 0, 0, 0},
    {1, 4, 2, 5, 7, 4, 4, F32, F32, PADDED, MASK_HEADS, false, 0, 0, 0, 0, 0},
    {1, 4, 1, 5, 7, 4, 4, BF16, BF16, DENSE, MASK_HEADS, true, 1, 0, 0, 0, 0},
    {1, 2, 2, 5, 7, 4, 3, F32, F32, DENSE, MASK_U8, false, 0, 0, 0, 0, 0},
    {2, 4, 2, 5, 7, 4, 4, F16, F32, TOKENS, MASK_U8, true, 3, 0, 0, 0, 0},
    {3, 2, 2, 9, 1, 4, 4, F32, F32, DENSE, MASK_U8, false, 0, 0, 0, 0, 0},
    {3, 2, 1, 9, 2, 4, 4, BF16, F16, PADDED, MASK_U8, true, -2, 0, 0, 0, 0},
    {1, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 1.0, 0, 0, 0},
    {1, 2, 2, 5, 7, 4, 4, F16, F16, DENSE, NONE, false, 0, -0.3, 0, 0, 0},
    {1, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 0, 0, 5.0, 0},
    {1, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 0, 0, 100.0, 0},
    {1, 2, 2, 5, 7, 4, 4, F16, F16, DENSE, NONE, false, 0, 0, 0, 1e-6, 0},
    {1, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 0, 0.5, 0, 0},
    {1, 4, 2, 5, 7, 4, 3, F16, F16, TOKENS, MASK_U8, false, 0, 0, 0.1, 0, 0},
    {1, 4, 2, 5, 7, 4, 4, BF16, F32, PADDED, NONE, true, 2, 0, 0.3, 0, 0},
    {0, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {2, 0, 2, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {2, 0, 0, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 0},
    {2, 2, 2, 0, 7, 4, 4, F32, F32, DENSE, NONE, true, 0, 0, 0, 0, 0},
    {2, 2, 2, 5, 0, 4, 4, F16, F16, TOKENS, NONE, false, 0, 0, 0, 0, 0},
    {2, 2, 1, 5, 7, 0, 4, F32, F32, DENSE, MASK_FLOAT, true, 0, 0, 0, 0, 0},
    {2, 2, 2, 5, 7, 4, 0, F32, F32, PADDED, NONE, false, 0, 0, 0, 0, 0},
    {1, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 50.0},
    {1, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 0, 0, 3.0, 1.5},
    {2, 4, 2, 5, 7, 8, 6, F16, F16, TOKENS, MASK_FLOAT, true, 2, 0, 0, 0, 2.0},
    {2, 4, 1, 5, 7, 8, 4, BF16, F32, PADDED, MASK_U8, false, 0, 0, 0.2, 0, 0.5},
    {1, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, MASK_KEYS, false, 0, 2.0, 0, 0,
     30.0},
    {1, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, MASK_HEADS, true, 0, 0, 0, 300.0,
     20.0},
    {1, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 1e-20},
    {1, 2, 2, 5, 7, 4, 4, F32, F32, DENSE, NONE, false, 0, 0, 0, 0, 1e30},
    {2, 2, 2, 5, 7, 0, 4, F32, F32, DENSE, MASK_FLOAT, false, 0, 0, 0, 0, 2.0},
    {1, 4, 2, 70, 300, 20, 40, F16, F16, TOKENS, MASK_U8, true, 200, 0, 0, 0,
     0},
    {1, 2, 1, 45, 140, 33, 17, BF16, F32, DENSE, MASK_FLOAT, false, 0, 0, 0.2,
     0, 0},
    {2, 2, 1, 100, 129, 32, 32, F32, F32, TOKENS, NONE, true, 0, 0, 0, 3.0, 0},
    {1, 2, 2, 33, 260, 8, 65, F32, BF16, PADDED, MASK_HEADS, true, -20, 0, 0, 0,
     4.0},
};

/* ---- the oracle against differences ---- */

struct attention_backward_slope {
    struct attention_facts f;
    const double *dy;
    struct attention_want y, lse; /* work */
    size_t q, k, n;               /* elements of q and k, of y */
};

/* sum dy y of q, k and v, one after the other in x. */
static double attention_backward_weighted(const void *data, const double *x)
{
    const struct attention_backward_slope *s = data;
    struct attention_facts f = s->f;
    f.q = x;
    f.k = x + s->q;
    f.v = f.k + s->k;
    attention_oracle(&f, s->y, s->lse);
    double sum = 0.0;
    for (size_t i = 0; i < s->n; i++)
        sum += s->dy[i] * s->y.want[i];
    return sum;
}

static double attention_backward_largest(const double *x, size_t n)
{
    double m = 0.0;
    for (size_t i = 0; i < n; i++)
        m = fmax(m, fabs(x[i]));
    return m;
}

/* Along one element of q or k the scores of a row move at rates a, and y is a
 * softmax' mean of f v: with W = sum |dy f v|, A = max |a|, the derivatives
 * are joint cumulants, the third at most |E[w a a a]| + 3 |E[w a] E[a a]| <=
 * (2 W) (2 A)^3 + 3 (2 W) (2 A)^3. An element of k moves all queries of its
 * group. Under a cap the rates are less, and change: cap tanh(s / cap) has a
 * second derivative below 1 / cap and a third of at most 2 / cap^2, which adds
 * 3 (16 W) A^3 / cap and (4 W) 2 A^3 / cap^2. */
static double third_derivative(const struct attention_harness *a,
                               const double *dy, size_t n)
{
    const struct attention_case *c = &*a->facts.c;
    double rate =
        fabs(a->facts.scale) *
        fmax(attention_backward_largest(a->q.value, (size_t)a->q.o.n),
             attention_backward_largest(a->k.value, (size_t)a->k.o.n));
    size_t scores = (size_t)(c->batch * c->heads * c->tq * c->tk);
    double sum = 0.0;
    for (size_t i = 0; i < n; i++)
        sum += fabs(dy[i]);
    double bend = c->softcap != 0.0 ? 1.0 + 1.0 / c->softcap : 1.0;
    return 64.0 * bend * bend * sum *
           attention_backward_largest(a->v.value, (size_t)a->v.o.n) *
           fmax(attention_backward_largest(a->facts.factor, scores), 1.0) *
           rate * rate * rate;
}

static double *attention_backward_joined(struct harness *b,
                                         const struct attention_harness *a)
{
    size_t q = (size_t)a->q.o.n, k = (size_t)a->k.o.n, v = (size_t)a->v.o.n;
    double *x = harness_alloc(b, (q + k + v) * sizeof(*x));
    memcpy(x, a->q.value, q * sizeof(*x));
    memcpy(x + q, a->k.value, k * sizeof(*x));
    memcpy(x + q + k, a->v.value, v * sizeof(*x));
    return x;
}

static struct attention_want want_alloc(struct harness *b, size_t n)
{
    return (struct attention_want){harness_alloc(b, n * sizeof(double)),
                                   harness_alloc(b, n * sizeof(double))};
}

static bool attention_backward_difference(struct harness *b,
                                          const struct attention_harness *a,
                                          const double *dy,
                                          struct attention_want y,
                                          struct attention_want lse)
{
    size_t q = (size_t)a->q.o.n, k = (size_t)a->k.o.n, v = (size_t)a->v.o.n;
    const struct attention_case *c = a->facts.c;
    size_t rows = (size_t)(c->batch * c->heads * c->tq);
    size_t n = rows * (size_t)c->dv;
    struct attention_want g = want_alloc(b, q + k + v);
    struct attention_want dk = {g.want + q, g.error + q};
    struct attention_want dv = {dk.want + k, dk.error + k};
    attention_backward_oracle(&a->facts, y.want, lse.want, dy, g, dk, dv);
    struct attention_backward_slope s = {
        a->facts, dy, want_alloc(b, n), want_alloc(b, rows), q, k, n};
    double size = 1.0;
    for (size_t i = 0; i < n; i++)
        size += fabs(dy[i]) * (1.0 + attention_backward_largest(a->v.value, v));
    size *= 1.0 + fabs(a->facts.scale) * (double)c->d *
                      attention_backward_largest(a->q.value, q) *
                      attention_backward_largest(a->k.value, k);
    return difference_check(b, attention_backward_weighted, &s,
                            attention_backward_joined(b, a), q + k + v, g.want,
                            0x1p-15, third_derivative(a, dy, n), size);
}

/* ---- the op ---- */

/* What the forward op saved, and the upstream gradient. */
struct saved {
    struct grid y, dy, dq, dk, dv;
    struct operand lse;
};

static void attention_backward_make_saved(struct harness *b,
                                          const struct attention_harness *a,
                                          const struct attention_want *y,
                                          const struct attention_want *lse,
                                          struct saved *s)
{
    const struct attention_case *c = a->facts.c;
    const int64_t lse_shape[] = {c->batch, c->heads, c->tq};
    grid_values(b, &s->y, c->out, a->y_shape, c->place, y->want);
    grid_input(b, &s->dy, c->out, a->y_shape, c->place, 0.0);
    harness_values(b, &s->lse, SSQ_F32, 3, lse_shape, LAYOUT_PADDED, lse->want);
    grid_output(b, &s->dq, c->out, a->q_shape, c->place);
    grid_output(b, &s->dk, c->out, a->k_shape, c->place);
    grid_output(b, &s->dv, c->out, a->v_shape, c->place);
}

static ssq_attention_backward_args make_args(const struct attention_harness *a,
                                             const struct saved *s)
{
    const struct attention_case *c = a->facts.c;
    ssq_attention_backward_args args = SSQ_ATTENTION_BACKWARD_INIT;
    args.q = a->q.t;
    args.k = a->k.t;
    args.v = a->v.t;
    args.mask = c->mask == MASK_NONE ? NULL : a->mask.t;
    args.y = s->y.t;
    args.lse = s->lse.t;
    args.dy = s->dy.t;
    args.dq = s->dq.t;
    args.dk = s->dk.t;
    args.dv = s->dv.t;
    args.scale = c->scale;
    args.causal = c->causal;
    args.causal_offset = c->causal_offset;
    args.dropout = c->dropout;
    args.seed = 99;
    args.id = 4;
    args.step = a->step.t;
    args.offset = 11;
    args.softcap = c->softcap;
    return args;
}

static bool attention_backward_run_case(struct harness *b,
                                        const struct attention_case *c,
                                        struct attention_harness *a,
                                        struct saved *s)
{
    size_t rows = (size_t)(c->batch * c->heads * c->tq), n[3];
    attention_make(b, c, a);
    struct attention_want y = want_alloc(b, rows * (size_t)c->dv);
    struct attention_want lse = want_alloc(b, rows), want[3];
    attention_oracle(&a->facts, y, lse);
    attention_backward_make_saved(b, a, &y, &lse, s);
    struct grid *out[] = {&s->dq, &s->dk, &s->dv};
    double work = 2.0 * (double)(c->heads * c->batch * c->tq * c->tk);
    b->flops = work * (double)(3 * c->d + 2 * c->dv);
    ssq_attention_backward_args args = make_args(a, s);
    HARNESS_OP(b, ssq_attention_backward(b->queue, &args));
    bool fresh = false;
    for (int i = 0; i < 3; i++) {
        n[i] = (size_t)out[i]->o.n;
        want[i].want = harness_keep(b, 2 * i, n[i], &fresh);
        want[i].error = harness_keep(b, 2 * i + 1, n[i], &fresh);
    }
    if (fresh) {
        attention_backward_oracle(&a->facts, s->y.value, s->lse.value,
                                  s->dy.value, want[0], want[1], want[2]);
        bool small = n[0] + n[1] + n[2] <= 600 && c->size <= 5.0;
        if (small && !b->bench && !b->admit &&
            !attention_backward_difference(b, a, s->dy.value, y, lse))
            return false;
    }
    for (int i = 0; i < 3; i++)
        if (!grid_bound(b, out[i], want[i].want, want[i].error))
            return false;
    return harness_unchanged(b, &s->y.o) && harness_unchanged(b, &s->lse);
}

static bool attention_backward_run_table(struct harness *b,
                                         const struct attention_case *c)
{
    struct attention_harness a = {0};
    struct saved s = {0};
    bool ok = attention_backward_run_case(b, c, &a, &s);
    struct grid *all[] = {&a.q, &a.k, &a.v, &s.y, &s.dy, &s.dq, &s.dk, &s.dv};
    for (size_t i = 0; i < COUNT(all); i++)
        grid_done(all[i]);
    return ok;
}

/* Each gradient alone has the bits that it has among all three. */
static bool run_single(struct harness *b)
{
    const struct attention_case c = {1,     4,    2,    5, 7, 6,   3, F16, F32,
                                     DENSE, NONE, true, 1, 0, 0.2, 0, 0};
    struct attention_harness a = {0};
    struct saved s = {0}, alone = {0};
    attention_make(b, &c, &a);
    struct attention_want y = want_alloc(b, 20 * 3), lse = want_alloc(b, 20);
    attention_oracle(&a.facts, y, lse);
    attention_backward_make_saved(b, &a, &y, &lse, &s);
    alone = s;
    struct grid *got[] = {&alone.dq, &alone.dk, &alone.dv};
    struct grid *all[] = {&s.dq, &s.dk, &s.dv};
    const int64_t *shape[] = {a.q_shape, a.k_shape, a.v_shape};
    ssq_attention_backward_args args = make_args(&a, &s);
    HARNESS_OP(b, ssq_attention_backward(b->queue, &args));
    bool same = true;
    for (int i = 0; i < 3; i++) {
        grid_output(b, got[i], F32, shape[i], DENSE);
        args.dq = i == 0 ? alone.dq.t : NULL;
        args.dk = i == 1 ? alone.dk.t : NULL;
        args.dv = i == 2 ? alone.dv.t : NULL;
        HARNESS_OP(b, ssq_attention_backward(b->queue, &args));
        harness_read(b, &got[i]->o);
        harness_read(b, &all[i]->o);
        same = same && harness_bits(b, &got[i]->o, all[i]->o.bits);
    }
    return same;
}

static bool attention_backward_table_run(struct harness *b, size_t i)
{
    return i < COUNT(table) ? attention_backward_run_table(b, &table[i])
                            : run_single(b);
}

static void attention_backward_describe(size_t i, char *text, size_t bytes)
{
    char c[200];
    if (i == COUNT(table))
        snprintf(text, bytes, "attention_backward of one gradient alone");
    else
        snprintf(text, bytes, "attention_backward %s",
                 attention_text(&table[i], c, sizeof(c)));
}

extern const struct suite attention_backward_suite;
const struct suite attention_backward_suite = {
    .op = "attention_backward",
    .name = "attention_backward",
    .n = COUNT(table) + 1,
    .turn = suite_half,
    .describe = attention_backward_describe,
    .run = attention_backward_table_run,
    .floor = 40};
