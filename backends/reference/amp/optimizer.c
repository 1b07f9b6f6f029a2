/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.c - reference: the fused step, and LAMB's norms before it. Elements
 * do not depend on each other, so their order does not matter. The norms are
 * summed in the fixed order of kernels/reduce/norm.h. */
#include "lib/amp/optimizer/optimizer.h"

#include "backends/reference/amp/parts.h"
#include "backends/reference/reduce/fold.h"
#include "backends/reference/reference.h"
#include "lib/amp/optimizer/split.h"

#include <string.h>

/* A parameter, or a piece of it, and its words. */
struct reference_job {
    uint32_t kind, master_kind;
    const uint32_t *control, *table;
    struct step_group group;
    float factor, coef; /* factors for its gradients */
    const struct view *param, *grad;
    const struct view *slot; /* SLOTS views */
    int64_t n;
    uint64_t first; /* number of the parameter's elements before this piece */
};

/* Return the group whose first word is g, like STEP_GROUP of
 * kernels/amp/step.h. Weight decay is added to the gradient, unless the kind
 * multiplies the parameter by it: `coupled` is then 0. */
static struct step_group optimizer_group(uint32_t kind, const uint32_t *control,
                                         const uint32_t *g)
{
#define GROUP_WORD(W) g[W]
    struct step_group group;
    STEP_GROUP_LOAD(group, GROUP_WORD)
#undef GROUP_WORD
    group.flags = g[GROUP_FLAGS];
    group.t = control[CONTROL_NEXT_T] + g[GROUP_T];
    group.coupled = (kind_needs(kind) & NEEDS_KEEP) != 0 ? 0.0f : group.decay;
    return group;
}

/* Return the job of entry i of the list, which belongs to parameter `tensor`.
 * The list has an entry for each piece, and the table one for each parameter.
 * Slots that the group does not have are absent views. */
static struct reference_job
optimizer_job(uint32_t kind, const uint32_t *control, const uint32_t *table,
              const struct view_list *list, size_t i, size_t tensor)
{
    const struct view *v = &list->v[i * PARAM_VIEWS];
    const uint32_t *entry = table + tensor * TABLE_WORDS;
    const uint32_t *g =
        control + CONTROL_WORDS + entry[TABLE_GROUP] * GROUP_WORDS;
    return (struct reference_job){.kind = kind,
                                  .master_kind = entry[TABLE_MASTER],
                                  .control = control,
                                  .table = entry,
                                  .group = optimizer_group(kind, control, g),
                                  .factor = AS_F32(control[CONTROL_FACTOR]),
                                  .coef = AS_F32(control[CONTROL_COEF]),
                                  .param = &v[0],
                                  .grad = &v[1],
                                  .slot = &v[2],
                                  .n = view_elements(&v[0])};
}

/* Return whether entry i of n continues the previous one. All views of an entry
 * are cut in the same way, so only the parameter is tested. */
static bool optimizer_continues(const struct view_list *list, size_t i,
                                size_t n)
{
    return i < n && list->v[i * PARAM_VIEWS].continues;
}

/* ---- loads and stores ---- */

/* An absent slot reads as 0. */
static float slot_load(const struct reference_job *j, int slot, int64_t i)
{
    const float *x = view_host(&j->slot[slot]);
    return x == NULL ? 0.0f : x[i];
}

static void slot_store(const struct reference_job *j, int slot, int64_t i,
                       float value)
{
    float *x = view_host(&j->slot[slot]);
    if (x != NULL)
        x[i] = value;
}

/* Return the exact value of a parameter's element. It is in a float32 master;
 * or in the bf16 parameter and a 16-bit remainder, which together make a
 * float32; or in the parameter itself, of any dtype. */
static float master_load(const struct reference_job *j, int64_t i)
{
    const void *p = view_host(j->param);
    if (j->master_kind == MASTER_F32)
        return slot_load(j, SLOT_MASTER, i);
    if (j->master_kind != MASTER_SPLIT)
        return load_f32(p, j->param->dtype, i);
    const uint8_t *rest = view_host(&j->slot[SLOT_MASTER]);
    return AS_F32(split_join(load_bits(p, SSQ_BF16, i), split_load(rest, i)));
}

/* Return the random word that rounds element i. It depends only on the seed,
 * the random counter, the parameter's id and the element's number in the whole
 * parameter. That number includes the first elements of its shard and of its
 * piece. The words are therefore the same for any division into pieces or among
 * ranks. */
static uint32_t optimizer_random(const struct reference_job *j, int64_t i)
{
    uint64_t first =
        (uint64_t)j->table[TABLE_FIRST_HI] << 32 | j->table[TABLE_FIRST_LO];
    uint64_t index = first + j->first + (uint64_t)i;
    return random_u32(j->control[CONTROL_SEED_LO], j->control[CONTROL_SEED_HI],
                      j->control[CONTROL_RANDOM], j->table[TABLE_ID],
                      (uint32_t)index, (uint32_t)(index >> 32));
}

/* Return the 16 bits of a parameter for an exact value. */
static uint32_t model_bits(const struct reference_job *j, int64_t i,
                           float value)
{
    bool half = j->param->dtype == SSQ_F16;
    switch (j->master_kind) {
    case MASTER_SPLIT:
        return split_model(AS_U32(value));
    case MASTER_NONE:
        return half ? f16_store_sr(value, optimizer_random(j, i))
                    : bf16_store_sr(value, optimizer_random(j, i));
    default:
        return half ? f16_store(value) : bf16_store(value);
    }
}

/* Store a new exact value. Returns whether the 16 bits of the parameter did not
 * change. For a float32 parameter this is always false. */
static bool master_store(const struct reference_job *j, int64_t i, float value)
{
    void *p = view_host(j->param);
    if (j->master_kind == MASTER_F32)
        slot_store(j, SLOT_MASTER, i, value);
    if (j->master_kind == MASTER_SPLIT)
        split_store(view_host(&j->slot[SLOT_MASTER]), i,
                    split_rest(AS_U32(value)));
    if (j->param->dtype == SSQ_F32) {
        store_f32(p, SSQ_F32, i, value);
        return false;
    }
    uint32_t old = load_bits(p, j->param->dtype, i);
    uint32_t bits = model_bits(j, i, value);
    store_bits(p, j->param->dtype, i, bits);
    return bits == old;
}

/* ---- one element: kernels/amp/kinds.h has the arithmetic ---- */

/* Load an element. The gradient is multiplied by factor and then by coef, and
 * each product is rounded. The result equals unscaling in place and clipping
 * afterwards. */
static struct element optimizer_load(const struct reference_job *j, int64_t i)
{
    float g = load_f32(view_host(j->grad), j->grad->dtype, i);
    return (struct element){
        .value = master_load(j, i),
        .grad = gradient_true(g, j->factor, j->coef, j->group.flags),
        .a = slot_load(j, SLOT_A, i),
        .b = slot_load(j, SLOT_B, i),
        .c = slot_load(j, SLOT_C, i)};
}

/* Update one element. Returns whether an update that is not 0 was lost in 16
 * bits. The weight decay of AdamW multiplies the value before the step is
 * subtracted, as in torch. It counts as an update even if the step is 0. */
static bool optimizer_step(const struct reference_job *j, int64_t i)
{
    struct element e = kind_step(j->kind, optimizer_load(j, i), j->group);
    float kept = p_keep(e.value, j->group.keep);
    bool moved = e.delta != 0.0f || kept != e.value;
    slot_store(j, SLOT_A, i, e.a);
    slot_store(j, SLOT_B, i, e.b);
    slot_store(j, SLOT_C, i, e.c);
    return master_store(j, i, p_step(kept, e.delta)) && moved;
}

static void optimizer_put_rounded(uint32_t *stats, size_t i, uint64_t rounded)
{
    stats[i * STAT_WORDS + STAT_ROUNDED_LO] = (uint32_t)rounded;
    stats[i * STAT_WORDS + STAT_ROUNDED_HI] = (uint32_t)(rounded >> 32);
}

/* Run a step. A skipped step walks the list but changes no element; its counts
 * of lost updates become 0. The counters in control are advanced at the end,
 * unless the step is skipped. For LAMB, ratio contains the step length of each
 * parameter, which replaces the group's lr. */
static ssq_status reference_optimizer_run(struct backend_queue *queue,
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
            struct reference_job j =
                optimizer_job(op->kind, control, view_host(&op->table),
                              op->op.list, i++, tensor);
            j.first = first;
            if (ratio != NULL)
                j.group.lr = ratio[tensor];
            for (int64_t k = 0; k < j.n && !skip; k++)
                rounded += optimizer_step(&j, k);
            first += (uint64_t)j.n;
        } while (optimizer_continues(op->op.list, i, op->n));
        if (stats != NULL)
            optimizer_put_rounded(stats, tensor, rounded);
    }
    if (skip)
        return SSQ_OK;
    control[CONTROL_T] = control[CONTROL_NEXT_T];
    control[CONTROL_RANDOM]++;
    return SSQ_OK;
}

/* Add a piece to the norms of the parameter and of its update. The moments that
 * lamb_direction() computes are discarded, because this pass must not change
 * state. The step computes them again and stores them. */
static void lamb_norms(const struct reference_job *j, int64_t from, int64_t end,
                       struct norm_fold *p, struct norm_fold *u)
{
    for (int64_t k = from; k < end; k++) {
        struct element e = lamb_direction(optimizer_load(j, k), j->group);
        norm_fold_add(p, e.value);
        norm_fold_add(u, e.delta);
    }
}

static float optimizer_norm(struct norm_fold *f)
{
    float total[3];
    norm_fold_end(f, total);
    return norm_root(total[0], total[1], total[2]);
}

/* Compute a partial for each chunk of this rank. */
static void lamb_parts(const struct lamb_op *op, const struct amp_parts *parts)
{
    size_t at = op->first, tensor = 0;
    for (size_t i = 0; i < op->n; i++) {
        tensor += i > 0 && !optimizer_continues(op->op.list, i, op->n);
        struct reference_job j =
            optimizer_job(OPT_lamb, view_host(&op->control),
                          view_host(&op->table), op->op.list, i, tensor);
        for (int64_t from = 0; from < j.n; from += FOLD_CHUNK, at++) {
            int64_t left = j.n - from;
            struct norm_fold p, u;
            norm_fold_begin(&p);
            norm_fold_begin(&u);
            lamb_norms(&j, from, from + (left < FOLD_CHUNK ? left : FOLD_CHUNK),
                       &p, &u);
            parts_put(parts, 0, at, &p);
            parts_put(parts, 3, at, &u);
        }
    }
}

/* Compute the step lengths from the chunks of all ranks. The list has one view
 * for each parameter or piece, which is used only for its size. */
static void lamb_lengths(const struct lamb_op *op,
                         const struct amp_parts *parts)
{
    const uint32_t *control = view_host(&op->control);
    const uint32_t *table = view_host(&op->table);
    const struct view *v = op->op.list->v;
    float *ratio = view_host(&op->ratio);
    size_t at = 0, tensor = 0;
    for (size_t i = 0; i < op->n; tensor++) {
        size_t from = at;
        do
            at += parts_chunks(&v[i++]);
        while (i < op->n && v[i].continues);
        uint32_t group = table[tensor * TABLE_WORDS + TABLE_GROUP];
        struct step_group g = optimizer_group(
            OPT_lamb, control, control + CONTROL_WORDS + group * GROUP_WORDS);
        ratio[tensor] = lamb_ratio(parts_norm(parts, 0, from, at - from),
                                   parts_norm(parts, 3, from, at - from), g.lr,
                                   g.decay, g.flags);
    }
}

/* Compute LAMB's step lengths. The pieces of a parameter form one fold, because
 * each but the last consists of whole chunks. All of them have the same group,
 * so the last one's is used. A skipped step computes nothing, because its
 * result would not be read. */
static ssq_status reference_lamb_run(struct backend_queue *queue,
                                     const struct lamb_op *op)
{
    (void)queue;
    const uint32_t *control = view_host(&op->control);
    float *ratio = view_host(&op->ratio);
    const struct amp_parts parts = parts_of(&op->parts, LAMB_PART_WORDS);
    if (control[CONTROL_SKIP] != 0)
        return SSQ_OK;
    if (parts.word != NULL) {
        if (ratio == NULL)
            lamb_parts(op, &parts);
        else
            lamb_lengths(op, &parts);
        return SSQ_OK;
    }
    for (size_t i = 0, tensor = 0; i < op->n; tensor++) {
        struct reference_job j;
        struct norm_fold p, u;
        norm_fold_begin(&p);
        norm_fold_begin(&u);
        do {
            j = optimizer_job(OPT_lamb, control, view_host(&op->table),
                              op->op.list, i++, tensor);
            lamb_norms(&j, 0, j.n, &p, &u);
        } while (optimizer_continues(op->op.list, i, op->n));
        ratio[tensor] = lamb_ratio(optimizer_norm(&p), optimizer_norm(&u),
                                   j.group.lr, j.group.decay, j.group.flags);
    }
    return SSQ_OK;
}

REFERENCE_IMPL(optimizer);
REFERENCE_IMPL(lamb);
