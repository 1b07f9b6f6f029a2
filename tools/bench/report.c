/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - prints rows as text, as a JSON array, as lines of JSON, or as CSV.
 * A missing value is "-" in text, empty in CSV and absent in JSON. The text
 * leaves out a column if no row has a value in it. */
#include "tools/bench/bench.h"

#include <inttypes.h>
#include <string.h>

/* The printed numbers of a row. */
struct figures {
    double gflops, gbytes, intensity, of_peak, spread;
};

/* Compute the numbers of a row. of_peak is the share of the nearer of the two
 * peaks, which is assumed to limit the case. */
static struct figures figures_of(const struct bench_rows *all,
                                 const struct bench_row *row)
{
    struct figures f = {.gflops = row->flops / row->median * 1e-9,
                        .gbytes = row->bytes / row->median * 1e-9};
    double of_compute = row->peak > 0.0 ? f.gflops / row->peak : 0.0;
    double of_memory = all->gbytes > 0.0 ? f.gbytes / all->gbytes : 0.0;
    f.of_peak = of_compute > of_memory ? of_compute : of_memory;
    f.intensity = row->bytes > 0.0 ? row->flops / row->bytes : 0.0;
    f.spread = (row->most - row->least) / row->median;
    return f;
}

/* Print a cell if the report has its column; "-" without a value. */
static void report_cell(bool column, int width, bool has, const char *format,
                        double value)
{
    char text[32] = "-";
    if (!column)
        return;
    if (has)
        snprintf(text, sizeof(text), format, value);
    printf(" %*s", width, text);
}

static void text_row(const struct bench_report *r, const struct bench_row *row,
                     const struct figures *f)
{
    const char *impl = row->impl[0] == '\0' ? "-" : row->impl;
    if (row->runs == 0) {
        printf("%-10s %-10s left out: a run would take about %.3g s, and two "
               "more than --seconds %g: %s\n",
               r->device, impl, row->median, r->budget, row->text);
        return;
    }
    printf("%-10s %-10s %4zu %11.5f %4.0f %%", r->device, impl, row->runs,
           1e3 * row->median, 100.0 * f->spread);
    report_cell(r->flops, 9, row->flops > 0.0, "%.3f", f->gflops);
    report_cell(r->bytes, 8, row->bytes > 0.0, "%.3f", f->gbytes);
    report_cell(r->peak, 7, f->of_peak > 0.0, "%.0f %%", 100.0 * f->of_peak);
    report_cell(r->copy, 7, row->copy > 0.0, "%.0f %%", 100.0 * row->copy);
    report_cell(r->of_bound, 8, row->of_bound >= 0.0, "%.2g", row->of_bound);
    report_cell(r->submissions, 11, row->submissions >= 0, "%.0f",
                (double)row->submissions);
    if (r->waits)
        printf(" %10s", row->waits < 0 ? "-" : row->waits > 0 ? "yes" : "no");
    report_cell(r->rival, 10, row->rival > 0.0, "%.2f",
                row->rival / row->median);
    printf("  %s\n", row->text);
}

/* Find the columns in which some row has a value. */
static void find_columns(struct bench_report *r, const struct bench_rows *all)
{
    for (size_t i = 0; i < all->n; i++) {
        const struct bench_row *row = &all->row[i];
        if (row->runs == 0)
            continue;
        r->flops = r->flops || row->flops > 0.0;
        r->bytes = r->bytes || row->bytes > 0.0;
        r->peak = r->peak || figures_of(all, row).of_peak > 0.0;
        r->copy = r->copy || row->copy > 0.0;
        r->of_bound = r->of_bound || row->of_bound >= 0.0;
        r->submissions = r->submissions || row->submissions >= 0;
        r->waits = r->waits || row->waits >= 0;
        r->rival = r->rival || row->rival > 0.0;
    }
}

static void heading(bool column, int width, const char *name)
{
    if (column)
        printf(" %*s", width, name);
}

/* Print explanations of the columns as comments, and the names of
 * the columns. */
static void text_begin(const struct bench_report *r)
{
    printf("# spread: (max - min) / median");
    if (r->peak)
        printf("; of peak: of the nearer one");
    if (r->copy)
        printf("; of copy: of the rate of a copy of as many bytes");
    if (r->of_bound)
        printf("; of bound: the worst error over its bound");
    if (r->rival)
        printf("; x vs: times as long on %s", r->vs);
    printf("\n%s%-10s %-10s %4s %11s %6s", colour_bold(), "device", "impl",
           "runs", "median ms", "spread");
    heading(r->flops, 9, "GFLOP/s");
    heading(r->bytes, 8, "GB/s");
    heading(r->peak, 7, "of peak");
    heading(r->copy, 7, "of copy");
    heading(r->of_bound, 8, "of bound");
    heading(r->submissions, 11, "submissions");
    heading(r->waits, 10, "host waits");
    heading(r->rival, 10, "x vs");
    printf("  case%s\n", colour_off());
}

static void json_key(const char *key, const char *value)
{
    printf("\"%s\": ", key);
    json_string(stdout, value);
    printf(", ");
}

static void report_json_number(const char *key, bool has, const char *format,
                               double value)
{
    char text[32];
    snprintf(text, sizeof(text), format, value);
    if (has)
        printf(", \"%s\": %s", key, text);
}

static void json_row(const struct bench_report *r, const struct bench_row *row,
                     const struct figures *f)
{
    printf("{");
    json_key("device", r->device);
    json_key("suite", row->suite);
    json_key("op", row->op);
    json_key("implementation", row->impl);
    json_key("case", row->text);
    if (row->runs == 0) {
        printf("\"runs\": 0, \"expected_s\": %.3g}", row->median);
        return;
    }
    printf("\"runs\": %zu, \"median_s\": %.9g, \"min_s\": %.9g, "
           "\"max_s\": %.9g",
           row->runs, row->median, row->least, row->most);
    report_json_number("gflops", row->flops > 0.0, "%.6g", f->gflops);
    report_json_number("gbytes_s", row->bytes > 0.0, "%.6g", f->gbytes);
    report_json_number("intensity", f->intensity > 0.0, "%.4g", f->intensity);
    report_json_number("of_peak", f->of_peak > 0.0, "%.4g", f->of_peak);
    report_json_number("of_copy", row->copy > 0.0, "%.4g", row->copy);
    if (row->of_bound >= 0.0)
        printf(", \"of_bound\": %.4g", row->of_bound);
    if (row->submissions >= 0)
        printf(", \"submissions\": %" PRId64, row->submissions);
    if (row->waits >= 0)
        printf(", \"host_waits\": %d", row->waits);
    if (row->rival > 0.0) {
        printf(", ");
        json_key("vs", r->vs);
        printf("\"vs_median_s\": %.9g, \"ratio\": %.4g", row->rival,
               row->rival / row->median);
    }
    printf("}");
}

static void csv_number(bool has, const char *format, double value)
{
    char text[32] = "";
    if (has)
        snprintf(text, sizeof(text), format, value);
    printf("%s,", text);
}

/* Print a row as CSV. The case is quoted, because cases of tables have commas.
 * No case has quotes. */
static void csv_row(const struct bench_report *r, const struct bench_row *row,
                    const struct figures *f)
{
    printf("%s,%s,%s,%s,\"%s\",%zu,", r->device, row->suite, row->op, row->impl,
           row->text, row->runs);
    if (row->runs > 0)
        printf("%.9g,%.9g,%.9g,", row->median, row->least, row->most);
    else
        printf(",,,");
    csv_number(row->runs > 0 && row->flops > 0.0, "%.6g", f->gflops);
    csv_number(row->runs > 0 && row->bytes > 0.0, "%.6g", f->gbytes);
    csv_number(row->runs > 0 && f->intensity > 0.0, "%.4g", f->intensity);
    csv_number(row->runs > 0 && f->of_peak > 0.0, "%.4g", f->of_peak);
    csv_number(row->runs > 0 && row->copy > 0.0, "%.4g", row->copy);
    if (row->of_bound >= 0.0)
        printf("%.4g", row->of_bound);
    printf(",");
    if (row->submissions >= 0)
        printf("%" PRId64, row->submissions);
    printf(",");
    if (row->waits >= 0)
        printf("%d", row->waits);
    printf(",");
    if (row->rival > 0.0)
        printf("%.9g", row->rival);
    printf("\n");
}

void report_begin(struct bench_report *r, const struct bench_rows *all)
{
    if (r->form == REPORT_TEXT) {
        find_columns(r, all);
        text_begin(r);
    }
    if (r->form == REPORT_JSON)
        printf("[");
    if (r->form == REPORT_CSV)
        printf("device,suite,op,implementation,case,runs,median_s,min_s,max_s,"
               "gflops,gbytes_s,intensity,of_peak,of_copy,of_bound,"
               "submissions,host_waits,vs_median_s\n");
}

void report_row(const struct bench_report *r, const struct bench_rows *all,
                const struct bench_row *row, bool first)
{
    struct figures f = figures_of(all, row);
    if (r->form == REPORT_TEXT) {
        text_row(r, row, &f);
    } else if (r->form == REPORT_CSV) {
        csv_row(r, row, &f);
    } else {
        if (r->form == REPORT_JSON)
            printf("%s\n  ", first ? "" : ",");
        json_row(r, row, &f);
        if (r->form == REPORT_LINES)
            printf("\n");
    }
}

void report_end(const struct bench_report *r)
{
    if (r->form == REPORT_JSON)
        printf("\n]\n");
}
