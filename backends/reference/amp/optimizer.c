/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.c - reference: the fused step, and LAMB's norms before it. */
#include "lib/amp/optimizer.h"

#include "backends/reference/reduce/fold.h"
#include "backends/reference/reference.h"

#include <string.h>

/* A parameter, or a piece of it, and the words that hold for it. */
struct job {
    uint32_t kind, flags, truth, t;
    const uint32_t *control, *group, *table;
    float factor, coef; /* of the gradient */
    float ratio;        /* lamb */
    const struct view *param, *grad;
    const struct view *slot; /* SLOTS of them */
    int64_t n;
    uint64_t first; /* elements of the parameter before a piece */
};

/* One element on its way through a step. */
struct element {
    float p, g;
    float a, b, c; /* slots */
};

static float word(const struct job *j, uint32_t i)
{
    return AS_F32(j->group[i]);
}

/* Entry i of the list, which is of parameter `tensor`. */
static struct job job_of(uint32_t kind, const uint32_t *control,
                         const uint32_t *table, const struct view_list *list,
                         size_t i, size_t tensor)
{
    const struct view *v = &list->v[i * PARAM_VIEWS];
    struct job j = {.kind = kind,
                    .control = control,
                    .table = table + tensor * TABLE_WORDS,
                    .t = control[CONTROL_NEXT_T],
                    .factor = AS_F32(control[CONTROL_FACTOR]),
                    .coef = AS_F32(control[CONTROL_COEF]),
                    .param = &v[0],
                    .grad = &v[1],
                    .slot = &v[2],
                    .n = view_elements(&v[0])};
    j.group = control + CONTROL_WORDS + j.table[TABLE_GROUP] * GROUP_WORDS;
    j.flags = j.group[GROUP_FLAGS];
    j.truth = j.table[TABLE_TRUTH];
    return j;
}

/* Does entry i of n continue the one before? */
static bool continues(const struct view_list *list, size_t i, size_t n)
{
    return i < n && list->v[i * PARAM_VIEWS].continues;
}

/* ---- loads and stores ---- */

/* An absent slot reads as 0. */
static float load_slot(const struct job *j, int slot, int64_t i)
{
    const float *x = view_host(&j->slot[slot]);
    return x == NULL ? 0.0f : x[i];
}

static void store_slot(const struct job *j, int slot, int64_t i, float value)
{
    float *x = view_host(&j->slot[slot]);
    if (x != NULL)
        x[i] = value;
}

static float load_truth(const struct job *j, int64_t i)
{
    const void *p = view_host(j->param);
    if (j->truth == TRUTH_F32)
        return load_slot(j, SLOT_MASTER, i);
    if (j->truth != TRUTH_SPLIT)
        return load_f32(p, j->param->dtype, i);
    const uint16_t *rest = view_host(&j->slot[SLOT_MASTER]);
    return AS_F32(split_join(load_bits(p, SSQ_BF16, i), rest[i]));
}

static uint32_t random_of(const struct job *j, int64_t i)
{
    uint64_t first =
        (uint64_t)j->table[TABLE_FIRST_HI] << 32 | j->table[TABLE_FIRST_LO];
    uint64_t index = first + j->first + (uint64_t)i;
    return random_u32(j->control[CONTROL_SEED_LO], j->control[CONTROL_SEED_HI],
                      j->control[CONTROL_RANDOM], j->table[TABLE_ID],
                      (uint32_t)index, (uint32_t)(index >> 32));
}

/* The 16 bits of a parameter whose truth is value. */
static uint32_t model_bits(const struct job *j, int64_t i, float value)
{
    bool half = j->param->dtype == SSQ_F16;
    switch (j->truth) {
    case TRUTH_SPLIT:
        return split_model(AS_U32(value));
    case TRUTH_NONE:
        return half ? f16_store_sr(value, random_of(j, i))
                    : bf16_store_sr(value, random_of(j, i));
    default:
        return half ? f16_store(value) : bf16_store(value);
    }
}

/* Store the new truth; was the update lost in 16 bits? */
static bool store_truth(const struct job *j, int64_t i, float value)
{
    void *p = view_host(j->param);
    if (j->truth == TRUTH_F32)
        store_slot(j, SLOT_MASTER, i, value);
    if (j->truth == TRUTH_SPLIT)
        ((uint16_t *)view_host(&j->slot[SLOT_MASTER]))[i] =
            (uint16_t)split_rest(AS_U32(value));
    if (j->param->dtype == SSQ_F32) {
        store_f32(p, SSQ_F32, i, value);
        return false;
    }
    uint32_t old = load_bits(p, j->param->dtype, i);
    uint32_t bits = model_bits(j, i, value);
    store_bits(p, j->param->dtype, i, bits);
    return bits == old;
}

/* ---- one element of each kind: what is subtracted from p ---- */

static float delta_sgd(const struct job *j, struct element *e)
{
    float momentum = word(j, GROUP_STEP_MOMENTUM);
    e->g = gradient_decay(e->g, e->p, word(j, GROUP_DECAY));
    if (momentum != 0.0f)
        e->a = sgd_buffer(e->a, e->g, momentum, word(j, GROUP_DAMPING), j->t);
    return sgd_delta(e->g, e->a, momentum, word(j, GROUP_STEP_LR), j->flags);
}

static void move_moments(const struct job *j, struct element *e)
{
    e->a = adam_m(e->a, e->g, word(j, GROUP_STEP_MOMENTUM),
                  word(j, GROUP_STEP_C), j->flags);
    e->b =
        moment_square(e->b, e->g, word(j, GROUP_BETA2), word(j, GROUP_BETA2_C));
}

static float delta_adam(const struct job *j, struct element *e)
{
    float decay = word(j, GROUP_DECAY), eps = word(j, GROUP_EPS);
    if (j->kind == OPT_ADAM)
        e->g = gradient_decay(e->g, e->p, decay);
    move_moments(j, e);
    if ((j->flags & FLAG_APEX) != 0)
        return p_keep(word(j, GROUP_STEP_LR),
                      adam_apex(e->a, e->b, e->p, word(j, GROUP_STEP_BC1),
                                word(j, GROUP_STEP_BC2), eps, decay));
    float v = e->b;
    if ((j->flags & FLAG_AMSGRAD) != 0)
        v = e->c = moment_max(e->c, v);
    return adam_delta(e->a, v, word(j, GROUP_STEP_SIZE),
                      word(j, GROUP_STEP_ROOT2), eps);
}

static float delta_rmsprop(const struct job *j, struct element *e)
{
    float momentum = word(j, GROUP_STEP_MOMENTUM), lr = word(j, GROUP_STEP_LR);
    e->g = gradient_decay(e->g, e->p, word(j, GROUP_DECAY));
    e->a =
        moment_square(e->a, e->g, word(j, GROUP_BETA2), word(j, GROUP_BETA2_C));
    if ((j->flags & FLAG_CENTERED) != 0)
        e->c = moment_lerp(e->c, e->g, word(j, GROUP_BETA2_C));
    float denom = rmsprop_denom(e->a, e->c, word(j, GROUP_EPS), j->flags);
    if (momentum == 0.0f)
        return rmsprop_delta(e->g, denom, lr);
    e->b = rmsprop_buffer(e->b, e->g, denom, momentum);
    return p_keep(lr, e->b);
}

static float delta_adagrad(const struct job *j, struct element *e)
{
    e->g = gradient_decay(e->g, e->p, word(j, GROUP_DECAY));
    e->a = adagrad_sum(e->a, e->g);
    return adagrad_delta(e->g, e->a, word(j, GROUP_STEP_LR),
                         word(j, GROUP_EPS));
}

/* LAMB's u, before the tensor's norms give it a length. */
static float lamb_u(const struct job *j, struct element *e)
{
    e->g = s_div(e->g, word(j, GROUP_STEP_DIVISOR));
    e->a = moment_mix(e->a, e->g, word(j, GROUP_STEP_MOMENTUM),
                      word(j, GROUP_STEP_C));
    e->b =
        moment_square(e->b, e->g, word(j, GROUP_BETA2), word(j, GROUP_BETA2_C));
    return adam_apex(e->a, e->b, e->p, word(j, GROUP_STEP_BC1),
                     word(j, GROUP_STEP_BC2), word(j, GROUP_EPS),
                     word(j, GROUP_DECAY));
}

static float delta_of(const struct job *j, struct element *e)
{
    switch (j->kind) {
    case OPT_SGD:
        return delta_sgd(j, e);
    case OPT_RMSPROP:
        return delta_rmsprop(j, e);
    case OPT_ADAGRAD:
        return delta_adagrad(j, e);
    case OPT_LAMB:
        return p_keep(j->ratio, lamb_u(j, e));
    default:
        return delta_adam(j, e);
    }
}

static struct element load_element(const struct job *j, int64_t i)
{
    float g = load_f32(view_host(j->grad), j->grad->dtype, i);
    return (struct element){.p = load_truth(j, i),
                            .g = gradient_true(g, j->factor, j->coef, j->flags),
                            .a = load_slot(j, SLOT_A, i),
                            .b = load_slot(j, SLOT_B, i),
                            .c = load_slot(j, SLOT_C, i)};
}

/* One element; was an update that is not 0 lost in 16 bits? */
static bool step_element(const struct job *j, int64_t i)
{
    struct element e = load_element(j, i);
    float delta = delta_of(j, &e);
    float kept = p_keep(e.p, word(j, GROUP_STEP_KEEP));
    bool moved = delta != 0.0f || kept != e.p;
    store_slot(j, SLOT_A, i, e.a);
    store_slot(j, SLOT_B, i, e.b);
    store_slot(j, SLOT_C, i, e.c);
    return store_truth(j, i, p_step(kept, delta)) && moved;
}

static void put_rounded(uint32_t *stats, size_t i, uint64_t rounded)
{
    stats[i * STAT_WORDS + STAT_ROUNDED_LO] = (uint32_t)rounded;
    stats[i * STAT_WORDS + STAT_ROUNDED_HI] = (uint32_t)(rounded >> 32);
}

static ssq_status optimizer(struct backend_queue *queue,
                            const struct optimizer_op *op)
{
    (void)queue;
    uint32_t *control = view_host(&op->control);
    uint32_t *stats = view_host(&op->stats);
    const float *ratio = view_host(&op->ratio);
    bool skip = control[CONTROL_SKIP] != 0;
    for (size_t i = 0, tensor = 0; i < op->n; tensor++) {
        uint64_t rounded = 0, first = 0;
        do {
            struct job j = job_of(op->kind, control, view_host(&op->table),
                                  op->op.list, i++, tensor);
            j.first = first;
            j.ratio = ratio == NULL ? 1.0f : ratio[tensor];
            for (int64_t k = 0; k < j.n && !skip; k++)
                rounded += step_element(&j, k);
            first += (uint64_t)j.n;
        } while (continues(op->op.list, i, op->n));
        if (stats != NULL)
            put_rounded(stats, tensor, rounded);
    }
    if (skip)
        return SSQ_OK;
    control[CONTROL_T] = control[CONTROL_NEXT_T];
    control[CONTROL_RANDOM]++;
    return SSQ_OK;
}

/* Add a piece to the norms of p and u. */
static void lamb_norms(const struct job *j, struct norm_fold *p,
                       struct norm_fold *u)
{
    for (int64_t k = 0; k < j->n; k++) {
        struct element e = load_element(j, k);
        norm_fold_add(p, e.p);
        norm_fold_add(u, lamb_u(j, &e));
    }
}

static float norm_of(struct norm_fold *f)
{
    float total[3];
    norm_fold_end(f, total);
    return norm_root(total[0], total[1], total[2]);
}

static ssq_status lamb(struct backend_queue *queue, const struct lamb_op *op)
{
    (void)queue;
    const uint32_t *control = view_host(&op->control);
    float *ratio = view_host(&op->ratio);
    if (control[CONTROL_SKIP] != 0)
        return SSQ_OK;
    for (size_t i = 0, tensor = 0; i < op->n; tensor++) {
        struct job j;
        struct norm_fold p, u;
        norm_fold_begin(&p);
        norm_fold_begin(&u);
        do {
            j = job_of(OPT_LAMB, control, view_host(&op->table), op->op.list,
                       i++, tensor);
            lamb_norms(&j, &p, &u);
        } while (continues(op->op.list, i, op->n));
        ratio[tensor] =
            lamb_ratio(norm_of(&p), norm_of(&u), word(&j, GROUP_STEP_LR),
                       word(&j, GROUP_DECAY), j.flags);
    }
    return SSQ_OK;
}

REFERENCE_IMPL(optimizer, optimizer);
REFERENCE_IMPL(lamb, lamb);
