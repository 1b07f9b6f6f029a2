/* SPDX-License-Identifier: Apache-2.0 */
/* gather.c - rows of a table: enough that they go past the caches, and few,
 * from and to places of any alignment, with rows that the table does not have
 * and rows that end where it does; with every set of instructions. */
#include "tests/core/core.h"
#include "tests/cpu/sets.h"

#include <stdlib.h>

#define ROWS  977
#define WIDTH 1031 /* no whole number of lines */
#define MANY  4500 /* more than 8 MiB of 16 bits */
#define FEW   31
#define SPARE 3 /* elements before an operand that is placed unevenly */

static void must(ssq_status st, const char *what)
{
    if (st != SSQ_OK)
        tap_bail("%s: %s", what, ssq_last_error());
}

/* rows rows of a wider tensor, from its element SPARE of each on if `uneven`.
 */
static ssq_tensor *made(ssq_device *d, ssq_dtype dtype, int64_t rows,
                        bool uneven)
{
    const int64_t shape[] = {rows, WIDTH + (uneven ? SPARE : 0)};
    ssq_tensor *t = NULL, *view = NULL;
    must(ssq_tensor_create(d, dtype, 2, shape, &t), "tensor");
    if (!uneven)
        return t;
    must(ssq_tensor_slice(t, 1, SPARE, shape[1], 1, &view), "slice");
    ssq_tensor_destroy(&t);
    return view;
}

static size_t bytes_of(ssq_dtype dtype, int64_t rows)
{
    return (size_t)rows * WIDTH * (dtype == SSQ_F32 ? 4 : 2);
}

/* The first and the last row, one that does not exist, and others. */
static int32_t row_at(int64_t i)
{
    if (i % 11 == 3)
        return i % 2 == 0 ? ROWS : -1;
    return i % 7 == 0 ? ROWS - 1 : (int32_t)(i * 7919 % ROWS);
}

static bool rows_right(const char *y, const char *x, ssq_dtype dtype, int64_t n)
{
    const size_t row = bytes_of(dtype, 1);
    for (int64_t i = 0; i < n; i++) {
        int32_t from = row_at(i);
        const char *to = y + (size_t)i * row;
        if (from >= 0 && from < ROWS) {
            if (memcmp(to, x + (size_t)from * row, row) != 0)
                return false;
            continue;
        }
        for (size_t k = 0; k < row; k++)
            if (to[k] != 0)
                return false;
    }
    return true;
}

static void check(ssq_device *d, ssq_queue *q, const char *isa, ssq_dtype dtype,
                  int64_t n, bool uneven)
{
    const size_t x_bytes = bytes_of(dtype, ROWS), y_bytes = bytes_of(dtype, n);
    uint32_t *x = malloc(x_bytes + 4);
    char *y = malloc(y_bytes);
    int32_t *rows = malloc((size_t)n * sizeof(*rows));
    ssq_tensor *tx = made(d, dtype, ROWS, uneven), *index = NULL;
    ssq_tensor *ty = made(d, dtype, n, uneven);
    if (x == NULL || y == NULL || rows == NULL)
        tap_bail("no memory");
    for (size_t i = 0; i < x_bytes / 4 + 1; i++)
        x[i] = (uint32_t)i * 2654435761u | 1u;
    for (int64_t i = 0; i < n; i++)
        rows[i] = row_at(i);
    must(ssq_tensor_create(d, SSQ_I32, 1, &n, &index), "index");
    must(ssq_tensor_write(q, tx, x, x_bytes, dtype), "write");
    must(ssq_tensor_write(q, index, rows, (size_t)n * 4, SSQ_I32), "write");
    must(ssq_gather_rows(q, SSQ_GATHER_ROWS(.x = tx, .index = index, .y = ty)),
         "gather");
    must(ssq_tensor_read(q, ty, y, y_bytes, dtype), "read");
    must(ssq_queue_sync(q), "sync");
    tap_ok(rows_right(y, (const char *)x, dtype, n),
           "%s: %lld rows of %d %s%s are the table's, or zeros", isa,
           (long long)n, WIDTH, ssq_dtype_name(dtype),
           uneven ? ", unevenly," : "");
    ssq_tensor_destroy(&tx);
    ssq_tensor_destroy(&ty);
    ssq_tensor_destroy(&index);
    free(x);
    free(y);
    free(rows);
}

int main(void)
{
    const char *isas[SETS_MOST];
    const size_t sets = sets_find(isas);
    static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_F16};
    for (size_t i = 0; i < sets; i++) {
        ssq_device *d = NULL;
        ssq_queue *q = NULL;
        setenv("SSQ_CPU_ISA", isas[i], 1);
        must(ssq_device_open("cpu", NULL, &d), "open");
        must(ssq_queue_create(d, NULL, &q), "queue");
        for (int k = 0; k < 8; k++)
            check(d, q, isas[i], dtypes[k % 2], k / 2 % 2 == 0 ? MANY : FEW,
                  k / 4 == 1);
        ssq_queue_destroy(&q);
        ssq_device_close(&d);
    }
    return tap_done(8 * (long)sets);
}
