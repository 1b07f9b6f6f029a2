/* SPDX-License-Identifier: Apache-2.0 */
/* step.h - one element of a step: its bits in memory, and its exact value.
 *
 * param_step.k and lamb_norm.k declare the operands table, control, params, p,
 * g, a, b and, as the last one, IF_MASTER(BUF_RW(number, .., master) SEP). At
 * the top of a task they write STEP_FIND(row, from), STEP_TASK(task, w, row).
 * Operand master has the exact value, or what a 16-bit parameter lacks of it.
 * Elements go through functions as structs. Only the macros that load and store
 * them name operands.
 *
 * HAS are the bits of the operands that a loop reads. If it is a literal, the
 * compiler removes the loads of all others. */
#ifndef KERNELS_AMP_STEP_H
#define KERNELS_AMP_STEP_H

#include "kernels/amp/kinds.h"
#include "kernels/amp/step_args.h"
#include "kernels/operands/quads.h"

#define HAS_P (1u << STEP_P) /* its bits before the step */
#define HAS_A (1u << STEP_A)
#define HAS_B (1u << STEP_B)
#define HAS_C (1u << STEP_C)

#ifndef FORM /* the header by itself */
#define MASTER 0
#define FORM FORM_SELF
#define GRAD 4
#endif
#define IS_FORM(form, N) IS_KEY(FORM, form, N)

/* Operand master exists if MASTER is 1. */
#if MASTER
#define IF_MASTER(X) X
#else
#define IF_MASTER(X)
#endif

/* The bytes of a parameter, and of the operand that keeps its exact value. On
 * Vulkan FORM is a constant of the pipeline: constants.h. */
#define P_SHORT      (FORM != FORM_SELF && FORM != FORM_COPY)
#define MASTER_SHORT (FORM == FORM_SPLIT)
#ifdef VULKAN
#define P_BYTES                    OF_P
#define CELL_OF_P                  CELLS
#define GET_CELL_OF_P(N, I)        CONST_GET(N, I, P_SHORT)
#define PUT_CELL_OF_P(N, I, B)     CONST_PUT(N, I, P_SHORT, B)
#define MASTER_BYTES               OF_MASTER
#define CELL_OF_MASTER             CELLS
#define GET_CELL_OF_MASTER(N, I)   CONST_GET(N, I, MASTER_SHORT)
#define PUT_CELL_OF_MASTER(N, I, B) CONST_PUT(N, I, MASTER_SHORT, B)
#else
#if P_SHORT
#define P_BYTES 2
#else
#define P_BYTES 4
#endif
#if MASTER_SHORT
#define MASTER_BYTES 2
#else
#define MASTER_BYTES 4
#endif
#endif

/* The dtypes: of the form, or a parameter of the launch. */
#define P_DTYPE                                                                \
    (FORM == FORM_F16 ? DT_F16                                                 \
                      : FORM == FORM_BF16 ? DT_BF16 : pc.step.p_dtype)
#define G_DTYPE                                                                \
    (GRAD == 4 ? DT_F32                                                        \
               : FORM == FORM_F16 || FORM == FORM_BF16 ? P_DTYPE               \
                                                       : pc.step.g_dtype)

/* ---- a task ---- */

/* Where its element 0 is in each operand. */
#define STEP_FIND(ROW, FROM)                                                   \
    u32 p_from = AT(table, ROW + ROW_AT + STEP_P) + FROM;                      \
    u32 g_from = AT(table, ROW + ROW_AT + STEP_G) + FROM;                      \
    u32 a_from = AT(table, ROW + ROW_AT + STEP_A) + FROM;                      \
    u32 b_from = AT(table, ROW + ROW_AT + STEP_B) + FROM;                      \
    IF_MASTER(u32 master_from = AT(table, ROW + ROW_AT + STEP_MASTER) + FROM;)

/* The words that all elements of a task share, without their group's. If a
 * member is a literal, the compiler removes the code that it excludes. */
struct step_task {
    u32 form; /* key FORM: IS_FORM(form, FORM_SPLIT) */
    u32 grad_bytes;
    u32 p_dtype;
    u32 g_dtype;
    u32 entry; /* the parameter's first word in params */
    u32 flags; /* of the group */
    float factor;
    float coef;
};

/* Load TASK, and GROUP, a struct step_group, for the task of ROW. */
#define STEP_WORD(W) AT(control, words + W)
#define STEP_TASK(TASK, GROUP, ROW)                                            \
    EXACT STRUCT(step_task) TASK;                                              \
    EXACT STRUCT(step_group) GROUP;                                            \
    TASK.form = U32(FORM);                                                     \
    TASK.grad_bytes = U32(GRAD);                                               \
    TASK.p_dtype = P_DTYPE;                                                    \
    TASK.g_dtype = G_DTYPE;                                                    \
    TASK.entry = AT(table, ROW + ROW_TENSOR) * TABLE_WORDS;                    \
    u32 words =                                                                \
        AT(params, TASK.entry + TABLE_GROUP) * GROUP_WORDS + CONTROL_WORDS;    \
    TASK.flags = STEP_WORD(GROUP_FLAGS);                                       \
    TASK.factor = AS_F32(AT(control, CONTROL_FACTOR));                         \
    TASK.coef = AS_F32(AT(control, CONTROL_COEF));                             \
    STEP_GROUP_LOAD(GROUP, STEP_WORD)                                          \
    GROUP.flags = TASK.flags;                                                  \
    GROUP.t = AT(control, CONTROL_NEXT_T) + STEP_WORD(GROUP_T);                \
    GROUP.coupled = pc.step.coupled != 0u ? GROUP.decay : 0.0f;

/* ---- an element ---- */

/* The contents of its operands: bits, and the floats of slots. */
struct step_cells {
    u32 p;
    u32 g;
    u32 master;
    float a;
    float b;
    float c;
    u32 lost; /* 1: 16 bits have no room for the update */
};

FN STRUCT(step_cells) cells_of_gradient(u32 g)
{
    STRUCT(step_cells) x;

    x.p = 0u;
    x.g = g;
    x.master = 0u;
    x.a = 0.0f;
    x.b = 0.0f;
    x.c = 0.0f;
    x.lost = 0u;
    return x;
}

/* Load X: its operand N is AS(N), as in quads.h. The caller loads slot c. */
#define CELLS_LOAD(X, HAS, AS)                                                 \
    STRUCT(step_cells) X = cells_of_gradient(GET_AS(AS, g, GRAD));             \
    IF_MASTER(X.master = GET_AS(AS, master, MASTER_BYTES);)                    \
    if (((HAS)&HAS_P) != 0u)                                                   \
        X.p = GET_AS(AS, p, P_BYTES);                                          \
    if (((HAS)&HAS_A) != 0u)                                                   \
        X.a = AS(a);                                                           \
    if (((HAS)&HAS_B) != 0u)                                                   \
        X.b = AS(b);

/* The gradient, without the factor. */
FN float cells_gradient(STRUCT(step_cells) x, STRUCT(step_task) task)
{
    return IS_KEY(GRAD, task.grad_bytes, 4) ? AS_F32(x.g)
                                            : cell_2(x.g, task.g_dtype);
}

/* The exact value, of which the parameter may be a rounded copy. */
FN float cells_value(STRUCT(step_cells) x, STRUCT(step_task) task)
{
    u32 bits = IS_FORM(task.form, FORM_SELF) ? x.p : x.master;

    if (IS_FORM(task.form, FORM_SPLIT))
        bits = split_join(x.p, x.master);
    if (IS_FORM(task.form, FORM_NONE))
        bits = AS_U32(cell_2(x.p, task.p_dtype));
    return AS_F32(bits);
}

/* The element that an optimizer's kind gets. */
FN STRUCT(element)
    cells_element(STRUCT(step_cells) x, float grad, STRUCT(step_task) task)
{
    EXACT STRUCT(element) e;

    e.value = cells_value(x, task);
    e.grad = gradient_true(grad, task.factor, task.coef, task.flags);
    e.a = x.a;
    e.b = x.b;
    e.c = x.c;
    e.delta = 0.0f;
    return e;
}

#endif
