/* SPDX-License-Identifier: Apache-2.0 */
/* tick.c - reference: the words of the step under way. */
#include "lib/amp/optimizer.h"

#include "backends/reference/reference.h"

static float f_of(const uint32_t *w, uint32_t i)
{
    return AS_F32(w[i]);
}

/* The schedule's value for step t; false: none. */
static bool scheduled(const struct view *table, uint32_t t, float *value)
{
    const uint32_t *w = view_host(table);
    if (w == NULL)
        return false;
    uint32_t n = w[0];
    if (n == 0)
        return false;
    *value = f_of(w, 1 + (t < n ? t : n - 1));
    return true;
}

/* Momentum or beta1 in use, and the bias corrections. */
static void tick_betas(const struct tick_op *op, uint32_t *g, uint32_t t,
                       const struct view *table)
{
    float b1 = f_of(g, GROUP_MOMENTUM), b1_lo = f_of(g, GROUP_MOMENTUM_LO);
    float c1 = f_of(g, GROUP_MOMENTUM_C), bc1 = 1.0f, bc2 = 1.0f;
    uint32_t flags = g[GROUP_FLAGS];
    if (scheduled(table, t - 1, &b1)) {
        b1_lo = 0.0f;
        c1 = (flags & FLAG_SUM) != 0 ? 1.0f : one_minus(b1);
    }
    bool betas =
        op->kind == OPT_ADAM || op->kind == OPT_ADAMW || op->kind == OPT_LAMB;
    if (betas && (flags & FLAG_NO_BIAS) == 0) {
        bc1 = one_minus_pow(b1, b1_lo, t);
        bc2 = one_minus_pow(f_of(g, GROUP_BETA2), f_of(g, GROUP_BETA2_LO), t);
    }
    g[GROUP_STEP_MOMENTUM] = AS_U32(b1);
    g[GROUP_STEP_C] = AS_U32(c1);
    g[GROUP_STEP_BC1] = AS_U32(bc1);
    g[GROUP_STEP_BC2] = AS_U32(bc2);
    g[GROUP_STEP_ROOT2] = AS_U32(s_sqrt(bc2));
}

static void tick_group(const struct tick_op *op, uint32_t *g, uint32_t t,
                       const struct view *tables, float gn)
{
    float lr = f_of(g, GROUP_LR);
    (void)scheduled(&tables[SCHEDULE_LR], t - 1, &lr);
    if (op->kind == OPT_ADAGRAD)
        lr = adagrad_lr(lr, f_of(g, GROUP_LR_DECAY), t);
    tick_betas(op, g, t, &tables[SCHEDULE_MOMENTUM]);
    bool multiply = op->kind == OPT_ADAMW &&
                    (g[GROUP_FLAGS] & FLAG_APEX) == 0 &&
                    f_of(g, GROUP_DECAY) != 0.0f;
    float decay = p_keep(lr, f_of(g, GROUP_DECAY));
    g[GROUP_STEP_LR] = AS_U32(lr);
    g[GROUP_STEP_SIZE] = AS_U32(s_div(lr, f_of(g, GROUP_STEP_BC1)));
    g[GROUP_STEP_KEEP] = AS_U32(multiply ? one_minus(decay) : 1.0f);
    g[GROUP_STEP_DIVISOR] =
        AS_U32(op->kind == OPT_LAMB ? lamb_divisor(gn, f_of(g, GROUP_MAX_NORM))
                                    : 1.0f);
}

static bool skipped(const struct tick_op *op)
{
    const uint32_t *record = view_host(&op->record);
    const uint32_t *block = view_host(&op->block);
    return block != NULL && record[RECORD_VERDICT] != 0 &&
           block[SCALER_POISON] == 0;
}

static ssq_status tick(struct backend_queue *queue, const struct tick_op *op)
{
    (void)queue;
    uint32_t *c = view_host(&op->control);
    const uint32_t *record = view_host(&op->record);
    const uint32_t *block = view_host(&op->block);
    c[CONTROL_SKIP] = skipped(op);
    c[CONTROL_NEXT_T] = c[CONTROL_T];
    if (c[CONTROL_SKIP] != 0)
        return SSQ_OK;
    uint32_t t = c[CONTROL_T] == UINT32_MAX ? UINT32_MAX : c[CONTROL_T] + 1;
    float inverse = block == NULL ? 1.0f : f_of(block, SCALER_INVERSE);
    float norm = f_of(record, RECORD_NORM);
    float coef = clip_coefficient(norm, f_of(c, CONTROL_CLIP));
    c[CONTROL_NEXT_T] = t;
    c[CONTROL_FACTOR] =
        AS_U32(op->unscaled ? 1.0f : p_keep(inverse, op->factor));
    c[CONTROL_COEF] = AS_U32(coef);
    for (uint32_t i = 0; i < op->groups; i++)
        tick_group(op, c + CONTROL_WORDS + i * GROUP_WORDS, t,
                   &op->op.list->v[2 * (size_t)i], p_keep(norm, coef));
    return SSQ_OK;
}

REFERENCE_IMPL(tick, tick);
