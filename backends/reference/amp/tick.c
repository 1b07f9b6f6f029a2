/* SPDX-License-Identifier: Apache-2.0 */
/* tick.c - reference: the words of the step under way.
 *
 * kernels/amp/tick.h has what is computed; what differs from the kernel is only
 * where words come from. */
#include "kernels/amp/tick.h"

#include "backends/reference/reference.h"
#include "lib/amp/optimizer.h"

/* The schedule's value for step t; false if the group has no schedule. One that
 * was taken away has left its table, whose first word is then 0. */
static bool scheduled(const struct view *table, uint32_t t, float *value)
{
    const uint32_t *w = view_host(table);
    uint32_t n = w == NULL ? 0 : w[0];
    if (n == 0)
        return false;
    *value = AS_F32(w[1 + schedule_place(t, n)]);
    return true;
}

/* g is the group's first word, gn the gradients' norm after clipping. The two
 * views are those of its lr's and its momentum's schedule. */
static void tick_one(uint32_t kind, uint32_t *g, const struct view *schedules,
                     uint32_t t, float gn)
{
#define GROUP_WORD(W) g[W]
    struct tick_group group;
    float momentum;
    TICK_LOAD(group, GROUP_WORD)
    (void)scheduled(&schedules[SCHEDULE_LR], t, &group.lr);
    if (scheduled(&schedules[SCHEDULE_MOMENTUM], t, &momentum))
        group = tick_momentum(group, momentum);
    struct tick_step step = tick_end(group, kind_needs(kind), t, gn);
    TICK_STORE(step, GROUP_WORD)
#undef GROUP_WORD
}

/* Without a scaler there is no block, and no verdict counts. */
static struct tick_given given_of(const struct tick_op *op, const uint32_t *c)
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
        given.poisoned = block[SCALER_POISON] != 0;
        given.inverse = AS_F32(block[SCALER_INVERSE]);
    }
    return given;
}

/* All that depends on the verdict is decided here, once, and later ops of the
 * step obey CONTROL_SKIP. The norm that LAMB divides by is that after
 * clipping. */
static ssq_status tick(struct backend_queue *queue, const struct tick_op *op)
{
    (void)queue;
    uint32_t *c = view_host(&op->control);
    struct tick_given given = given_of(op, c);
    struct tick_words now = tick_begin(given);
    c[CONTROL_SKIP] = now.skip;
    c[CONTROL_NEXT_T] = now.skip ? given.last_t : now.t;
    /* The words of a step that is skipped stay those of the one before. */
    if (now.skip)
        return SSQ_OK;
    c[CONTROL_FACTOR] = AS_U32(now.factor);
    c[CONTROL_COEF] = AS_U32(now.coef);
    for (uint32_t i = 0; i < op->groups; i++)
        tick_one(op->kind, c + CONTROL_WORDS + i * GROUP_WORDS,
                 &op->op.list->v[2 * (size_t)i], now.t,
                 p_keep(given.norm, now.coef));
    return SSQ_OK;
}

REFERENCE_IMPL(tick, tick);
