/* SPDX-License-Identifier: Apache-2.0 */
/* amp_loop.c - the loop that torch.amp's users write: two models and losses, an
 * Adam for each, one scaler, micro-batches, gradients that are unscaled and
 * clipped, and a one-cycle rate. doc/guide/amp-loop.md has it beside PyTorch's,
 * line by line.
 *
 * The task is made up: of 16 numbers, model0 and model1 have to find two
 * functions of which the losses see sum and difference. */
#include "examples/common/curve.h"
#include "examples/common/group.h"
#include "examples/common/run.h"

#include <math.h>
#include <string.h>

#define IN     16
#define OUT    4
#define HIDDEN 64
#define MICRO  2   /* batches to a step */
#define STEPS  40  /* in an epoch */
#define CLIP   1.0 /* norm of model0's gradients */

/* All that lives as long as the loop. */
struct loop {
    struct member *member;
    const struct run_options *o;
    int64_t rows; /* of a batch that are this rank's */
    ssq_device *device;
    ssq_queue *q;
    ssq_params *params;
    ssq_tape *t;
    ssq_scaler *scaler;
    ssq_optimizer *optimizer0, *optimizer1;
    ssq_tensor *x, *y0, *y1, *norm;
    float host[64 * (IN + 2 * OUT)]; /* a batch */
    uint64_t random;
    struct history seen;
    char name[64];
};

/* ---- the models ---- */

static ssq_var model(ssq_tape *t, const char *name, ssq_var x)
{
    ssq_tape_push(t, name);
    x = ssq_relu_var(ssq_nn_linear(t, "0", x, HIDDEN, NULL));
    x = ssq_nn_linear(t, "2", x, OUT, NULL);
    ssq_tape_pop(t);
    return x;
}

/* Half of both losses: two micro-batches add up to a mean. */
static ssq_var losses(struct loop *l)
{
    ssq_var x = ssq_var_input(l->t, l->x);
    ssq_var out0 = model(l->t, "model0", x), out1 = model(l->t, "model1", x);
    ssq_var loss0 =
        ssq_mse_var(ssq_add_var(out0, out1), SSQ_MSE(.target = l->y0));
    ssq_var loss1 =
        ssq_mse_var(ssq_sub_var(out0, out1), SSQ_MSE(.target = l->y1));
    return ssq_scale_var(ssq_add_var(loss0, loss1),
                         SSQ_SCALE(.alpha = 1.0 / MICRO));
}

/* ---- one step ---- */

/* torch's clip_grad_norm_(model0.parameters(), most). */
static ssq_status clip(struct loop *l, const char *prefix, double most)
{
    const ssq_tensor *grads[16];
    size_t n = 0;
    for (size_t i = 0; i < ssq_params_count(l->params) && n < 16; i++) {
        ssq_param_info p = SSQ_PARAM_INFO_INIT;
        ssq_status st = ssq_params_get(l->params, i, &p);
        if (st != SSQ_OK)
            return st;
        if (strncmp(p.name, prefix, strlen(prefix)) == 0)
            grads[n++] = p.grad;
    }
    return ssq_clip_grad_norm(l->q, n, grads, most, l->norm);
}

/* The mean of all ranks' gradients, of both models. */
static ssq_status reduce(struct loop *l)
{
    const ssq_tensor *grads[16];
    size_t n = ssq_params_count(l->params);
    if (l->member->comm == NULL)
        return SSQ_OK;
    for (size_t i = 0; i < n && i < 16; i++) {
        ssq_param_info p = SSQ_PARAM_INFO_INIT;
        ssq_status st = ssq_params_get(l->params, i, &p);
        if (st != SSQ_OK)
            return st;
        grads[i] = p.grad;
    }
    return ssq_comm_all_reduce(l->q, l->member->comm,
                               SSQ_COMM_ALL_REDUCE(.tensors = grads, .n = n,
                                                   .reduction = SSQ_COMM_MEAN,
                                                   .tag = "gradients"));
}

/* With --shard no rank has the whole of a gradient to clip: the step sums them
 * over ranks, and clips by an option. */
static ssq_status sum(struct loop *l)
{
    const double mean = 1.0 / l->member->size;
    ssq_status st = ssq_optimizer_accumulate(l->q, l->optimizer0, mean);
    return st == SSQ_OK ? ssq_optimizer_accumulate(l->q, l->optimizer1, mean)
                        : st;
}

/* The gradients of both models are there, times the scale. */
static ssq_status update(struct loop *l)
{
    ssq_status st = l->o->shard ? sum(l) : reduce(l);
    if (st == SSQ_OK && !l->o->shard)
        st = ssq_optimizer_unscale(l->q, l->optimizer0, l->scaler);
    if (st == SSQ_OK && !l->o->shard)
        st = clip(l, "model0.", CLIP);
    if (st == SSQ_OK)
        st = ssq_optimizer_step(l->q, l->optimizer0, l->scaler);
    if (st == SSQ_OK)
        st = ssq_optimizer_step(l->q, l->optimizer1, l->scaler);
    if (st == SSQ_OK && l->scaler != NULL)
        st = ssq_scaler_update(l->q, l->scaler);
    ssq_params_clean(l->params);
    return st;
}

/* A batch of numbers of -1 .. 1 (splitmix64), and what the models should say.
 */
static ssq_status next_batch(struct loop *l)
{
    float *x = l->host, *y0 = x + 64 * IN, *y1 = y0 + 64 * OUT;
    ssq_status st = ssq_queue_sync(l->q); /* the last one was taken */
    for (int i = 0; i < 64 * IN; i++) {
        uint64_t z = l->random += 0x9e3779b97f4a7c15u;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        x[i] = (float)((z ^ (z >> 31)) >> 40) * 0x1p-23f - 1.0f;
    }
    for (int i = 0; i < 64 * OUT; i++) {
        const float *row = x + i / OUT * IN + i % OUT * 4;
        y0[i] = row[0] + row[1] * row[2];
        y1[i] = fabsf(row[3]) - row[0];
    }
    const size_t rows = (size_t)l->rows, first = rows * l->member->rank;
    if (st == SSQ_OK)
        st = ssq_tensor_write(l->q, l->x, x + first * IN,
                              rows * IN * sizeof(*x), SSQ_F32);
    if (st == SSQ_OK)
        st = ssq_tensor_write(l->q, l->y0, y0 + first * OUT,
                              rows * OUT * sizeof(*x), SSQ_F32);
    if (st == SSQ_OK)
        st = ssq_tensor_write(l->q, l->y1, y1 + first * OUT,
                              rows * OUT * sizeof(*x), SSQ_F32);
    return st;
}

/* *mean: the loss of its micro-batches. */
static ssq_status step(struct loop *l, double *mean)
{
    *mean = 0.0;
    for (int i = 0; i < MICRO; i++) {
        float value = 0.0f;
        ssq_status st = next_batch(l);
        ssq_tape_begin(l->t, true);
        ssq_var loss = losses(l);
        const ssq_tensor *shown = ssq_var_tensor(loss);
        if (st == SSQ_OK)
            st = ssq_tape_backward(l->t, loss, l->scaler);
        if (st == SSQ_OK)
            st = ssq_tensor_read(l->q, shown, &value, sizeof(value), SSQ_F32);
        if (st == SSQ_OK)
            st = ssq_queue_sync(l->q);
        if (st != SSQ_OK)
            return st;
        *mean += (double)value;
    }
    return update(l);
}

/* ---- the loop ---- */

/* A rate of one cycle over the run, as torch's OneCycleLR. */
static ssq_status one_cycle(struct loop *l, ssq_optimizer *adam)
{
    ssq_schedule s = SSQ_SCHEDULE_INIT;
    s.kind = SSQ_SCHEDULE_ONE_CYCLE;
    s.base = l->o->lr;
    s.total_steps = STEPS * l->o->epochs;
    return ssq_optimizer_schedule(l->q, adam, NULL, SSQ_HYPER_LR, &s);
}

/* With --shard: optimizers of which each rank has a part. */
static ssq_status make_divided(struct loop *l)
{
    ssq_optimizer_options clips = SSQ_OPTIMIZER_INIT;
    clips.clip_norm = CLIP;
    ssq_status st =
        ssq_optimizer_create(l->device, "adam", &clips, &l->optimizer0);
    if (st == SSQ_OK)
        st = ssq_optimizer_create(l->device, "adam", NULL, &l->optimizer1);
    if (st == SSQ_OK)
        st = ssq_optimizer_distribute(l->optimizer0, l->member->comm);
    if (st == SSQ_OK)
        st = ssq_optimizer_distribute(l->optimizer1, l->member->comm);
    return st;
}

/* A pass without training makes the parameters, for the optimizers to take. */
static ssq_status make_optimizers(struct loop *l)
{
    ssq_status st = next_batch(l);
    if (st == SSQ_OK)
        st = ssq_params_allow(l->params, "*");
    ssq_tape_begin(l->t, false);
    losses(l);
    if (st == SSQ_OK)
        st = ssq_tape_status(l->t);
    if (st == SSQ_OK)
        st = ssq_params_allow(l->params, NULL);
    if (st == SSQ_OK && l->o->shard)
        st = make_divided(l);
    if (st == SSQ_OK && !l->o->shard)
        st = ssq_optimizer_create(l->device, "adam", NULL, &l->optimizer0);
    if (st == SSQ_OK && !l->o->shard)
        st = ssq_optimizer_create(l->device, "adam", NULL, &l->optimizer1);
    if (st == SSQ_OK)
        st = ssq_params_optimize(l->params, l->optimizer0, "model0.*", NULL);
    if (st == SSQ_OK)
        st = ssq_params_optimize(l->params, l->optimizer1, "model1.*", NULL);
    if (st == SSQ_OK)
        st = one_cycle(l, l->optimizer0);
    return st == SSQ_OK ? one_cycle(l, l->optimizer1) : st;
}

/* Unscaled gradients need the room of float32: float32_gradients. */
static ssq_status make(struct loop *l, const char *policy)
{
    ssq_params_options options = SSQ_PARAMS_OPTIONS_INIT;
    ssq_device_props props = SSQ_DEVICE_PROPS_INIT;
    const int64_t in[] = {l->rows, IN}, out[] = {l->rows, OUT};
    char text[RUN_SCALER];
    const char *preset = run_scaler(l->o, policy, text);
    options.seed = l->random = l->o->seed;
    options.float32_gradients = true;
    l->device = l->member->device;
    ssq_status st = ssq_device_props_get(l->device, &props);
    if (st == SSQ_OK)
        st = ssq_queue_create(l->device, NULL, &l->q);
    if (st == SSQ_OK)
        st = ssq_params_create(l->device, policy, &options, &l->params);
    if (st == SSQ_OK)
        st = ssq_tape_create(l->q, l->params, &l->t);
    if (st == SSQ_OK && preset != NULL)
        st = ssq_scaler_create(l->device, preset, NULL, &l->scaler);
    if (st == SSQ_OK)
        st = ssq_tensor_create(l->device, SSQ_F32, 2, in, &l->x);
    if (st == SSQ_OK)
        st = ssq_tensor_create(l->device, SSQ_F32, 2, out, &l->y0);
    if (st == SSQ_OK)
        st = ssq_tensor_create(l->device, SSQ_F32, 2, out, &l->y1);
    if (st == SSQ_OK)
        st = ssq_tensor_create(l->device, SSQ_F32, 0, NULL, &l->norm);
    snprintf(l->name, sizeof(l->name), "%s", props.name);
    return st == SSQ_OK ? make_optimizers(l) : st;
}

static void drop(struct loop *l)
{
    ssq_tensor_destroy(&l->x);
    ssq_tensor_destroy(&l->y0);
    ssq_tensor_destroy(&l->y1);
    ssq_tensor_destroy(&l->norm);
    ssq_optimizer_destroy(&l->optimizer0);
    ssq_optimizer_destroy(&l->optimizer1);
    ssq_scaler_destroy(&l->scaler);
    ssq_tape_destroy(&l->t);
    ssq_params_destroy(&l->params);
    ssq_queue_destroy(&l->q);
}

/* An epoch's mean loss, and the scale behind it. */
static bool epoch(struct loop *l, struct run_epoch *e)
{
    double loss = 0.0;
    e->loss = 0.0;
    for (unsigned i = 0; i < STEPS; i++) {
        ssq_status st = step(l, &loss);
        loss /= l->member->size;
        if ((st != SSQ_ERR_SCALE && !run_ok(st, "step")) ||
            !group_sum(l->member, &loss, 1))
            return false;
        e->steps++;
        e->loss += loss / STEPS;
        e->scale.scale = 1.0;
        if (l->scaler != NULL) {
            st = ssq_scaler_state_get(l->q, l->scaler, &e->scale);
            if (st != SSQ_ERR_SCALE && !run_ok(st, "scaler"))
                return false;
        }
        if (!curve_add(&l->seen.loss, (double)e->steps, loss) ||
            (l->scaler != NULL &&
             !curve_add(&l->seen.scale, (double)e->steps, e->scale.scale)))
            return false;
        run_bar(l->o, e->epoch, i + 1, STEPS);
    }
    return true;
}

/* What is printed of a run. */
struct amp_loop_result {
    struct run_epoch last;
    struct history seen;
    char name[64];
};

static bool run(struct member *m, const char *policy, bool first,
                struct amp_loop_result *r)
{
    const struct run_options *o = m->o;
    struct loop l = {.member = m, .o = o};
    FILE *log = NULL;
    r->last =
        (struct run_epoch){.epochs = o->epochs, .scale = SSQ_SCALER_STATE_INIT};
    bool good = group_part(m, 64, &l.rows) && run_ok(make(&l, policy), "setup");
    good = good && (!first || run_log_open(o, &log));
    for (unsigned i = 1; i <= o->epochs && good; i++) {
        r->last.epoch = i;
        good = epoch(&l, &r->last);
        if (good && log != NULL)
            fprintf(log, "%u\t%lu\t%.6g\t\t%g\t%u\t%.6g\n", i, r->last.steps,
                    r->last.loss, r->last.scale.scale, r->last.scale.skipped,
                    r->last.loss);
        if (good && !o->quiet)
            printf("%s epoch %u/%u  loss %.5f  scale %g  skipped %u\n", policy,
                   i, o->epochs, r->last.loss, r->last.scale.scale,
                   r->last.scale.skipped);
    }
    good = good && group_show(m, l.optimizer0) && group_show(m, l.optimizer1);
    if (log != NULL && fclose(log) != 0) {
        perror(o->log);
        good = false;
    }
    r->seen = l.seen;
    r->seen.label = policy;
    memcpy(r->name, l.name, sizeof(r->name));
    drop(&l);
    return good;
}

static bool rank_main(struct member *m, const void *none)
{
    const struct run_options *o = m->o;
    struct amp_loop_result r[2] = {{.name = ""}, {.name = ""}};
    const bool shows = m->rank == 0, draws = shows && o->plot != NULL;
    (void)none;
    bool good = (!draws || plot_begin(o->plot)) &&
                run(m, o->policy, true, &r[0]) &&
                (!o->compare || run(m, "float32", false, &r[1]));
    if (good && shows) {
        printf("amp-loop %s on %s: loss %.5f", o->policy, r[0].name,
               r[0].last.loss);
        if (o->compare)
            printf(" (float32 %.5f)", r[1].last.loss);
        printf(", %lu steps, %u skipped, loss scale %g\n", r[0].last.steps,
               r[0].last.scale.skipped, r[0].last.scale.scale);
    }
    const struct history seen[] = {r[0].seen, r[1].seen};
    good = good && (!draws ||
                    plot_write(o->plot, o->program, seen, o->compare ? 2 : 1));
    history_free(&r[0].seen);
    history_free(&r[1].seen);
    return good;
}

int main(int argc, char **argv)
{
    struct run_options o = {.program = "amp-loop",
                            .policy = "mixed_float16",
                            .scaler = "pytorch",
                            .device = "auto",
                            .seed = 1,
                            .epochs = 5,
                            .batch = 64,
                            .lr = 1e-2,
                            .data = "made up"};
    int stop = run_options_parse(argc, argv, &o);
    if (stop != 0)
        return stop == 1 ? 0 : stop;
    if (o.batch != 64 || o.epochs == 0) {
        fprintf(stderr, "amp-loop: %u rows a batch, expected 64; %u epochs\n",
                o.batch, o.epochs);
        return 2;
    }
    return group_run(&o, rank_main, NULL);
}
