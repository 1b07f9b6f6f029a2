/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.c - softmax of rows of neighbours, and its gradient: a task has some
 * rows, and brings the next one near while it works on one.
 *
 * Few long rows are left to the plan, which divides them, and so are short
 * ones. Neither depends on the number of threads. */
#include "backends/cpu/norm/softmax.h"

#include "backends/cpu/cpu.h"
#include "backends/cpu/norm/rows.h"
#include "lib/core/base/size.h"
#include "lib/op/softmax/softmax.h"

/* Longest rows where there are few. */
#define LONG 16384
/* The plan has an item for each shorter row, and is faster. */
#define SHORT 9

ISA_KERNELS(softmax_kernels)

/* ---- forward ---- */

struct softmax_forward {
    struct softmax_rows s;
    const struct softmax_kernels *kernels;
    int64_t rows, of_task;
};

static void softmax_forward_task(void *context, uint32_t i, uint32_t worker)
{
    const struct softmax_forward *f = context;
    int64_t from = i * f->of_task;
    (void)worker;
    f->kernels->softmax(&f->s, from, size_least(f->rows, from + f->of_task));
}

static bool softmax_check_forward(const struct backend_device *d,
                                  const struct softmax_op *op, struct why *why)
{
    (void)d;
    return rows_check_length(&op->x, 1, SHORT, LONG, why) &&
           rows_check(&op->x, 1, "x", why) && rows_check(&op->y, 1, "y", why);
}

static ssq_status softmax_run_forward(struct backend_queue *queue,
                                      const struct softmax_op *op)
{
    int64_t n = rows_length(&op->x, 1);
    struct softmax_forward f = {.s = {.x = rows_at(&op->x, 1),
                                      .y = rows_at(&op->y, 1),
                                      .n = (size_t)n,
                                      .is_log = op->kind == SOFTMAX_LOG,
                                      .past = rows_past(&op->y)},
                                .kernels = kernels_of(queue->device->isa),
                                .rows = rows_count(&op->x, 1),
                                .of_task = rows_of_task(n)};
    rows_loop(queue->device->team, (uint64_t)(f.rows * n),
              size_div_up(f.rows, f.of_task), softmax_forward_task, &f);
    return SSQ_OK;
}

const struct softmax_impl cpu_softmax[] = {
    {.name = "rows",
     .check = softmax_check_forward,
     .run = softmax_run_forward},
    {.name = NULL},
};

/* ---- backward ---- */

struct softmax_backward {
    struct softmax_slopes s;
    const struct softmax_kernels *kernels;
    int64_t rows, of_task;
};

static void softmax_backward_task(void *context, uint32_t i, uint32_t worker)
{
    const struct softmax_backward *b = context;
    int64_t from = i * b->of_task;
    (void)worker;
    b->kernels->backward(&b->s, from, size_least(b->rows, from + b->of_task));
}

static bool softmax_check_backward(const struct backend_device *d,
                                   const struct softmax_backward_op *op,
                                   struct why *why)
{
    (void)d;
    if (op->kind == SOFTMAX_LOG)
        return refuse(why, "the gradient of a logarithm is left to the plan");
    return rows_check_length(&op->y, 1, 1, LONG, why) &&
           rows_check(&op->y, 1, "y", why) &&
           rows_check(&op->dy, 1, "dy", why) &&
           rows_check(&op->dx, 1, "dx", why);
}

static ssq_status softmax_run_backward(struct backend_queue *queue,
                                       const struct softmax_backward_op *op)
{
    int64_t n = rows_length(&op->y, 1);
    struct softmax_backward b = {.s = {.y = rows_at(&op->y, 1),
                                       .dy = rows_at(&op->dy, 1),
                                       .dx = rows_at(&op->dx, 1),
                                       .n = (size_t)n,
                                       .past = rows_past(&op->dx)},
                                 .kernels = kernels_of(queue->device->isa),
                                 .rows = rows_count(&op->y, 1),
                                 .of_task = rows_of_task(n)};
    rows_loop(queue->device->team, (uint64_t)(b.rows * n),
              size_div_up(b.rows, b.of_task), softmax_backward_task, &b);
    return SSQ_OK;
}

const struct softmax_backward_impl cpu_softmax_backward[] = {
    {.name = "rows",
     .check = softmax_check_backward,
     .run = softmax_run_backward},
    {.name = NULL},
};
