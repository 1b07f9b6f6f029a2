/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_run.c - forty steps of one optimizer against the oracle.
 *
 * Every case ends with all parameters, masters and slots inside the running
 * bound of conformance/amp/optimizer_oracle.h, and with equal bits on all
 * devices.
 */
#include "conformance/amp/optimizer_run.h"

const struct storage optimizer_storages[STORAGES + RARE] = {
    {"f32", SSQ_F32, SSQ_F32, SSQ_MASTER_F32, false},
    {"f16, f32 master", SSQ_F16, SSQ_F16, SSQ_MASTER_F32, false},
    {"bf16, f32 master", SSQ_BF16, SSQ_BF16, SSQ_MASTER_F32, false},
    {"f16, f32 gradients and master", SSQ_F16, SSQ_F32, SSQ_MASTER_F32, false},
    {"bf16, split master", SSQ_BF16, SSQ_BF16, SSQ_MASTER_SPLIT, false},
    {"f16, no master", SSQ_F16, SSQ_F16, SSQ_MASTER_NONE, false},
    {"bf16, no master", SSQ_BF16, SSQ_BF16, SSQ_MASTER_NONE, false},
    {"f32, f16 gradients", SSQ_F32, SSQ_F16, SSQ_MASTER_F32, false},
    {"f32, flat master", SSQ_F32, SSQ_F32, SSQ_MASTER_F32, true},
    {"f32, bf16 gradients, flat master", SSQ_F32, SSQ_BF16, SSQ_MASTER_F32,
     true},
    {"f16, bf16 gradients, f32 master", SSQ_F16, SSQ_BF16, SSQ_MASTER_F32,
     false},
    {"bf16, f32 gradients and master", SSQ_BF16, SSQ_F32, SSQ_MASTER_F32,
     false},
    {"bf16, f32 gradients, split master", SSQ_BF16, SSQ_F32, SSQ_MASTER_SPLIT,
     false},
    {"bf16, f32 gradients, no master", SSQ_BF16, SSQ_F32, SSQ_MASTER_NONE,
     false},
};

/* One dimension, two, none of whose elements exist, and three; the
 * second and third are in their own group with twice the lr. */
static const struct shape shapes[TENSORS] = {
    {1, {MOST}}, {2, {0, 3}}, {3, {5, 1, 7}}};

static const char *const tensor_names[TENSORS] = {"a", "empty", "b"};

/* ---- the run ---- */

struct optimizer_run_trial {
    const struct config *c;
    const struct storage *s;
    struct operand param[TENSORS], grad[TENSORS];
    ssq_optimizer *optimizer;
    struct oracle o;
};

static ssq_optimizer_options
optimizer_run_options_of(const struct optimizer_run_trial *t, double lr)
{
    const struct config *c = t->c;
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    o.lr = lr;
    o.momentum = c->momentum;
    o.dampening = c->dampening;
    o.weight_decay = c->decay;
    o.clip_norm = c->clip;
    o.lr_decay = c->lr_decay;
    o.initial_accumulator = c->initial;
    o.max_grad_norm = c->max_norm;
    if (c->alpha != 0.0)
        o.alpha = c->alpha;
    if (c->eps != 0.0)
        o.eps = c->eps;
    o.nesterov = c->nesterov;
    o.amsgrad = c->amsgrad;
    o.centered = c->centered;
    o.maximize = c->maximize;
    o.use_nvlamb = c->nvlamb;
    o.bias_correction = !c->no_bias;
    o.grad_averaging = !c->no_average;
    o.form = c->form;
    o.master = t->s->master;
    o.flat_master = t->s->flat;
    o.seed = 7;
    return o;
}

static bool optimizer_run_need(struct harness *b, ssq_status st)
{
    if (st != SSQ_OK && !b->failed)
        harness_fail(b, "%s", ssq_last_error());
    return !b->failed && !b->skipped;
}

/* The default group has the first tensor, another one the rest. */
static void optimizer_run_set_up(struct harness *b,
                                 struct optimizer_run_trial *t)
{
    double start[MOST];
    ssq_optimizer_options first = optimizer_run_options_of(t, t->c->lr);
    ssq_optimizer_options second = optimizer_run_options_of(t, 2.0 * t->c->lr);
    ssq_group *group = NULL;
    ssq_status st =
        ssq_optimizer_create(b->device, t->c->kind, &first, &t->optimizer);
    if (!optimizer_run_need(b, st) ||
        !optimizer_run_need(b,
                            ssq_optimizer_group(t->optimizer, &second, &group)))
        return;
    for (int k = 0; k < TENSORS; k++) {
        const struct shape *s = &shapes[k];
        for (int64_t i = 0; i < shape_elements(s); i++)
            start[i] = 2.0 * harness_uniform(b) - 1.0;
        harness_values(b, &t->param[k], t->s->param, s->rank, s->d,
                       LAYOUT_DENSE, start);
        harness_values(b, &t->grad[k], t->s->grad, s->rank, s->d, LAYOUT_DENSE,
                       start);
        if (!b->failed && !b->skipped)
            optimizer_run_need(b,
                               ssq_optimizer_add(t->optimizer, tensor_names[k],
                                                 t->param[k].t, t->grad[k].t,
                                                 k == 0 ? NULL : group));
    }
}

static void start_oracle(struct optimizer_run_trial *t)
{
    oracle_begin(&t->o, t->c, t->s->param,
                 t->s->master == SSQ_MASTER_NONE && t->s->param != SSQ_F32);
    for (int k = 0; k < TENSORS; k++) {
        t->o.n[k] = t->param[k].n;
        t->o.lr[k] = k == 0 ? t->c->lr : 2.0 * t->c->lr;
        for (int64_t i = 0; i < t->param[k].n; i++)
            t->o.p[k][i] = num_exact(t->param[k].value[i]);
    }
}

/* L2 decay inside an adaptive step: the step is g + decay p over its root mean
 * square, which has no useful bound if g is near 0. */
static bool touchy(const struct config *c)
{
    return c->decay != 0.0 &&
           (strcmp(c->kind, "adam") == 0 || strcmp(c->kind, "rmsprop") == 0);
}

/* Gradients of one step, of very different sizes. One element's are always 0,
 * so that 0 / (0 + eps) is met. */
static void draw_gradients(struct harness *b,
                           const struct optimizer_run_trial *t,
                           double (*g)[MOST])
{
    bool large = touchy(t->c);
    for (int k = 0; k < TENSORS; k++)
        for (int64_t i = 0; i < t->param[k].n; i++) {
            double x = 2.0 * harness_uniform(b) - 0.8;
            double size = ldexp(1.0, -(int)(i % (large ? 3 : 12)));
            if (large)
                x = copysign(0.5 + 0.5 * fabs(x), x);
            if (i == 1 && !large)
                x = 0.0;
            g[k][i] = harness_round(size * x, t->s->grad);
        }
}

static void send_gradients(struct harness *b,
                           const struct optimizer_run_trial *t,
                           double (*g)[MOST])
{
    for (int k = 0; k < TENSORS; k++) {
        float *host = harness_alloc(b, MOST * sizeof(float));
        for (int64_t i = 0; i < t->param[k].n; i++)
            host[i] = (float)g[k][i];
        if (!b->failed && !b->skipped)
            optimizer_run_need(b,
                               ssq_tensor_write(b->queue, t->grad[k].t, host,
                                                MOST * sizeof(*host), SSQ_F32));
    }
}

/* A state tensor as an operand, to compare it. */
struct fetch {
    struct harness *b;
    const char *name;
    struct operand y;
    bool found;
};

static ssq_status fetch_one(void *user, const char *name, const ssq_tensor *x)
{
    struct fetch *f = user;
    if (strcmp(name, f->name) != 0)
        return SSQ_OK;
    int64_t shape[SSQ_MAX_RANK];
    for (int i = 0; i < ssq_tensor_rank(x); i++)
        shape[i] = ssq_tensor_size(x, i);
    harness_output(f->b, &f->y, ssq_tensor_dtype(x), ssq_tensor_rank(x), shape,
                   LAYOUT_DENSE);
    ssq_copy_args copy = SSQ_COPY_INIT;
    copy.x = x;
    copy.y = f->y.t;
    f->found = true;
    return ssq_copy(f->b->queue, &copy);
}

static bool optimizer_run_fetch(struct harness *b,
                                const struct optimizer_run_trial *t, int k,
                                const char *slot, struct operand *y)
{
    char name[64];
    snprintf(name, sizeof(name), "%s%s", k < 0 ? "" : tensor_names[k], slot);
    struct fetch f = {.b = b, .name = name};
    optimizer_run_need(
        b, ssq_optimizer_visit(b->queue, t->optimizer, fetch_one, &f));
    if (!f.found)
        return harness_fail(b, "there is no %s", name);
    harness_read(b, &f.y);
    *y = f.y;
    return !b->failed;
}

/* The bound must be able to fail: below 1e-2, but that 40 stochastic stores of
 * weights up to 16 may be 40 units in the last place off. */
static bool optimizer_run_compare(struct harness *b,
                                  const struct optimizer_run_trial *t,
                                  const struct operand *y,
                                  const struct num *want)
{
    double v[MOST], e[MOST];
    for (int64_t i = 0; i < y->n; i++) {
        double units = t->o.stochastic ? 2.0 * bound_u(t->s->param) : 0.0;
        v[i] = want[i].v;
        e[i] = want[i].e;
        if (!(e[i] < 1e-2 + 16.0 * STEPS * units))
            return harness_fail(b, "element %lld, %g, has no useful bound: %g",
                                (long long)i, v[i], e[i]);
    }
    return harness_bound(b, y, v, e) && harness_same(b, y);
}

/* The float32 words that a split parameter and its remainder make. */
static bool compare_split(struct harness *b,
                          const struct optimizer_run_trial *t, int k)
{
    struct operand rest;
    if (!optimizer_run_fetch(b, t, k, ".remainder", &rest))
        return false;
    for (int64_t i = 0; i < t->param[k].n; i++) {
        uint32_t low = rest.bits[2 * i] | rest.bits[2 * i + 1] << 8;
        uint32_t high = t->param[k].bits[i] - (low >= 0x8000 ? 1 : 0);
        uint32_t w = high << 16 | low;
        float master;
        memcpy(&master, &w, sizeof(master));
        double off = fabs((double)master - t->o.p[k][i].v);
        if (!(off <= t->o.p[k][i].e))
            return harness_fail(
                b, "master %lld is %.9g, expected %.9g within %g", (long long)i,
                (double)master, t->o.p[k][i].v, t->o.p[k][i].e);
    }
    return harness_same(b, &rest);
}

/* Has the group this slot? A buffer is only there if an option asks for it. */
static bool optimizer_run_has_slot(const struct config *c, const char *slot)
{
    if (slot == NULL)
        return false;
    if (strcmp(slot, ".momentum_buffer") == 0)
        return c->momentum != 0.0;
    if (strcmp(slot, ".max_exp_avg_sq") == 0)
        return c->amsgrad;
    return strcmp(slot, ".grad_avg") != 0 || c->centered;
}

static bool optimizer_run_compare_all(struct harness *b,
                                      struct optimizer_run_trial *t)
{
    struct operand y;
    for (int k = 0; k < TENSORS; k++) {
        harness_read(b, &t->param[k]);
        if (!optimizer_run_compare(b, t, &t->param[k], t->o.p[k]))
            return false;
        if (t->s->master == SSQ_MASTER_SPLIT && t->s->param == SSQ_BF16 &&
            !compare_split(b, t, k))
            return false;
        if (t->s->master == SSQ_MASTER_F32 &&
            (t->s->param != SSQ_F32 || t->s->flat) &&
            (!optimizer_run_fetch(b, t, k, ".master", &y) ||
             !optimizer_run_compare(b, t, &y, t->o.p[k])))
            return false;
        for (int s = 0; s < 3; s++) {
            const char *slot = t->o.kind->slot[s];
            if (optimizer_run_has_slot(t->c, slot) &&
                (!optimizer_run_fetch(b, t, k, slot, &y) ||
                 !optimizer_run_compare(b, t, &y, t->o.s[s][k])))
                return false;
        }
    }
    return optimizer_run_fetch(b, t, -1, "control", &y) &&
           harness_same(b, &y) &&
           ((y.bits[0] == STEPS && y.bits[1] == STEPS) ||
            harness_fail(b, "t is %u, the counter %u", y.bits[0], y.bits[1]));
}

/* ---- for bench: one long parameter ---- */

#define LARGE_ELEMENTS (16 << 20)

/* Of a step of AdamW: the gradient is read twice. */
static double large_bytes(const struct storage *s)
{
    double g = ssq_dtype_bits(s->grad) / 8.0,
           p = ssq_dtype_bits(s->param) / 8.0;
    return LARGE_ELEMENTS * (2.0 * g + 24.0 + (s->param == SSQ_F32 ? 0.0 : p));
}

static bool fill_one(struct harness *b, ssq_dtype dtype, ssq_tensor **t)
{
    const int64_t n = LARGE_ELEMENTS;
    ssq_fill_args f = SSQ_FILL_INIT;
    if (!optimizer_run_need(b, ssq_tensor_create(b->device, dtype, 1, &n, t)))
        return false;
    f.x = *t;
    f.value = 0.25;
    return b->admit || optimizer_run_need(b, ssq_fill(b->queue, &f));
}

/* A capture needs the optimizer's state. */
static bool make_state(struct harness *b, ssq_optimizer *o)
{
    harness_leave(b);
    bool ok = optimizer_run_need(b, ssq_optimizer_model_to_master(b->queue, o));
    harness_enter(b);
    return ok;
}

bool optimizer_run_large(struct harness *b, const struct storage *s)
{
    ssq_tensor *param = NULL, *grad = NULL;
    ssq_optimizer *o = NULL;
    ssq_optimizer_options options = SSQ_OPTIMIZER_INIT;
    options.lr = 1e-3;
    options.master = s->master;
    b->bytes = large_bytes(s);
    bool ok =
        fill_one(b, s->param, &param) && fill_one(b, s->grad, &grad) &&
        optimizer_run_need(
            b, ssq_optimizer_create(b->device, "adamw", &options, &o)) &&
        optimizer_run_need(b, ssq_optimizer_add(o, "a", param, grad, NULL)) &&
        make_state(b, o);
    if (ok)
        HARNESS_OP(b, ssq_optimizer_step(b->queue, o, NULL));
    ssq_optimizer_destroy(&o);
    ssq_tensor_destroy(&param);
    ssq_tensor_destroy(&grad);
    return ok && !b->failed;
}

bool optimizer_run(struct harness *b, const struct config *c,
                   const struct storage *s)
{
    struct optimizer_run_trial *t = harness_alloc(b, sizeof(*t));
    t->c = c;
    t->s = s;
    optimizer_run_set_up(b, t);
    start_oracle(t);
    if (!b->failed && !b->skipped)
        make_state(b, t->optimizer);
    int steps = b->bench || b->admit ? 1 : STEPS;
    for (int step = 0; step < steps && !b->failed && !b->skipped; step++) {
        double(*g)[MOST] = harness_alloc(b, TENSORS * sizeof(*g));
        draw_gradients(b, t, g);
        if (!b->admit)
            send_gradients(b, t, g);
        HARNESS_OP(b, ssq_optimizer_step(b->queue, t->optimizer, NULL));
        oracle_step(&t->o, (const double(*)[MOST])g);
    }
    bool ok = b->bench || b->admit || b->failed || b->skipped ||
              optimizer_run_compare_all(b, t);
    ssq_optimizer_destroy(&t->optimizer);
    return ok && !b->failed;
}
