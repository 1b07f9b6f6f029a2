/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_oracle.c - LSTM and GRU in float64, each number with its running error.
 *
 * The values alone are the plain formulas in float64: nothing is rounded. */
#include "conformance/rnn/rnn.h"

static const struct num one = {1.0, 0.0}, zero = {0.0, 0.0};

static struct num sigmoid_back(struct num d, struct num s)
{
    return num_mul(d, num_mul(s, num_sub(one, s)));
}

static struct num tanh_back(struct num d, struct num t)
{
    return num_mul(d, num_mul(num_sub(one, t), num_add(one, t)));
}

struct lstm_element lstm_element(const struct num *a, struct num c)
{
    struct lstm_element s;
    for (int k = 0; k < 4; k++)
        s.gate[k] = k == 2 ? num_tanh(a[k]) : num_sigmoid(a[k]);
    s.c_out = num_add(num_mul(s.gate[1], c), num_mul(s.gate[0], s.gate[2]));
    s.y = num_mul(s.gate[3], num_tanh(s.c_out));
    return s;
}

struct lstm_slope lstm_slope(const struct num *gate, struct num c,
                             struct num c_out, struct num e, struct num dc)
{
    struct num i = gate[0], f = gate[1], g = gate[2], o = gate[3];
    struct num d = num_add(dc, num_mul(num_mul(e, o), num_tanh_slope(c_out)));
    struct lstm_slope s = {.da = {sigmoid_back(num_mul(d, g), i),
                                  sigmoid_back(num_mul(d, c), f),
                                  tanh_back(num_mul(d, i), g),
                                  sigmoid_back(num_mul(e, num_tanh(c_out)), o)},
                           .dc_in = num_mul(d, f)};
    return s;
}

struct gru_element gru_element(const struct num *u, const struct num *v,
                               struct num h, bool reset_first)
{
    struct gru_element s;
    for (int k = 0; k < 2; k++)
        s.gate[k] = num_sigmoid(num_add(u[k], v[k]));
    struct num q = reset_first ? v[2] : num_mul(s.gate[0], v[2]);
    s.gate[2] = num_tanh(num_add(u[2], q));
    struct num z = s.gate[1];
    s.y = num_add(num_mul(num_sub(one, z), s.gate[2]), num_mul(z, h));
    return s;
}

struct gru_slope gru_slope(const struct num *gate, struct num q, struct num h,
                           struct num e, bool reset_first)
{
    struct num r = gate[0], z = gate[1], n = gate[2];
    struct num k = tanh_back(num_mul(e, num_sub(one, z)), n);
    struct num du_r = sigmoid_back(num_mul(k, q), r);
    struct num du_z = sigmoid_back(num_mul(e, num_sub(h, n)), z);
    struct gru_slope s = {.du = {du_r, du_z, k},
                          .dv = {du_r, du_z, num_mul(k, r)},
                          .dh_in = num_mul(e, z)};
    if (reset_first) {
        s.du[0] = s.dv[0] = zero;
        s.dv[2] = k;
    }
    return s;
}

struct num gru_reset(struct num u, struct num v, struct num h)
{
    return num_mul(num_sigmoid(num_add(u, v)), h);
}

struct num gru_reset_slope(struct num r, struct num h, struct num d)
{
    return sigmoid_back(num_mul(d, h), r);
}

/* ---- sequences ---- */

int64_t rnn_parts(const struct rnn_problem *p)
{
    return p->gru ? 3 : 4;
}

static struct num *rnn_oracle_numbers(struct harness *b, int64_t n)
{
    return harness_alloc(b, (size_t)n * sizeof(struct num));
}

static struct num *exact_numbers(struct harness *b, const double *v, int64_t n)
{
    struct num *x = v == NULL ? NULL : rnn_oracle_numbers(b, n);
    for (int64_t i = 0; x != NULL && i < n; i++)
        x[i] = num_exact(v[i]);
    return x;
}

/* The place of step s. */
static int64_t rnn_oracle_place(const struct rnn_problem *p, int64_t s)
{
    return p->reverse ? p->t - 1 - s : s;
}

/* k terms a[i * sa] b[i * sb]. */
struct rnn_oracle_terms {
    const struct num *a, *b;
    int64_t sa, sb, k;
};

static struct num rnn_oracle_product(const struct rnn_problem *p,
                                     struct rnn_oracle_terms t,
                                     const struct num *c,
                                     const struct num *bias)
{
    double sum = 0.0, size = 0.0, moved = 0.0;
    for (int64_t i = 0; i < t.k; i++) {
        struct num a = t.a[i * t.sa], b = t.b[i * t.sb];
        sum += a.v * b.v;
        size += fabs(a.v * b.v);
        moved += fabs(a.v) * b.e + fabs(b.v) * a.e + a.e * b.e;
    }
    return num_gemm(sum, size, moved, (double)t.k, p->block, c, bias);
}

/* An operand in flight: rows of numbers. */
struct weights {
    struct num *x, *w_ih, *w_hh, *b_ih, *b_hh, *h0, *c0;
};

static struct weights weights_of(struct harness *b, const struct rnn_problem *p)
{
    int64_t wide = rnn_parts(p) * p->h, state = p->batch * p->h;
    struct weights w = {exact_numbers(b, p->x, p->t * p->batch * p->in),
                        exact_numbers(b, p->w_ih, wide * p->in),
                        exact_numbers(b, p->w_hh, wide * p->h),
                        exact_numbers(b, p->b_ih, wide),
                        exact_numbers(b, p->b_hh, wide),
                        exact_numbers(b, p->h0, state),
                        exact_numbers(b, p->c0, state)};
    return w;
}

/* h or c before step s: all is what the steps stored. */
static const struct num *rnn_oracle_before(const struct rnn_problem *p,
                                           const struct num *first,
                                           const struct num *all, int64_t s)
{
    return s == 0 ? first : all + rnn_oracle_place(p, s - 1) * p->batch * p->h;
}

static const struct num *rnn_oracle_at(const struct num *v, int64_t i)
{
    return v == NULL ? NULL : v + i;
}

/* a of an LSTM; u and v of a GRU, each stored in float32. The last gate's v is
 * made of `last`, which is h except for reset_first. */
static void rnn_oracle_products(const struct rnn_problem *p,
                                const struct weights *w, const struct num *h,
                                const struct num *last, int64_t row, int64_t b,
                                int64_t j, struct num *u, struct num *v)
{
    for (int64_t k = 0; k < rnn_parts(p); k++) {
        int64_t r = k * p->h + j;
        const struct num *state = k == 2 ? last : h;
        struct rnn_oracle_terms x = {w->x + row * p->in, w->w_ih + r * p->in, 1,
                                     1, p->in};
        struct rnn_oracle_terms s = {rnn_oracle_at(state, b * p->h),
                                     w->w_hh + r * p->h, 1, 1,
                                     state == NULL ? 0 : p->h};
        u[k] = num_store(
            rnn_oracle_product(p, x, NULL, rnn_oracle_at(w->b_ih, r)), SSQ_F32);
        v[k] = rnn_oracle_product(p, s, p->gru ? NULL : &u[k],
                                  rnn_oracle_at(w->b_hh, r));
        v[k] = num_store(v[k], SSQ_F32);
    }
}

/* r h of all elements of step s, as they are stored; NULL of no h. */
static const struct num *reset_state(const struct rnn_problem *p,
                                     const struct weights *w,
                                     const struct num *h, int64_t s,
                                     struct num *reset)
{
    for (int64_t k = 0; k < p->batch * p->h; k++) {
        int64_t row = rnn_oracle_place(p, s) * p->batch + k / p->h;
        struct num u[GATES], v[GATES];
        rnn_oracle_products(p, w, h, NULL, row, k / p->h, k % p->h, u, v);
        struct num *to = reset + rnn_oracle_place(p, s) * p->batch * p->h + k;
        *to =
            h == NULL ? zero : num_store(gru_reset(u[0], v[0], h[k]), p->dtype);
    }
    return h == NULL ? NULL : reset + rnn_oracle_place(p, s) * p->batch * p->h;
}

struct rnn_forward rnn_forward(struct harness *b, const struct rnn_problem *p)
{
    int64_t n = p->t * p->batch * p->h, parts = rnn_parts(p);
    struct rnn_forward f = {
        rnn_oracle_numbers(b, n * parts), rnn_oracle_numbers(b, n),
        rnn_oracle_numbers(b, n),         rnn_oracle_numbers(b, n),
        rnn_oracle_numbers(b, n),         rnn_oracle_numbers(b, n)};
    const struct weights w = weights_of(b, p);
    for (int64_t s = 0; s < p->t; s++) {
        const struct num *h = rnn_oracle_before(p, w.h0, f.y, s);
        const struct num *c = rnn_oracle_before(p, w.c0, f.c, s), *last = h;
        if (p->reset_first)
            last = reset_state(p, &w, h, s, f.reset);
        for (int64_t k = 0; k < p->batch * p->h; k++) {
            int64_t row = rnn_oracle_place(p, s) * p->batch + k / p->h,
                    j = k % p->h;
            int64_t i = row * p->h + j;
            struct num u[GATES] = {zero}, v[GATES] = {zero},
                       *gate = f.gates + row * parts * p->h;
            rnn_oracle_products(p, &w, h, last, row, k / p->h, j, u, v);
            struct num hk = h == NULL ? zero : h[k];
            struct lstm_element l = lstm_element(v, c == NULL ? zero : c[k]);
            struct gru_element g = gru_element(u, v, hk, p->reset_first);
            for (int64_t m = 0; m < parts; m++)
                gate[m * p->h + j] = p->gru ? g.gate[m] : l.gate[m];
            f.q[i] = v[2];
            f.c[i] = l.c_out;
            f.exact[i] = p->gru ? g.y : l.y;
            f.y[i] = num_store(f.exact[i], p->dtype);
        }
    }
    return f;
}

const struct num *rnn_last_h(const struct rnn_problem *p,
                             const struct rnn_forward *f)
{
    return p->t == 0 ? NULL : rnn_oracle_before(p, NULL, f->y, p->t);
}

/* ---- backward ---- */

/* Gradients of one step: du and dv of its place, then the state's. */
struct flow {
    struct num *du, *dv; /* [t, batch, parts h], as stored */
    struct num *dh, *dc; /* [batch, h] */
};

/* The part of the last gate that the state's gradient needs, with reset_first:
 * dp = dv_n w_hn, from which come du_r and dv_r, and p's part of dh. */
static void rnn_oracle_reset_back(const struct rnn_problem *p,
                                  const struct weights *w,
                                  const struct rnn_forward *f,
                                  const struct num *h, struct flow *d,
                                  int64_t s)
{
    for (int64_t k = 0; k < p->batch * p->h; k++) {
        int64_t row = rnn_oracle_place(p, s) * p->batch + k / p->h,
                j = k % p->h;
        int64_t wide = row * 3 * p->h;
        struct rnn_oracle_terms t = {d->dv + wide + 2 * p->h,
                                     w->w_hh + 2 * p->h * p->h + j, 1, p->h,
                                     p->h};
        struct num dp =
            num_store(rnn_oracle_product(p, t, NULL, NULL), SSQ_F32);
        struct num r = f->gates[wide + j], rnn_oracle_slope = zero;
        if (h != NULL)
            rnn_oracle_slope = gru_reset_slope(r, h[k], dp);
        d->du[wide + j] = d->dv[wide + j] =
            num_store(rnn_oracle_slope, p->dtype);
        d->dh[k] = num_add(d->dh[k], num_mul(dp, r));
    }
}

static void step_back(const struct rnn_problem *p, const struct weights *w,
                      const struct rnn_forward *f, struct flow *d, int64_t s)
{
    int64_t parts = rnn_parts(p);
    const struct num *h = rnn_oracle_before(p, w->h0, f->y, s);
    const struct num *c = rnn_oracle_before(p, w->c0, f->c, s);
    for (int64_t k = 0; k < p->batch * p->h; k++) {
        int64_t row = rnn_oracle_place(p, s) * p->batch + k / p->h,
                j = k % p->h;
        int64_t i = row * p->h + j, wide = row * parts * p->h + j;
        struct num gate[GATES], e = d->dh[k];
        for (int64_t m = 0; m < parts; m++)
            gate[m] = f->gates[wide + m * p->h];
        if (p->dy != NULL)
            e = num_add(num_exact(p->dy[i]), e);
        struct lstm_slope l = {.dc_in = zero};
        struct gru_slope g = {.dh_in = zero};
        if (p->gru)
            g = gru_slope(gate, f->q[i], h == NULL ? zero : h[k], e,
                          p->reset_first);
        else
            l = lstm_slope(gate, c == NULL ? zero : c[k], f->c[i], e, d->dc[k]);
        for (int64_t m = 0; m < parts; m++) {
            struct num u = p->gru ? g.du[m] : l.da[m];
            struct num v = p->gru ? g.dv[m] : l.da[m];
            d->du[wide + m * p->h] = num_store(u, p->dtype);
            d->dv[wide + m * p->h] = num_store(v, p->dtype);
        }
        d->dh[k] = g.dh_in;
        d->dc[k] = l.dc_in;
    }
    if (p->reset_first)
        rnn_oracle_reset_back(p, w, f, h, d, s);
    int64_t gates = p->reset_first ? 2 : parts;
    /* not stored yet: the first step's may be stored in any dtype */
    for (int64_t k = 0; k < p->batch * p->h; k++) {
        int64_t row = rnn_oracle_place(p, s) * p->batch + k / p->h,
                j = k % p->h;
        struct rnn_oracle_terms t = {d->dv + row * parts * p->h, w->w_hh + j, 1,
                                     p->h, gates * p->h};
        d->dh[k] = rnn_oracle_product(p, t, p->gru ? &d->dh[k] : NULL, NULL);
        if (s > 0)
            d->dh[k] = num_store(d->dh[k], SSQ_F32);
    }
}

/* d^T x, summed over rows, of [rows, wide] and [rows, n]; plus c. */
static void outer(const struct rnn_problem *p, const struct num *d,
                  const struct num *x, int64_t rows, int64_t wide, int64_t n,
                  const struct num *c, struct num *dw)
{
    for (int64_t i = 0; i < wide; i++)
        for (int64_t j = 0; j < n; j++) {
            struct rnn_oracle_terms t = {d + i, x + j, wide, n, rows};
            dw[i * n + j] =
                rnn_oracle_product(p, t, rnn_oracle_at(c, i * n + j), NULL);
        }
}

static void rnn_oracle_sum_rows(const struct num *d, int64_t rows, int64_t wide,
                                struct num *db)
{
    for (int64_t i = 0; i < wide; i++) {
        double size = 0.0;
        db[i] = zero;
        for (int64_t r = 0; r < rows; r++) {
            struct num x = d[r * wide + i];
            db[i].v += x.v;
            db[i].e += x.e;
            size += fabs(x.v) + x.e;
        }
        db[i].e += bound_sum((double)rows, size);
    }
}

/* The recurrent weight's gradient: the first step's term in float32 first. */
static void recurrent(struct harness *b, const struct rnn_problem *p,
                      const struct weights *w, const struct rnn_forward *f,
                      const struct num *dv, struct num *dw)
{
    int64_t wide = rnn_parts(p) * p->h, step = p->batch * wide;
    struct num *first = NULL;
    if (p->t == 0)
        return;
    if (w->h0 != NULL) {
        first = rnn_oracle_numbers(b, wide * p->h);
        outer(p, dv + rnn_oracle_place(p, 0) * step, w->h0, p->batch, wide,
              p->h, NULL, p->t == 1 ? dw : first);
        for (int64_t i = 0; i < wide * p->h; i++)
            first[i] = num_store(first[i], SSQ_F32);
    }
    if (p->t > 1)
        outer(p, dv + (p->reverse ? 0 : step),
              f->y + (p->reverse ? p->batch * p->h : 0), (p->t - 1) * p->batch,
              wide, p->h, first, dw);
    for (int64_t i = 2 * p->h; p->reset_first && i < wide; i++)
        for (int64_t j = 0; j < p->h; j++) {
            struct rnn_oracle_terms t = {dv + i, f->reset + j, wide, p->h,
                                         p->t * p->batch};
            dw[i * p->h + j] = rnn_oracle_product(p, t, NULL, NULL);
        }
}

struct rnn_backward rnn_backward(struct harness *b, const struct rnn_problem *p,
                                 const struct rnn_forward *f)
{
    int64_t wide = rnn_parts(p) * p->h, rows = p->t * p->batch;
    int64_t state = p->batch * p->h;
    const struct weights w = weights_of(b, p);
    struct flow d = {
        rnn_oracle_numbers(b, rows * wide), rnn_oracle_numbers(b, rows * wide),
        rnn_oracle_numbers(b, state), rnn_oracle_numbers(b, state)};
    struct rnn_backward g = {rnn_oracle_numbers(b, rows * p->in),
                             rnn_oracle_numbers(b, wide * p->in),
                             rnn_oracle_numbers(b, wide * p->h),
                             rnn_oracle_numbers(b, wide),
                             rnn_oracle_numbers(b, wide),
                             d.dh,
                             d.dc};
    for (int64_t k = 0; k < state; k++) {
        d.dh[k] = num_exact(p->dhn == NULL ? 0.0 : p->dhn[k]);
        d.dc[k] = num_exact(p->dcn == NULL ? 0.0 : p->dcn[k]);
    }
    for (int64_t s = p->t - 1; s >= 0; s--)
        step_back(p, &w, f, &d, s);
    for (int64_t i = 0; i < rows * p->in; i++) {
        struct rnn_oracle_terms t = {d.du + i / p->in * wide,
                                     w.w_ih + i % p->in, 1, p->in, wide};
        g.dx[i] = rnn_oracle_product(p, t, NULL, NULL);
    }
    outer(p, d.du, w.x, rows, wide, p->in, NULL, g.dw_ih);
    recurrent(b, p, &w, f, d.dv, g.dw_hh);
    rnn_oracle_sum_rows(d.du, rows, wide, g.db_ih);
    rnn_oracle_sum_rows(d.dv, rows, wide, g.db_hh);
    return g;
}

/* ---- differences ---- */

/* The sum that dy, dhn and dcn are the gradient of; *size: of the absolute
 * values of its terms. */
static double rnn_oracle_weighted(struct harness *b,
                                  const struct rnn_problem *p, double *size)
{
    struct rnn_forward f = rnn_forward(b, p);
    int64_t n = p->batch * p->h, last = rnn_oracle_place(p, p->t - 1) * n;
    double sum = 0.0;
    *size = 1.0;
    for (int64_t i = 0; p->dy != NULL && i < p->t * n; i++) {
        sum += p->dy[i] * f.exact[i].v;
        *size += fabs(p->dy[i] * f.exact[i].v);
    }
    for (int64_t i = 0; p->dhn != NULL && i < n; i++) {
        sum += p->dhn[i] * f.exact[last + i].v;
        *size += fabs(p->dhn[i] * f.exact[last + i].v);
    }
    for (int64_t i = 0; p->dcn != NULL && i < n; i++) {
        sum += p->dcn[i] * f.c[last + i].v;
        *size += fabs(p->dcn[i] * f.c[last + i].v);
    }
    return sum;
}

static double rnn_oracle_slope(struct harness *b, const struct rnn_problem *p,
                               double *x, double step, double *size)
{
    double old = *x;
    *x = old + step;
    double above = rnn_oracle_weighted(b, p, size), width = *x;
    *x = old - step;
    double below = rnn_oracle_weighted(b, p, size);
    width -= *x;
    *x = old;
    return (above - below) / width;
}

/* The error of a central difference is step^2 / 6 f''' and higher terms: with
 * half the step a quarter of that, which is a third of the change. So the
 * change bounds it, with a factor of 3 for the higher terms; in addition the
 * float64 roundings, below 2^-42 of the terms, as in difference.h. */
static bool along(struct harness *b, const struct rnn_problem *p,
                  const char *what, double *x, int64_t n,
                  const struct num *gradient)
{
    const double step = 0x1p-9;
    for (int64_t i = 0; x != NULL && i < n; i++) {
        double size;
        double coarse = rnn_oracle_slope(b, p, &x[i], step, &size);
        double fine = rnn_oracle_slope(b, p, &x[i], step / 2.0, &size);
        double allowed = fabs(coarse - fine) + 0x1p-40 * size / step;
        if (!(fabs(fine - gradient[i].v) <= allowed))
            return harness_fail(
                b,
                "the oracle's gradient %lld of %lld along %s is "
                "%.12g, the difference %.12g, allowed %.3g",
                (long long)i, (long long)n, what, gradient[i].v, fine, allowed);
    }
    return true;
}

static double *rnn_oracle_copied(struct harness *b, const double *v, int64_t n)
{
    double *x = v == NULL ? NULL : harness_alloc(b, (size_t)n * sizeof(*x));
    for (int64_t i = 0; x != NULL && i < n; i++)
        x[i] = v[i];
    return x;
}

bool rnn_differentiable(struct harness *b, const struct rnn_problem *p,
                        const struct rnn_backward *g)
{
    struct rnn_problem q = *p;
    int64_t wide = rnn_parts(p) * p->h, state = p->batch * p->h;
    double *x = rnn_oracle_copied(b, p->x, p->t * p->batch * p->in);
    double *w_ih = rnn_oracle_copied(b, p->w_ih, wide * p->in);
    double *w_hh = rnn_oracle_copied(b, p->w_hh, wide * p->h);
    double *b_ih = rnn_oracle_copied(b, p->b_ih, wide),
           *b_hh = rnn_oracle_copied(b, p->b_hh, wide);
    double *h0 = rnn_oracle_copied(b, p->h0, state),
           *c0 = rnn_oracle_copied(b, p->c0, state);
    q.x = x;
    q.w_ih = w_ih;
    q.w_hh = w_hh;
    q.b_ih = b_ih;
    q.b_hh = b_hh;
    q.h0 = h0;
    q.c0 = c0;
    return along(b, &q, "x", x, p->t * p->batch * p->in, g->dx) &&
           along(b, &q, "w_ih", w_ih, wide * p->in, g->dw_ih) &&
           along(b, &q, "w_hh", w_hh, wide * p->h, g->dw_hh) &&
           along(b, &q, "b_ih", b_ih, wide, g->db_ih) &&
           along(b, &q, "b_hh", b_hh, wide, g->db_hh) &&
           along(b, &q, "h0", h0, state, g->dh0) &&
           along(b, &q, "c0", c0, p->gru ? 0 : state, g->dc0);
}

bool rnn_compare(struct harness *b, struct operand *y, const struct num *want)
{
    double *value = harness_alloc(b, (size_t)y->n * sizeof(double));
    double *error = harness_alloc(b, (size_t)y->n * sizeof(double));
    for (int64_t i = 0; want != NULL && i < y->n; i++) {
        value[i] = want[i].v;
        error[i] = want[i].e;
    }
    harness_read(b, y);
    return harness_bound(b, y, value, error);
}
