/* SPDX-License-Identifier: Apache-2.0 */
/* attention_edges.c - what the contract of attention says of odd numbers, and
 * refusals. */
#include "conformance/bounds_attention.h"
#include "conformance/attention/attention.h"

#define INF ((double)INFINITY)

/* One batch and head of small tensors. */
struct small {
    struct operand q, k, v, mask, y, lse, dy, dq, dk, dv;
    ssq_attention_args args;
};

static void make_small(struct harness *b, struct small *s, ssq_dtype in,
                       ssq_dtype out, int64_t tq, int64_t tk, int64_t d,
                       int64_t dv, const double *q, const double *k,
                       const double *v)
{
    const int64_t qs[] = {1, 1, tq, d}, ks[] = {1, 1, tk, d};
    const int64_t vs[] = {1, 1, tk, dv}, ys[] = {1, 1, tq, dv};
    harness_values(b, &s->q, in, 4, qs, LAYOUT_DENSE, q);
    harness_values(b, &s->k, in, 4, ks, LAYOUT_DENSE, k);
    harness_values(b, &s->v, in, 4, vs, LAYOUT_DENSE, v);
    harness_output(b, &s->y, out, 4, ys, LAYOUT_DENSE);
    harness_output(b, &s->lse, SSQ_F32, 3, qs, LAYOUT_DENSE);
    s->args = (ssq_attention_args)SSQ_ATTENTION_INIT;
    s->args.q = s->q.t;
    s->args.k = s->k.t;
    s->args.v = s->v.t;
    s->args.y = s->y.t;
    s->args.lse = s->lse.t;
    s->args.scale = 1.0;
}

static void run_small(struct harness *b, struct small *s)
{
    HARNESS_OP(b, ssq_attention(b->queue, &s->args));
    harness_read(b, &s->y);
    harness_read(b, &s->lse);
}

/* The gradients of a small forward call that ran, from dy. */
static void run_gradients(struct harness *b, struct small *s, ssq_dtype out,
                          const double *dy)
{
    harness_values(b, &s->dy, SSQ_F32, 4, s->y.shape, LAYOUT_DENSE, dy);
    harness_output(b, &s->dq, out, 4, s->q.shape, LAYOUT_DENSE);
    harness_output(b, &s->dk, out, 4, s->k.shape, LAYOUT_DENSE);
    harness_output(b, &s->dv, out, 4, s->v.shape, LAYOUT_DENSE);
    ssq_attention_backward_args a = SSQ_ATTENTION_BACKWARD_INIT;
    a.q = s->args.q;
    a.k = s->args.k;
    a.v = s->args.v;
    a.mask = s->args.mask;
    a.y = s->args.y;
    a.lse = s->args.lse;
    a.dy = s->dy.t;
    a.dq = s->dq.t;
    a.dk = s->dk.t;
    a.dv = s->dv.t;
    a.scale = s->args.scale;
    a.causal = s->args.causal;
    a.causal_offset = s->args.causal_offset;
    HARNESS_OP(b, ssq_attention_backward(b->queue, &a));
    harness_read(b, &s->dq);
    harness_read(b, &s->dk);
    harness_read(b, &s->dv);
}

/* A mean of n values up to size, from exact scores. */
static double mean_bound(double n, double size)
{
    return bound_attention_sum(
        n, size * (bound_attention_total(n, 0.0) + 6.0 * U_F32), size, 0.0);
}

/* With q = 0 a query sees the mean of its values, here powers of 2: which
 * keys it sees can be read off. */
static bool run_causal(struct harness *b)
{
    static const struct {
        int64_t tq, tk, offset;
        double want[4];
    } cases[] = {
        {2, 4, 0, {1, 1.5, 0, 0}},        /* top left: torch */
        {2, 4, 2, {7.0 / 3, 3.75, 0, 0}}, /* bottom right */
        {4, 2, 0, {1, 1.5, 1.5, 1.5}},
        {4, 2, -2, {0, 0, 1, 1.5}}, /* bottom right */
        {1, 1, 0, {1, 0, 0, 0}},
    };
    const double zero[4] = {0}, v[] = {1, 2, 4, 8};
    bool ok = true;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct small s;
        make_small(b, &s, SSQ_F32, SSQ_F32, cases[i].tq, cases[i].tk, 1, 1,
                   zero, zero, v);
        s.args.causal = true;
        s.args.causal_offset = cases[i].offset;
        run_small(b, &s);
        ok = ok && harness_bound1(b, &s.y, cases[i].want, mean_bound(4, 8));
    }
    return ok;
}

/* NaN and Inf after a key that is excluded, in three ways, reach nothing: the
 * bits of the same call with zeros there. */
static bool run_hidden(struct harness *b, ssq_dtype dtype)
{
    const double nan = (double)NAN;
    const double q[] = {1, 2, -1, 0.5}, dy[] = {1, -2, 3, -4};
    const double k[] = {1, 0, 0.5, 1, 2, -1}, v[] = {3, 1, -1, 2, 5, 7};
    const double kx[] = {1, 0, 0.5, 1, nan, INF},
                 vx[] = {3, 1, -1, 2, nan, INF};
    const double flags[] = {1, 1, 0}, bias[] = {0, 0, -INF};
    const int64_t three = 3;
    bool ok = true;
    for (int way = 0; way < 3; way++) {
        struct small s[2];
        for (int x = 0; x < 2; x++) {
            make_small(b, &s[x], dtype, SSQ_F32, 2, 3, 2, 2, q, x == 0 ? k : kx,
                       x == 0 ? v : vx);
            harness_values(b, &s[x].mask, way == 0 ? SSQ_U8 : SSQ_F32, 1,
                           &three, LAYOUT_DENSE, way == 0 ? flags : bias);
            s[x].args.mask = way == 2 ? NULL : s[x].mask.t;
            s[x].args.causal = way == 2;
            s[x].args.causal_offset = way == 2 ? 0 : 5;
            run_small(b, &s[x]);
            run_gradients(b, &s[x], SSQ_F32, dy);
        }
        const struct operand *a[] = {&s[0].y, &s[0].lse, &s[0].dq, &s[0].dk,
                                     &s[0].dv};
        const struct operand *c[] = {&s[1].y, &s[1].lse, &s[1].dq, &s[1].dk,
                                     &s[1].dv};
        for (size_t i = 0; i < COUNT(a) && ok; i++)
            ok = harness_raw_equal(b, c[i], a[i]->bits);
        for (int64_t i = 0; i < s[0].y.n && !b->bench && !b->admit; i++)
            if (!isfinite(s[0].y.value[i]))
                return harness_fail(b, "y is not finite");
        for (int i = 4; i < 6 && !b->bench && !b->admit; i++)
            if (s[1].dk.value[i] != 0.0 || s[1].dv.value[i] != 0.0)
                return harness_fail(b, "an excluded key has a gradient");
    }
    return ok;
}

enum { FAR_Q = 40, FAR_K = 200, FAR_D = 5, FAR_DV = 3, NO_KEY = 5, HID = 137 };

/* Operands of run_far: a row of each may be all of one number. */
static void make_far(struct harness *b, struct small *s, ssq_dtype dtype,
                     const double *mask, bool odd)
{
    const int64_t shape[] = {FAR_Q, FAR_K};
    double *q = harness_alloc(b, FAR_Q * FAR_D * sizeof(*q));
    double *k = harness_alloc(b, FAR_K * FAR_D * sizeof(*k));
    double *v = harness_alloc(b, FAR_K * FAR_DV * sizeof(*v));
    for (int i = 0; i < FAR_Q * FAR_D; i++)
        q[i] = i / FAR_D != NO_KEY ? i % 7 * 0.25 - 1 : odd ? (double)NAN : 0;
    for (int i = 0; i < FAR_K * FAR_D; i++)
        k[i] = i / FAR_D != HID ? i % 11 * 0.125 - 0.5 : odd ? -INF : 0;
    for (int i = 0; i < FAR_K * FAR_DV; i++)
        v[i] = i / FAR_DV != HID ? i % 13 - 6 : odd ? INF : 0;
    make_small(b, s, dtype, SSQ_F32, FAR_Q, FAR_K, FAR_D, FAR_DV, q, k, v);
    harness_values(b, &s->mask, SSQ_U8, 2, shape, LAYOUT_DENSE, mask);
    s->args.mask = s->mask.t;
}

/* The same where there are many queries and keys: one key is hidden from all,
 * and one query sees none, whose own NaN and Inf reach nothing either. */
static bool run_far(struct harness *b, ssq_dtype dtype)
{
    double *mask = harness_alloc(b, FAR_Q * FAR_K * sizeof(*mask));
    double *dy = harness_alloc(b, FAR_Q * FAR_DV * sizeof(*dy));
    struct small s[2];
    bool ok = true;
    for (int i = 0; i < FAR_Q * FAR_K; i++)
        mask[i] = i / FAR_K != NO_KEY && i % FAR_K != HID;
    for (int x = 0; x < 2; x++) {
        for (int i = 0; i < FAR_Q * FAR_DV; i++)
            dy[i] = i / FAR_DV != NO_KEY ? i % 5 - 2 : x == 1 ? INF : 0;
        make_far(b, &s[x], dtype, mask, x == 1);
        run_small(b, &s[x]);
        run_gradients(b, &s[x], SSQ_F32, dy);
    }
    const struct operand *a[] = {&s[0].y, &s[0].lse, &s[0].dq, &s[0].dk,
                                 &s[0].dv};
    const struct operand *c[] = {&s[1].y, &s[1].lse, &s[1].dq, &s[1].dk,
                                 &s[1].dv};
    for (size_t i = 0; i < COUNT(a) && ok; i++)
        ok = harness_raw_equal(b, c[i], a[i]->bits);
    for (int64_t i = 0; i < s[1].dk.n && !b->bench && !b->admit; i++)
        if (!isfinite(s[1].dk.value[i]))
            return harness_fail(b, "dk is not finite");
    return ok;
}

/* Query 1 sees nothing, query 0 sees key 0 only: y is its value, for any
 * score, and only v has a gradient. */
static bool run_all_masked(struct harness *b, ssq_dtype dtype)
{
    const double q[] = {1, 2}, k[] = {1, 2}, v[] = {3, -5}, dy[] = {2, 9};
    const double flags[] = {1, 0, 0, 0};
    const int64_t shape[] = {2, 2};
    const double y[] = {3, 0}, lse[] = {1, -INF}, dv[] = {2, 0};
    const double zero[] = {0, 0};
    struct small s;
    make_small(b, &s, dtype, SSQ_F32, 2, 2, 1, 1, q, k, v);
    harness_values(b, &s.mask, SSQ_U8, 2, shape, LAYOUT_DENSE, flags);
    s.args.mask = s.mask.t;
    run_small(b, &s);
    run_gradients(b, &s, SSQ_F32, dy);
    return harness_exact(b, &s.y, y) && harness_exact(b, &s.lse, lse) &&
           harness_exact(b, &s.dv, dv) && harness_exact(b, &s.dq, zero) &&
           harness_exact(b, &s.dk, zero);
}

/* One odd number: which of y [3 queries][2 columns] and lse become what. Only
 * the class matters: anything finite is F. */
struct odd {
    const char *where; /* "q", "k", "v", "m" (a mask of [3, 3]) */
    int at;
    double value;
    const char *y, *lse; /* N: NaN, I: Inf, i: -Inf, F: finite */
};

static const struct odd odds[] = {
    {"q", 1, (double)NAN, "FFNNFF", "FNF"},
    {"q", 1, (double)INFINITY, "FFNNFF", "FNF"},
    {"k", 2, (double)NAN, "NNNNNN", "NNN"},
    {"v", 3, (double)NAN, "FNFNFN", "FFF"},
    {"v", 3, (double)INFINITY, "FIFIFI", "FFF"},
    {"v", 0, -(double)INFINITY, "iFiFiF", "FFF"},
    {"m", 5, (double)NAN, "FFNNFF", "FNF"},
    {"m", 5, (double)INFINITY, "FFNNFF", "FNF"},
    {"m", 5, -(double)INFINITY, "FFFFFF", "FFF"},
};

static char attention_edges_class_of(double x)
{
    return isnan(x) ? 'N' : isfinite(x) ? 'F' : x > 0.0 ? 'I' : 'i';
}

static bool attention_edges_classes(struct harness *b, const struct operand *y,
                                    const char *want)
{
    for (int64_t i = 0;
         i < y->n && !b->failed && !b->bench && !b->admit && !b->skipped; i++)
        if (attention_edges_class_of(y->value[i]) != want[i])
            return harness_fail(b, "element %lld is %g, expected class %c",
                                (long long)i, y->value[i], want[i]);
    return !b->failed;
}

static bool run_odd(struct harness *b, const struct odd *o, ssq_dtype dtype)
{
    double q[] = {1, 2, -1}, k[] = {1, 0.5, 2}, v[] = {3, 1, -1, 2, 5, 7};
    double m[9] = {0.5, 0, 1, 0, 2, 0, 1, 0, 0};
    double *in = *o->where == 'q'   ? q
                 : *o->where == 'k' ? k
                 : *o->where == 'v' ? v
                                    : m;
    const int64_t shape[] = {3, 3};
    in[o->at] = o->value;
    struct small s;
    make_small(b, &s, dtype, dtype, 3, 3, 1, 2, q, k, v);
    harness_values(b, &s.mask, dtype, 2, shape, LAYOUT_DENSE, m);
    s.args.mask = s.mask.t;
    run_small(b, &s);
    return attention_edges_classes(b, &s.y, o->y) &&
           attention_edges_classes(b, &s.lse, o->lse);
}

/* Where P is 0 an infinite value gives NaN, as 0 times Inf does. */
static bool run_no_weight(struct harness *b)
{
    const double q[] = {1}, k[] = {0, 1000}, v[] = {INF, 2, 1, 3};
    struct small s;
    make_small(b, &s, SSQ_F32, SSQ_F32, 1, 2, 1, 2, q, k, v);
    run_small(b, &s);
    return attention_edges_classes(b, &s.y, "NF") &&
           attention_edges_classes(b, &s.lse, "F");
}

/* Scores at 2^32, 256 apart in float32: two that are equal share P, a third is
 * far below. Scores beyond float32 are Inf: NaN, or out of the game. */
static bool run_huge_scores(struct harness *b)
{
    const double q[] = {65536}, k[] = {65536, 65536, 65000}, v[] = {1, 4, 64};
    const double big[] = {1e30}, ends[] = {-1e30, 0, -1e30};
    const double beyond[] = {1e30, 0, 0}, below[] = {-1e30, -1e30, -1e30};
    const double y[] = {2.5}, lse[] = {0x1p32}, four[] = {4}, none[] = {0};
    const double zero[] = {0}, low[] = {-INF};
    struct small s, t, u, w;
    make_small(b, &s, SSQ_F32, SSQ_F32, 1, 3, 1, 1, q, k, v);
    make_small(b, &t, SSQ_F32, SSQ_F32, 1, 3, 1, 1, big, ends, v);
    make_small(b, &u, SSQ_F32, SSQ_F32, 1, 3, 1, 1, big, beyond, v);
    make_small(b, &w, SSQ_F32, SSQ_F32, 1, 3, 1, 1, big, below, v);
    run_small(b, &s);
    run_small(b, &t);
    run_small(b, &u);
    run_small(b, &w);
    return harness_bound1(b, &s.y, y, mean_bound(3, 4)) &&
           harness_exact(b, &s.lse, lse) && harness_exact(b, &t.y, four) &&
           harness_exact(b, &t.lse, zero) &&
           attention_edges_classes(b, &u.y, "N") &&
           attention_edges_classes(b, &u.lse, "N") &&
           harness_exact(b, &w.y, none) && harness_exact(b, &w.lse, low);
}

/* Queries all of whose keys share one score, which is so large that nothing of
 * log(total) is left in lse: a row that is padding, with a mask of the lowest
 * number, and products of 2e8. The scores are the same bits, so that P is 1 / n
 * for any values. */
struct shared_score {
    ssq_dtype dtype;
    int64_t tq, tk;
    double q, k, mask; /* 0: none */
    double scale;      /* 1 / sqrt(4) */
};

static const struct shared_score shared_scores[] = {
    {SSQ_F32, 2, 8, 0.25, 0.5, -0x1.fffffep127, 0.5},
    {SSQ_BF16, 2, 8, 0.25, 0.5, -0x1.fep127, 0.5},
    {SSQ_F32, 1, 4, 1e4, 1e4, 0.0, 0.5},
    {SSQ_F16, 3, 200, 1e4, 1e4, 0.0, 0.5},
    {SSQ_F32, 40, 300, 0.25, 0.5, -1e9, 0.5},
};

static bool run_shared_score(struct harness *b, const struct shared_score *c)
{
    enum { D = 4, MOST = 300 };
    const int64_t shape[] = {c->tq, c->tk};
    const double n = (double)c->tk, tq = (double)c->tq;
    double q[MOST * D], k[MOST * D], v[MOST], dy[MOST], y[MOST], none[MOST * D];
    double dk[MOST * D], dv[MOST], dk_error[MOST * D];
    double *mask = harness_alloc(b, (size_t)(c->tq * c->tk) * sizeof(*mask));
    struct small s;
    for (int i = 0; i < MOST * D; i++) {
        q[i] = c->q;
        k[i] = c->k;
        none[i] = 0.0;
    }
    for (int64_t i = 0; i < c->tq * c->tk; i++)
        mask[i] = c->mask;
    for (int i = 0; i < MOST; i++) {
        v[i] = i;
        dy[i] = 1.0;
        y[i] = (n - 1.0) / 2.0;
        dv[i] = tq / n;
    }
    make_small(b, &s, c->dtype, SSQ_F32, c->tq, c->tk, D, 1, q, k, v);
    harness_values(b, &s.mask, c->dtype, 2, shape, LAYOUT_DENSE, mask);
    s.args.mask = c->mask != 0.0 ? s.mask.t : NULL;
    s.args.scale = c->scale;
    run_small(b, &s);
    run_gradients(b, &s, SSQ_F32, dy);
    double x = s.q.value[0], largest = v[c->tk - 1], u = bound_u(c->dtype);
    double p = bound_attention_whole(n, log(n), c->dtype, 0.0);
    double y_error = mean_bound(n, largest) + u * largest;
    /* P and the slope j - y are off, each by its own */
    double ds = 2.0 * p * largest / n + (y_error + 4.0 * U_F32 * largest) / n;
    for (int i = 0; i < MOST * D; i++) {
        dk[i] = c->scale * x * tq / n * (v[i / D] - y[0]);
        dk_error[i] =
            c->scale * fabs(x) * tq * (ds + bound_chain(2.0 * tq, largest / n));
    }
    double most =
        c->scale * c->k * n * (ds + bound_chain(2.0 * n, largest / n));
    return harness_bound1(b, &s.y, y, y_error) &&
           harness_bound1(b, &s.dv, dv,
                          tq / n * (p + bound_chain(2.0 * tq, 1.0))) &&
           harness_bound(b, &s.dk, dk, dk_error) &&
           harness_bound1(b, &s.dq, none, most);
}

/* All P of a query add up to 1, for any scores: with dy = 1, dv adds
 * up to the number of queries. Some are padding, whose mask is the lowest
 * number, some have scores of millions, and some ordinary ones. */
static bool run_whole(struct harness *b, ssq_dtype dtype, double size)
{
    enum { Q = 37, K = 150, D = 8 };
    const int64_t shape[] = {Q, K};
    double q[Q * D], k[K * D], v[K], dy[Q];
    double *mask = harness_alloc(b, Q * K * sizeof(*mask)), sum = 0.0,
           error = 0.0;
    struct small s;
    for (int i = 0; i < Q * D; i++)
        q[i] = (i * 7 % 11 - 5) * size;
    for (int i = 0; i < K * D; i++)
        k[i] = (i * 5 % 13 - 6) * size;
    for (int i = 0; i < Q * K; i++)
        mask[i] = i / K % 3 == 0 ? dtype == SSQ_F16 ? -65504.0 : -0x1.fep127
                  : i % 5 == 0   ? -1e4
                                 : 0.0;
    for (int i = 0; i < K; i++)
        v[i] = i % 3;
    for (int i = 0; i < Q; i++)
        dy[i] = 1.0;
    make_small(b, &s, dtype, SSQ_F32, Q, K, D, 1, q, k, v);
    harness_values(b, &s.mask, dtype, 2, shape, LAYOUT_DENSE, mask);
    s.args.mask = s.mask.t;
    run_small(b, &s);
    run_gradients(b, &s, SSQ_F32, dy);
    for (int i = 0; i < Q && !harness_over(b); i++) {
        double lse = fabs(s.lse.value[i]);
        double lost = lse > ATTENTION_LARGE_LSE ? fmin(lse * 0x1p-24, log(K))
                                                : lse * 0x1p-24;
        error += bound_attention_whole(K, lost, dtype, 0.0);
        error += lse > ATTENTION_LARGE_LSE ? 0.0 : lost;
    }
    for (int i = 0; i < K && !harness_over(b); i++)
        sum += s.dv.value[i];
    error += bound_chain(2.0 * Q, Q);
    if (!harness_over(b) && !(fabs(sum - Q) <= error))
        return harness_fail(b, "dv adds up to %.9g, expected %d within %.3g",
                            sum, Q, error);
    return !b->failed;
}

/* f16: values at 65504 stay there, or round to Inf where their weights' sum is
 * above 1; 1e5 from float32 is Inf; a score of 2^31 is none of f16's business.
 */
static bool attention_edges_run_overflow(struct harness *b)
{
    const double q[] = {65504}, k[] = {32768, 32768}, v[] = {65504, -65504};
    const double top[] = {65504, 65504}, beyond[] = {1e5, 1e5}, inf[] = {INF};
    const double zero[] = {0}, most[] = {65504};
    struct small s, t, u;
    make_small(b, &s, SSQ_F16, SSQ_F16, 1, 2, 1, 1, q, k, v);
    make_small(b, &t, SSQ_F16, SSQ_F16, 1, 2, 1, 1, q, k, top);
    make_small(b, &u, SSQ_F32, SSQ_F16, 1, 2, 1, 1, zero, k, beyond);
    run_small(b, &s);
    run_small(b, &t);
    run_small(b, &u);
    /* P is rounded to f16: 2^-11 of it */
    const double error = 65504 * 0x1p-11 + mean_bound(2, 65504);
    return harness_bound1(b, &s.y, zero, error) &&
           harness_bound1(b, &t.y, most, error) && harness_exact(b, &u.y, inf);
}

/* |dS| = 5e5: beyond f16, where it is Inf; not in bfloat16. */
static bool run_slope_overflow(struct harness *b)
{
    const double q[] = {0x1p-10}, k[] = {1, -1}, v[] = {1000, -1000};
    const double dy[] = {1000};
    struct small s, t;
    make_small(b, &s, SSQ_F16, SSQ_F32, 1, 2, 1, 1, q, k, v);
    make_small(b, &t, SSQ_BF16, SSQ_F32, 1, 2, 1, 1, q, k, v);
    run_small(b, &s);
    run_gradients(b, &s, SSQ_F32, dy);
    run_small(b, &t);
    run_gradients(b, &t, SSQ_F32, dy);
    return attention_edges_classes(b, &s.dq, "I") &&
           attention_edges_classes(b, &s.dk, "Ii") &&
           attention_edges_classes(b, &s.dv, "FF") &&
           attention_edges_classes(b, &t.dq, "F") &&
           attention_edges_classes(b, &t.dk, "FF");
}

/* Dropout with p = 1 leaves nothing, and lse as it was. */
static bool run_dropped(struct harness *b)
{
    const double q[] = {0}, k[] = {1, 2}, v[] = {3, 4}, zero[] = {0};
    struct small s;
    make_small(b, &s, SSQ_F32, SSQ_F32, 1, 2, 1, 1, q, k, v);
    s.args.dropout = 1.0;
    run_small(b, &s);
    const double lse[] = {log(2.0)};
    return harness_exact(b, &s.y, zero) &&
           harness_bound1(b, &s.lse, lse, mean_bound(2, 1));
}

/* Without lse, and without values but with lse. */
static bool run_optional(struct harness *b)
{
    const double q[] = {0}, k[] = {1, 2}, v[] = {3, 4}, y[] = {3.5};
    struct small s, t;
    make_small(b, &s, SSQ_F32, SSQ_F32, 1, 2, 1, 1, q, k, v);
    s.args.lse = NULL;
    HARNESS_OP(b, ssq_attention(b->queue, &s.args));
    harness_read(b, &s.y);
    make_small(b, &t, SSQ_F32, SSQ_F32, 1, 2, 1, 0, q, k, v);
    run_small(b, &t);
    const double lse[] = {log(2.0)};
    return harness_bound1(b, &s.y, y, mean_bound(2, 4)) &&
           harness_unchanged(b, &s.lse) &&
           harness_bound1(b, &t.lse, lse, mean_bound(2, 1));
}

/* A cap makes infinite products finite, before the mask excludes. A score that
 * is off by e moves each weight by a factor within exp(+-2 e). */
static bool run_capped(struct harness *b)
{
    const double q[] = {1}, k[] = {INF, -INF, 0, 0}, v[] = {1, 2, 4, 100};
    const double bias[] = {0, 0, 0, -INF}, cap = 2.0;
    const int64_t four = 4;
    struct small s;
    make_small(b, &s, SSQ_F32, SSQ_F32, 1, 4, 1, 1, q, k, v);
    harness_values(b, &s.mask, SSQ_F32, 1, &four, LAYOUT_DENSE, bias);
    s.args.mask = s.mask.t;
    s.args.softcap = cap;
    run_small(b, &s);
    double total = exp(cap) + exp(-cap) + 1.0;
    const double y[] = {(exp(cap) + 2.0 * exp(-cap) + 4.0) / total};
    const double lse[] = {log(total)};
    double e = bound_attention_capped(0.0, cap, 0.0, 0.0);
    e = bound_attention_exponent(e, 2.0 * cap);
    return harness_bound1(b, &s.y, y, mean_bound(4, 4) + 3.0 * e * 4.0) &&
           harness_bound1(b, &s.lse, lse, mean_bound(4, 4) + 3.0 * e);
}

enum named {
    CAUSAL,
    HIDDEN_F32,
    HIDDEN_F16,
    FAR_F32,
    FAR_BF16,
    MASKED_F32,
    MASKED_BF16,
    NO_WEIGHT,
    HUGE_SCORES,
    OVERFLOW_F16,
    SLOPE_OVERFLOW,
    DROPPED,
    CAPPED,
    OPTIONAL_OPERANDS,
    NAMED
};

static const char *const names[NAMED] = {
    "attention causal: which keys are seen, top left and bottom right",
    "attention f32: NaN and Inf behind excluded keys reach nothing",
    "attention f16: NaN and Inf behind excluded keys reach nothing",
    "attention f32: among 40 queries and 200 keys, hidden ones reach nothing",
    "attention bf16: among 40 queries and 200 keys, hidden ones reach nothing",
    "attention f32: a query without keys gives 0, lse -Inf, no gradient",
    "attention bf16: a query without keys gives 0, lse -Inf, no gradient",
    "attention: an infinite value without weight gives NaN",
    "attention: scores of 2^32, and beyond float32",
    "attention f16: values at and beyond 65504",
    "attention_backward f16: |dS| beyond 65504 is Inf, in bf16 it is not",
    "attention: dropout 1 gives 0",
    "attention: softcap 2 of infinite products, and of an excluded key",
    "attention without lse; without values",
};

static bool attention_edges_run_named(struct harness *b, enum named which)
{
    switch (which) {
    case CAUSAL:
        return run_causal(b);
    case HIDDEN_F32:
        return run_hidden(b, SSQ_F32);
    case HIDDEN_F16:
        return run_hidden(b, SSQ_F16);
    case FAR_F32:
        return run_far(b, SSQ_F32);
    case FAR_BF16:
        return run_far(b, SSQ_BF16);
    case MASKED_F32:
        return run_all_masked(b, SSQ_F32);
    case MASKED_BF16:
        return run_all_masked(b, SSQ_BF16);
    case NO_WEIGHT:
        return run_no_weight(b);
    case HUGE_SCORES:
        return run_huge_scores(b);
    case OVERFLOW_F16:
        return attention_edges_run_overflow(b);
    case SLOPE_OVERFLOW:
        return run_slope_overflow(b);
    case DROPPED:
        return run_dropped(b);
    case CAPPED:
        return run_capped(b);
    default:
        return run_optional(b);
    }
}

/* q and k of run_whole, times integers: scores up to some 200 size^2. */
static const double wholes[] = {0.125, 1.0, 64.0, 1000.0};
#define WHOLES (3 * COUNT(wholes))

static bool attention_edges_run(struct harness *b, size_t i)
{
    static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_F16, SSQ_BF16};
    if (i < NAMED)
        return attention_edges_run_named(b, (enum named)i);
    i -= NAMED;
    if (i < COUNT(shared_scores))
        return run_shared_score(b, &shared_scores[i]);
    i -= COUNT(shared_scores);
    if (i < WHOLES)
        return run_whole(b, dtypes[i % 3], wholes[i / 3]);
    i -= WHOLES;
    return run_odd(b, &odds[i / 3], dtypes[i % 3]);
}

static void attention_edges_describe(size_t i, char *text, size_t bytes)
{
    static const char *const dtypes[] = {"f32", "f16", "bf16"};
    if (i < NAMED) {
        snprintf(text, bytes, "%s", names[i]);
        return;
    }
    i -= NAMED;
    if (i < COUNT(shared_scores)) {
        const struct shared_score *c = &shared_scores[i];
        snprintf(text, bytes,
                 "attention_backward %s: %dx%d, q %g, k %g, mask %g: all P are "
                 "1 / %d",
                 ssq_dtype_name(c->dtype), (int)c->tq, (int)c->tk, c->q, c->k,
                 c->mask, (int)c->tk);
        return;
    }
    i -= COUNT(shared_scores);
    if (i < WHOLES) {
        snprintf(text, bytes,
                 "attention_backward %s: q and k times %g, some rows padding: "
                 "P adds up to 1",
                 dtypes[i % 3], wholes[i / 3]);
        return;
    }
    i -= WHOLES;
    const struct odd *o = &odds[i / 3];
    snprintf(text, bytes, "attention %s: %g in %s[%d]: y %s, lse %s",
             dtypes[i % 3], o->value, o->where, o->at, o->y, o->lse);
}

extern const struct suite attention_edges_suite;
const struct suite attention_edges_suite = {
    .op = "attention",
    .name = "attention_edges",
    .n = NAMED + COUNT(shared_scores) + WHOLES + 3 * COUNT(odds),
    .turn = suite_half,
    .describe = attention_edges_describe,
    .run = attention_edges_run,
    .floor = 30};
