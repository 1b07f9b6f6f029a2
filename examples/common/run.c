/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - options, errors, progress and log of the training examples. */
#include "examples/common/run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_usage(FILE *f, const struct run_options *o)
{
    fprintf(f,
            "usage: %s [options]\n"
            "  --policy P        float32, mixed_float16, mixed_bfloat16 (%s)\n"
            "  --scaler PRESET   of the loss scale (%s)\n"
            "  --loss-scale S    a fixed loss scale instead\n"
            "  --loss-weight W   multiply the loss, as one term of several "
            "(%g)\n"
            "  --growth-interval N  clean steps before the scale grows (%u)\n"
            "  --device D        as `sesqui devices` lists them (%s)\n"
            "  --seed N (%llu)  --epochs N (%u)  --batch N (%u)\n"
            "  --lr X (%g)\n"
            "  --data FILE       what to train on (%s)\n"
            "  --log FILE.tsv    one line per epoch\n"
            "  --compare         train in float32 too and show both\n"
            "  --quiet           only the last line\n",
            o->program, o->policy, o->scaler, o->loss_weight, o->interval,
            o->device, (unsigned long long)o->seed, o->epochs, o->batch, o->lr,
            o->data);
    if (o->layers > 0)
        fprintf(f,
                "  --layers N (%u)  --activation relu|sigmoid (%s)\n"
                "  --graph           capture one step, then replay it\n"
                "  --statistics      show what became of the last gradients\n",
                o->layers, o->activation);
    if (o->units > 0)
        fprintf(f,
                "  --units N (%u)    of each hidden layer\n"
                "  --custom          a loop of one's own, not the trainer's\n",
                o->units);
}

/* Set an option whose value is a text; false: there is no such one. */
static bool set_text(struct run_options *o, const char *name, const char *value)
{
    const struct {
        const char *name;
        const char **place;
    } texts[] = {{"--policy", &o->policy}, {"--scaler", &o->scaler},
                 {"--device", &o->device}, {"--activation", &o->activation},
                 {"--data", &o->data},     {"--log", &o->log}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
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
    *bad = *end != '\0' || !(x >= 0.0) || x > 4294967295.0;
    unsigned n = *bad ? 0 : (unsigned)x;
    if (strcmp(name, "--loss-scale") == 0)
        o->loss_scale = x;
    else if (strcmp(name, "--loss-weight") == 0)
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
    else if (o->layers > 0 && strcmp(name, "--layers") == 0)
        o->layers = n;
    else if (o->units > 0 && strcmp(name, "--units") == 0)
        o->units = n;
    else
        return false;
    return true;
}

/* The same for options without a value. */
static bool set_flag(struct run_options *o, const char *name)
{
    if (strcmp(name, "--compare") == 0)
        return o->compare = true;
    if (o->units > 0 && strcmp(name, "--custom") == 0)
        return o->custom = true;
    if (o->layers > 0 && strcmp(name, "--graph") == 0)
        return o->graph = true;
    if (o->layers > 0 && strcmp(name, "--statistics") == 0)
        return o->statistics = true;
    if (strcmp(name, "--quiet") == 0)
        return o->quiet = true;
    return false;
}

int run_options_parse(int argc, char **argv, struct run_options *o)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            print_usage(stdout, o);
            return 1;
        }
        if (set_flag(o, argv[i]))
            continue;
        const char *value = argv[i + 1];
        bool bad = false;
        if (value == NULL ||
            (!set_text(o, argv[i], value) &&
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

bool run_ok(ssq_status status, const char *what)
{
    if (status != SSQ_OK)
        fprintf(stderr, "%s: %s: %s\n", what, ssq_status_name(status),
                ssq_last_error());
    return status == SSQ_OK;
}

bool run_scaler_create(ssq_device *device, const struct run_options *o,
                       const ssq_policy *policy, ssq_scaler **scaler)
{
    if (!policy->scaling && o->loss_scale <= 0.0)
        return true;
    ssq_scaler_options s = SSQ_SCALER_OPTIONS_INIT;
    const char *preset = o->loss_scale > 0.0 ? "fixed" : o->scaler;
    if (!run_ok(ssq_scaler_options_preset(preset, &s), preset))
        return false;
    if (o->loss_scale > 0.0)
        s.init_scale = o->loss_scale;
    else if (o->interval > 0)
        s.growth_interval = o->interval;
    return run_ok(ssq_scaler_create(device, NULL, &s, scaler), "scaler");
}

void run_progress(const struct run_options *o, const struct run_epoch *e,
                  FILE *log)
{
    if (log != NULL)
        fprintf(log, "%u\t%lu\t%.6g\t%.4f\t%g\t%u\n", e->epoch, e->steps,
                e->loss, e->accuracy, e->scale.scale, e->scale.skipped);
    if (o->quiet)
        return;
    bool terminal = isatty(STDOUT_FILENO);
    char bar[25];
    unsigned full = 24 * e->epoch / e->epochs;
    for (unsigned i = 0; i < 24; i++)
        bar[i] = i < full ? '#' : '.';
    bar[24] = '\0';
    printf("%s[%s] epoch %u/%u  loss %.4f  accuracy %.2f%%  scale %g  "
           "skipped %u%s",
           terminal ? "\r" : "", bar, e->epoch, e->epochs, e->loss,
           100.0 * e->accuracy, e->scale.scale, e->scale.skipped,
           terminal && e->epoch < e->epochs ? "\033[K" : "\n");
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
    fprintf(*log, "epoch\tsteps\tloss\taccuracy\tscale\tskipped\n");
    return true;
}
