/* SPDX-License-Identifier: Apache-2.0 */
/* cross_entropy.c - cross-entropy of rows of neighbours with a class each, as
 * in language models: a task has some rows.
 *
 * Probabilities as targets, smoothed labels and log-probabilities are left to
 * the plan. Sums over rows are of float64, in their order. */
#include "backends/cpu/norm/cross_entropy.h"

#include "backends/cpu/cpu.h"
#include "backends/cpu/norm/rows.h"
#include "backends/reference/reference.h"
#include "kernels/scalar/convert.h"
#include "lib/core/base/size.h"
#include "lib/op/loss/loss.h"

#include <math.h>

/* Longest rows where there are few. */
#define LONG 16384
/* The plan has an item for each shorter row, and sums its classes in order. */
#define SHORT 16

ISA_KERNELS(cross_entropy_kernels)

struct loss {
    struct cross_entropy_rows c;
    const struct cross_entropy_kernels *kernels;
    int64_t rows, of_task;
};

static void cross_entropy_task(void *context, uint32_t i, uint32_t worker)
{
    const struct loss *l = context;
    int64_t from = i * l->of_task;
    (void)worker;
    l->kernels->rows(&l->c, from, size_least(l->rows, from + l->of_task));
}

static bool cross_entropy_check(const struct backend_device *d,
                                const struct cross_entropy_op *op,
                                struct why *why)
{
    (void)d;
    if (op->kind == CROSS_ENTROPY_LOG_PROBS || op->smooth ||
        op->prob.buffer != NULL)
        return refuse(why, "more than a class for each row of logits");
    if (op->reduction == SSQ_REDUCTION_NONE &&
        !rows_check_ones(&op->loss, 1, "loss", why))
        return false;
    return rows_check_length(&op->x, 1, SHORT, LONG, why) &&
           rows_check(&op->x, 1, "x", why) &&
           rows_check(&op->dx, 1, "dx", why) &&
           rows_check_ones(&op->target, 1, "target", why) &&
           rows_check_ones(&op->dloss, 1, "dloss", why);
}

static float cross_entropy_weight_of(const struct cross_entropy_op *op,
                                     int64_t class)
{
    const struct view *w = &op->weight;
    if (w->buffer == NULL)
        return 1.0f;
    uint32_t bits = load_bits(view_host(w), w->dtype, class * w->stride[0]);
    return bits_to_f32(bits, w->dtype);
}

/* Targets, and their weights' sum. */
static double cross_entropy_look(const struct cross_entropy_op *op,
                                 struct loss *l)
{
    const struct rows_at target = rows_at(&op->target, 1);
    double sum = 0.0;
    for (int64_t i = 0; i < l->rows; i++) {
        struct cross_entropy_row *r = &l->c.row[i];
        int32_t t = *(const int32_t *)(target.p + i * target.apart);
        bool is_class = t >= 0 && t < (int64_t)l->c.n;
        r->mine = t == op->ignore_index ? -1 : is_class ? t : -2;
        r->q = r->mine < 0 ? 0.0f : cross_entropy_weight_of(op, r->mine);
        sum += (double)r->q;
    }
    return sum;
}

static void cross_entropy_seed(const struct cross_entropy_op *op,
                               struct loss *l, float count)
{
    const struct rows_at dloss = rows_at(&op->dloss, 1);
    for (int64_t i = 0; i < l->rows; i++) {
        const char *at = dloss.p == NULL ? NULL : dloss.p + i * dloss.apart;
        l->c.row[i].seed = (at == NULL ? 1.0f : *(const float *)at) / count;
    }
}

static void cross_entropy_store(const struct cross_entropy_op *op,
                                const struct loss *l, double count)
{
    struct rows_at loss = rows_at(&op->loss, 1);
    double sum = 0.0;
    if (op->loss.buffer == NULL)
        return;
    for (int64_t i = 0; i < l->rows; i++) {
        sum += (double)l->c.row[i].value;
        if (op->reduction == SSQ_REDUCTION_NONE)
            *(float *)(loss.p + i * loss.apart) = l->c.row[i].value;
    }
    if (op->reduction != SSQ_REDUCTION_NONE)
        *(float *)view_host(&op->loss) = (float)(sum / count);
}

static ssq_status cross_entropy_run(struct backend_queue *queue,
                                    const struct cross_entropy_op *op)
{
    struct backend_device *d = queue->device;
    int64_t n = rows_length(&op->x, 1), rows = rows_count(&op->x, 1);
    struct backend_mem *block;
    ssq_status st = scratch_take(
        &d->scratch, (size_t)rows * sizeof(struct cross_entropy_row), &block);
    if (st != SSQ_OK)
        return st;
    struct loss l = {.c = {.x = rows_at(&op->x, 1),
                           .dx = rows_at(&op->dx, 1),
                           .row = block->host,
                           .n = (size_t)n,
                           .past = rows_past(&op->dx)},
                     .kernels = kernels_of(d->isa),
                     .rows = rows,
                     .of_task = rows_of_task(n)};
    double count = cross_entropy_look(op, &l);
    if (op->reduction != SSQ_REDUCTION_MEAN)
        count = 1.0;
    cross_entropy_seed(op, &l, (float)count);
    rows_loop(d->team, (uint64_t)(rows * n), size_div_up(rows, l.of_task),
              cross_entropy_task, &l);
    cross_entropy_store(op, &l, count);
    scratch_return(&d->scratch, block);
    return SSQ_OK;
}

const struct cross_entropy_impl cpu_cross_entropy[] = {
    {.name = "rows", .check = cross_entropy_check, .run = cross_entropy_run},
    {.name = NULL},
};
