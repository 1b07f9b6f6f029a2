/* SPDX-License-Identifier: Apache-2.0 */
/* step_args.h - the parameters of the kernels of a step.
 *
 * param_step.k, step_end.k, lamb_norm.k, lamb_fold.k. The operands of an entry
 * are, in this order: */
#ifndef KERNELS_AMP_STEP_ARGS_H
#define KERNELS_AMP_STEP_ARGS_H

#include "kernels/amp/amp_list.h"

#define STEP_P    0u /* the parameter */
#define STEP_G    1u
#define STEP_A    2u /* slots */
#define STEP_B    3u
#define STEP_C    4u
#define STEP_MASTER 5u /* master or remainder */

/* Key FORM: where the exact value is. Key MASTER is 1 for all but FORM_SELF and
 * FORM_NONE. */
#define FORM_SELF   0 /* a float32 parameter */
#define FORM_MASTER 1 /* 16 bits and a float32 master */
#define FORM_SPLIT  2 /* 16 bits, and 16 more */
#define FORM_COPY   3 /* a float32 parameter and a float32 master */
#define FORM_NONE   4 /* 16 bits, rounded stochastically */
/* FORM_MASTER of one dtype, gradients of 2 bytes included: faster */
#define FORM_F16  5
#define FORM_BF16 6

#define STEP_CHUNK 4096u

/* The parameters of a pass, besides its list. */
struct step_words {
    u32 parts;
    u32 there; /* operands, by bits */
    u32 p_dtype;
    u32 g_dtype;
    u32 coupled; /* decay is part of the gradient */
    u32 adapted; /* there is a ratio */
    u32 counted; /* count what is rounded away */
};

/* The exact value's is the last operand, which FORM_SELF and FORM_NONE do not
 * have: key MASTER is 0. The host has no keys: it leaves the word out when it
 * launches. */
struct step_args {
    u32 table_at;
    u32 control_at;
    u32 params_at;
    u32 ratio_at;
    u32 parts_at;
    u32 p_at;
    u32 g_at;
    u32 a_at;
    u32 b_at;
    u32 c_at;
#if !defined(FORM) || MASTER
    u32 master_at;
#endif
    STRUCT(row_table) list;
    STRUCT(step_words) step;
};

struct lamb_norm_args {
    u32 table_at;
    u32 control_at;
    u32 params_at;
    u32 parts_at;
    u32 p_at;
    u32 g_at;
    u32 a_at;
    u32 b_at;
#if !defined(FORM) || MASTER
    u32 master_at;
#endif
    STRUCT(row_table) list;
    STRUCT(step_words) step;
};

struct step_end_args {
    u32 parts_at;
    u32 tensors_at;
    u32 control_at;
    u32 stats_at;
    u32 tensors; /* whose statistics are wanted */
};

struct lamb_fold_args {
    u32 parts_at;
    u32 tensors_at;
    u32 control_at;
    u32 params_at;
    u32 ratio_at;
    u32 parts;
    u32 tensors;
};

#endif
