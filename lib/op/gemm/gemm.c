/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c - ssq_gemm, ssq_gemm_batched and ssq_gemm_explain: dispatch. */
#include "lib/op/gemm/tuned.h"

#include "lib/core/queue/dispatch.h"
#include "lib/core/queue/queue.h"

#include <stdio.h>

/* Explain an op that a plan runs; a plan uses no matrix units. The condition
 * says so. Then it has the backend's reason, and why each of the backend's own
 * implementations did not run. An implementation whose check accepts the op is
 * slower than the plan, or it would have been chosen. Each part is cut to 160
 * characters, so that a long reason leaves room for the others. */
static void explain_plan(const ssq_device *d, const struct gemm_op *op,
                         const char *name, struct gemm_explanation *e)
{
    const struct op_table *t = d->backend->ops;
    struct gemm_explanation all = {.condition = ""};
    size_t room = sizeof(e->condition);
    if (t->gemm_explain != NULL)
        t->gemm_explain(d->impl, op, GEMM_BY_PLAN, &all);
    size_t n =
        (size_t)snprintf(e->condition, room, "%s uses none%s%.160s", name,
                         all.condition[0] == '\0' ? "" : ": ", all.condition);
    if (t->gemm == NULL || t->gemm_explain == NULL)
        return;
    for (unsigned i = 0; t->gemm[i].name != NULL && n < room; i++) {
        struct why why;
        if (t->gemm[i].check == NULL || t->gemm[i].check(d->impl, op, &why))
            snprintf(why.text, sizeof(why.text), "slower here");
        n += (size_t)snprintf(e->condition + n, room - n, "; %s: %.160s",
                              t->gemm[i].name, why.text);
    }
}

/* Set *e to how the chosen implementation would run op. Its initial value
 * describes a device that has no gemm_explain. An op that multiplies nothing
 * has a separate text. The condition says why matrix units are not used; it is
 * empty if they are. */
static void explain(const ssq_device *d, const struct gemm_op *op,
                    const struct choice *choice, struct gemm_explanation *e)
{
    const struct op_table *t = d->backend->ops;
    struct choice preferred;
    *e = (struct gemm_explanation){.accumulator = SSQ_F32};
    e->tuned = op->op.prefer != 0 &&
               choice_nth(d, OP_gemm, op->op.prefer - 1u, &preferred) &&
               preferred.plan == choice->plan &&
               preferred.index == choice->index;
    snprintf(e->condition, sizeof(e->condition), "%s has no matrix units",
             d->props.name);
    if (choice->plan)
        explain_plan(d, op, choice->name, e);
    else if (t->gemm_explain != NULL)
        t->gemm_explain(d->impl, op, choice->index, e);
    if (op->k == 0) {
        e->matrix_units = false;
        snprintf(e->condition, sizeof(e->condition),
                 "nothing is multiplied: k or alpha is 0");
    }
    if (e->matrix_units)
        e->condition[0] = '\0';
}

/* Refuse the op if matrix units would not be used, with the reason
 * (SSQ_GEMM_REQUIRE_MATRIX_UNITS). An op that multiplies nothing passes. A
 * tuned choice without matrix units is dropped, because the choice of the rules
 * may use them. */
static ssq_status require_matrix_units(const ssq_queue *queue,
                                       struct gemm_op *op, const char *name)
{
    struct gemm_explanation e;
    struct choice c;
    if (op->k == 0)
        return SSQ_OK;
    ssq_status st = dispatch(queue->device, &op->op, &c);
    if (st != SSQ_OK)
        return st;
    explain(queue->device, op, &c, &e);
    if (e.matrix_units)
        return SSQ_OK;
    if (op->op.prefer != 0) {
        tuning_forget(op);
        return require_matrix_units(queue, op, name);
    }
    return error_set(SSQ_ERR_UNSUPPORTED,
                     "%s: matrix units were required: %s: %s", name, c.name,
                     e.condition);
}

/* Run either public call. They differ in the ranks that they allow. */
static ssq_status op_gemm_run(ssq_queue *queue, const ssq_gemm_args *args,
                              bool batched, const char *name)
{
    struct gemm_op op;
    ssq_status st = gemm_build(queue, args, batched, name, &op);
    if (st != SSQ_OK || view_elements(&op.d) == 0)
        return st;
    if ((args->flags & SSQ_GEMM_REQUIRE_MATRIX_UNITS) != 0)
        st = require_matrix_units(queue, &op, name);
    return st == SSQ_OK ? queue_enqueue(queue, &op.op) : st;
}

ssq_status ssq_gemm(ssq_queue *queue, const ssq_gemm_args *args)
{
    return op_gemm_run(queue, args, false, "gemm");
}

ssq_status ssq_gemm_batched(ssq_queue *queue, const ssq_gemm_args *args)
{
    return op_gemm_run(queue, args, true, "gemm_batched");
}

/* Return the next multiple of 8, in which many matrix units need sizes. A size
 * that would overflow does not change. */
static int64_t raise_to_8(int64_t size)
{
    return size > INT64_MAX - 7 ? size : (size + 7) / 8 * 8;
}

/* Fill the public struct in one assignment, so that *out is complete or
 * unchanged. */
static void gemm_tell(ssq_gemm_explanation *out, const struct gemm_op *op,
                      const char *name, const struct gemm_explanation *e)
{
    ssq_gemm_explanation x = SSQ_GEMM_EXPLANATION_INIT;
    snprintf(x.implementation, sizeof(x.implementation), "%s", name);
    snprintf(x.condition, sizeof(x.condition), "%s", e->condition);
    x.accumulator = e->accumulator;
    x.matrix_units = e->matrix_units;
    x.block = e->block;
    x.products = e->products;
    x.tf32 = e->tf32;
    x.copied = e->copied;
    x.flushed = e->flushed;
    x.packed = e->packed;
    x.tuned = e->tuned;
    x.batch = op->batch;
    x.m = op->m;
    x.n = op->n;
    x.k = op->k;
    x.padded_m = raise_to_8(op->m);
    x.padded_n = raise_to_8(op->n);
    x.padded_k = raise_to_8(op->k);
    *out = x;
}

/* args serve both calls; the rank of d decides which one is meant. */
ssq_status ssq_gemm_explain(ssq_queue *queue, const ssq_gemm_args *args,
                            ssq_gemm_explanation *out)
{
    const char *name = "gemm_explain";
    struct gemm_op op;
    if (out == NULL || out->struct_size != sizeof(*out))
        return error_set(SSQ_ERR_INVALID,
                         "%s: out is NULL or has another "
                         "struct_size than %zu",
                         name, sizeof(*out));
    ssq_status st = CHECK_CALL(queue, args, name);
    if (st != SSQ_OK)
        return st;
    bool batched = args->d != NULL && args->d->view.rank > 2;
    st = gemm_build(queue, args, batched, name, &op);
    if (st != SSQ_OK)
        return st;
    struct gemm_explanation e = {.accumulator = SSQ_F32,
                                 .condition = "d is empty: nothing runs"};
    if (view_elements(&op.d) == 0) {
        gemm_tell(out, &op, "", &e);
        return SSQ_OK;
    }
    struct choice c;
    st = dispatch(queue->device, &op.op, &c);
    if (st != SSQ_OK)
        return st;
    explain(queue->device, &op, &c, &e);
    gemm_tell(out, &op, c.name, &e);
    return SSQ_OK;
}
