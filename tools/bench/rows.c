/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - the rows of a report. */
#include "tools/bench/bench.h"

#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double rows_median(double *x, size_t n)
{
    qsort(x, n, sizeof(double), by_value);
    return x[n / 2];
}

struct bench_row *rows_add(struct bench_rows *all, const char *suite,
                           const char *op, const char *impl, double *seconds,
                           size_t n)
{
    if (all->n == all->room) {
        all->room = all->room * 2 + 64;
        struct bench_row *row = realloc(all->row, all->room * sizeof(*row));
        if (row == NULL)
            return NULL;
        all->row = row;
    }
    struct bench_row *row = &all->row[all->n++];
    *row = (struct bench_row){.suite = suite,
                              .runs = n,
                              .of_bound = -1.0,
                              .submissions = -1,
                              .waits = -1,
                              .median = rows_median(seconds, n),
                              .least = seconds[0],
                              .most = seconds[n - 1]};
    snprintf(row->op, sizeof(row->op), "%s", op);
    snprintf(row->impl, sizeof(row->impl), "%s", impl);
    return row;
}
