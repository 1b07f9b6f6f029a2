/* SPDX-License-Identifier: Apache-2.0 */
/* rows.c - softmax, cross-entropy and layer norm by rows: the bits of the
 * plans, with every set of instructions; of rows that are kept and rows that
 * are too long for that, and of results that go past the caches, whole vectors
 * or not. */
#include "tests/core/core.h"
#include "tests/cpu/sets.h"

#include <math.h>
#include <stdlib.h>

/* Rows of few elements, and of fewer than a vector has; of a result of more
 * than 8 MiB, in 16 bits too, whose rows begin anywhere; and of more elements
 * than softmax keeps. */
static const struct shape {
    int64_t rows, n;
} shapes[] = {{300, 64}, {77, 100},    {9001, 10},   {300, 3},   {70, 1},
              {33, 15},  {4100, 1031}, {130, 16501}, {40, 12421}};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

enum { X, G, Y, OPERANDS };

struct rows_harness {
    ssq_device *device;
    ssq_queue *queue;
    int64_t rows, n;
    ssq_tensor *t[OPERANDS], *gamma, *beta, *mean, *rstd, *target;
    float *got, *want;
};

static void must(ssq_status st, const char *what)
{
    if (st != SSQ_OK)
        tap_bail("%s: %s", what, ssq_last_error());
}

static ssq_status softmax(struct rows_harness *b)
{
    return ssq_softmax(b->queue, SSQ_SOFTMAX(.x = b->t[X], .y = b->t[Y]));
}

static ssq_status log_softmax(struct rows_harness *b)
{
    return ssq_log_softmax(b->queue,
                           SSQ_LOG_SOFTMAX(.x = b->t[X], .y = b->t[Y]));
}

static ssq_status softmax_backward(struct rows_harness *b)
{
    return ssq_softmax_backward(
        b->queue,
        SSQ_SOFTMAX_BACKWARD(.y = b->t[X], .dy = b->t[G], .dx = b->t[Y]));
}

static ssq_status layer_norm(struct rows_harness *b)
{
    return ssq_layer_norm(b->queue,
                          SSQ_LAYER_NORM(.x = b->t[X], .gamma = b->gamma,
                                         .beta = b->beta, .y = b->t[Y],
                                         .mean = b->mean, .rstd = b->rstd));
}

static ssq_status layer_norm_backward(struct rows_harness *b)
{
    return ssq_layer_norm_backward(
        b->queue, SSQ_LAYER_NORM_BACKWARD(.x = b->t[X], .gamma = b->gamma,
                                          .mean = b->mean, .rstd = b->rstd,
                                          .dy = b->t[G], .dx = b->t[Y]));
}

static ssq_status rms_norm(struct rows_harness *b)
{
    return ssq_rms_norm(
        b->queue, SSQ_RMS_NORM(.x = b->t[X], .gamma = b->gamma, .y = b->t[Y]));
}

/* Of a mean what it divides by is another sum than the plan's. */
static ssq_status cross_entropy(struct rows_harness *b)
{
    return ssq_cross_entropy(
        b->queue, SSQ_CROSS_ENTROPY(.logits = b->t[X], .target = b->target,
                                    .weight = b->gamma, .dlogits = b->t[Y],
                                    .reduction = SSQ_REDUCTION_SUM));
}

/* layer_norm is before its gradient, which reads its statistics. */
static const struct row_op {
    const char *name, *table;
    ssq_status (*run)(struct rows_harness *b);
} ops[] = {
    {"softmax", "softmax", softmax},
    {"log_softmax", "softmax", log_softmax},
    {"softmax_backward", "softmax_backward", softmax_backward},
    {"cross_entropy", "cross_entropy", cross_entropy},
    {"layer_norm", "layer_norm", layer_norm},
    {"layer_norm_backward", "layer_norm_backward", layer_norm_backward},
    {"rms_norm", "layer_norm", rms_norm},
};
#define OPS (sizeof(ops) / sizeof(ops[0]))

/* ---- operands ---- */

static float element(int64_t row, int64_t i, uint32_t seed)
{
    uint32_t h = (uint32_t)(row * 7919 + i) * 2654435761u + seed;
    float x = (float)(h >> 8) * 0x1p-21f - 4;
    if (row == 3 && i == 5)
        return NAN;
    if (row == 5 || (row == 6 && i == 7))
        return row == 5 ? -INFINITY : INFINITY;
    return x;
}

static void fill(struct rows_harness *b, ssq_tensor *t, int64_t rows,
                 uint32_t seed)
{
    size_t n = (size_t)(rows * b->n);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t i = 0; i < b->n; i++)
            b->got[r * b->n + i] = element(r, i, seed);
    must(ssq_tensor_write(b->queue, t, b->got, n * sizeof(float), SSQ_F32),
         "write");
    must(ssq_queue_sync(b->queue), "sync");
}

/* One row in 8 is ignored, and one has a target that is not a class. */
static void fill_target(struct rows_harness *b)
{
    int32_t *t = (int32_t *)b->got;
    for (int64_t r = 0; r < b->rows; r++)
        t[r] = r % 8 == 1   ? -100
               : r % 8 == 2 ? (int32_t)b->n
                            : (int32_t)(r * 131 % b->n);
    must(ssq_tensor_write(b->queue, b->target, t, (size_t)b->rows * sizeof(*t),
                          SSQ_I32),
         "write");
    must(ssq_queue_sync(b->queue), "sync");
}

static ssq_tensor *made(struct rows_harness *b, ssq_dtype dtype, int rank,
                        int64_t rows, int64_t n)
{
    ssq_tensor *t = NULL;
    must(ssq_tensor_create(b->device, dtype, rank,
                           rank == 1 ? &n : (int64_t[]){rows, n}, &t),
         "tensor");
    return t;
}

static void open_harness(struct rows_harness *b, const struct shape *s,
                         ssq_dtype dtype)
{
    size_t bytes = (size_t)(s->rows * s->n) * sizeof(float);
    b->rows = s->rows;
    b->n = s->n;
    b->got = malloc(bytes);
    b->want = malloc(bytes);
    if (b->got == NULL || b->want == NULL)
        tap_bail("no memory");
    for (int i = 0; i < OPERANDS; i++)
        b->t[i] = made(b, dtype, 2, s->rows, s->n);
    b->gamma = made(b, dtype, 1, 1, s->n);
    b->beta = made(b, dtype, 1, 1, s->n);
    b->mean = made(b, SSQ_F32, 2, s->rows, 1);
    b->rstd = made(b, SSQ_F32, 2, s->rows, 1);
    b->target = made(b, SSQ_I32, 1, 1, s->rows);
    fill_target(b);
    fill(b, b->t[X], b->rows, 1);
    fill(b, b->t[G], b->rows, 2);
    fill(b, b->gamma, 1, 3);
    fill(b, b->beta, 1, 4);
}

static void close_harness(struct rows_harness *b)
{
    for (int i = 0; i < OPERANDS; i++)
        ssq_tensor_destroy(&b->t[i]);
    ssq_tensor_destroy(&b->gamma);
    ssq_tensor_destroy(&b->beta);
    ssq_tensor_destroy(&b->mean);
    ssq_tensor_destroy(&b->rstd);
    ssq_tensor_destroy(&b->target);
    free(b->got);
    free(b->want);
}

/* ---- cases ---- */

static void run(struct rows_harness *b, const struct row_op *op,
                const char *impl, float *to)
{
    size_t bytes = (size_t)(b->rows * b->n) * sizeof(float);
    must(ssq_implementation_pin(b->device, op->table, impl), "pin");
    must(op->run(b), op->name);
    must(ssq_tensor_read(b->queue, b->t[Y], to, bytes, SSQ_F32), "read");
    must(ssq_queue_sync(b->queue), "sync");
    must(ssq_implementation_pin(b->device, op->table, NULL), "unpin");
}

/* How many are not the same bits, or NaN both; where the first is. */
static int64_t unlike(const struct rows_harness *b, int64_t *first)
{
    int64_t n = 0;
    for (int64_t i = b->rows * b->n - 1; i >= 0; i--) {
        bool nans = isnan(b->got[i]) && isnan(b->want[i]);
        if (!nans && memcmp(&b->got[i], &b->want[i], sizeof(float)) != 0) {
            n++;
            *first = i;
        }
    }
    return n;
}

static void check(struct rows_harness *b, const char *isa, ssq_dtype dtype)
{
    for (size_t i = 0; i < OPS; i++) {
        int64_t first = 0;
        if (ops[i].run == cross_entropy && b->n <= 64)
            continue; /* the plan has an item for each, of another order */
        if ((ops[i].run == softmax || ops[i].run == log_softmax) && b->n < 9)
            continue; /* left to the plan */
        run(b, &ops[i], "portable", b->want);
        run(b, &ops[i], "rows", b->got);
        int64_t n = unlike(b, &first);
        tap_ok(n == 0, "%s: %s of %s [%lld,%lld] by rows has the plan's bits",
               isa, ops[i].name, ssq_dtype_name(dtype), (long long)b->rows,
               (long long)b->n);
        if (n > 0)
            tap_diag("%lld differ, the first is %lld: %a for %a", (long long)n,
                     (long long)first, (double)b->got[first],
                     (double)b->want[first]);
    }
}

/* Of rows that are not too long for it. */
static void check_sum(struct rows_harness *b, const char *isa, ssq_dtype dtype)
{
    static const char *const impls[] = {"portable", "sum"};
    size_t bytes = (size_t)b->rows * sizeof(float);
    int64_t all = b->n, first = 0;
    for (int i = 0; i < 2; i++) {
        must(ssq_implementation_pin(b->device, "reduce", impls[i]), "pin");
        must(ssq_sum(b->queue, SSQ_REDUCE(.x = b->t[X], .y = b->mean,
                                          .axes = {1}, .n_axes = 1)),
             "sum");
        must(ssq_tensor_read(b->queue, b->mean, i == 0 ? b->want : b->got,
                             bytes, SSQ_F32),
             "read");
        must(ssq_queue_sync(b->queue), "sync");
    }
    must(ssq_implementation_pin(b->device, "reduce", NULL), "unpin");
    b->n = 1; /* of the result */
    tap_ok(unlike(b, &first) == 0,
           "%s: sums of %s [%lld,%lld] by rows have the plan's bits", isa,
           ssq_dtype_name(dtype), (long long)b->rows, (long long)all);
    b->n = all;
}

int main(void)
{
    static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_F16, SSQ_BF16};
    const char *isas[SETS_MOST];
    const size_t sets = sets_find(isas);
    for (size_t i = 0; i < sets; i++) {
        struct rows_harness b = {.device = NULL};
        setenv("SSQ_CPU_ISA", isas[i], 1);
        must(ssq_device_open("cpu", NULL, &b.device), "open");
        must(ssq_queue_create(b.device, NULL, &b.queue), "queue");
        for (size_t s = 0; s < SHAPES; s++)
            for (int d = 0; d < 3; d++) {
                open_harness(&b, &shapes[s], dtypes[d]);
                check(&b, isas[i], dtypes[d]);
                if (b.n >= 64 && b.n <= 16384)
                    check_sum(&b, isas[i], dtypes[d]);
                close_harness(&b);
            }
        ssq_queue_destroy(&b.queue);
        ssq_device_close(&b.device);
    }
    return tap_done(174 * (long)sets);
}
