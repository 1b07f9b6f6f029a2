/* SPDX-License-Identifier: Apache-2.0 */
/* attention.c - the plan of attention. */
#include "lib/plan/attention/attention.h"

/* Larger offsets of the diagonal have the same effect: there are fewer queries
 * and keys. */
#define MOST_OFFSET INT32_MAX

void attention_steps(const struct view *v, uint32_t *step)
{
    for (int i = 0; i < 3; i++)
        step[i] = (uint32_t)v->stride[i];
}

/* Return offset, or 0 if it is negative. The diagonal may be moved in both
 * directions, but kernels have unsigned words. They get `ahead` and `back`; one
 * of them is 0. */
static uint32_t offset_word(int64_t offset)
{
    if (offset < 0)
        return 0;
    return (uint32_t)(offset < MOST_OFFSET ? offset : MOST_OFFSET);
}

/* Without a causal mask, `ahead` is so large that every query sees every key. q
 * is absent if heads have no elements; then v has the dtype. */
void attention_set(struct attention_shared *a, const struct attention_params *p,
                   const struct view *q, const struct view *k,
                   const struct view *v, const struct view *mask,
                   const struct view *lse, const struct view *step)
{
    int64_t offset = p->causal ? p->causal_offset : MOST_OFFSET;
    int64_t back = offset < -MOST_OFFSET ? MOST_OFFSET : -offset;
    *a = (struct attention_shared){
        .heads = (uint32_t)p->heads,
        .group = (uint32_t)(p->heads / p->kv_heads),
        .tq = (uint32_t)p->tq,
        .tk = (uint32_t)p->tk,
        .d = (uint32_t)p->d,
        .dv = (uint32_t)p->dv,
        .ahead = offset_word(offset),
        .back = offset_word(back),
        .scale = p->scale,
        .softcap = p->softcap,
        .dtype = q->buffer != NULL ? q->dtype : v->dtype,
        .mask_dtype = mask->buffer == NULL ? 0 : mask->dtype,
        .dropout = p->dropout,
        .threshold = p->drop.threshold,
        .seed_low = p->stream.seed[0],
        .seed_high = p->stream.seed[1],
        .id = p->stream.id,
        .base_low = (uint32_t)p->stream.offset,
        .base_high = (uint32_t)(p->stream.offset >> 32),
        .step_given = step->buffer != NULL,
        .keep = p->keep};
    for (int i = 0; i < 4; i++)
        a->mask_step[i] = (uint32_t)mask->stride[i];
    attention_steps(q, a->q_step);
    attention_steps(k, a->k_step);
    attention_steps(v, a->v_step);
    attention_steps(lse, a->lse_step);
}

/* A wide result has several chunks. Each is a separate task, which computes the
 * scores of its rows again. Up to 64 columns use the smaller chunk. */
uint8_t attention_divide(struct attention_shared *a, uint32_t group,
                         uint64_t heads, int64_t rows, int64_t columns)
{
    int64_t block = ATTENTION_ROWS_OF(group), chunk = columns <= 64 ? 64 : 128;
    a->blocks = (uint32_t)size_div_up(rows, block);
    a->chunks = columns == 0 ? 1 : (uint32_t)size_div_up(columns, chunk);
    a->tasks = (uint32_t)(heads * a->blocks * a->chunks);
    return (uint8_t)chunk;
}

/* Return the loops of one product. Blocks of both operands, ATTENTION_DEPTH
 * deep, are copied to shared memory and multiplied there: see
 * kernels/attention/attention.h. */
static uint64_t product_loops(const struct backend_limits *l, uint64_t length)
{
    uint64_t rows = ATTENTION_ROWS_OF(l->group);
    return loops_of(size_div_up(length, ATTENTION_DEPTH),
                    loops_shared(l, rows * ATTENTION_DEPTH, 0) +
                        loops_shared(l, ATTENTION_COLS * ATTENTION_DEPTH, 0) +
                        loops_of(ATTENTION_DEPTH, 0));
}

/* The loops of one block: the products, the scores with softcap, the weighted
 * sum, and the update of the results. */
uint64_t attention_loops(const struct backend_limits *l,
                         const struct attention_shared *a, uint32_t n,
                         bool slopes, uint8_t chunk)
{
    uint64_t rows = ATTENTION_ROWS_OF(l->group);
    uint64_t cells = rows * ATTENTION_COLS, results = rows * chunk;
    uint64_t staged = (uint64_t)ATTENTION_DEPTH * ATTENTION_COLS;
    uint64_t cap = a->softcap != 0.0f ? 2 * LOOPS_DIVIDE : 0;
    uint64_t block =
        product_loops(l, a->d) + (slopes ? product_loops(l, a->dv) : 0) +
        loops_shared(l, cells, 1 + cap) + 2 * loops_shared(l, cells, 0) +
        loops_of(chunk / ATTENTION_DEPTH,
                 loops_shared(l, staged, 0) + loops_of(staged / chunk, 0)) +
        loops_shared(l, results, 1) + 2 * LOOPS_FEW;
    return 2 * LOOPS_FEW + loops_shared(l, results, 1) +
           loops_of(size_div_up(n, ATTENTION_COLS), block);
}

struct window_cut attention_cut(const struct attention_params *p,
                                unsigned walked)
{
    return (struct window_cut){.walked = walked,
                               .dims =
                                   plan_dims(p->heads == p->kv_heads ? 2 : 1),
                               .in_order = p->dropout};
}

void attention_window(struct attention_params *p, const struct view *v,
                      uint64_t first)
{
    bool each = p->heads == p->kv_heads;
    uint64_t heads = each ? first : first * (uint64_t)p->heads;
    p->stream.offset += heads * (uint64_t)p->tq * (uint64_t)p->tk;
    p->batch = v->shape[0];
    if (each)
        p->heads = p->kv_heads = v->shape[1];
}

void attention_bind_both(struct plan *p, const struct view *v,
                         enum access access)
{
    static const struct view absent;
    bool wide = v->buffer != NULL && v->dtype == SSQ_F32;
    plan_bind(p, wide ? &absent : v, access);
    plan_bind(p, wide ? v : &absent, access);
}

void attention_bind_mask(struct plan *p, const struct view *mask)
{
    static const struct view absent;
    bool narrow = mask->buffer != NULL && mask->dtype == SSQ_U8;
    plan_bind(p, narrow ? mask : &absent, ACCESS_READ);
    attention_bind_both(p, narrow ? &absent : mask, ACCESS_READ);
}

static void plan_attention_window(struct plan *p, const struct op *some,
                                  void *user)
{
    const struct attention_op *op = (const struct attention_op *)some;
    struct attention_params n = op->p;
    struct attention_shared shared;
    (void)user;
    attention_window(&n, &op->lse, op->op.first);
    attention_set(&shared, &n, &op->q, &op->k, &op->v, &op->mask, &op->lse,
                  &op->step);
    uint8_t chunk = attention_divide(&shared, plan_limits(p)->group,
                                     (uint64_t)(n.batch * n.heads), n.tq, n.dv);
    struct attention_forward_args a = {.both = shared, .y_dtype = op->y.dtype};
    attention_steps(&op->y, a.y_step);
    plan_kernel(p, KERNEL_attention_forward, KEYS(chunk));
    plan_bind(p, &op->lse, ACCESS_WRITE);
    attention_bind_both(p, &op->q, ACCESS_READ);
    attention_bind_both(p, &op->k, ACCESS_READ);
    attention_bind_both(p, &op->v, ACCESS_READ);
    attention_bind_mask(p, &op->mask);
    plan_bind(p, &op->step, ACCESS_READ);
    attention_bind_both(p, &op->y, ACCESS_WRITE);
    plan_groups(
        p, &a, sizeof(a), a.both.tasks,
        attention_loops(plan_limits(p), &shared, a.both.tk, false, chunk));
}

/* Build attention. The kernel always stores lse, the logarithms of the sums. If
 * the caller does not want it, it goes to scratch. */
static void attention_build(struct plan *p, const struct attention_op *op)
{
    const struct attention_params *n = &op->p;
    struct attention_op part = *op;
    const struct window_cut cut = attention_cut(n, 0x6f);
    if (view_absent(&part.lse)) {
        struct view *lse = &part.lse;
        plan_scratch(p, SSQ_F32, (uint64_t)(n->batch * n->heads * n->tq), lse);
        lse->rank = 3;
        lse->shape[0] = n->batch;
        lse->shape[1] = n->heads;
        lse->shape[2] = n->tq;
        lse->stride[0] = n->heads * n->tq;
        lse->stride[1] = n->tq;
        lse->stride[2] = 1;
    }
    plan_windows(p, &part.op, &cut, plan_attention_window, NULL);
}

const struct attention_plan attention_plans[] = {
    {"portable", NULL, attention_build}, {NULL}};
