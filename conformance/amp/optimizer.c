/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.c - the kinds of optimizers in float64, and their cases: 40 steps
 * of every kind, dtype and master. */
#include "conformance/amp/optimizer_run.h"

/* ---- a step of each kind, from its documentation ---- */

static struct num step_sgd(struct oracle *o, int k, int64_t i, struct num g,
                           struct num lr)
{
    const struct config *c = o->c;
    struct num *buf = &o->s[0][k][i], mu = num_const(c->momentum);
    g = oracle_decayed(o, g, o->p[k][i]);
    if (c->momentum != 0.0) {
        *buf = o->t == 1
                   ? g
                   : oracle_mix(*buf, g, mu, oracle_complement(c->dampening));
        g = c->nesterov ? num_add(g, num_mul(mu, *buf)) : *buf;
    }
    return num_sub(o->p[k][i], num_mul(lr, g));
}

static struct num step_adam(struct oracle *o, int k, int64_t i, struct num g,
                            struct num lr)
{
    const struct config *c = o->c;
    struct num *m = &o->s[0][k][i], *v = &o->s[1][k][i], *x = &o->s[2][k][i];
    struct num b1 = num_const(o->betas[0]), b2 = num_const(o->betas[1]);
    struct num p = o->p[k][i];
    bool apex = c->form == SSQ_ADAM_APEX;
    if (strcmp(c->kind, "adam") == 0)
        g = oracle_decayed(o, g, p);
    *m = apex ? oracle_mix(*m, g, b1, oracle_complement(o->betas[0]))
              : oracle_lerp(*m, g, oracle_complement(o->betas[0]));
    *v = oracle_squares(*v, g, b2, oracle_complement(o->betas[1]));
    if (apex)
        return num_sub(p, num_mul(lr, oracle_apex(o, *m, *v, p)));
    if (strcmp(c->kind, "adamw") == 0 && c->decay != 0.0)
        p = num_mul(p,
                    num_sub(num_exact(1.0), num_mul(lr, num_const(c->decay))));
    struct num top = *v;
    if (c->amsgrad)
        top = *x = num_max(*x, *v);
    struct num root2 = num_sqrt(oracle_correction(o->betas[1], o->t));
    struct num denom =
        num_add(num_div(num_sqrt(top), root2), num_const(o->eps));
    struct num size = num_div(lr, oracle_correction(o->betas[0], o->t));
    return num_sub(p, num_div(num_mul(size, *m), denom));
}

static struct num step_rmsprop(struct oracle *o, int k, int64_t i, struct num g,
                               struct num lr)
{
    const struct config *c = o->c;
    struct num *sq = &o->s[0][k][i], *buf = &o->s[1][k][i];
    struct num *mean = &o->s[2][k][i], zero = num_exact(0.0);
    g = oracle_decayed(o, g, o->p[k][i]);
    *sq = oracle_squares(*sq, g, num_const(o->alpha),
                         oracle_complement(o->alpha));
    struct num v = *sq;
    if (c->centered) {
        *mean = oracle_lerp(*mean, g, oracle_complement(o->alpha));
        v = num_max(zero, num_sub(*sq, num_mul(*mean, *mean)));
    }
    struct num denom = num_add(num_sqrt(v), num_const(o->eps));
    if (c->momentum == 0.0)
        return num_sub(o->p[k][i], num_div(num_mul(lr, g), denom));
    *buf = num_add(num_mul(num_const(c->momentum), *buf), num_div(g, denom));
    return num_sub(o->p[k][i], num_mul(lr, *buf));
}

static struct num step_adagrad(struct oracle *o, int k, int64_t i, struct num g,
                               struct num lr)
{
    const struct config *c = o->c;
    struct num *sum = &o->s[0][k][i], one = num_exact(1.0);
    struct num slow =
        num_add(one, num_mul(num_exact(o->t - 1), num_const(c->lr_decay)));
    g = oracle_decayed(o, g, o->p[k][i]);
    *sum = num_add(*sum, num_mul(g, g));
    struct num denom = num_add(num_sqrt(*sum), num_const(o->eps));
    return num_sub(o->p[k][i], num_div(num_mul(num_div(lr, slow), g), denom));
}

static struct num step_adadelta(struct oracle *o, int k, int64_t i,
                                struct num g, struct num lr)
{
    struct num *square = &o->s[0][k][i], *moved = &o->s[1][k][i];
    struct num rho = num_const(o->alpha), c = oracle_complement(o->alpha);
    struct num eps = num_const(o->eps);
    g = oracle_decayed(o, g, o->p[k][i]);
    *square = oracle_squares(*square, g, rho, c);
    struct num delta = num_mul(num_div(num_sqrt(num_add(*moved, eps)),
                                       num_sqrt(num_add(*square, eps))),
                               g);
    *moved = oracle_squares(*moved, delta, rho, c);
    return num_sub(o->p[k][i], num_mul(lr, delta));
}

const struct oracle_kind oracle_kinds[] = {
    {"sgd", .lr = 1e-3, .slot = {".momentum_buffer"}, .step = step_sgd},
    {"adam", .lr = 1e-3, .eps = 1e-8,
     .slot = {".exp_avg", ".exp_avg_sq", ".max_exp_avg_sq"}, .step = step_adam},
    {"adamw", .lr = 1e-3, .decay = 1e-2, .eps = 1e-8,
     .slot = {".exp_avg", ".exp_avg_sq", ".max_exp_avg_sq"}, .step = step_adam},
    {"rmsprop", .lr = 1e-2, .eps = 1e-8, .alpha = 0.99,
     .slot = {".square_avg", ".momentum_buffer", ".grad_avg"},
     .step = step_rmsprop},
    {"adagrad", .lr = 1e-2, .eps = 1e-10, .slot = {".sum"},
     .step = step_adagrad},
    {"lamb", .lr = 1e-3, .decay = 1e-2, .eps = 1e-6,
     .slot = {".exp_avg", ".exp_avg_sq"}},
    {"adadelta", .lr = 1.0, .eps = 1e-6, .alpha = 0.9,
     .slot = {".square_avg", ".acc_delta"}, .step = step_adadelta},
    {NULL},
};

/* ---- cases ---- */

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
    {.name = "plain", .kind = "adadelta", .lr = 1.0},
    {.name = "rho 0.8, eps 0.001, decay 0.01",
     .kind = "adadelta",
     .lr = 0.5,
     .decay = 0.01,
     .alpha = 0.8,
     .eps = 1e-3},
    {.name = "maximize, clip 0.5",
     .kind = "adadelta",
     .lr = 1.0,
     .clip = 0.5,
     .maximize = true},
};

/* Cases that only bench runs: a long parameter in the first storages. */
#define LARGE       3
#define KINDS       (COUNT(oracle_kinds) - 1)
#define AT_DEFAULTS (COUNT(configs) * STORAGES + KINDS * RARE)
#define CASES       (AT_DEFAULTS + KINDS)

/* Of a case: all configurations with each storage, then the first one of each
 * kind with the rare ones. The defaults of each kind follow. */
static const struct config *case_of(size_t i, const struct storage **storage)
{
    if (i < COUNT(configs) * STORAGES) {
        const struct config *c = &configs[pick(&i, COUNT(configs))];
        *storage = &optimizer_storages[i];
        return c;
    }
    i -= COUNT(configs) * STORAGES;
    const char *kind = oracle_kinds[pick(&i, KINDS)].name;
    const struct config *c = configs;
    while (strcmp(c->kind, kind) != 0)
        c++;
    *storage = &optimizer_storages[STORAGES + i];
    return c;
}

/* The default of a hyper-parameter. */
static bool has_default(struct harness *b, ssq_optimizer *o, const char *name,
                        ssq_hyper hyper, double want)
{
    double got = -1.0;
    if (ssq_optimizer_get(o, NULL, hyper, &got) != SSQ_OK)
        return harness_fail(b, "%s", ssq_last_error());
    return fabs(got - want) <= 0.0 ||
           harness_fail(b, "%s is %g, expected %g", name, got, want);
}

static bool run_defaults(struct harness *b, const struct oracle_kind *kind)
{
    ssq_optimizer *o = NULL;
    if (harness_over(b))
        return true;
    if (ssq_optimizer_create(b->device, kind->name, NULL, &o) != SSQ_OK)
        return harness_fail(b, "%s", ssq_last_error());
    bool ok = has_default(b, o, "lr", SSQ_HYPER_LR, kind->lr) &&
              has_default(b, o, "decay", SSQ_HYPER_WEIGHT_DECAY, kind->decay) &&
              (kind->eps == 0.0 || /* it has none */
               has_default(b, o, "eps", SSQ_HYPER_EPS, kind->eps));
    ssq_optimizer_destroy(&o);
    return ok;
}

static bool amp_optimizer_run(struct harness *b, size_t i)
{
    const struct storage *storage;
    if (i >= CASES)
        return optimizer_run_large(b, &optimizer_storages[i - CASES]);
    if (i >= AT_DEFAULTS)
        return run_defaults(b, &oracle_kinds[i - AT_DEFAULTS]);
    const struct config *c = case_of(i, &storage);
    return optimizer_run(b, c, storage);
}

/* A kernel for each kind and storage. */
static int optimizer_turn(size_t i)
{
    const struct storage *storage;
    if (i >= AT_DEFAULTS)
        return SUITE_ALL;
    const struct config *c = case_of(i, &storage);
    return suite_turn(c->kind) + (int)(storage - optimizer_storages);
}

static void optimizer_describe(size_t i, char *text, size_t bytes)
{
    const struct storage *storage;
    if (i >= CASES) {
        snprintf(text, bytes, "adamw: a step of 16 M of %s",
                 optimizer_storages[i - CASES].name);
        return;
    }
    if (i >= AT_DEFAULTS) {
        snprintf(text, bytes, "%s: defaults",
                 oracle_kinds[i - AT_DEFAULTS].name);
        return;
    }
    const struct config *c = case_of(i, &storage);
    snprintf(text, bytes, "%s, %s: %d steps of %s", c->kind, c->name, STEPS,
             storage->name);
}

extern const struct suite optimizer_suite;
const struct suite optimizer_suite = {.op = "optimizer",
                                      .name = "optimizer",
                                      .n = CASES,
                                      .describe = optimizer_describe,
                                      .run = amp_optimizer_run,
                                      .turn = optimizer_turn,
                                      .bit_equal = true,
                                      .large = LARGE,
                                      .floor = 2 * CASES};
