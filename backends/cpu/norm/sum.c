/* SPDX-License-Identifier: Apache-2.0 */
/* sum.c - sums and means of rows of neighbours: many rows, each of which a
 * thread adds up alone. Bits equal the plan's if it divides no row. */
#include "backends/cpu/norm/sum.h"

#include "backends/cpu/cpu.h"
#include "backends/cpu/norm/rows.h"
#include "backends/cpu/norm/sum_kernels.h"
#include "kernels/scalar/scalar.h"
#include "lib/core/base/size.h"

/* Of fewer elements a row gains nothing from vectors; fewer rows gain nothing
 * from many threads, and the plan divides them. */
#define SHORTEST 64
#define LEAST    32

struct sum_run {
    const struct sum_kernels *kernels;
    struct rows_at x, y;
    int64_t rows, n, of_task;
    float divisor; /* 0: none */
};

ISA_KERNELS(sum_kernels)

static void store(const struct rows_at *y, int64_t row, float x)
{
    char *to = y->p + row * y->apart;
    if (y->dtype == SSQ_F32)
        *(float *)(void *)to = x;
    else
        *(uint16_t *)(void *)to =
            (uint16_t)(y->dtype == SSQ_F16 ? f16_store(x) : bf16_store(x));
}

static void sum_task(void *context, uint32_t index, uint32_t worker)
{
    const struct sum_run *r = context;
    int64_t from = index * r->of_task;
    int64_t end = size_least(r->rows, from + r->of_task);
    (void)worker;
    for (int64_t i = from; i < end; i++) {
        float sum =
            r->kernels->sum(r->x.dtype, r->x.p + i * r->x.apart, (size_t)r->n);
        store(&r->y, i, r->divisor != 0.0f ? s_div(sum, r->divisor) : sum);
    }
}

bool sum_check(const struct backend_device *d, const struct reduce_op *op,
               struct why *why)
{
    const int inner = op->x.rank - op->kept;
    int64_t n = rows_length(&op->x, inner), rows = rows_count(&op->x, inner);
    (void)d;
    if (op->kind != REDUCE_SUM && op->kind != REDUCE_MEAN)
        return refuse(why, "only sums and means");
    if (!dtype_is_float(op->x.dtype) || !dtype_is_float(op->y.dtype))
        return refuse(why, "x is %s, y %s: expected floats",
                      ssq_dtype_name(op->x.dtype), ssq_dtype_name(op->y.dtype));
    if (n < SHORTEST || n > SUM_LONGEST || rows < LEAST)
        return refuse(why, "%lld rows of %lld elements, expected %d of %d..%d",
                      (long long)rows, (long long)n, LEAST, SHORTEST,
                      SUM_LONGEST);
    return rows_check(&op->x, inner, "x", why) &&
           rows_check_ones(&op->y, 0, "y", why);
}

ssq_status sum_run(struct backend_queue *queue, const struct reduce_op *op)
{
    const int inner = op->x.rank - op->kept;
    struct sum_run r = {.kernels = kernels_of(queue->device->isa),
                        .x = rows_at(&op->x, inner),
                        .y = rows_at(&op->y, 0),
                        .rows = rows_count(&op->x, inner),
                        .n = rows_length(&op->x, inner),
                        .divisor =
                            op->kind == REDUCE_MEAN ? op->divisor : 0.0f};
    r.of_task = rows_of_task(r.n);
    rows_loop(queue->device->team, (uint64_t)(r.rows * r.n),
              size_div_up(r.rows, r.of_task), sum_task, &r);
    return SSQ_OK;
}
