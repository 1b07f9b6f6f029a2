/* SPDX-License-Identifier: Apache-2.0 */
/* extreme.c - maxima and minima of adjacent floats.
 *
 * They are exact, so a row may be divided into any parts. Each part of a row
 * has its own extreme, and the row's is the extreme of these. */
#include "backends/cpu/norm/extreme.h"

#include "backends/cpu/cpu.h"
#include "backends/cpu/norm/extreme_kernels.h"
#include "backends/cpu/norm/rows.h"
#include "backends/cpu/norm/sum.h"
#include "lib/core/base/size.h"
#include "lib/op/reduce/reduce.h"

/* With fewer elements a row is too short for vectors. */
#define SHORTEST 64
/* Elements of a part. */
#define PART (INT64_C(1) << 16)

struct extreme_run {
    const struct extreme_kernels *kernels;
    struct rows_at x;
    bool minimum;
    int64_t n, part,
        parts; /* elements of a row and of a part; parts of a row */
    int64_t tasks, of_task; /* of_task: parts, of all rows */
    struct extreme *found;
};

ISA_KERNELS(extreme_kernels)

static void task(void *context, uint32_t index, uint32_t worker)
{
    const struct extreme_run *r = context;
    const int64_t bytes = r->x.dtype == SSQ_F32 ? 4 : 2;
    int64_t from = index * r->of_task;
    int64_t end = size_least(r->tasks, from + r->of_task);
    (void)worker;
    for (int64_t i = from; i < end; i++) {
        int64_t row = i / r->parts, first = i % r->parts * r->part;
        r->found[i] = r->kernels->find(
            r->x.dtype, r->minimum, r->x.p + row * r->x.apart + first * bytes,
            (size_t)size_least(r->part, r->n - first));
    }
}

/* Return the bits of a row's extreme; every NaN becomes the same NaN. */
static uint32_t bits_of(const struct extreme_run *r, const struct extreme *e)
{
    static const int32_t inf[] = {
        [SSQ_F32] = 0x7f800000, [SSQ_F16] = 0x7c00, [SSQ_BF16] = 0x7f80};
    static const uint32_t nan[] = {
        [SSQ_F32] = 0x7fc00000, [SSQ_F16] = 0x7e00, [SSQ_BF16] = 0x7fc0};
    const int32_t all = r->x.dtype == SSQ_F32 ? 0x7fffffff : 0x7fff;
    struct extreme most = e[0];
    for (int64_t i = 1; i < r->parts; i++) {
        most.key = e[i].key > most.key ? e[i].key : most.key;
        most.magnitude =
            e[i].magnitude > most.magnitude ? e[i].magnitude : most.magnitude;
    }
    if (most.magnitude > inf[r->x.dtype])
        return nan[r->x.dtype];
    int32_t key = r->minimum ? ~most.key : most.key;
    return (uint32_t)(key < 0 ? key ^ all : key);
}

static void extreme_put(const struct extreme_run *r, int64_t rows,
                        const struct rows_at *y)
{
    for (int64_t i = 0; i < rows; i++) {
        uint32_t bits = bits_of(r, r->found + i * r->parts);
        char *to = y->p + i * y->apart;
        if (y->dtype == SSQ_F32)
            *(uint32_t *)(void *)to = bits;
        else
            *(uint16_t *)(void *)to = (uint16_t)bits;
    }
}

static bool extreme_check(const struct backend_device *d,
                          const struct reduce_op *op, struct why *why)
{
    const int inner = op->x.rank - op->kept;
    (void)d;
    if (op->kind != REDUCE_MAX && op->kind != REDUCE_MIN)
        return refuse(why, "only maxima and minima");
    if (!dtype_is_float(op->x.dtype) || op->y.dtype != op->x.dtype)
        return refuse(why, "x is %s, y %s: expected one float dtype",
                      ssq_dtype_name(op->x.dtype), ssq_dtype_name(op->y.dtype));
    if (rows_length(&op->x, inner) < SHORTEST)
        return refuse(why, "rows of %lld elements, expected %d or more",
                      (long long)rows_length(&op->x, inner), SHORTEST);
    return rows_check(&op->x, inner, "x", why) &&
           rows_check_ones(&op->y, 0, "y", why);
}

static ssq_status extreme_run(struct backend_queue *queue,
                              const struct reduce_op *op)
{
    const int inner = op->x.rank - op->kept;
    struct backend_device *d = queue->device;
    struct backend_mem *memory;
    int64_t rows = rows_count(&op->x, inner);
    struct extreme_run r = {.kernels = kernels_of(d->isa),
                            .x = rows_at(&op->x, inner),
                            .minimum = op->kind == REDUCE_MIN,
                            .n = rows_length(&op->x, inner)};
    struct rows_at y = rows_at(&op->y, 0);
    r.part = size_least(r.n, PART);
    r.parts = size_div_up(r.n, r.part);
    r.tasks = rows * r.parts;
    r.of_task = rows_of_task(r.part);
    ssq_status st =
        scratch_take(&d->scratch, (size_t)r.tasks * sizeof(*r.found), &memory);
    if (st != SSQ_OK)
        return st;
    r.found = memory->host;
    rows_loop(d->team, (uint64_t)(rows * r.n), size_div_up(r.tasks, r.of_task),
              task, &r);
    extreme_put(&r, rows, &y);
    scratch_return(&d->scratch, memory);
    return SSQ_OK;
}

const struct reduce_impl cpu_reduce[] = {
    {.name = "extreme", .check = extreme_check, .run = extreme_run},
    {.name = "sum", .check = sum_check, .run = sum_run},
    {.name = NULL},
};
