/* SPDX-License-Identifier: Apache-2.0 */
/* step.h - one element on its way through a step, in steps.
 *
 * The text of param_step.k and lamb_norm.k: they declare operands table,
 * control, params, p, g, a, b, TRUTH(number), and say at the top of a task
 * STEP_FIND(row, from) and STEP_GROUP(w, row), for the struct step_group w.
 * What is not there is not asked for: HAS is a literal, the bits of operands
 * that a loop has. */
#ifndef KERNELS_AMP_STEP_H
#define KERNELS_AMP_STEP_H

#include "kernels/amp/kinds.h"
#include "kernels/amp/step_args.h"
#include "kernels/operands/quads.h"

#define HAS_A (1u << STEP_A)
#define HAS_B (1u << STEP_B)
#define HAS_C (1u << STEP_C)
#define COUNT 1u /* the old model is read too */

#ifndef FORM /* the header by itself */
#define FORM FORM_SELF
#define GRAD 4
#endif

#if FORM == FORM_SELF
#define P_BYTES 4
#elif FORM == FORM_COPY
#define P_BYTES    4
#define TRUTH_CELL float
#elif FORM != FORM_SHORT
#define P_BYTES    2
#define TRUTH_CELL float
#else
#define P_BYTES    2
#define TRUTH_CELL u16
#endif

#if FORM == FORM_F16
#define P_DTYPE DT_F16
#elif FORM == FORM_BF16
#define P_DTYPE DT_BF16
#else
#define P_DTYPE pc.step.p_dtype
#endif
#if GRAD == 4
#define G_DTYPE DT_F32
#elif FORM == FORM_F16 || FORM == FORM_BF16
#define G_DTYPE P_DTYPE
#else
#define G_DTYPE pc.step.g_dtype
#endif

/* The truth, operand B. */
#if FORM == FORM_SELF
#define TRUTH(B)
#define FIND_TRUTH(ROW, FROM)
#else
#define TRUTH(B) BUF_RW(B, TRUTH_CELL, truth) SEP
#define FIND_TRUTH(ROW, FROM)                                                  \
    u32 truth_from = AT(table, ROW + ROW_AT + STEP_TRUE) + FROM;
#endif

/* Where element 0 of the task is in each operand. */
#define STEP_FIND(ROW, FROM)                                                   \
    u32 p_from = AT(table, ROW + ROW_AT + STEP_P) + FROM;                      \
    u32 g_from = AT(table, ROW + ROW_AT + STEP_G) + FROM;                      \
    u32 a_from = AT(table, ROW + ROW_AT + STEP_A) + FROM;                      \
    u32 b_from = AT(table, ROW + ROW_AT + STEP_B) + FROM;                      \
    FIND_TRUTH(ROW, FROM)

/* The words that hold for the whole task, into the struct step_group GROUP. */
#define STEP_WORD(W) AT(control, words + W)
#define STEP_GROUP(GROUP, ROW)                                                 \
    u32 entry = AT(table, ROW + ROW_TENSOR) * TABLE_WORDS;                     \
    u32 words = AT(params, entry + TABLE_GROUP) * GROUP_WORDS + CONTROL_WORDS; \
    u32 flags = STEP_WORD(GROUP_FLAGS);                                        \
    EXACT float factor = AS_F32(AT(control, CONTROL_FACTOR));                  \
    EXACT float coef = AS_F32(AT(control, CONTROL_COEF));                      \
    EXACT STRUCT(step_group) GROUP;                                            \
    STEP_GROUP_LOAD(GROUP, STEP_WORD)                                          \
    GROUP.flags = flags;                                                       \
    GROUP.t = AT(control, CONTROL_NEXT_T);                                     \
    GROUP.coupled = pc.step.coupled != 0u ? GROUP.decay : 0.0f;

/* An element's operand N is AS(N), as quads.h has it. Its truth, whose form
 * TRUE says; its gradient; the element E of both and of slots a and b. */
#define READ_SELF(AS)   AS_F32(AS(p))
#define READ_MASTER(AS) AS(truth)
#define READ_COPY(AS)   READ_MASTER(AS)
#define READ_NONE(AS)   cell_2(U32(AS(p)), P_DTYPE)
#define READ_SPLIT(AS)  AS_F32(split_join(U32(AS(p)), U32(AS(truth))))
#define READ_GRAD(AS)   TENSOR_NAME(cell_, GRAD)(U32(AS(g)), G_DTYPE)
#define STEP_LOAD(E, TRUE, HAS, AS)                                            \
    STEP_ELEMENT(E, READ_##TRUE(AS), READ_GRAD(AS), HAS, AS)
#define STEP_ELEMENT(E, VALUE, GRADIENT, HAS, AS)                              \
    EXACT STRUCT(element) E;                                                   \
    E.value = VALUE;                                                           \
    E.grad = gradient_true(GRADIENT, factor, coef, flags);                     \
    E.a = 0.0f;                                                                \
    E.b = 0.0f;                                                                \
    E.c = 0.0f;                                                                \
    E.delta = 0.0f;                                                            \
    if (((HAS)&HAS_A) != 0u)                                                   \
        E.a = AS(a);                                                           \
    if (((HAS)&HAS_B) != 0u)                                                   \
        E.b = AS(b);

#endif
