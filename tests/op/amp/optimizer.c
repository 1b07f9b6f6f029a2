/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.c - cases of the optimizers: 40 steps of every kind, dtype and
 * master against float64.
 *
 * Every case ends with all parameters, masters and moments inside the running
 * bound of tests/op/amp/optimizer_oracle.h, and with equal bits on all devices.
 */
#include "tests/op/amp/optimizer_oracle.h"

#define STEPS 40

static const struct config configs[] = {
    {.name = "plain", .kind = "sgd", .lr = 0.1},
    {.name = "momentum 0.9", .kind = "sgd", .lr = 0.1, .momentum = 0.9},
    {.name = "momentum 0.9 dampening 0.1 decay 0.01",
     .kind = "sgd",
     .lr = 0.1,
     .momentum = 0.9,
     .dampening = 0.1,
     .decay = 0.01},
    {.name = "nesterov 0.9 decay 0.01 maximize",
     .kind = "sgd",
     .lr = 0.03,
     .momentum = 0.9,
     .decay = 0.01,
     .nesterov = true,
     .maximize = true},
    {.name = "clip 0.5", .kind = "sgd", .lr = 0.1, .clip = 0.5},
    {.name = "plain", .kind = "adam", .lr = 0.01},
    {.name = "decay 0.1 amsgrad",
     .kind = "adam",
     .lr = 0.01,
     .decay = 0.1,
     .amsgrad = true},
    {.name = "maximize", .kind = "adam", .lr = 0.01, .maximize = true},
    {.name = "torch form, decay 0.1",
     .kind = "adamw",
     .lr = 0.01,
     .decay = 0.1},
    {.name = "torch form, amsgrad, clip 0.3",
     .kind = "adamw",
     .lr = 0.01,
     .decay = 0.1,
     .amsgrad = true,
     .clip = 0.3},
    {.name = "apex form, decay 0.1",
     .kind = "adamw",
     .lr = 0.01,
     .decay = 0.1,
     .form = SSQ_ADAM_APEX},
    {.name = "plain", .kind = "rmsprop", .lr = 0.01},
    {.name = "centered decay 0.01",
     .kind = "rmsprop",
     .lr = 0.01,
     .decay = 0.01,
     .centered = true},
    {.name = "momentum 0.9 centered",
     .kind = "rmsprop",
     .lr = 0.01,
     .momentum = 0.9,
     .centered = true},
    {.name = "plain", .kind = "adagrad", .lr = 0.1},
    {.name = "lr_decay 0.05 initial 0.1 decay 0.01",
     .kind = "adagrad",
     .lr = 0.1,
     .decay = 0.01,
     .lr_decay = 0.05,
     .initial = 0.1},
    {.name = "decay 0.01",
     .kind = "lamb",
     .lr = 0.01,
     .decay = 0.01,
     .max_norm = 1.0},
    {.name = "no decay, so no ratio", .kind = "lamb", .lr = 0.01},
    {.name = "nvlamb, max norm 0.1",
     .kind = "lamb",
     .lr = 0.01,
     .max_norm = 0.1,
     .nvlamb = true},
    {.name = "no bias correction, no averaging, clip 0.7",
     .kind = "lamb",
     .lr = 0.01,
     .decay = 0.01,
     .max_norm = 0.5,
     .clip = 0.7,
     .no_bias = true,
     .no_average = true},
};

static const struct storage {
    const char *name;
    ssq_dtype param, grad;
    ssq_master_kind master;
} storages[] = {
    {"f32", SSQ_F32, SSQ_F32, SSQ_MASTER_F32},
    {"f16, f32 master", SSQ_F16, SSQ_F16, SSQ_MASTER_F32},
    {"bf16, f32 master", SSQ_BF16, SSQ_BF16, SSQ_MASTER_F32},
    {"f16, f32 gradients and master", SSQ_F16, SSQ_F32, SSQ_MASTER_F32},
    {"bf16, split master", SSQ_BF16, SSQ_BF16, SSQ_MASTER_SPLIT},
    {"f16, no master", SSQ_F16, SSQ_F16, SSQ_MASTER_NONE},
    {"bf16, no master", SSQ_BF16, SSQ_BF16, SSQ_MASTER_NONE},
};

/* One dimension, two, none of whose elements exist, and three; the
 * second and third are in a group of their own with twice the lr. */
static const struct shape shapes[TENSORS] = {
    {1, {MOST}}, {2, {0, 3}}, {3, {5, 1, 7}}};

static const char *const tensor_names[TENSORS] = {"a", "empty", "b"};

/* ---- the run ---- */

struct trial {
    const struct config *c;
    const struct storage *s;
    struct operand param[TENSORS], grad[TENSORS];
    ssq_optimizer *optimizer;
    struct oracle o;
};

static ssq_optimizer_options options_of(const struct trial *t, double lr)
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
    o.nesterov = c->nesterov;
    o.amsgrad = c->amsgrad;
    o.centered = c->centered;
    o.maximize = c->maximize;
    o.use_nvlamb = c->nvlamb;
    o.bias_correction = !c->no_bias;
    o.grad_averaging = !c->no_average;
    o.form = c->form;
    o.master = t->s->master;
    o.seed = 7;
    return o;
}

static bool need(struct bed *b, ssq_status st)
{
    if (st != SSQ_OK && !b->failed)
        bed_fail(b, "%s", ssq_last_error());
    return !b->failed && !b->skipped;
}

/* The default group has the first tensor, another one the rest. */
static void set_up(struct bed *b, struct trial *t)
{
    double start[MOST];
    ssq_optimizer_options first = options_of(t, t->c->lr);
    ssq_optimizer_options second = options_of(t, 2.0 * t->c->lr);
    ssq_group *group = NULL;
    need(b, ssq_optimizer_create(b->device, t->c->kind, &first, &t->optimizer));
    if (b->failed ||
        !need(b, ssq_optimizer_group(t->optimizer, &second, &group)))
        return;
    for (int k = 0; k < TENSORS; k++) {
        const struct shape *s = &shapes[k];
        for (int64_t i = 0; i < shape_elements(s); i++)
            start[i] = 2.0 * bed_uniform(b) - 1.0;
        bed_values(b, &t->param[k], t->s->param, s->rank, s->d, LAYOUT_DENSE,
                   start);
        bed_values(b, &t->grad[k], t->s->grad, s->rank, s->d, LAYOUT_DENSE,
                   start);
        if (!b->failed && !b->skipped)
            need(b,
                 ssq_optimizer_add(t->optimizer, tensor_names[k], t->param[k].t,
                                   t->grad[k].t, k == 0 ? NULL : group));
    }
}

static void start_oracle(struct trial *t)
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

/* L2 decay inside an adaptive step: what decides is g + decay p over its own
 * root mean square, which has no useful bound where g is near 0. */
static bool touchy(const struct config *c)
{
    return c->decay != 0.0 &&
           (strcmp(c->kind, "adam") == 0 || strcmp(c->kind, "rmsprop") == 0);
}

/* Gradients of one step, of very different sizes. One element's are always 0,
 * so that 0 / (0 + eps) is met. */
static void draw_gradients(struct bed *b, const struct trial *t,
                           double (*g)[MOST])
{
    bool large = touchy(t->c);
    for (int k = 0; k < TENSORS; k++)
        for (int64_t i = 0; i < t->param[k].n; i++) {
            double x = 2.0 * bed_uniform(b) - 0.8;
            double size = ldexp(1.0, -(int)(i % (large ? 3 : 12)));
            if (large)
                x = copysign(0.5 + 0.5 * fabs(x), x);
            if (i == 1 && !large)
                x = 0.0;
            g[k][i] = bed_round(size * x, t->s->grad);
        }
}

static void send_gradients(struct bed *b, const struct trial *t,
                           double (*g)[MOST])
{
    for (int k = 0; k < TENSORS; k++) {
        float *host = bed_alloc(b, MOST * sizeof(float));
        for (int64_t i = 0; i < t->param[k].n; i++)
            host[i] = (float)g[k][i];
        if (!b->failed && !b->skipped)
            need(b, ssq_tensor_write(b->queue, t->grad[k].t, host,
                                     MOST * sizeof(*host), SSQ_F32));
    }
}

/* A state tensor as an operand, to compare it. */
struct fetch {
    struct bed *b;
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
    bed_output(f->b, &f->y, ssq_tensor_dtype(x), ssq_tensor_rank(x), shape,
               LAYOUT_DENSE);
    ssq_copy_args copy = SSQ_COPY_INIT;
    copy.x = x;
    copy.y = f->y.t;
    f->found = true;
    return ssq_copy(f->b->queue, &copy);
}

static bool fetch(struct bed *b, const struct trial *t, int k, const char *slot,
                  struct operand *y)
{
    char name[64];
    snprintf(name, sizeof(name), "%s%s", k < 0 ? "" : tensor_names[k], slot);
    struct fetch f = {.b = b, .name = name};
    need(b, ssq_optimizer_visit(b->queue, t->optimizer, fetch_one, &f));
    if (!f.found)
        return bed_fail(b, "there is no %s", name);
    bed_read(b, &f.y);
    *y = f.y;
    return !b->failed;
}

/* The bound must be able to fail: below 1e-2, but that 40 stochastic stores of
 * weights up to 16 may be 40 units in the last place off. */
static bool compare(struct bed *b, const struct trial *t,
                    const struct operand *y, const struct num *want)
{
    double v[MOST], e[MOST];
    for (int64_t i = 0; i < y->n; i++) {
        double units = t->o.stochastic ? 2.0 * bound_u(t->s->param) : 0.0;
        v[i] = want[i].v;
        e[i] = want[i].e;
        if (!(e[i] < 1e-2 + 16.0 * STEPS * units))
            return bed_fail(b, "element %lld, %g, has no useful bound: %g",
                            (long long)i, v[i], e[i]);
    }
    return bed_bound(b, y, v, e) && bed_same(b, y);
}

/* The float32 words that a split parameter and its remainder make. */
static bool compare_split(struct bed *b, const struct trial *t, int k)
{
    struct operand rest;
    if (!fetch(b, t, k, ".remainder", &rest))
        return false;
    for (int64_t i = 0; i < t->param[k].n; i++) {
        uint32_t low = rest.bits[2 * i] | rest.bits[2 * i + 1] << 8;
        uint32_t high = t->param[k].bits[i] - (low >= 0x8000 ? 1 : 0);
        uint32_t w = high << 16 | low;
        float master;
        memcpy(&master, &w, sizeof(master));
        double off = fabs((double)master - t->o.p[k][i].v);
        if (!(off <= t->o.p[k][i].e))
            return bed_fail(b, "master %lld is %.9g, expected %.9g within %g",
                            (long long)i, (double)master, t->o.p[k][i].v,
                            t->o.p[k][i].e);
    }
    return bed_same(b, &rest);
}

static const char *const *slots_of(const struct config *c)
{
    static const char *const sgd[] = {".momentum_buffer", NULL, NULL};
    static const char *const adam[] = {".exp_avg", ".exp_avg_sq",
                                       ".max_exp_avg_sq"};
    static const char *const rmsprop[] = {".square_avg", ".momentum_buffer",
                                          ".grad_avg"};
    static const char *const adagrad[] = {".sum", NULL, NULL};
    return strcmp(c->kind, "sgd") == 0       ? sgd
           : strcmp(c->kind, "rmsprop") == 0 ? rmsprop
           : strcmp(c->kind, "adagrad") == 0 ? adagrad
                                             : adam;
}

static bool has_slot(const struct config *c, int s)
{
    if (strcmp(c->kind, "sgd") == 0)
        return s == 0 && c->momentum != 0.0;
    if (strcmp(c->kind, "rmsprop") == 0)
        return s == 0 || (s == 1 && c->momentum != 0.0) ||
               (s == 2 && c->centered);
    if (strcmp(c->kind, "adagrad") == 0)
        return s == 0;
    return s < 2 || c->amsgrad;
}

static bool compare_all(struct bed *b, struct trial *t)
{
    struct operand y;
    for (int k = 0; k < TENSORS; k++) {
        bed_read(b, &t->param[k]);
        if (!compare(b, t, &t->param[k], t->o.p[k]))
            return false;
        if (t->s->master == SSQ_MASTER_SPLIT && t->s->param == SSQ_BF16 &&
            !compare_split(b, t, k))
            return false;
        if (t->s->master == SSQ_MASTER_F32 && t->s->param != SSQ_F32 &&
            (!fetch(b, t, k, ".master", &y) || !compare(b, t, &y, t->o.p[k])))
            return false;
        for (int s = 0; s < 3; s++)
            if (has_slot(t->c, s) && (!fetch(b, t, k, slots_of(t->c)[s], &y) ||
                                      !compare(b, t, &y, t->o.s[s][k])))
                return false;
    }
    return fetch(b, t, -1, "control", &y) && bed_same(b, &y) &&
           ((y.bits[0] == STEPS && y.bits[1] == STEPS) ||
            bed_fail(b, "t is %u, the counter %u", y.bits[0], y.bits[1]));
}

/* ---- for bench: one long parameter ---- */

static const size_t large[] = {0, 1, 2}; /* storages */
#define LARGE_ELEMENTS (16 << 20)

/* Of a step of AdamW: the gradient is read twice. */
static double large_bytes(const struct storage *s)
{
    double g = ssq_dtype_bits(s->grad) / 8.0,
           p = ssq_dtype_bits(s->param) / 8.0;
    return LARGE_ELEMENTS * (2.0 * g + 24.0 + (s->param == SSQ_F32 ? 0.0 : p));
}

static bool fill_one(struct bed *b, ssq_dtype dtype, ssq_tensor **t)
{
    const int64_t n = LARGE_ELEMENTS;
    ssq_fill_args f = SSQ_FILL_INIT;
    if (!need(b, ssq_tensor_create(b->device, dtype, 1, &n, t)))
        return false;
    f.x = *t;
    f.value = 0.25;
    return b->admit || need(b, ssq_fill(b->queue, &f));
}

/* A capture needs the optimizer's state. */
static bool make_state(struct bed *b, ssq_optimizer *o)
{
    bed_leave(b);
    bool ok = need(b, ssq_optimizer_model_to_master(b->queue, o));
    bed_enter(b);
    return ok;
}

static bool run_large(struct bed *b, const struct storage *s)
{
    ssq_tensor *param = NULL, *grad = NULL;
    ssq_optimizer *o = NULL;
    ssq_optimizer_options options = SSQ_OPTIMIZER_INIT;
    options.lr = 1e-3;
    options.master = s->master;
    b->bytes = large_bytes(s);
    bool ok = fill_one(b, s->param, &param) && fill_one(b, s->grad, &grad) &&
              need(b, ssq_optimizer_create(b->device, "adamw", &options, &o)) &&
              need(b, ssq_optimizer_add(o, "a", param, grad, NULL)) &&
              make_state(b, o);
    if (ok)
        BED_OP(b, ssq_optimizer_step(b->queue, o, NULL));
    ssq_optimizer_destroy(&o);
    ssq_tensor_destroy(&param);
    ssq_tensor_destroy(&grad);
    return ok && !b->failed;
}

static bool run(struct bed *b, size_t i)
{
    if (i >= COUNT(configs) * COUNT(storages))
        return run_large(
            b, &storages[large[i - COUNT(configs) * COUNT(storages)]]);
    struct trial *t = bed_alloc(b, sizeof(*t));
    t->c = &configs[pick(&i, COUNT(configs))];
    t->s = &storages[i];
    set_up(b, t);
    start_oracle(t);
    if (!b->failed && !b->skipped)
        make_state(b, t->optimizer);
    int steps = b->bench || b->admit ? 1 : STEPS;
    for (int step = 0; step < steps && !b->failed && !b->skipped; step++) {
        double(*g)[MOST] = bed_alloc(b, TENSORS * sizeof(*g));
        draw_gradients(b, t, g);
        if (!b->admit)
            send_gradients(b, t, g);
        BED_OP(b, ssq_optimizer_step(b->queue, t->optimizer, NULL));
        oracle_step(&t->o, (const double(*)[MOST])g);
    }
    bool ok =
        b->bench || b->admit || b->failed || b->skipped || compare_all(b, t);
    ssq_optimizer_destroy(&t->optimizer);
    return ok && !b->failed;
}

static void describe(size_t i, char *text, size_t bytes)
{
    if (i >= COUNT(configs) * COUNT(storages)) {
        i -= COUNT(configs) * COUNT(storages);
        snprintf(text, bytes, "adamw: a step of 16 M of %s",
                 storages[large[i]].name);
        return;
    }
    const struct config *c = &configs[pick(&i, COUNT(configs))];
    snprintf(text, bytes, "%s, %s: %d steps of %s", c->kind, c->name, STEPS,
             storages[i].name);
}

extern const struct suite optimizer_suite;
const struct suite optimizer_suite = {.op = "optimizer",
                                      .name = "optimizer",
                                      .n = COUNT(configs) * COUNT(storages),
                                      .describe = describe,
                                      .run = run,
                                      .bit_equal = true,
                                      .large = COUNT(large),
                                      .floor = 2 * 20 * 7};
