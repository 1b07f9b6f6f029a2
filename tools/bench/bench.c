/* SPDX-License-Identifier: Apache-2.0 */
/* bench.c - `sesqui bench`: selects the cases and the devices.
 *
 * The first word is a suite: the cases of a family, or `latency` for the
 * costs before an op's own work. With `-` cases are read from standard
 * input, one a line, and each line is answered before the next is read. The
 * peers in bench/peers/ do the same, so that a caller can time several
 * programs in turn. Without a word it times latency and the largest cases of
 * the tests' tables. */
#include "tools/bench/bench.h"

#include <stdlib.h>
#include <string.h>

struct bench {
    const struct options *o;
    const struct bench_family *family; /* NULL: no suite, or latency */
    bool latency, answer;
    ssq_device *device[2]; /* the second is for --vs, or NULL */
    ssq_queue *queue[2];
    ssq_device_props props[2];
    double start;
    struct roofs roofs;
    struct bench_rows rows;
    struct bench_report report;
};

/* ---- cases ---- */

/* Return the highest roof for a dtype. An f16 is split into the sum of two
 * bf16, so that one f16 product takes four bf16 tile products. */
static double roof_of(const struct roofs *r, ssq_dtype dtype)
{
    const double bf16 = r->dot > r->tile ? r->dot : r->tile;
    const double most = dtype == SSQ_BF16  ? bf16
                        : dtype == SSQ_F16 ? r->tile / 4.0
                                           : 0.0;
    return most > r->fma ? most : r->fma;
}

/* Return true if there is time for a case at the roofs' speed. If not, add a
 * row that says so. A case from standard input is always timed. */
static bool bench_affordable(struct bench *b, const struct workload *w,
                             const struct bench_family *f, bool *ok)
{
    if (b->answer)
        return true;
    double seconds =
        1e-9 * (w->flops / b->roofs.fma + w->bytes / b->roofs.bytes);
    if (2.0 * seconds <= b->o->seconds)
        return true;
    struct bench_row *row =
        rows_add(&b->rows, f->suite, w->c.op, w->impl, &seconds, 1);
    *ok = row != NULL;
    if (*ok) {
        row->runs = 0;
        snprintf(row->text, sizeof(row->text), "%s", w->c.text);
    }
    return false;
}

/* Time a case on the devices. Returns the error if a device does not support
 * it; the caller reports that and continues. */
static ssq_status run_case(struct bench *b, const struct bench_case *c)
{
    struct workload w[2] = {{.c = *c}, {.c = *c}};
    const struct bench_family *f = NULL;
    const int devices = b->device[1] != NULL ? 2 : 1;
    ssq_status st = SSQ_OK;
    for (int i = 0; i < devices && st == SSQ_OK; i++) {
        w[i].device = b->device[i];
        w[i].queue = b->queue[i];
        st = workload_make(&w[i], &f);
    }
    bool ok = true;
    if (st == SSQ_OK && bench_affordable(b, &w[0], f, &ok)) {
        ok = workload_time(&w[0], devices == 2 ? &w[1] : NULL, f, b->o->seconds,
                           &b->rows);
        if (ok)
            b->rows.row[b->rows.n - 1].peak = roof_of(&b->roofs, c->dtype);
    }
    for (int i = 0; i < devices; i++)
        workload_drop(&w[i]);
    return st != SSQ_OK ? st : ok ? SSQ_OK : SSQ_ERR_DEVICE;
}

static bool bench_wanted(const struct options *o, const struct bench_case *c)
{
    return o->op == NULL || name_selects(o->op, c->op);
}

static void bench_list(const struct options *o, const struct bench_family *f)
{
    struct bench_case c;
    for (size_t i = 0; family_case(f, i, &c); i++)
        if (bench_wanted(o, &c))
            printf("%s\n", c.text);
}

static size_t count_cases(const struct bench *b)
{
    struct bench_case c;
    size_t n = 0;
    for (size_t i = 0; family_case(b->family, i, &c); i++)
        n += bench_wanted(b->o, &c);
    return n;
}

static bool run_suite(struct bench *b)
{
    struct bench_case c;
    struct tool_progress p;
    size_t done = 0;
    progress_begin(&p, "bench", count_cases(b), false);
    for (size_t i = 0; family_case(b->family, i, &c); i++) {
        if (!bench_wanted(b->o, &c))
            continue;
        progress_at(&p, done++, 0.0, c.text);
        if (run_case(b, &c) == SSQ_OK)
            continue;
        progress_clear(&p);
        fprintf(stderr, "sesqui: bench: %s: %s\n", c.text, ssq_last_error());
    }
    progress_clear(&p);
    return true;
}

/* ---- answers ---- */

static void answer_skipped(const struct bench *b, const char *text,
                           const char *why)
{
    printf("{\"device\": \"%s\", \"case\": ", b->props[0].name);
    json_string(stdout, text);
    printf(", \"skipped\": ");
    json_string(stdout, why);
    printf("}\n");
}

static void answer_roofs(struct bench *b)
{
    const struct workload w = {.device = b->device[0], .queue = b->queue[0]};
    if (roofs_measure(&w, &b->roofs))
        printf(
            "{\"device\": \"%s\", \"case\": \"roofs\", \"fma_gflops\": %.6g, "
            "\"dot_gflops\": %.6g, \"tile_gflops\": %.6g, "
            "\"copy_gbytes_s\": %.6g}\n",
            b->props[0].name, b->roofs.fma, b->roofs.dot, b->roofs.tile,
            b->roofs.bytes);
    else
        answer_skipped(b, "roofs", ssq_last_error());
    b->rows.gbytes = b->roofs.bytes;
}

/* Answer a line of standard input. Every line has exactly one answer. */
static void bench_answer(struct bench *b, const char *line)
{
    struct bench_case c;
    if (strcmp(line, "roofs") == 0) {
        answer_roofs(b);
    } else if (!case_read(line, &c)) {
        answer_skipped(b, line, "no case, as gemm f32 64x64x64");
    } else {
        const size_t before = b->rows.n;
        ssq_status st = run_case(b, &c);
        if (b->rows.n > before)
            report_row(&b->report, &b->rows, &b->rows.row[before], true);
        else
            answer_skipped(b, line,
                           st == SSQ_ERR_NOT_FOUND ? "no such case"
                                                   : ssq_last_error());
    }
    fflush(stdout);
}

/* Answer lines until the input ends or standard output fails. */
static int bench_answer_all(struct bench *b)
{
    char *line = NULL;
    size_t room = 0;
    b->report.form = REPORT_LINES;
    while (ferror(stdout) == 0 && getline(&line, &room, stdin) >= 0) {
        line[strcspn(line, "\n")] = '\0';
        bench_answer(b, line);
    }
    free(line);
    if (ferror(stdin) == 0)
        return EXIT_FINE;
    fprintf(stderr, "sesqui: bench: standard input cannot be read\n");
    return EXIT_FAILED;
}

/* ---- runs ---- */

/* Time the calls, which are in no table, and then the tables. */
static bool bench_run_tables(struct bench *b)
{
    const bool call = b->o->op != NULL && calls_known(b->o->op);
    if (!calls_time(b->queue[0], b->o, b->start, &b->rows))
        return false;
    return call || b->latency ||
           tables_time(b->device[0], b->queue[0], b->o, &b->rows);
}

static bool bench_run(struct bench *b)
{
    const struct workload w = {.device = b->device[0], .queue = b->queue[0]};
    if (b->family == NULL)
        return bench_run_tables(b);
    if (!roofs_measure(&w, &b->roofs))
        return false;
    b->rows.gbytes = b->roofs.bytes;
    return run_suite(b);
}

static void print_roof(double gflops, const char *what)
{
    if (gflops > 0.0)
        printf("%.3f GFLOP/s of %s, ", gflops, what);
}

/* Print the peaks as a comment line, which a program that reads
 * numbers skips. */
static void print_peaks(const struct bench *b)
{
    if (b->rows.gbytes <= 0.0)
        return;
    printf("# %s: measured here: ", b->props[0].name);
    print_roof(b->roofs.fma, "multiply-adds");
    print_roof(b->roofs.dot, "bf16 dot products");
    print_roof(b->roofs.tile, "bf16 tiles");
    print_roof(b->rows.gflops, "a square gemm");
    printf("%.3f GB/s of a copy of %d MiB\n", b->rows.gbytes,
           b->family != NULL ? 256 : 32);
}

/* Print all rows; all were measured before. @return an exit_code */
static int report_all(struct bench *b, bool ok)
{
    size_t timed = 0;
    if (b->report.form == REPORT_TEXT)
        print_peaks(b);
    report_begin(&b->report, &b->rows);
    for (size_t i = 0; i < b->rows.n; i++) {
        report_row(&b->report, &b->rows, &b->rows.row[i], i == 0);
        timed += b->rows.row[i].runs > 0;
    }
    report_end(&b->report);
    if (b->o->plot != NULL && ok)
        ok = roofline_write(b->o->plot, b->props[0].name, &b->roofs, &b->rows);
    if (ok && timed == 0)
        fprintf(stderr, "sesqui: bench: nothing was timed\n");
    return ok && timed > 0 ? EXIT_FINE : EXIT_FAILED;
}

static int time_all(struct bench *b)
{
    bool ok = bench_run(b);
    if (!ok)
        complain("bench");
    return report_all(b, ok);
}

/* ---- devices and options ---- */

static ssq_status open_devices(struct bench *b)
{
    const char *name = b->o->device == NULL ? "auto" : b->o->device;
    double ignored;
    ssq_status st = start_device(name, &b->device[0], &b->queue[0], &b->start);
    if (st == SSQ_OK && b->o->vs != NULL)
        st = start_device(b->o->vs, &b->device[1], &b->queue[1], &ignored);
    for (int i = 0; i < 2 && st == SSQ_OK && b->device[i] != NULL; i++) {
        b->props[i] = (ssq_device_props)SSQ_DEVICE_PROPS_INIT;
        st = ssq_device_props_get(b->device[i], &b->props[i]);
    }
    return st;
}

static int bench_usage(const char *what, const char *word)
{
    fprintf(stderr, "sesqui: bench: %s%s; see sesqui --help\n", what, word);
    return EXIT_USAGE;
}

#define OPS_MOST 64 /* maximum ops of a suite */

/* Return true if --op names something that is timed here. If not, an error
 * was printed. */
static bool op_known(const struct bench *b)
{
    static char ops[OPS_MOST][sizeof(((struct bench_case *)NULL)->op)];
    const char *names[OPS_MOST + 1];
    struct bench_case c;
    size_t n = 0;
    for (size_t i = 0; b->family != NULL && n < OPS_MOST; i++) {
        if (!family_case(b->family, i, &c))
            break;
        if (n == 0 || strcmp(ops[n - 1], c.op) != 0)
            memcpy(ops[n++], c.op, sizeof(c.op));
    }
    for (size_t i = 0; i < n; i++)
        names[i] = ops[i];
    names[n] = NULL;
    return names_check("bench", "nothing to be timed", b->o->op,
                       b->family == NULL && !b->latency,
                       b->family == NULL ? calls_names : names);
}

/* Choose the suite that the command line names. @return an exit_code */
static int bench_choose(struct bench *b)
{
    const struct options *o = b->o;
    const char *word = o->words > 0 ? o->word[0] : "";
    if (o->words > 1)
        return bench_usage("one suite at a time, not also ", o->word[1]);
    b->latency = strcmp(word, "latency") == 0;
    b->answer = strcmp(word, "-") == 0;
    for (size_t i = 0; bench_families[i] != NULL; i++)
        if (strcmp(bench_families[i]->suite, word) == 0)
            b->family = bench_families[i];
    if (o->words > 0 && b->family == NULL && !b->latency && !b->answer)
        return bench_usage("no such suite: ", word);
    if (b->family == NULL && (o->list || o->plot != NULL))
        return bench_usage("a suite of cases has --list and --plot", "");
    if (b->family == NULL && !b->answer && o->vs != NULL)
        return bench_usage("a suite of cases has --vs", "");
    if (o->json && o->csv)
        return bench_usage("either --json or --csv", "");
    if (b->answer && (o->csv || o->op != NULL))
        return bench_usage("cases that are read have no --csv and no --op", "");
    if (o->op != NULL && !op_known(b))
        return EXIT_USAGE;
    return EXIT_FINE;
}

int command_bench(const struct options *options)
{
    struct options o = *options;
    struct bench b = {.o = &o};
    if (o.seconds <= 0.0)
        o.seconds = 10.0;
    int code = bench_choose(&b);
    if (code != EXIT_FINE)
        return code;
    if (o.list) {
        bench_list(&o, b.family);
        return EXIT_FINE;
    }
    if (o.plot != NULL && !roofline_check(o.plot))
        return EXIT_FAILED;
    /* --op open times the first open of a device in this process: a child would
     * already have compiled its kernels */
    const bool first = o.op != NULL && strcmp(o.op, "open") == 0;
    if (!first && !drivers_try(o.device, o.vs) &&
        (o.device != NULL || o.vs != NULL))
        return EXIT_FAILED;
    ssq_status st = open_devices(&b);
    if (st == SSQ_OK) {
        b.report = (struct bench_report){.device = b.props[0].name,
                                         .vs = o.vs,
                                         .budget = o.seconds,
                                         .form = o.csv    ? REPORT_CSV
                                                 : o.json ? REPORT_JSON
                                                          : REPORT_TEXT};
        code = b.answer ? bench_answer_all(&b) : time_all(&b);
    } else {
        complain("bench");
        code = st == SSQ_ERR_NOT_FOUND ? EXIT_USAGE : EXIT_FAILED;
    }
    free(b.rows.row);
    for (int i = 0; i < 2; i++) {
        ssq_queue_destroy(&b.queue[i]);
        ssq_device_close(&b.device[i]);
    }
    return code;
}
