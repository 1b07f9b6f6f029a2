/* SPDX-License-Identifier: Apache-2.0 */
/* fit.c - training of a classifier of images over a tape. */
#include "examples/common/fit.h"

#include <string.h>

/* Points of a curve in a whole run, and of them with an accuracy. */
#define POINTS 120
#define LOOKS  12

/* What the last line says of a run. */
struct fit_result {
    char device[64];
    struct run_epoch last;
};

/* ---- evaluation ---- */

/* The test set's accuracy and mean loss, batch by batch, each rank its share.
 */
static bool evaluate(struct fit *f, double *accuracy, double *loss)
{
    const ssq_tensor *x, *y;
    double sum[2] = {0.0, 0.0};
    ssq_status st;
    while ((st = batches_next(&f->test, &x, &y)) == SSQ_OK) {
        if (x == NULL)
            continue;
        int32_t hits = 0;
        float mean = 0.0f;
        ssq_tape *t = ssq_trainer_evaluate(f->trainer);
        ssq_var logits = f->kind->net(t, ssq_var_input(t, x));
        ssq_var l =
            ssq_cross_entropy_var(logits, SSQ_CROSS_ENTROPY(.target = y));
        st = ssq_tape_status(t);
        if (st == SSQ_OK)
            st = ssq_top_k_accuracy(
                f->queue, SSQ_TOP_K_ACCURACY(.logits = ssq_var_tensor(logits),
                                             .target = y, .hits = f->hits));
        if (st == SSQ_OK)
            st = ssq_tensor_read(f->queue, ssq_var_tensor(l), &mean,
                                 sizeof(mean), SSQ_F32);
        if (st == SSQ_OK)
            st = ssq_tensor_read(f->queue, f->hits, &hits, sizeof(hits),
                                 SSQ_I32);
        if (st == SSQ_OK)
            st = ssq_queue_sync(f->queue);
        if (st != SSQ_OK)
            break;
        sum[0] += (double)hits / (double)f->test.n;
        sum[1] +=
            (double)mean * (double)ssq_tensor_size(x, 0) / (double)f->test.n;
    }
    bool good = (st == SSQ_ERR_NOT_FOUND || run_ok(st, "evaluation")) &&
                group_sum(f->member, sum, 2);
    *accuracy = sum[0];
    *loss = sum[1];
    return good;
}

ssq_status fit_add_loss(struct fit *f, const ssq_tensor *loss)
{
    ssq_status st = SSQ_OK;
    if (f->sum == NULL)
        st = ssq_tensor_create(f->device, SSQ_F32, 0, NULL, &f->sum);
    if (st == SSQ_OK && f->losses == 0)
        st = ssq_cast(f->queue, SSQ_CAST(.x = loss, .y = f->sum));
    else if (st == SSQ_OK)
        st = ssq_add(f->queue, SSQ_ADD(.a = f->sum, .b = loss, .y = f->sum));
    f->losses += st == SSQ_OK;
    return st;
}

/* The mean of this rank's training losses since the last call. */
static ssq_status mean_loss(struct fit *f, double *loss)
{
    float sum = 0.0f;
    if (f->losses == 0)
        return ssq_trainer_loss(f->trainer, loss);
    ssq_status st =
        ssq_tensor_read(f->queue, f->sum, &sum, sizeof(sum), SSQ_F32);
    if (st == SSQ_OK)
        st = ssq_queue_sync(f->queue);
    *loss = (double)sum / f->losses;
    f->losses = 0;
    return st;
}

/* The mean training loss since the last call, of all ranks. */
static bool trained(struct fit *f, double *loss)
{
    return run_ok(mean_loss(f, loss), "loss") &&
           group_loss(f->member, &f->shown, loss);
}

/* The scaler's state; a scale of 1 where there is none. */
static bool scale_of(struct fit *f, ssq_scaler_state *state)
{
    ssq_scaler *scaler = ssq_trainer_scaler(f->trainer);
    state->scale = 1.0;
    if (scaler == NULL)
        return true;
    ssq_status st = ssq_scaler_state_get(f->queue, scaler, state);
    return st == SSQ_ERR_SCALE || run_ok(st, "scaler");
}

/* ---- what is drawn ---- */

/* True once in each of so many parts of the run. */
static bool due(const struct fit *f, unsigned long done, unsigned long parts)
{
    unsigned long now = done * parts / f->steps;
    return now != (done - 1) * parts / f->steps;
}

/* Points of the curves behind a step, where a picture is wanted. */
static bool look(struct fit *f, unsigned long done)
{
    ssq_scaler_state state = SSQ_SCALER_STATE_INIT;
    double loss = 0.0, accuracy = 0.0;
    const double at = (double)done;
    if (f->o->plot == NULL)
        return true;
    if (due(f, done, POINTS) &&
        !(trained(f, &loss) && curve_add(&f->seen.loss, at, loss) &&
          scale_of(f, &state) &&
          (ssq_trainer_scaler(f->trainer) == NULL ||
           curve_add(&f->seen.scale, at, state.scale))))
        return false;
    return !due(f, done, LOOKS) || (evaluate(f, &accuracy, &loss) &&
                                    curve_add(&f->seen.accuracy, at, accuracy));
}

/* ---- training ---- */

static ssq_status pass(struct fit *f, const ssq_tensor *x, const ssq_tensor *y)
{
    if (x == NULL)
        return ssq_trainer_idle(f->trainer);
    f->shown.rows += (double)ssq_tensor_size(x, 0);
    ssq_tape *t = ssq_trainer_begin(f->trainer);
    ssq_var loss = ssq_cross_entropy_var(f->kind->net(t, ssq_var_input(t, x)),
                                         SSQ_CROSS_ENTROPY(.target = y));
    return f->kind->step != NULL ? f->kind->step(f, t, loss)
                                 : ssq_trainer_step(f->trainer, loss);
}

static bool epoch(struct fit *f, unsigned number, unsigned long *done)
{
    const ssq_tensor *x, *y;
    ssq_status st;
    for (unsigned long i = 0;
         (st = batches_next(&f->train, &x, &y)) == SSQ_OK;) {
        if (!run_ok(pass(f, x, y), "step") || !look(f, ++*done))
            return false;
        run_bar(f->o, number, ++i, batches_count(&f->train));
    }
    return st == SSQ_ERR_NOT_FOUND || run_ok(st, "batch");
}

static bool epochs(struct fit *f, FILE *log, struct run_epoch *e)
{
    unsigned long done = f->behind * batches_count(&f->train);
    for (e->epoch = f->behind + 1; run_goes_on(f->o, e->epoch, f->behind);
         e->epoch++) {
        if (!epoch(f, e->epoch, &done) || !trained(f, &e->train_loss) ||
            !evaluate(f, &e->accuracy, &e->loss) || !scale_of(f, &e->scale))
            return false;
        e->train_loss = group_epoch_loss(&f->shown);
        e->steps = done;
        run_progress(f->o, e, log);
        if (!run_save(f->o, f->trainer))
            return false;
    }
    return true;
}

/* ---- runs ---- */

/* Batches of the set "train", shuffled, or "t10k", in the compute dtype. */
static bool load(struct fit *f, const char *part, int64_t batch, bool shuffle,
                 struct batches *b)
{
    ssq_policy policy = SSQ_POLICY_INIT;
    struct images images;
    if (!run_ok(ssq_policy_from_name(f->policy, &policy), "policy") ||
        !images_read(f->o->data, part, f->kind->classes, &images))
        return false;
    bool good = (f->kind->prepare == NULL || f->kind->prepare(&images)) &&
                batches_open(b, f->queue, &images, policy.compute, batch,
                             shuffle, f->o->seed);
    images_free(&images);
    return good;
}

/* The orders of epochs that are done do not come again. */
static bool resume(struct fit *f)
{
    return run_resume(f->o, f->trainer, batches_count(&f->train), &f->behind) &&
           batches_seek(&f->train, f->behind);
}

static bool begin(struct fit *f, struct fit_result *r)
{
    ssq_device_props props = SSQ_DEVICE_PROPS_INIT;
    if (!(run_ok(ssq_device_props_get(f->device, &props), "device") &&
          run_ok(ssq_queue_create(f->device, NULL, &f->queue), "queue") &&
          load(f, "train", f->o->batch, true, &f->train) &&
          load(f, "t10k", 2000, false, &f->test) &&
          run_ok(ssq_tensor_create(f->device, SSQ_I32, 0, NULL, &f->hits),
                 "hits")))
        return false;
    f->steps = batches_count(&f->train) * f->o->epochs;
    snprintf(r->device, sizeof(r->device), "%s", props.name);
    if (!f->o->quiet)
        printf("%s on %s (%s)\n", f->policy, props.name, props.choice);
    bool good = f->kind->trainer(f);
    f->train.trainer = f->test.trainer = f->trainer;
    return good && resume(f);
}

/* One run; what was seen of it is the caller's. */
static bool run(struct member *m, const struct run_options *o,
                const struct fit_kind *kind, const char *policy,
                struct fit_result *r, struct history *seen)
{
    struct fit f = {.member = m,
                    .o = o,
                    .kind = kind,
                    .policy = policy,
                    .device = m->device};
    FILE *log = NULL;
    r->last =
        (struct run_epoch){.epochs = o->epochs, .scale = SSQ_SCALER_STATE_INIT};
    bool good = begin(&f, r) && run_log_open(o, &log) &&
                epochs(&f, log, &r->last) &&
                group_show(m, ssq_trainer_optimizer(f.trainer));
    if (log != NULL && fclose(log) != 0) {
        perror(o->log);
        good = false;
    }
    *seen = f.seen;
    seen->label = policy;
    batches_close(&f.train);
    batches_close(&f.test);
    ssq_tensor_destroy(&f.hits);
    ssq_tensor_destroy(&f.sum);
    ssq_trainer_destroy(&f.trainer);
    ssq_queue_destroy(&f.queue);
    return good;
}

/* Both runs of a rank. */
struct fit_runs {
    struct fit_result r[2];
    struct history seen[2];
};

/* The log is of the first run. */
static bool runs(struct member *m, const struct fit_kind *kind,
                 struct fit_runs *u)
{
    const struct run_options *o = m->o;
    struct run_options again = *o;
    bool draws = m->rank == 0 && o->plot != NULL;
    again.log = again.save = again.resume = NULL;
    return (!draws || plot_begin(o->plot)) &&
           run(m, o, kind, o->policy, &u->r[0], &u->seen[0]) &&
           (!o->compare ||
            run(m, &again, kind, "float32", &u->r[1], &u->seen[1])) &&
           (!draws ||
            plot_write(o->plot, o->program, u->seen, o->compare ? 2 : 1));
}

static void print_last(const struct run_options *o, const struct fit_runs *u)
{
    const struct run_epoch *e = &u->r[0].last;
    printf("%s %s on %s: test accuracy %.2f%%", o->program, o->policy,
           u->r[0].device, 100.0 * e->accuracy);
    if (o->compare)
        printf(" (float32 %.2f%%)", 100.0 * u->r[1].last.accuracy);
    printf(", %lu steps, %u skipped, loss scale %g\n", e->steps,
           e->scale.skipped, e->scale.scale);
}

static bool rank_main(struct member *m, const void *kind)
{
    struct fit_runs u = {.seen = {{0}}};
    bool good = runs(m, kind, &u);
    if (good && m->rank == 0)
        print_last(m->o, &u);
    history_free(&u.seen[0]);
    history_free(&u.seen[1]);
    return good;
}

int fit_main(int argc, char **argv, struct run_options o,
             const struct fit_kind *kind)
{
    o.saves = true;
    int stop = run_options_parse(argc, argv, &o);
    if (stop != 0)
        return stop == 1 ? 0 : stop;
    if (o.batch == 0 || o.epochs == 0) {
        fprintf(stderr, "%s: %u rows a batch, %u epochs\n", o.program, o.batch,
                o.epochs);
        return 2;
    }
    return group_run(&o, rank_main, kind);
}
