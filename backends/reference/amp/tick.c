/* SPDX-License-Identifier: Apache-2.0 */
/* tick.c - reference: the words of the current step.
 *
 * kernels/amp/tick.h contains the arithmetic. Only the access to the words
 * differs from the kernel. */
#include "kernels/amp/tick.h"

#include "backends/reference/reference.h"
#include "lib/amp/optimizer/optimizer.h"

/* Set *value to a schedule's value for step t. Returns false if the group has
 * no schedule. The table of a removed schedule still exists; its first word is
 * then 0. */
static bool tick_schedule(const struct view *table, uint32_t t, float *value)
{
    const uint32_t *w = view_host(table);
    uint32_t n = w == NULL ? 0 : w[0];
    if (n == 0)
        return false;
    *value = AS_F32(w[1 + schedule_place(t, n)]);
    return true;
}

/* Compute the words of one group. g is its first word, and gn is the norm of
 * the gradients after clipping. The two views contain the schedules of its lr
 * and its momentum. */
static void tick_one_group(uint32_t kind, uint32_t *g,
                           const struct view *schedules, uint32_t t, float gn)
{
#define GROUP_WORD(W) g[W]
    struct tick_group group;
    float momentum;
    TICK_LOAD(group, GROUP_WORD)
    (void)tick_schedule(&schedules[SCHEDULE_LR], t, &group.lr);
    if (tick_schedule(&schedules[SCHEDULE_MOMENTUM], t, &momentum))
        group = tick_momentum(group, momentum);
    struct tick_step step =
        tick_end(group, kind_needs(kind), t + g[GROUP_T], gn);
    TICK_STORE(step, GROUP_WORD)
#undef GROUP_WORD
}

/* Collect the inputs of a step. Without a scaler the block is absent. Bad
 * gradients then do not skip the step, but labels out of range do. */
static struct tick_given tick_inputs(const struct tick_op *op,
                                     const uint32_t *c)
{
    const uint32_t *record = view_host(&op->record);
    const uint32_t *block = view_host(&op->block);
    struct tick_given given = {.last_t = c[CONTROL_T],
                               .scaled = block != NULL,
                               .labels =
                                   record[RECORD_VERDICT] >= VERDICT_LABELS,
                               .unscaled = op->unscaled != 0,
                               .inverse = 1.0f,
                               .factor = op->factor,
                               .norm = AS_F32(record[RECORD_NORM]),
                               .clip = AS_F32(c[CONTROL_CLIP])};
    if (block != NULL) {
        given.bad = record[RECORD_VERDICT] != 0;
        given.applies_bad = block[SCALER_POISON] != 0;
        given.inverse = AS_F32(block[SCALER_INVERSE]);
    }
    return given;
}

/* Compute the words of a step. Only this op reads the overflow flag; later ops
 * of the step read CONTROL_SKIP. LAMB divides by the norm after clipping. */
static ssq_status reference_tick_run(struct backend_queue *queue,
                                     const struct tick_op *op)
{
    (void)queue;
    uint32_t *c = view_host(&op->control);
    struct tick_given given = tick_inputs(op, c);
    struct tick_words now = tick_begin(given);
    c[CONTROL_SKIP] = now.skip;
    c[CONTROL_NEXT_T] = now.skip ? given.last_t : now.t;
    /* A skipped step keeps the words of the previous step. */
    if (now.skip)
        return SSQ_OK;
    c[CONTROL_FACTOR] = AS_U32(now.factor);
    c[CONTROL_COEF] = AS_U32(now.coef);
    for (uint32_t i = 0; i < op->groups; i++)
        tick_one_group(op->kind, c + CONTROL_WORDS + i * GROUP_WORDS,
                       &op->op.list->v[2 * (size_t)i], now.t,
                       p_keep(given.norm, now.coef));
    return SSQ_OK;
}

REFERENCE_IMPL(tick);
