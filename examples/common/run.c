/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - options, errors, progress and log of the training examples. */
#include "examples/common/run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An option of the program's own, with its default. */
static void print_more(FILE *f, const struct run_option *m)
{
    static const char *const value[] = {"", " N", " X", " TEXT", " N"};
    int n = fprintf(f, "  %s%s", m->name, value[m->kind]);
    fprintf(f, "%*s %s", n < 19 ? 19 - n : 0, "", m->help);
    if (m->kind == RUN_COUNT || m->kind == RUN_SIZE)
        fprintf(f, " (%u)", *(unsigned *)m->place);
    if (m->kind == RUN_NUMBER)
        fprintf(f, " (%g)", *(double *)m->place);
    fprintf(f, "\n");
}

static void print_usage(FILE *f, const struct run_options *o)
{
    fprintf(f,
            "usage: %s [options]\n"
            "  --policy P        float32, mixed_float16, mixed_bfloat16 (%s)\n"
            "  --scaler PRESET   of the loss scale (%s)\n"
            "  --loss-scale S    a fixed loss scale instead\n"
            "  --growth-interval N  clean steps before the scale grows (%u)\n"
            "  --device D        as `sesqui devices` lists them (%s)\n"
            "  --seed N (%llu)  --epochs N (%u)  --batch N (%u)\n"
            "  --lr X (%g)\n"
            "  --data FILE       what to train on (%s)\n"
            "  --log FILE.tsv    one line per epoch\n"
            "  --plot FILE.svg   loss, accuracy and loss scale over the steps\n"
            "  --compare         train in float32 too and show both\n"
            "  --data-parallel   as one of the ranks that mpirun has started\n"
            "  --ranks N         that many ranks in this process instead; "
            "--device A,B,..\n"
            "                    is one for each\n"
            "  --weights X,Y,..  of their shares of a batch (all the same);\n"
            "                    measured: by `sesqui tune --train`\n"
            "  --shard           each rank holds a part of the optimizer\n"
            "  --timeout S       that they wait for each other (300)\n"
            "  --quiet           only the last line\n",
            o->program, o->policy, o->scaler, o->interval, o->device,
            (unsigned long long)o->seed, o->epochs, o->batch, o->lr, o->data);
    if (o->saves)
        fprintf(f, "  --save FILE       a checkpoint behind each epoch\n"
                   "  --resume FILE     go on from one, with the same options\n"
                   "  --stop N          end N epochs later, of all --epochs\n");
    if (o->layers > 0)
        fprintf(f,
                "  --layers N (%u)  --activation relu|sigmoid (%s)\n"
                "  --loss-weight W   multiply the loss, as one term of several "
                "(%g)\n"
                "  --graph           capture one step, then replay it\n"
                "  --statistics      show what became of the last gradients\n",
                o->layers, o->activation, o->loss_weight);
    for (const struct run_option *m = o->more; m != NULL && m->name != NULL;
         m++)
        print_more(f, m);
}

/* Set an option whose value is a text; false: there is no such one. */
static bool set_text(struct run_options *o, const char *name, const char *value)
{
    const struct {
        const char *name;
        const char **place;
    } texts[] = {{"--policy", &o->policy}, {"--scaler", &o->scaler},
                 {"--device", &o->device}, {"--activation", &o->activation},
                 {"--data", &o->data},     {"--log", &o->log},
                 {"--plot", &o->plot},     {"--weights", &o->weights},
                 {"--save", &o->save},     {"--resume", &o->resume}};
    const size_t n = sizeof(texts) / sizeof(texts[0]) - (o->saves ? 0 : 2);
    for (size_t i = 0; i < n; i++)
        if (strcmp(name, texts[i].name) == 0) {
            *texts[i].place = value;
            return true;
        }
    return false;
}

/* The same for numbers; *bad when the value is none of the right size. */
static bool set_number(struct run_options *o, const char *name,
                       const char *value, bool *bad)
{
    char *end;
    double x = strtod(value, &end);
    /* counts up to 2^32 are exact in a double */
    /* of these 0 is what they are where nothing is said */
    const double least = strcmp(name, "--ranks") == 0     ? 1.0
                         : strcmp(name, "--timeout") == 0 ? 1e-9
                                                          : 0.0;
    *bad = *end != '\0' || !(x >= least) || x > 4294967295.0;
    unsigned n = *bad ? 0 : (unsigned)x;
    if (strcmp(name, "--loss-scale") == 0)
        o->loss_scale = x;
    else if (o->layers > 0 && strcmp(name, "--loss-weight") == 0)
        o->loss_weight = x;
    else if (strcmp(name, "--lr") == 0)
        o->lr = x;
    else if (strcmp(name, "--seed") == 0)
        o->seed = n;
    else if (strcmp(name, "--growth-interval") == 0)
        o->interval = n;
    else if (strcmp(name, "--epochs") == 0)
        o->epochs = n;
    else if (strcmp(name, "--batch") == 0)
        o->batch = n;
    else if (strcmp(name, "--ranks") == 0)
        o->ranks = n;
    else if (strcmp(name, "--timeout") == 0)
        o->timeout = x;
    else if (o->saves && strcmp(name, "--stop") == 0)
        o->stop = n;
    else if (o->layers > 0 && strcmp(name, "--layers") == 0)
        o->layers = n;
    else
        return false;
    return true;
}

/* The same for options without a value. */
static bool set_flag(struct run_options *o, const char *name)
{
    if (strcmp(name, "--compare") == 0)
        return o->compare = true;
    if (strcmp(name, "--data-parallel") == 0)
        return o->data_parallel = true;
    if (strcmp(name, "--shard") == 0)
        return o->shard = true;
    if (o->layers > 0 && strcmp(name, "--graph") == 0)
        return o->graph = true;
    if (o->layers > 0 && strcmp(name, "--statistics") == 0)
        return o->statistics = true;
    if (strcmp(name, "--quiet") == 0)
        return o->quiet = true;
    return false;
}

/* The same for the program's own, flag or not. */
static bool set_more(const struct run_options *o, const char *name,
                     const char *value, bool flag, bool *bad)
{
    const struct run_option *m = o->more;
    while (m != NULL && m->name != NULL && strcmp(m->name, name) != 0)
        m++;
    if (m == NULL || m->name == NULL || (m->kind == RUN_FLAG) != flag)
        return false;
    char *end = NULL;
    double x = 0.0;
    if (m->kind != RUN_FLAG && m->kind != RUN_TEXT) {
        x = strtod(value, &end);
        const double least = m->kind == RUN_SIZE ? 1.0 : 0.0;
        *bad =
            *value == '\0' || *end != '\0' || !(x >= least) || x > 4294967295.0;
    }
    if (m->kind == RUN_FLAG)
        *(bool *)m->place = true;
    else if (m->kind == RUN_TEXT)
        *(const char **)m->place = value;
    else if (m->kind == RUN_NUMBER)
        *(double *)m->place = *bad ? 0.0 : x;
    else
        *(unsigned *)m->place = *bad ? 0 : (unsigned)x;
    return true;
}

int run_options_parse(int argc, char **argv, struct run_options *o)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            print_usage(stdout, o);
            return 1;
        }
        bool bad = false;
        if (set_flag(o, argv[i]) || set_more(o, argv[i], NULL, true, &bad))
            continue;
        const char *value = argv[i + 1];
        if (value == NULL ||
            (!set_text(o, argv[i], value) &&
             !set_more(o, argv[i], value, false, &bad) &&
             !set_number(o, argv[i], value, &bad)) ||
            bad) {
            fprintf(stderr, "%s: bad option %s %s\n", o->program, argv[i],
                    value == NULL ? "(no value)" : value);
            print_usage(stderr, o);
            return 2;
        }
        i++;
    }
    return 0;
}

/* "rank 2: ", or nothing. */
static _Thread_local char who[24];

void run_as(unsigned rank)
{
    snprintf(who, sizeof(who), "rank %u: ", rank);
}

bool run_ok(ssq_status status, const char *what)
{
    if (status != SSQ_OK)
        fprintf(stderr, "%s%s: %s: %s\n", who, what, ssq_status_name(status),
                ssq_last_error());
    return status == SSQ_OK;
}

const char *run_scaler(const struct run_options *o, const char *policy,
                       char text[RUN_SCALER])
{
    ssq_policy p = SSQ_POLICY_INIT;
    if (!run_ok(ssq_policy_from_name(policy, &p), "policy"))
        return NULL;
    const double fixed = o->loss_scale > 0.0 ? o->loss_scale : p.loss_scale;
    if (fixed > 0.0)
        snprintf(text, RUN_SCALER, "fixed,init_scale=%.15g", fixed);
    else if (!p.scaling)
        return NULL;
    else if (o->interval == 0)
        return o->scaler;
    else
        snprintf(text, RUN_SCALER, "%.160s,growth_interval=%u", o->scaler,
                 o->interval);
    return text;
}

const char *run_trainer_scaler(const struct run_options *o, const char *policy,
                               char text[RUN_SCALER])
{
    ssq_policy p = SSQ_POLICY_INIT;
    bool own = ssq_policy_from_name(policy, &p) != SSQ_OK || p.loss_scale > 0.0;
    return own && o->loss_scale <= 0.0 ? NULL : run_scaler(o, policy, text);
}

bool run_scaler_create(ssq_device *device, const struct run_options *o,
                       const char *policy, ssq_scaler **scaler)
{
    char text[RUN_SCALER];
    const char *preset = run_scaler(o, policy, text);
    return preset == NULL ||
           run_ok(ssq_scaler_create(device, preset, NULL, scaler), "scaler");
}

bool run_save(const struct run_options *o, ssq_trainer *trainer)
{
    return o->save == NULL ||
           run_ok(ssq_trainer_save(trainer, o->save), "save");
}

/* Steps that were taken, and those that were skipped, say where the run was. */
bool run_resume(const struct run_options *o, ssq_trainer *trainer,
                unsigned long each, unsigned *epochs)
{
    ssq_queue *queue = ssq_trainer_queue(trainer);
    ssq_scaler *scaler = ssq_trainer_scaler(trainer);
    ssq_scaler_state state = SSQ_SCALER_STATE_INIT;
    uint32_t taken = 0;
    *epochs = 0;
    if (o->resume == NULL)
        return true;
    if (!run_ok(ssq_trainer_load(trainer, o->resume), "resume") ||
        !run_ok(ssq_optimizer_norm(queue, ssq_trainer_optimizer(trainer), NULL,
                                   &taken),
                "resume"))
        return false;
    if (scaler != NULL) {
        ssq_status st = ssq_scaler_state_get(queue, scaler, &state);
        if (st != SSQ_ERR_SCALE && !run_ok(st, "scaler"))
            return false;
    }
    const unsigned long steps = taken + (unsigned long)state.skipped;
    *epochs = (unsigned)(steps / each);
    if (steps % each == 0 && *epochs < o->epochs)
        return true;
    fprintf(stderr,
            "%s: %s has %lu steps, expected whole epochs of %lu, and less "
            "than %u\n",
            o->program, o->resume, steps, each, o->epochs);
    return false;
}

bool run_goes_on(const struct run_options *o, unsigned epoch, unsigned behind)
{
    return epoch <= o->epochs && (o->stop == 0 || epoch <= behind + o->stop);
}

#define BAR 24

static void bar(char *text, unsigned long done, unsigned long all)
{
    unsigned long full = all == 0 ? 0 : BAR * done / all;
    for (unsigned long i = 0; i < BAR; i++)
        text[i] = i < full ? '#' : '.';
    text[BAR] = '\0';
}

void run_bar(const struct run_options *o, unsigned epoch, unsigned long done,
             unsigned long all)
{
    char text[BAR + 1];
    if (o->quiet || !isatty(STDERR_FILENO))
        return;
    bar(text, done, all);
    if (done == all)
        fprintf(stderr, "\r\033[K");
    else
        fprintf(stderr, "\r[%s] epoch %u/%u  step %lu/%lu", text, epoch,
                o->epochs, done, all);
    fflush(stderr);
}

void run_progress(const struct run_options *o, const struct run_epoch *e,
                  FILE *log)
{
    if (log != NULL)
        fprintf(log, "%u\t%lu\t%.6g\t%.4f\t%g\t%u\t%.6g\n", e->epoch, e->steps,
                e->loss, e->accuracy, e->scale.scale, e->scale.skipped,
                e->train_loss);
    if (o->quiet)
        return;
    char text[BAR + 1];
    bar(text, e->epoch, e->epochs);
    printf("[%s] epoch %u/%u", text, e->epoch, e->epochs);
    if (e->loss != e->train_loss)
        printf("  train loss %.4f  test loss %.4f", e->train_loss, e->loss);
    else
        printf("  loss %.4f", e->loss);
    printf("  accuracy %.2f%%  scale %g  skipped %u\n", 100.0 * e->accuracy,
           e->scale.scale, e->scale.skipped);
    fflush(stdout);
}

bool run_log_open(const struct run_options *o, FILE **log)
{
    *log = NULL;
    if (o->log == NULL)
        return true;
    *log = fopen(o->log, "w");
    if (*log == NULL) {
        perror(o->log);
        return false;
    }
    fprintf(*log, "epoch\tsteps\tloss\taccuracy\tscale\tskipped\ttrain_loss\n");
    return true;
}
