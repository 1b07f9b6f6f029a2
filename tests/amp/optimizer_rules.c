/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_rules.c - what optimizers refuse, and in which words. */
#include "lib/amp/optimizer/optimizer.h"
#include "tests/amp/train.h"

static const struct {
    const char *kind, *field, *parts;
    double value;
} ranges[] = {
    {"sgd", "lr", "optimizer_create: lr is -0.5", -0.5},
    {"sgd", "lr", "optimizer_create: lr is nan", (double)NAN},
    {"sgd", "lr", "optimizer_create: lr is inf", (double)INFINITY},
    {"sgd", "momentum", "momentum is -0.1", -0.1},
    {"sgd", "dampening", "dampening is nan", (double)NAN},
    {"sgd", "decay", "weight_decay is -2", -2.0},
    {"adam", "beta1", "beta1 is 1|[0, 1)", 1.0},
    {"adam", "beta2", "beta2 is -0.5|[0, 1)", -0.5},
    {"adam", "eps", "eps is -0.25", -0.25},
    {"rmsprop", "alpha", "alpha is 1|[0, 1)", 1.0},
    {"adagrad", "lr_decay", "lr_decay is -1", -1.0},
    {"adagrad", "initial", "initial_accumulator is -1", -1.0},
    {"lamb", "max_norm", "max_grad_norm is -1", -1.0},
    {"sgd", "clip", "clip_norm is -1", -1.0},
    {"sgd", "clip", "clip_norm is nan", (double)NAN},
    {"sgd", "clip", "clip_norm is 1e+39", 1e39},
    {"sgd", "lr", "optimizer_create: lr is 1e+39", 1e39},
    {"adam", "momentum", "adam has no momentum", 0.9},
    {"adam", "dampening", "adam has no dampening", 0.9},
    {"adamw", "lr_decay", "adamw has no lr_decay", 0.9},
    {"sgd", "initial", "sgd has no initial_accumulator", 0.9},
    {"adam", "nesterov", "adam has no nesterov", 1.0},
    {"sgd", "nesterov", "nesterov with momentum 0", 1.0},
    {"sgd", "amsgrad", "sgd has no amsgrad", 1.0},
    {"adagrad", "centered", "adagrad has no centered", 1.0},
    {"adamw", "nvlamb", "adamw has no use_nvlamb", 1.0},
    {"adam", "apex", "adam has no apex form", 1.0},
    {"adamw", "apex amsgrad", "amsgrad has no apex form", 1.0},
    {"adamw", "form", "form is 7", 7.0},
    {"adam", "no_bias", "adam has no choice of bias_correction", 1.0},
    {"adam", "no_average", "adam has no choice of grad_averaging", 1.0},
    {"sgd", "master", "master is 9", 9.0},
    {"sgd", "flat split", "flat_master needs float32 masters", 1.0},
};

static void put(ssq_optimizer_options *o, const char *field, double v)
{
    const struct {
        const char *name;
        double *at;
    } list[] = {
        {"lr", &o->lr},
        {"momentum", &o->momentum},
        {"dampening", &o->dampening},
        {"decay", &o->weight_decay},
        {"beta1", &o->beta1},
        {"beta2", &o->beta2},
        {"eps", &o->eps},
        {"alpha", &o->alpha},
        {"lr_decay", &o->lr_decay},
        {"initial", &o->initial_accumulator},
        {"max_norm", &o->max_grad_norm},
        {"clip", &o->clip_norm},
    };

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        if (strcmp(list[i].name, field) == 0)
            *list[i].at = v;
    o->nesterov = strcmp(field, "nesterov") == 0;
    o->amsgrad = strstr(field, "amsgrad") != NULL;
    o->centered = strcmp(field, "centered") == 0;
    o->use_nvlamb = strcmp(field, "nvlamb") == 0;
    o->bias_correction = strcmp(field, "no_bias") != 0;
    o->grad_averaging = strcmp(field, "no_average") != 0;
    if (strstr(field, "apex") != NULL)
        o->form = SSQ_ADAM_APEX;
    if (strcmp(field, "form") == 0)
        o->form = (ssq_adam_form)v;
    if (strcmp(field, "master") == 0)
        o->master = (ssq_master_kind)v;
    if (strcmp(field, "flat split") == 0) {
        o->flat_master = true;
        o->master = SSQ_MASTER_SPLIT;
    }
}

static void test_create(const struct rig *r)
{
    ssq_optimizer *o = NULL;
    ssq_optimizer_options options = SSQ_OPTIMIZER_INIT;
    char parts[256] = "adamax|";

    for (int k = 0; k < KINDS; k++) {
        size_t n = strlen(parts);

        snprintf(parts + n, sizeof(parts) - n, "%s%s", k == 0 ? "" : ", ",
                 kinds[k]);
    }
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        ssq_optimizer_options bad = SSQ_OPTIMIZER_INIT;

        put(&bad, ranges[i].field, ranges[i].value);
        core_status(ssq_optimizer_create(r->device, ranges[i].kind, &bad, &o),
                    SSQ_ERR_INVALID, ranges[i].parts,
                    "%s: %s with %s %g is refused", r->name, ranges[i].kind,
                    ranges[i].field, ranges[i].value);
    }
    core_status(ssq_optimizer_create(r->device, "adamax", NULL, &o),
                SSQ_ERR_NOT_FOUND, parts,
                "%s: an unknown kind lists the known ones", r->name);
    core_status(ssq_optimizer_create(NULL, "sgd", NULL, &o), SSQ_ERR_INVALID,
                "device is NULL", "%s: no device", r->name);
    core_status(ssq_optimizer_create(r->device, NULL, NULL, &o),
                SSQ_ERR_INVALID, "kind is NULL", "%s: no kind", r->name);
    core_status(ssq_optimizer_create(r->device, "sgd", NULL, NULL),
                SSQ_ERR_INVALID, "optimizer is NULL", "%s: no result", r->name);
    options.struct_size = 8;
    core_status(ssq_optimizer_create(r->device, "sgd", &options, &o),
                SSQ_ERR_INVALID, "struct_size is 8", "%s: another struct_size",
                r->name);
    tap_ok(o == NULL, "%s: nothing was made", r->name);
    ssq_optimizer_destroy(&o);
    ssq_optimizer_destroy(NULL);
}

/* Numbers that no kind accepts, whether it reads the option or not. */
static void test_ranges(const struct rig *r, const char *kind)
{
    static const struct {
        const char *field, *parts;
        double value;
    } list[] = {
        {"lr", "lr is -0.5", -0.5},
        {"decay", "weight_decay is -2", -2.0},
        {"eps", "eps is -1e-06", -1e-6},
        {"alpha", "alpha is -0.1|[0, 1)", -0.1},
        {"beta1", "beta1 is 1|[0, 1)", 1.0},
    };

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        ssq_optimizer *o = NULL;
        ssq_optimizer_options bad = SSQ_OPTIMIZER_INIT;

        put(&bad, list[i].field, list[i].value);
        core_status(ssq_optimizer_create(r->device, kind, &bad, &o),
                    SSQ_ERR_INVALID, list[i].parts,
                    "%s: %s with %s %g is refused", r->name, kind,
                    list[i].field, list[i].value);
    }
}

/* Every kind accepts the options that its row reads, and refuses the others by
 * their names. */
static void test_reads(const struct rig *r, uint32_t kind)
{
    static const struct {
        const char *field, *name;
        uint32_t option;
    } list[] = {
        {"momentum", "momentum", OPTION_MOMENTUM},
        {"dampening", "dampening", OPTION_DAMPENING},
        {"amsgrad", "amsgrad", OPTION_AMSGRAD},
        {"centered", "centered", OPTION_CENTERED},
        {"lr_decay", "lr_decay", OPTION_LR_DECAY},
        {"initial", "initial_accumulator", OPTION_INITIAL},
        {"nvlamb", "use_nvlamb", OPTION_LAMB},
        {"apex", "apex form", OPTION_FORM},
    };

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        ssq_optimizer *o = NULL;
        ssq_optimizer_options options = SSQ_OPTIMIZER_INIT;
        bool reads = optimizer_reads(kind, list[i].option);
        char parts[96];

        snprintf(parts, sizeof(parts), "%s has no %s", kinds[kind],
                 list[i].name);
        put(&options, list[i].field, 0.25);
        core_status(ssq_optimizer_create(r->device, kinds[kind], &options, &o),
                    reads ? SSQ_OK : SSQ_ERR_INVALID, reads ? "" : parts,
                    "%s: %s %s %s", r->name, kinds[kind],
                    reads ? "reads" : "has no", list[i].name);
        ssq_optimizer_destroy(&o);
    }
}

#define ADD(PARTS, O, NAME, P, G, GROUP)                                       \
    core_status(ssq_optimizer_add(O, NAME, P, G, GROUP), SSQ_ERR_INVALID,      \
                PARTS, "%s: add refuses: %s", r->name, PARTS)

/* After the first use of o, and with nothing in empty. */
static void test_late(const struct rig *r, const struct rig *other,
                      ssq_optimizer *o, ssq_optimizer *empty,
                      const ssq_tensor *q, const ssq_tensor *h)
{
    ssq_group *group = NULL;

    core_status(ssq_optimizer_shard(o, "q", 5), SSQ_ERR_NOT_FOUND,
                "no parameter q", "%s: no such shard", r->name);
    NEED(ssq_optimizer_group(o, NULL, &group));
    NEED(ssq_optimizer_model_to_master(r->queue, o));
    ADD("state was made already", o, "q", q, h, NULL);
    core_status(ssq_optimizer_group(o, NULL, &group), SSQ_ERR_INVALID,
                "optimizer_group: |state was made already",
                "%s: no group after the first use", r->name);
    core_status(ssq_optimizer_shard(o, "p", 5), SSQ_ERR_INVALID,
                "state was made already", "%s: no shard after the first use",
                r->name);
    core_status(ssq_optimizer_step(other->queue, o, NULL), SSQ_ERR_INVALID,
                "the optimizer is on ", "%s: a queue of another device",
                r->name);
    core_status(ssq_optimizer_step(r->queue, empty, NULL), SSQ_ERR_INVALID,
                "optimizer_step: |no parameters",
                "%s: a step of nothing is refused", r->name);
    core_status(ssq_optimizer_check(r->queue, empty, NULL), SSQ_ERR_INVALID,
                "optimizer_check: |no parameters",
                "%s: a check of nothing is refused", r->name);
}

static void test_add(const struct rig *r, const struct rig *other)
{
    const int64_t n = 8, shape[2] = {4, 2};
    ssq_optimizer *o = NULL, *o2 = NULL;
    ssq_optimizer_options split = SSQ_OPTIMIZER_INIT;
    ssq_group *theirs = NULL;
    ssq_tensor *p = core_vector(r->device, SSQ_F32, n);
    ssq_tensor *g = core_vector(r->device, SSQ_F32, n);
    ssq_tensor *q = core_vector(r->device, SSQ_F32, n);
    ssq_tensor *h = core_vector(r->device, SSQ_F16, n);
    ssq_tensor *i = core_vector(r->device, SSQ_I32, n);
    ssq_tensor *far = core_vector(other->device, SSQ_F32, n);
    ssq_tensor *half = NULL, *odd = NULL, *square = NULL;
    ssq_tensor *rest = core_vector(r->device, SSQ_F32, 4);

    split.master = SSQ_MASTER_SPLIT;
    NEED(ssq_optimizer_create(r->device, "sgd", NULL, &o));
    NEED(ssq_optimizer_create(r->device, "sgd", &split, &o2));
    NEED(ssq_optimizer_group(o2, NULL, &theirs));
    NEED(ssq_tensor_slice(p, 0, 0, 4, 1, &half));
    NEED(ssq_tensor_slice(p, 0, 0, 8, 2, &odd));
    NEED(ssq_tensor_reshape(g, 2, shape, &square));
    ADD("optimizer is NULL", NULL, "p", p, g, NULL);
    ADD("name is NULL", o, NULL, p, g, NULL);
    ADD("name is empty", o, "", p, g, NULL);
    ADD("param of p is NULL", o, "p", NULL, g, NULL);
    ADD("grad of p is NULL", o, "p", p, NULL, NULL);
    ADD("param of p is i32", o, "p", i, g, NULL);
    ADD("grad of p is i32", o, "p", p, i, NULL);
    ADD("param is [8], grad is [4,2]", o, "p", p, square, NULL);
    ADD("not contiguous", o, "p", odd, g, NULL);
    ADD("param of p is on ", o, "p", far, g, NULL);
    ADD("param and grad of p overlap", o, "p", p, p, NULL);
    ADD("another optimizer", o, "p", p, g, theirs);
    ADD("h is f16: split", o2, "h", h, g, NULL);
    NEED(ssq_optimizer_add(o, "p", p, g, NULL));
    ADD("the name p is taken", o, "p", q, rest, NULL);
    ADD("param of q overlaps the parameter of p", o, "q", half, rest, NULL);
    ADD("grad of q overlaps the gradient of p", o, "q", q, g, NULL);
    ADD("param of q overlaps the gradient of p", o, "q", g, q, NULL);
    test_late(r, other, o, o2, q, h);
    ssq_tensor_destroy(&p);
    ssq_tensor_destroy(&g);
    ssq_tensor_destroy(&q);
    ssq_tensor_destroy(&h);
    ssq_tensor_destroy(&i);
    ssq_tensor_destroy(&far);
    ssq_tensor_destroy(&half);
    ssq_tensor_destroy(&odd);
    ssq_tensor_destroy(&square);
    ssq_tensor_destroy(&rest);
    ssq_optimizer_destroy(&o);
    ssq_optimizer_destroy(&o2);
}

/* torch's table of stages, and the state after each refusal. */
static void test_stages(const struct rig *r)
{
    ssq_optimizer_options o = train_options("adamw", &storages[0]);
    ssq_scaler *scaler = train_fixed(r, 1.0), *unused = NULL;
    struct train t;

    train_open(&t, r, "adamw", &storages[0], &o);
    train_send(&t, t.grad, 0, 1.0, FLAW_NONE);
    NEED(ssq_scaler_create(r->device, "pytorch", NULL, &unused));
#define REFUSED(CALL, PARTS)                                                   \
    core_status(CALL, SSQ_ERR_INVALID, PARTS, "%s: %s: %s", r->name, #CALL,    \
                PARTS)
    REFUSED(ssq_optimizer_step(r->queue, t.o, unused), "optimizer_step: ");
    REFUSED(ssq_scaler_update(r->queue, scaler), "scaler_update: ");
    REFUSED(ssq_optimizer_accumulate(r->queue, t.o, 1e39),
            "factor is 1e+39, expected a finite float32");
    NEED(ssq_optimizer_unscale(r->queue, t.o, scaler));
    REFUSED(ssq_optimizer_unscale(r->queue, t.o, scaler),
            "optimizer_unscale: |unscale() has already been called on this "
            "optimizer since the last update");
    REFUSED(ssq_optimizer_check(r->queue, t.o, scaler),
            "optimizer_check: |unscale() has already been called");
    REFUSED(ssq_optimizer_accumulate(r->queue, t.o, 1.0),
            "optimizer_accumulate: |has already been called");
    NEED(ssq_optimizer_step(r->queue, t.o, scaler));
    REFUSED(ssq_optimizer_step(r->queue, t.o, scaler),
            "optimizer_step: |step() has already been called since the last "
            "update");
    REFUSED(ssq_optimizer_unscale(r->queue, t.o, scaler),
            "optimizer_unscale: |is being called after step()");
    REFUSED(ssq_optimizer_check(r->queue, t.o, scaler),
            "optimizer_check: |is being called after step()");
    REFUSED(ssq_optimizer_accumulate(r->queue, t.o, 1.0),
            "optimizer_accumulate: |is being called after step()");
    REFUSED(ssq_optimizer_step(r->queue, t.o, NULL),
            "step() has already been called");
    NEED(update_used(r->queue, scaler));
    NEED(ssq_optimizer_check(r->queue, t.o, scaler));
    REFUSED(ssq_optimizer_unscale(r->queue, t.o, scaler),
            "check() has already been called");
    NEED(update_used(r->queue, scaler)); /* a check without a step */
    NEED(ssq_optimizer_step(r->queue, t.o, scaler));
    NEED(update_used(r->queue, scaler));
    NEED(ssq_optimizer_check(r->queue, t.o, NULL));
    REFUSED(ssq_optimizer_check(r->queue, t.o, NULL),
            "check() has already been called");
    REFUSED(ssq_optimizer_step(r->queue, t.o, scaler), "checked with no");
    NEED(ssq_optimizer_step(r->queue, t.o, NULL));
    NEED(ssq_optimizer_step(r->queue, t.o, NULL));
    REFUSED(ssq_optimizer_accumulate(r->queue, t.o, (double)NAN),
            "factor is nan");
    tap_ok(train_t(&t) == 4, "%s: four steps were taken among them", r->name);
    train_close(&t);
    ssq_scaler_destroy(&scaler);
    ssq_scaler_destroy(&unused);
}

static ssq_status hook(ssq_queue *queue, const ssq_tensor *verdict, void *user)
{
    ssq_fill_args f = SSQ_FILL_INIT;
    const int *mode = user;

    if (*mode == 0)
        return SSQ_ERR_DEVICE;
    f.x = verdict;
    f.value = 1.0;
    return *mode == 1 ? ssq_fill(queue, &f) : SSQ_OK;
}

/* Another rank's overflow skips the step here; a hook that fails leaves the
 * optimizer where it was. */
static void test_hook(const struct rig *r)
{
    ssq_optimizer_options o = train_options("adamw", &storages[0]);
    ssq_scaler *scaler = train_fixed(r, 1.0);
    struct train t;
    int mode = 0;

    train_open(&t, r, "adamw", &storages[0], &o);
    train_send(&t, t.grad, 0, 1.0, FLAW_NONE);
    NEED(ssq_scaler_rank_hook_set(scaler, hook, &mode));
    tap_ok(ssq_optimizer_step(r->queue, t.o, scaler) == SSQ_ERR_DEVICE,
           "%s: a failing rank hook fails the step", r->name);
    mode = 1;
    NEED(ssq_optimizer_step(r->queue, t.o, scaler));
    NEED(update_used(r->queue, scaler));
    tap_ok(train_t(&t) == 0 && rig_state(r, scaler).skipped == 1,
           "%s: a rank hook that raises the verdict makes it skip", r->name);
    mode = 2;
    NEED(ssq_optimizer_step(r->queue, t.o, scaler));
    NEED(update_used(r->queue, scaler));
    tap_ok(train_t(&t) == 1, "%s: one that does not lets it step", r->name);
    train_close(&t);
    ssq_scaler_destroy(&scaler);
}

/* Schedules and reports of an adamw that was not used yet. */
static void test_reports(const struct rig *r, const struct train *t,
                         ssq_group *foreign)
{
    ssq_schedule s = SSQ_SCHEDULE_INIT;
    ssq_statistics st = SSQ_STATISTICS_INIT;
    ssq_overflow_report report = SSQ_OVERFLOW_REPORT_INIT;
    float norm = 0.0f;
    double v = 0.0;

    NEED(ssq_optimizer_set(r->queue, t->o, NULL, SSQ_HYPER_MOMENTUM, 0.75));
    NEED(ssq_optimizer_get(t->o, NULL, SSQ_HYPER_BETA1, &v));
    tap_ok(fabs(v - 0.75) <= 0.0, "%s: adamw's momentum is beta1", r->name);
    REFUSED(ssq_optimizer_schedule(r->queue, t->o, NULL, SSQ_HYPER_EPS, &s),
            "lr and momentum have schedules");
    REFUSED(ssq_optimizer_schedule(r->queue, t->o, foreign, SSQ_HYPER_LR, &s),
            "another optimizer");
    s.total_steps = 0;
    REFUSED(ssq_optimizer_schedule(r->queue, t->o, NULL, SSQ_HYPER_LR, &s),
            "total_steps");
    REFUSED(ssq_optimizer_norm(r->queue, t->o, &norm, NULL),
            "nothing was checked");
    NEED(ssq_optimizer_model_to_master(r->queue, t->o));
    REFUSED(ssq_optimizer_norm(r->queue, t->o, &norm, NULL), "clip_norm is 0");
    REFUSED(ssq_optimizer_statistics(r->queue, t->o, NULL, &st),
            "without statistics");
    REFUSED(ssq_optimizer_statistics(r->queue, t->o, NULL, NULL),
            "statistics is NULL");
    REFUSED(ssq_optimizer_overflow(r->queue, t->o, NULL), "report is NULL");
    report.struct_size = 1;
    REFUSED(ssq_optimizer_overflow(r->queue, t->o, &report), "struct_size");
    REFUSED(ssq_optimizer_visit(r->queue, t->o, NULL, NULL), "fn is NULL");
}

static void test_hyper(const struct rig *r)
{
    ssq_optimizer_options o = train_options("adamw", &storages[0]);
    ssq_optimizer_options sgd = SSQ_OPTIMIZER_INIT;
    struct train t, u;
    double v = 0.0;
    ssq_group *foreign = NULL;

    train_open(&t, r, "adamw", &storages[0], &o);
    sgd.lr = 0.1;
    sgd.momentum = 0.9;
    train_open(&u, r, "sgd", &storages[0], &sgd);
    NEED(ssq_optimizer_group(u.o, NULL, &foreign));
    REFUSED(ssq_optimizer_set(r->queue, t.o, NULL, SSQ_HYPER_BETA1, 1.0),
            "optimizer_set: beta1 is 1");
    REFUSED(ssq_optimizer_set(r->queue, t.o, NULL, SSQ_HYPER_LR, -1.0),
            "optimizer_set: lr is -1");
    REFUSED(ssq_optimizer_set(r->queue, t.o, NULL, (ssq_hyper)99, 1.0),
            "99 is not a hyper-parameter");
    REFUSED(ssq_optimizer_set(r->queue, u.o, NULL, SSQ_HYPER_BETA2, 0.5),
            "sgd has no beta2");
    REFUSED(ssq_optimizer_set(r->queue, u.o, NULL, SSQ_HYPER_EPS, 0.5),
            "sgd has no eps");
    REFUSED(ssq_optimizer_set(r->queue, t.o, foreign, SSQ_HYPER_LR, 0.5),
            "another optimizer");
    REFUSED(ssq_optimizer_set(r->queue, u.o, foreign, SSQ_HYPER_CLIP_NORM, 0.5),
            "clip_norm is the whole optimizer's");
    REFUSED(ssq_optimizer_set(r->queue, t.o, NULL, SSQ_HYPER_CLIP_NORM, -0.5),
            "clip_norm is -0.5");
    REFUSED(ssq_optimizer_set(r->queue, t.o, NULL, SSQ_HYPER_CLIP_NORM, 1e39),
            "clip_norm is 1e+39");
    REFUSED(ssq_optimizer_set(NULL, t.o, NULL, SSQ_HYPER_LR, 0.5),
            "queue is NULL");
    REFUSED(ssq_optimizer_set(r->queue, NULL, NULL, SSQ_HYPER_LR, 0.5),
            "optimizer is NULL");
    REFUSED(ssq_optimizer_get(t.o, NULL, SSQ_HYPER_LR, NULL), "value is NULL");
    REFUSED(ssq_optimizer_get(NULL, NULL, SSQ_HYPER_LR, &v),
            "optimizer is NULL");
    REFUSED(ssq_optimizer_get(t.o, foreign, SSQ_HYPER_LR, &v),
            "another optimizer");
    test_reports(r, &t, foreign);
    train_close(&t);
    train_close(&u);
}

int main(void)
{
    struct rig rigs[CORE_MOST];

    for (size_t d = 0; d < core_device_count(); d++)
        rigs[d] = rig_open(core_device(d));
    for (size_t d = 0; d < core_device_count(); d++) {
        const struct rig *r = &rigs[d];

        test_create(r);
        for (uint32_t k = 0; k < KINDS; k++) {
            test_ranges(r, kinds[k]);
            test_reads(r, k);
        }
        test_add(r, &rigs[d == 0 ? 1 : 0]);
        test_stages(r);
        test_hook(r);
        test_hyper(r);
    }
    for (size_t d = 0; d < core_device_count(); d++)
        rig_close(&rigs[d]);
    return tap_done(380);
}
