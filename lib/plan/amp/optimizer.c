/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer.c - the plans of an optimizer step: the norms of LAMB, the update,
 * and the end of the step. */
#include "lib/plan/amp/amp_list.h"

#include "kernels/amp/step_args.h"
#include "kernels/reduce/norm.h"
#include "lib/amp/optimizer/optimizer.h"

/* An entry's key: its form, and the dtypes of parameter and gradient. */
#define KEY(FORM, P, G)                                                        \
    ((uint32_t)(FORM) << 16 | (uint32_t)(P) << 8 | (uint32_t)(G))
#define KEY_FORM(KEY) ((uint8_t)((KEY) >> 16))
#define KEY_P(KEY)    ((KEY) >> 8 & 0xffu)
#define KEY_G(KEY)    ((KEY)&0xffu)

/* Return the form of an entry: where the exact parameter is stored. */
static int optimizer_form_of(const struct view *param,
                             const struct view *master)
{
    bool full = master->buffer != NULL && master->dtype == SSQ_F32;
    if (param->dtype == SSQ_F32)
        return full ? FORM_COPY : FORM_SELF;
    if (full)
        return FORM_MASTER;
    return master->buffer != NULL ? FORM_SPLIT : FORM_NONE;
}

/* Set an entry from its views, v[PARAM_VIEWS], in the kernels' order. The exact
 * value is last, since some forms have none. A remainder (u8) is bound as
 * 16-bit words. */
static void optimizer_entry(const struct view *v, struct amp_entry *row)
{
    const struct view *master = &v[2 + SLOT_MASTER];
    int form = optimizer_form_of(&v[0], master);
    row->view[STEP_P] = &v[0];
    row->view[STEP_G] = &v[1];
    row->view[STEP_A] = &v[2 + SLOT_A];
    row->view[STEP_B] = &v[2 + SLOT_B];
    row->view[STEP_C] = &v[2 + SLOT_C];
    row->view[STEP_MASTER] = master;
    row->unit[STEP_MASTER] = form == FORM_SPLIT ? 2 : 4;
    row->key = KEY(form, v[0].dtype, v[1].dtype);
}

static void step_entry(const void *op, size_t i, struct amp_entry *row)
{
    const struct optimizer_op *o = op;
    optimizer_entry(&o->op.list->v[i * PARAM_VIEWS], row);
}

/* Norms only need the exact value: a master replaces the parameter. */
static void lamb_entry(const void *op, size_t i, struct amp_entry *row)
{
    const struct lamb_op *o = op;
    optimizer_entry(&o->op.list->v[i * PARAM_VIEWS], row);
    uint8_t form = KEY_FORM(row->key);
    if (form != FORM_MASTER && form != FORM_COPY)
        return;
    row->view[STEP_P] = row->view[STEP_MASTER];
    row->view[STEP_MASTER] = NULL;
    row->key = KEY(FORM_SELF, SSQ_F32, KEY_G(row->key));
}

/* If norms are only combined, an entry is a parameter or a piece of one, and
 * only its size is used. */
static void lamb_size(const void *op, size_t i, struct amp_entry *row)
{
    row->view[STEP_P] = &((const struct lamb_op *)op)->op.list->v[i];
    row->key = KEY(FORM_SELF, row->view[STEP_P]->dtype, 0);
}

/* Return whether a form has an operand for the exact value. */
static bool form_has_master(int form)
{
    return form != FORM_SELF && form != FORM_NONE;
}

/* End a launch. A form without an exact value has one operand less, and
 * therefore one offset less. Offsets are the first words of the parameters and
 * are set at the launch. So the last one is omitted by skipping one word at the
 * beginning. */
static void end_launch(struct plan *p, const struct entry_launch *b,
                       const void *args, size_t bytes, uint64_t loops)
{
    size_t skip = form_has_master(KEY_FORM(b->key)) ? 0 : sizeof(uint32_t);
    plan_groups(p, (const char *)args + skip, bytes - skip, b->tasks, loops);
}

/* Loops of an element: its quotients and roots. */
#define ELEMENT_LOOPS (4 * LOOPS_DIVIDE)

/* Get scratch of n words, or of one word if n is 0: scratch must not be
 * empty. */
static void optimizer_scratch(struct plan *p, uint64_t n, struct view *parts)
{
    plan_scratch(p, SSQ_I32, n == 0 ? 1 : n, parts);
}

/* ---- the update ---- */

/* Return the form of the kernel variant. Adam has faster forms for 16-bit
 * parameters with a master, if the gradient is float32 or has the same
 * dtype. */
static uint8_t variant(uint8_t kind, uint32_t key)
{
    bool same = KEY_G(key) == KEY_P(key) || KEY_G(key) == SSQ_F32;
    if (kind != OPT_adam || KEY_FORM(key) != FORM_MASTER || !same)
        return KEY_FORM(key);
    return KEY_P(key) == SSQ_F16 ? FORM_F16 : FORM_BF16;
}

/* Record one launch of the update. The control block says what is skipped,
 * clipped or scheduled, so the launch is the same in every step. AdamW differs
 * from Adam only in the decay: both use one kernel, with the flag `coupled`. */
static void optimizer_pass(struct plan *p, const struct optimizer_op *op,
                           const struct entries *r,
                           const struct entry_launch *b,
                           const struct view *parts)
{
    bool keeps = (kind_needs(op->kind) & NEEDS_KEEP) != 0;
    struct step_args a = {.list = entries_table(r, b),
                          .step = {.parts = r->parts,
                                   .there = b->present,
                                   .p_dtype = KEY_P(b->key),
                                   .g_dtype = KEY_G(b->key),
                                   .coupled = !keeps,
                                   .adapted = op->ratio.buffer != NULL,
                                   .counted = op->stats.buffer != NULL}};
    uint8_t kind = (uint8_t)kind_program(op->kind);
    uint8_t form = variant(kind, b->key);
    plan_kernel(
        p, KERNEL_param_step,
        KEYS(kind, form_has_master(form), form, (uint8_t)b->at[STEP_G].unit));
    plan_bind(p, &b->table, ACCESS_READ);
    plan_bind(p, &op->control, ACCESS_READ);
    plan_bind(p, &op->table, ACCESS_READ);
    plan_bind(p, &op->ratio, ACCESS_READ);
    plan_bind(p, parts, ACCESS_WRITE);
    entries_bind(r, b, STEP_P, ACCESS_UPDATE);
    entries_bind(r, b, STEP_G, ACCESS_READ);
    for (uint32_t k = STEP_A; k <= STEP_C; k++)
        entries_bind(r, b, k, ACCESS_UPDATE);
    if (form_has_master(form))
        entries_bind(r, b, STEP_MASTER, ACCESS_UPDATE);
    end_launch(p, b, &a, sizeof(a),
               entries_loops(p, STEP_CHUNK, ELEMENT_LOOPS));
}

/* Record the end of the step. It runs after all launches of the update have
 * read t and the random counter, and advances both. It also adds the counts of
 * the tasks, one partial each, to the counts of the tensors. */
static void optimizer_end(struct plan *p, const struct optimizer_op *op,
                          const struct entries *r, const struct view *parts)
{
    struct step_end_args a = {.tensors =
                                  op->stats.buffer == NULL ? 0 : r->tensors};
    struct view tensors;
    entries_tensors(r, &tensors);
    plan_kernel(p, KERNEL_step_end, KEYS(0));
    plan_bind(p, parts, ACCESS_READ);
    plan_bind(p, &tensors, ACCESS_READ);
    plan_bind(p, &op->control, ACCESS_UPDATE);
    plan_bind(p, &op->stats, ACCESS_UPDATE);
    plan_groups(p, &a, sizeof(a), (uint64_t)a.tensors + 1,
                entries_loops(p, r->parts, 0) +
                    loops_of(plan_limits(p)->group, 0));
}

/* Build an update. Only statistics need parts: each task counts the updates
 * that rounding lost. */
static void build_optimizer(struct plan *p, const struct optimizer_op *op)
{
    struct entries r;
    struct view parts;
    if (!entries_divide(&r, p, op, op->n, ROW_VIEWS, STEP_CHUNK, step_entry))
        return;
    optimizer_scratch(p, op->stats.buffer == NULL ? 1 : r.parts, &parts);
    for (size_t k = 0; k < r.n; k++)
        optimizer_pass(p, op, &r, &r.launch[k], &parts);
    optimizer_end(p, op, &r, &parts);
    entries_free(&r);
}

/* ---- LAMB ---- */

/* Record the two norms of LAMB, of the parameter and of its update, by chunks.
 * Each norm has the three sums of kernels/reduce/norm.h, so a partial has six
 * words. */
static void norms(struct plan *p, const struct lamb_op *op,
                  const struct entries *r, const struct entry_launch *b,
                  const struct view *parts)
{
    uint32_t all = (uint32_t)(view_elements(parts) / LAMB_PART_WORDS);
    struct lamb_norm_args a = {.list = entries_table(r, b),
                               .step = {.parts = all,
                                        .there = b->present,
                                        .p_dtype = KEY_P(b->key),
                                        .g_dtype = KEY_G(b->key)}};
    uint8_t form = KEY_FORM(b->key);
    plan_kernel(p, KERNEL_lamb_norm,
                KEYS(form_has_master(form), form, (uint8_t)b->at[STEP_G].unit));
    plan_bind(p, &b->table, ACCESS_READ);
    plan_bind(p, &op->control, ACCESS_READ);
    plan_bind(p, &op->table, ACCESS_READ);
    plan_bind(p, parts, ACCESS_WRITE);
    for (uint32_t k = STEP_P; k <= STEP_B; k++)
        entries_bind(r, b, k, ACCESS_READ);
    if (form_has_master(form))
        entries_bind(r, b, STEP_MASTER, ACCESS_READ);
    end_launch(p, b, &a, sizeof(a), entries_norm_loops(p, ELEMENT_LOOPS));
}

/* Fold the chunks of each parameter, and compute its step length from both
 * norms. */
static void lengths(struct plan *p, const struct lamb_op *op,
                    const struct entries *r, const struct view *parts)
{
    struct lamb_fold_args a = {.parts = r->parts, .tensors = r->tensors};
    struct view tensors;
    entries_tensors(r, &tensors);
    plan_kernel(p, KERNEL_lamb_fold, KEYS(0));
    plan_bind(p, parts, ACCESS_READ);
    plan_bind(p, &tensors, ACCESS_READ);
    plan_bind(p, &op->control, ACCESS_READ);
    plan_bind(p, &op->table, ACCESS_READ);
    plan_bind(p, &op->ratio, ACCESS_WRITE);
    plan_groups(p, &a, sizeof(a), a.tensors,
                LOOPS_FEW + 2 * rows_fold_loops(p, r->parts));
}

/* Build LAMB's norms. The list is divided by the chunks of a norm, not of a
 * step: norms are added in their fixed order. */
static void build_lamb(struct plan *p, const struct lamb_op *op)
{
    struct entries r;
    struct view parts = op->parts;
    bool shared = parts.buffer != NULL, folds = op->ratio.buffer != NULL;
    bool sizes = shared && folds;
    if (!entries_divide_from(&r, p, op, op->n, sizes ? 1 : ROW_VIEWS,
                             FOLD_CHUNK, sizes ? lamb_size : lamb_entry,
                             op->first))
        return;
    if (!shared)
        optimizer_scratch(p, LAMB_PART_WORDS * (uint64_t)r.parts, &parts);
    for (size_t k = 0; k < r.n && !sizes; k++)
        norms(p, op, &r, &r.launch[k], &parts);
    if (folds)
        lengths(p, op, &r, &parts);
    entries_free(&r);
}

const struct optimizer_plan optimizer_plans[] = {
    {"portable", NULL, build_optimizer}, {NULL}};
const struct lamb_plan lamb_plans[] = {{"portable", NULL, build_lamb}, {NULL}};
