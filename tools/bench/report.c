/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - rows as text, as an array of JSON, as lines of JSON, as CSV. */
#include "tools/bench/bench.h"

#include <inttypes.h>
#include <string.h>

/* A row's numbers as they are printed. */
struct figures {
    double gflops, gbytes, intensity, of_peak, spread;
};

/* Of the two peaks the one that a case comes nearer to is taken to be what
 * bounds it. */
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

static void text_row(const struct report *r, const struct bench_row *row,
                     const struct figures *f)
{
    const char *impl = row->impl[0] == '\0' ? "-" : row->impl;
    if (row->runs == 0) {
        printf("%-10s %-10s left out: a run would take about %.3g s, and two "
               "more than --seconds %g: %s\n",
               r->device, impl, row->median, r->budget, row->text);
        return;
    }
    printf("%-10s %-10s %2zu x %9.5f ms %5.0f %% %9.3f GFLOP/s %8.3f GB/s "
           "%5.0f %% %5.0f %%  %s",
           r->device, impl, row->runs, 1e3 * row->median, 100.0 * f->spread,
           f->gflops, f->gbytes, 100.0 * f->of_peak, 100.0 * row->copy,
           row->text);
    if (row->of_bound >= 0.0)
        printf(", error %.2g of its bound", row->of_bound);
    if (row->submissions >= 0)
        printf(", %" PRId64 " submissions", row->submissions);
    if (row->waits >= 0)
        printf(row->waits > 0 ? ", the host waits" : ", no wait of the host");
    if (row->rival > 0.0)
        printf(", %.2f x %s", row->rival / row->median, r->vs);
    printf("\n");
}

static void json_key(const char *key, const char *value)
{
    printf("\"%s\": ", key);
    json_string(stdout, value);
    printf(", ");
}

static void json_row(const struct report *r, const struct bench_row *row,
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
           "\"max_s\": %.9g, \"gflops\": %.6g, \"gbytes_s\": %.6g, "
           "\"intensity\": %.4g, \"of_peak\": %.4g, \"of_copy\": %.4g",
           row->runs, row->median, row->least, row->most, f->gflops, f->gbytes,
           f->intensity, f->of_peak, row->copy);
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

/* Cases have no quotes and no commas, but for those of tables, which have no
 * quotes. */
static void csv_row(const struct report *r, const struct bench_row *row,
                    const struct figures *f)
{
    printf("%s,%s,%s,%s,\"%s\",%zu,", r->device, row->suite, row->op, row->impl,
           row->text, row->runs);
    if (row->runs > 0)
        printf("%.9g,%.9g,%.9g,%.6g,%.6g,%.4g,%.4g,%.4g,", row->median,
               row->least, row->most, f->gflops, f->gbytes, f->intensity,
               f->of_peak, row->copy);
    else
        printf(",,,,,,,,");
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

void report_begin(const struct report *r)
{
    if (r->form == REPORT_JSON)
        printf("[");
    if (r->form == REPORT_CSV)
        printf("device,suite,op,implementation,case,runs,median_s,min_s,max_s,"
               "gflops,gbytes_s,intensity,of_peak,of_copy,of_bound,"
               "submissions,host_waits,vs_median_s\n");
}

void report_row(const struct report *r, const struct bench_rows *all,
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

void report_end(const struct report *r)
{
    if (r->form == REPORT_JSON)
        printf("\n]\n");
}
