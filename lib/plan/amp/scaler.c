/* SPDX-License-Identifier: Apache-2.0 */
/* scaler.c - the plans of the small ops of a step: join, update, tick. */
#include "lib/core/queue/plan.h"

#include "kernels/amp/scaler_args.h"
#include "lib/amp/optimizer/optimizer.h"

static void build_join(struct plan *p, const struct scaler_join_op *op)
{
    struct scaler_join_args a = {0};
    plan_kernel(p, KERNEL_scaler_join, KEYS(0));
    plan_bind(p, &op->record, ACCESS_READ);
    plan_bind(p, &op->block, ACCESS_UPDATE);
    plan_items(p, &a, sizeof(a), 1, LOOPS_FEW);
}

static void build_update(struct plan *p, const struct scaler_update_op *op)
{
    struct scaler_update_args a = {.set = op->set, .value = op->value};
    plan_kernel(p, KERNEL_scaler_update, KEYS(0));
    plan_bind(p, &op->block, ACCESS_UPDATE);
    plan_items(p, &a, sizeof(a), 1, LOOPS_FEW);
}

/* Loops for a parameter group: its powers, one round for each of the 32 bits of
 * t, and its quotients. */
#define TICK_LOOPS (4u * (32u + LOOPS_FEW))

/* ---- tick: groups with schedules in the same memory share a launch ---- */

/* The memory of all schedules of one kind in a launch. There is one span for
 * the lr schedules and one for the momentum schedules. */
struct scaler_span {
    struct backend_mem *mem; /* NULL: no schedule yet */
    uint64_t from, to;       /* bytes */
};

static uint64_t scaler_begin_of(const struct view *v)
{
    return v->buffer->offset + v->offset;
}

/* Return a schedule of a group. NULL: it has none. */
static const struct view *schedule_of(const struct tick_op *op, size_t group,
                                      size_t which)
{
    const struct view *v = &op->op.list->v[2 * group + which];
    return v->buffer == NULL || v->buffer->mem == NULL ? NULL : v;
}

/* Extend a span to include a schedule. False: the schedule is in other memory,
 * or the span would be too large for a binding. */
static bool scaler_widen(struct plan *p, struct scaler_span *span,
                         const struct view *v)
{
    if (v == NULL)
        return true;
    uint64_t from = scaler_begin_of(v), to = from + view_span(v);
    if (span->mem == NULL) {
        *span = (struct scaler_span){v->buffer->mem, from, to};
        return true;
    }
    from = from < span->from ? from : span->from;
    to = to > span->to ? to : span->to;
    if (span->mem != v->buffer->mem ||
        to - from > plan_limits(p)->binding_bytes)
        return false;
    *span = (struct scaler_span){span->mem, from, to};
    return true;
}

/* Write the table of a launch: the offsets of each group's schedules in the
 * spans, in words. TICK_NONE: no schedule. table is NULL after a failure. */
static void put_table(const struct tick_op *op, const struct tick_args *a,
                      const struct scaler_span span[2], uint32_t *table)
{
    for (size_t i = 0; i < a->n && table != NULL; i++)
        for (size_t k = 0; k < 2; k++) {
            const struct view *v = schedule_of(op, a->first + i, k);
            table[2 * i + k] =
                v == NULL ? TICK_NONE
                          : (uint32_t)((scaler_begin_of(v) - span[k].from) /
                                       sizeof(uint32_t));
        }
}

static void bind_span(struct plan *p, const struct scaler_span *span)
{
    plan_bind_range(p, span->mem, span->from, span->to - span->from,
                    sizeof(uint32_t), ACCESS_READ);
}

/* Return how many groups, from a->first on, share a launch: at least one. */
static uint32_t sharing(struct plan *p, const struct tick_op *op,
                        const struct tick_args *a, struct scaler_span span[2])
{
    uint32_t n = 0;
    for (; a->first + n < op->groups; n++) {
        struct scaler_span wider[2] = {span[0], span[1]};
        for (size_t k = 0; k < 2; k++)
            if (!scaler_widen(p, &wider[k], schedule_of(op, a->first + n, k)))
                return n;
        span[0] = wider[0];
        span[1] = wider[1];
    }
    return n;
}

/* Build a tick. Several launches may run in any order, since each writes the
 * words of its groups. The first launch also writes the words of the whole
 * step, which the others do not read. */
static void build_tick(struct plan *p, const struct tick_op *op)
{
    struct tick_args a = {.kind = op->kind,
                          .scaled = op->block.buffer != NULL,
                          .unscaled = op->unscaled,
                          .factor = op->factor};
    for (; a.first < op->groups && !plan_failed(p); a.first += a.n) {
        struct scaler_span span[2] = {{0}};
        struct view table;
        a.n = sharing(p, op, &a, span);
        put_table(op, &a, span, plan_words(p, 2 * (uint64_t)a.n, &table));
        plan_kernel(p, KERNEL_tick, KEYS(0));
        plan_bind(p, &table, ACCESS_READ);
        plan_bind(p, &op->record, ACCESS_READ);
        plan_bind(p, &op->block, ACCESS_READ);
        plan_bind(p, &op->control, ACCESS_UPDATE);
        bind_span(p, &span[0]);
        bind_span(p, &span[1]);
        plan_items(p, &a, sizeof(a), a.n, TICK_LOOPS);
    }
}

const struct scaler_join_plan scaler_join_plans[] = {
    {"portable", NULL, build_join}, {NULL}};
const struct scaler_update_plan scaler_update_plans[] = {
    {"portable", NULL, build_update}, {NULL}};
const struct tick_plan tick_plans[] = {{"portable", NULL, build_tick}, {NULL}};
