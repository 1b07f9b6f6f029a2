/* SPDX-License-Identifier: Apache-2.0 */
/* gpt.c - a GPT-2 of any size learns a text byte by byte, and writes some of
 * its own.
 *
 * AdamW with weight decay for matrices and tables alone, a rate that warms up
 * and falls along a cosine to a tenth, gradients clipped to a norm of 1 and
 * summed over micro-batches. The last tenth of the text is for validation. */
#include "examples/common/curve.h"
#include "examples/common/group.h"
#include "examples/common/run.h"
#include "examples/gpt/model.h"
#include "examples/gpt/sample.h"
#include "examples/gpt/text.h"
#include "examples/gpt/windows.h"

#include <stdlib.h>
#include <string.h>

/* Points of a curve in a whole run, and of them with a validation; batches that
 * one of those takes. */
#define POINTS 120
#define LOOKS  12
#define CHECKS 8

static unsigned layers = 4, heads = 4, width = 128, block = 64;
static unsigned accumulate = 2, warmup = 20, sample = 300, steps;
static const char *weights, *exported; /* files; or NULL */
static double dropout, clip = 1.0, decay = 0.1, temperature = 0.8;

/* A run. */
struct run {
    struct member *member;
    const struct run_options *o; /* the member's */
    const char *policy;
    const struct text *text;
    struct gpt gpt;
    ssq_device *device;
    ssq_queue *queue;
    ssq_trainer *trainer;
    struct windows train, test;
    ssq_tensor *place, *hits;
    unsigned long steps; /* of the whole run */
    unsigned behind;     /* epochs that a checkpoint has */
    struct shown_loss shown;
    struct history seen;
};

/* What the last line says. */
struct gpt_result {
    char device[64];
    struct run_epoch last;
};

/* ---- training ---- */

/* Backward and, with the last of the micro-batches, the step. */
static ssq_status micro_batch(struct run *r)
{
    const ssq_tensor *x, *y;
    ssq_status st = windows_next(&r->train, &x, &y);
    if (st != SSQ_OK)
        return st;
    if (x == NULL)
        return ssq_trainer_idle(r->trainer);
    r->shown.rows += (double)ssq_tensor_size(x, 0);
    ssq_tape *t = ssq_trainer_begin(r->trainer);
    ssq_var loss = ssq_cross_entropy_var(gpt_logits(t, &r->gpt, x, r->place),
                                         SSQ_CROSS_ENTROPY(.target = y));
    return ssq_trainer_step(r->trainer, loss);
}

/* Loss and accuracy of the next token on this rank's share of some of the text
 * that is not trained on. */
static ssq_status validate_share(struct run *r, double sum[2])
{
    const ssq_tensor *x, *y;
    const double rows = (double)r->test.batch, length = (double)r->test.block;
    ssq_status st = SSQ_OK;
    windows_rewind(&r->test);
    for (int i = 0; i < CHECKS && st == SSQ_OK; i++) {
        float mean = 0.0f;
        int32_t hits = 0;
        ssq_tape *t = ssq_trainer_evaluate(r->trainer);
        st = windows_next(&r->test, &x, &y);
        if (st != SSQ_OK)
            break;
        if (x == NULL)
            continue;
        ssq_var logits = gpt_logits(t, &r->gpt, x, r->place);
        ssq_var l =
            ssq_cross_entropy_var(logits, SSQ_CROSS_ENTROPY(.target = y));
        st = ssq_tape_status(t);
        if (st == SSQ_OK)
            st = ssq_top_k_accuracy(
                r->queue, SSQ_TOP_K_ACCURACY(.logits = ssq_var_tensor(logits),
                                             .target = y, .hits = r->hits));
        if (st == SSQ_OK)
            st = ssq_tensor_read(r->queue, ssq_var_tensor(l), &mean,
                                 sizeof(mean), SSQ_F32);
        if (st == SSQ_OK)
            st = ssq_tensor_read(r->queue, r->hits, &hits, sizeof(hits),
                                 SSQ_I32);
        if (st == SSQ_OK)
            st = ssq_queue_sync(r->queue);
        sum[0] += (double)mean * (double)ssq_tensor_size(x, 0) / rows / CHECKS;
        sum[1] += (double)hits / rows / length / CHECKS;
    }
    return st;
}

/* The same of all ranks. */
static bool validate(struct run *r, double *loss, double *accuracy)
{
    double sum[2] = {0.0, 0.0};
    bool good = run_ok(validate_share(r, sum), "validation") &&
                group_sum(r->member, sum, 2);
    *loss = sum[0];
    *accuracy = sum[1];
    return good;
}

/* The mean training loss since the last call, of all ranks. */
static bool trained(struct run *r, double *loss)
{
    return run_ok(ssq_trainer_loss(r->trainer, loss), "loss") &&
           group_loss(r->member, &r->shown, loss);
}

static bool scale_of(struct run *r, ssq_scaler_state *state)
{
    ssq_scaler *scaler = ssq_trainer_scaler(r->trainer);
    state->scale = 1.0;
    if (scaler == NULL)
        return true;
    ssq_status st = ssq_scaler_state_get(r->queue, scaler, state);
    return st == SSQ_ERR_SCALE || run_ok(st, "scaler");
}

static bool due(const struct run *r, unsigned long done, unsigned long parts)
{
    return done * parts / r->steps != (done - 1) * parts / r->steps;
}

static bool look(struct run *r, unsigned long done)
{
    ssq_scaler_state state = SSQ_SCALER_STATE_INIT;
    double loss = 0.0, accuracy = 0.0;
    const double at = (double)done;
    if (r->o->plot == NULL)
        return true;
    if (due(r, done, POINTS) &&
        !(trained(r, &loss) && curve_add(&r->seen.loss, at, loss) &&
          scale_of(r, &state) &&
          (ssq_trainer_scaler(r->trainer) == NULL ||
           curve_add(&r->seen.scale, at, state.scale))))
        return false;
    return !due(r, done, LOOKS) || (validate(r, &loss, &accuracy) &&
                                    curve_add(&r->seen.accuracy, at, accuracy));
}

static bool epochs(struct run *r, FILE *log, struct run_epoch *e)
{
    const unsigned long each = r->steps / r->o->epochs;
    e->steps = r->behind * each;
    for (e->epoch = r->behind + 1; run_goes_on(r->o, e->epoch, r->behind);
         e->epoch++) {
        for (unsigned long i = 0; i < each; i++) {
            for (unsigned k = 0; k < accumulate; k++)
                if (!run_ok(micro_batch(r), "step"))
                    return false;
            if (!look(r, ++e->steps))
                return false;
            run_bar(r->o, e->epoch, i + 1, each);
        }
        if (!trained(r, &e->train_loss) ||
            !validate(r, &e->loss, &e->accuracy) || !scale_of(r, &e->scale))
            return false;
        e->train_loss = group_epoch_loss(&r->shown);
        run_progress(r->o, e, log);
        if (!run_save(r->o, r->trainer))
            return false;
    }
    return true;
}

/* ---- the trainer ---- */

/* The rate: up for some steps, then down to a tenth. */
static ssq_status schedule(struct run *r)
{
    ssq_schedule s = SSQ_SCHEDULE_INIT;
    s.kind = SSQ_SCHEDULE_COSINE;
    s.base = r->o->lr;
    s.min_value = 0.1 * r->o->lr;
    s.total_steps = (uint32_t)r->steps;
    s.warmup_steps = warmup < s.total_steps ? warmup : s.total_steps;
    s.warmup_start = 1.0 / (1.0 + warmup);
    return ssq_trainer_schedule(r->trainer, SSQ_HYPER_LR, &s);
}

/* Biases and norms are in groups without decay. */
static bool make_trainer(struct run *r)
{
    ssq_trainer_args args = SSQ_TRAINER_INIT;
    args.policy = r->policy;
    args.params.seed = r->o->seed;
    args.optimizer = "adamw";
    args.options.lr = r->o->lr;
    args.options.beta2 = 0.95;
    args.options.weight_decay = decay;
    args.options.clip_norm = clip;
    args.accumulate = accumulate;
    args.comm = r->member->comm;
    args.weights = r->member->weights;
    args.shard = r->o->shard;
    char scaler[RUN_SCALER];
    args.scaler = run_trainer_scaler(r->o, r->policy, scaler);
    if (!run_ok(ssq_trainer_create(r->queue, &args, &r->trainer), "trainer"))
        return false;
    args.options.weight_decay = 0.0;
    return run_ok(ssq_trainer_group(r->trainer, "*.bias", &args.options, NULL),
                  "biases") &&
           run_ok(ssq_trainer_group(r->trainer, "*ln_*", &args.options, NULL),
                  "norms") &&
           run_ok(schedule(r), "rate");
}

/* ---- runs ---- */

/* Nine tenths of the text are trained on. */
static bool data(struct run *r)
{
    const struct text *x = r->text;
    const size_t n = x->n - x->n / 10;
    const int64_t b = r->o->batch, l = r->gpt.block;
    int32_t *place = NULL;
    if (!windows_open(&r->train, r->queue, x->token, n, b, l, false,
                      r->o->seed) ||
        !windows_open(&r->test, r->queue, x->token + n, x->n - n, b, l, true,
                      0) ||
        (place = malloc((size_t)l * sizeof(*place))) == NULL)
        return false;
    for (int64_t i = 0; i < l; i++)
        place[i] = (int32_t)i;
    bool good = run_ok(ssq_tensor_create(r->device, SSQ_I32, 1, &l, &r->place),
                       "places") &&
                run_ok(ssq_tensor_create(r->device, SSQ_I32, 0, NULL, &r->hits),
                       "hits") &&
                run_ok(ssq_tensor_write(r->queue, r->place, place,
                                        (size_t)l * sizeof(*place), SSQ_I32),
                       "places") &&
                run_ok(ssq_queue_sync(r->queue), "places");
    free(place);
    const size_t each = (size_t)(b * l) * accumulate;
    r->steps = n / each > 0 ? n / each : 1;
    r->steps = (steps > 0 ? steps : r->steps) * r->o->epochs;
    return good;
}

/* The batches of the epochs behind it are not to come again. */
static bool resume(struct run *r)
{
    const unsigned long each = r->steps / r->o->epochs;
    return run_resume(r->o, r->trainer, each, &r->behind) &&
           run_ok(windows_skip(&r->train, r->behind * each * accumulate),
                  "resume");
}

/* Weights of GPT-2, whose parameters have the names that they have here, behind
 * "transformer." where the file is of the whole model. Its tokens are not
 * bytes: the table stays as it is, unless it is of so many. A pass makes the
 * parameters. */
static bool load(struct run *r)
{
    static const char prefix[] = "transformer.wte.weight";
    ssq_params_rule rules[] = {{"wte.weight", NULL, NULL, 0},
                               {"*", "transformer.*", NULL, 0}};
    ssq_params_file_args args = SSQ_PARAMS_FILE_INIT;
    ssq_safetensors_info info = SSQ_SAFETENSORS_INFO_INIT;
    ssq_safetensors *f = NULL;
    const ssq_tensor *x, *y;
    if (weights == NULL)
        return true;
    if (!run_ok(ssq_safetensors_open(weights, &f), weights))
        return false;
    const bool whole = ssq_safetensors_find(f, prefix, &info) == SSQ_OK;
    const bool table = whole || ssq_safetensors_find(f, strchr(prefix, '.') + 1,
                                                     &info) == SSQ_OK;
    const bool ours = table && info.shape[0] == r->gpt.vocabulary;
    ssq_safetensors_close(&f);
    args.optimizer = ssq_trainer_optimizer(r->trainer);
    args.rules = ours ? rules + 1 : rules;
    args.count = (whole ? 2 : 1) - (ours ? 1 : 0);
    args.unused = true; /* masks of attention, the head */
    /* a pass makes the parameters */
    ssq_params *params = ssq_trainer_params(r->trainer);
    ssq_status st = ssq_params_allow(params, "*");
    ssq_tape *t = ssq_trainer_evaluate(r->trainer);
    if (st == SSQ_OK)
        st = windows_next(&r->test, &x, &y);
    if (st == SSQ_OK)
        (void)gpt_logits(t, &r->gpt, x, r->place);
    windows_rewind(&r->test);
    return run_ok(st, "load") && run_ok(ssq_tape_status(t), "load") &&
           run_ok(ssq_params_allow(params, NULL), "load") &&
           run_ok(ssq_params_load(params, r->queue, weights, &args), weights);
}

/* In float32, by those names, for others. Where each rank has masters of its
 * own, each is needed for it, and writes the file. */
static bool export_weights(struct run *r)
{
    ssq_params_file_args args = SSQ_PARAMS_FILE_INIT;
    args.optimizer = ssq_trainer_optimizer(r->trainer);
    return exported == NULL || (r->member->rank > 0 && !r->o->shard) ||
           run_ok(ssq_params_save(ssq_trainer_params(r->trainer), r->queue,
                                  exported, &args),
                  exported);
}

static bool begin(struct run *r, struct gpt_result *result)
{
    ssq_device_props props = SSQ_DEVICE_PROPS_INIT;
    bool good = run_ok(ssq_device_props_get(r->device, &props), "device") &&
                run_ok(ssq_queue_create(r->device, NULL, &r->queue), "queue") &&
                data(r) && make_trainer(r) && load(r);
    r->train.trainer = r->test.trainer = r->trainer;
    if (!good || !resume(r))
        return false;
    snprintf(result->device, sizeof(result->device), "%s", props.name);
    if (!r->o->quiet)
        printf("%s on %s (%s): %zu tokens of %d kinds\n", r->policy, props.name,
               props.choice, r->text->n, r->text->kinds);
    return true;
}

static bool write_some(struct run *r)
{
    const struct sampling s = {.trainer = r->trainer,
                               .gpt = &r->gpt,
                               .text = r->text,
                               .place = r->place,
                               .temperature = temperature,
                               .seed = r->o->seed};
    return r->o->quiet || sample == 0 || sample_print(&s, sample);
}

static bool train(struct member *m, const struct run_options *o,
                  const struct text *text, const char *policy,
                  struct gpt_result *result, struct history *seen)
{
    struct run r = {.member = m,
                    .o = o,
                    .policy = policy,
                    .text = text,
                    .device = m->device};
    FILE *log = NULL;
    r.gpt = (struct gpt){.vocabulary = text->kinds,
                         .block = block,
                         .layers = layers,
                         .heads = heads,
                         .width = width,
                         .dropout = dropout};
    result->last =
        (struct run_epoch){.epochs = o->epochs, .scale = SSQ_SCALER_STATE_INIT};
    bool good = begin(&r, result) && run_log_open(o, &log) &&
                epochs(&r, log, &result->last) && export_weights(&r) &&
                group_show(m, ssq_trainer_optimizer(r.trainer)) &&
                write_some(&r);
    if (log != NULL && fclose(log) != 0) {
        perror(o->log);
        good = false;
    }
    *seen = r.seen;
    seen->label = policy;
    windows_close(&r.train);
    windows_close(&r.test);
    ssq_tensor_destroy(&r.place);
    ssq_tensor_destroy(&r.hits);
    ssq_trainer_destroy(&r.trainer);
    ssq_queue_destroy(&r.queue);
    return good;
}

/* Both runs of a rank. */
struct gpt_runs {
    struct gpt_result r[2];
    struct history seen[2];
};

static bool runs(struct member *m, const struct text *text, struct gpt_runs *u)
{
    const struct run_options *o = m->o;
    struct run_options again = *o;
    bool draws = m->rank == 0 && o->plot != NULL;
    again.log = again.save = again.resume = NULL;
    return (!draws || plot_begin(o->plot)) &&
           train(m, o, text, o->policy, &u->r[0], &u->seen[0]) &&
           (!o->compare ||
            train(m, &again, text, "float32", &u->r[1], &u->seen[1])) &&
           (!draws ||
            plot_write(o->plot, o->program, u->seen, o->compare ? 2 : 1));
}

static void print_last(const struct run_options *o, const struct gpt_runs *u)
{
    const struct run_epoch *e = &u->r[0].last;
    printf("gpt %s on %s: validation loss %.4f", o->policy, u->r[0].device,
           e->loss);
    if (o->compare)
        printf(" (float32 %.4f)", u->r[1].last.loss);
    printf(", accuracy %.2f%%, %lu steps, %u skipped, loss scale %g\n",
           100.0 * e->accuracy, e->steps, e->scale.skipped, e->scale.scale);
}

static bool rank_main(struct member *m, const void *text)
{
    struct gpt_runs u = {.seen = {{0}}};
    bool good = runs(m, text, &u);
    if (good && m->rank == 0)
        print_last(m->o, &u);
    history_free(&u.seen[0]);
    history_free(&u.seen[1]);
    return good;
}

int main(int argc, char **argv)
{
    const struct run_option more[] = {
        {"--layers", RUN_SIZE, &layers, "blocks"},
        {"--heads", RUN_SIZE, &heads, "of attention; divides the width"},
        {"--width", RUN_SIZE, &width, "of the sum that goes through them"},
        {"--block", RUN_SIZE, &block, "tokens that are seen at once"},
        {"--accumulate", RUN_SIZE, &accumulate, "micro-batches to a step"},
        {"--steps", RUN_COUNT, &steps, "in an epoch; 0: as the text has"},
        {"--warmup", RUN_COUNT, &warmup, "steps of a rising rate"},
        {"--dropout", RUN_NUMBER, &dropout, "of tables and blocks"},
        {"--clip", RUN_NUMBER, &clip, "norm of all gradients; 0 none"},
        {"--decay", RUN_NUMBER, &decay, "of weights, not of biases and norms"},
        {"--sample", RUN_COUNT, &sample, "bytes written at the end"},
        {"--temperature", RUN_NUMBER, &temperature, "of what is written"},
        {"--load", RUN_TEXT, &weights, "weights of GPT-2, a safetensors file"},
        {"--export", RUN_TEXT, &exported, "weights, at the end, as such"},
        {NULL, RUN_FLAG, NULL, NULL}};
    struct run_options o = {.program = "gpt",
                            .policy = "mixed_float16",
                            .scaler = "sesqui",
                            .device = "auto",
                            .seed = 1,
                            .epochs = 5,
                            .batch = 16,
                            .lr = 2e-3,
                            .saves = true,
                            .more = more,
                            .data = "/usr/share/common-licenses"};
    struct text text;
    int stop = run_options_parse(argc, argv, &o);
    if (stop != 0)
        return stop == 1 ? 0 : stop;
    if (o.batch == 0 || o.epochs == 0 || width % heads != 0) {
        fprintf(stderr, "gpt: %u rows a batch, %u epochs, width %u, %u heads\n",
                o.batch, o.epochs, width, heads);
        return 2;
    }
    stop = text_read(o.data, &text) ? group_run(&o, rank_main, &text) : 1;
    text_free(&text);
    return stop;
}
