/* SPDX-License-Identifier: Apache-2.0 */
/* throughput.c - `sesqui tune --train`: measures how fast a device trains. The
 * throughput is stored for the ranks that share batches by it. The step is the
 * same on all devices. It keeps a GPU busy, and takes a processor about a
 * second. */
#include "tools/bench/bench.h"

#include <stdlib.h>
#include <string.h>

/** As tools/bench/train.c reads it: 1024 tokens, 12.9 million parameters. */
#define STEP "4x256x4x8x512x256"

static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_F16, SSQ_BF16};
#define DTYPES (sizeof(dtypes) / sizeof(dtypes[0]))

/* Measure the steps a second. False: the library's text says why not. */
static bool throughput_measure(const struct options *o, ssq_queue *queue,
                               ssq_dtype dtype, double *throughput)
{
    static const struct bench_family alone = {.suite = "train"};
    struct workload w = {.device = ssq_queue_device(queue), .queue = queue};
    struct bench_rows rows = {.n = 0};
    const struct bench_family *family;
    char text[64];
    snprintf(text, sizeof(text), "gpt %s " STEP, ssq_dtype_name(dtype));
    bool good = case_read(text, &w.c) && workload_make(&w, &family) == SSQ_OK &&
                workload_time(&w, NULL, &alone,
                              o->seconds > 0.0 ? o->seconds : 10.0, &rows);
    if (good)
        *throughput = 1.0 / rows.row[0].median;
    workload_drop(&w);
    free(rows.row);
    return good;
}

static void print_throughput(const struct options *o, const char *device,
                             ssq_dtype dtype, double throughput, bool first)
{
    if (o->json) {
        printf("%s\n  {\"device\": ", first ? "" : ",");
        json_string(stdout, device);
        printf(", \"dtype\": \"%s\", \"steps_a_second\": %.6g}",
               ssq_dtype_name(dtype), throughput);
    } else {
        printf("%s trains in %s: %.4g steps a second\n", device,
               ssq_dtype_name(dtype), throughput);
    }
    fflush(stdout); /* the next one takes a while */
}

/* Return true if a dtype is selected. --types T names one dtype, not two;
 * without it all are selected. */
static bool asked(const struct options *o, ssq_dtype dtype)
{
    return o->types == NULL || strcmp(o->types, ssq_dtype_name(dtype)) == 0;
}

static bool tool_throughput_check(const struct options *o)
{
    bool known = false;
    for (size_t i = 0; i < DTYPES; i++)
        known = known || asked(o, dtypes[i]);
    if (!known)
        fprintf(stderr, "sesqui: tune: no dtype, as f32, f16 or bf16: %s\n",
                o->types);
    if (o->words > 0)
        fprintf(stderr, "sesqui: tune: --train has a step of its own: %s\n",
                o->word[0]);
    return known && o->words == 0;
}

int throughput_tune(const struct options *o, ssq_queue *queue)
{
    ssq_device *device = ssq_queue_device(queue);
    ssq_device_props props = SSQ_DEVICE_PROPS_INIT;
    bool first = true;
    int code = EXIT_FINE;
    struct tool_progress p;
    size_t total = 0, done = 0;
    if (!tool_throughput_check(o))
        return EXIT_USAGE;
    for (size_t i = 0; i < DTYPES && !o->clear; i++)
        total += asked(o, dtypes[i]);
    progress_begin(&p, "tune", total, false);
    if (ssq_device_props_get(device, &props) != SSQ_OK)
        return complain("tune");
    printf("%s", o->json && !o->clear ? "[" : "");
    for (size_t i = 0; i < DTYPES && code == EXIT_FINE; i++) {
        double throughput = 0.0;
        if (!asked(o, dtypes[i]))
            continue;
        progress_at(&p, done++, 0.0, ssq_dtype_name(dtypes[i]));
        if ((!o->clear &&
             !throughput_measure(o, queue, dtypes[i], &throughput)) ||
            ssq_training_rate_keep(device, dtypes[i], throughput) != SSQ_OK)
            code = complain("tune");
        progress_clear(&p);
        if (code == EXIT_FINE && !o->clear)
            print_throughput(o, props.name, dtypes[i], throughput, first);
        first = false;
    }
    if (o->clear && code == EXIT_FINE)
        printf("no rate of %s is kept\n", props.name);
    printf("%s", o->json && !o->clear ? "\n]\n" : "");
    return code;
}
