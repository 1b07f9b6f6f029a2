/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_args.h - the parameters of the gemm kernels.
 *
 * An operand of any float dtype is bound twice, as u16 and as float32, and its
 * dtype says which of the two is read: a kernel has no variants for dtypes. */
#ifndef KERNELS_GEMM_GEMM_ARGS_H
#define KERNELS_GEMM_GEMM_ARGS_H

#include "kernels/gemm/epilogue.h"
#include "kernels/operands/tensor.h"

/* Values of ssq_dtype in a word, 0 where the operand is absent. */
#define GEMM_TYPES(A, B, C, BIAS, D)                                           \
    ((A) | (B) << 4 | (C) << 8 | (BIAS) << 12 | (D) << 16)
#define GEMM_A    (pc.g.types & 15u)
#define GEMM_B    ((pc.g.types >> 4) & 15u)
#define GEMM_C    ((pc.g.types >> 8) & 15u)
#define GEMM_BIAS ((pc.g.types >> 12) & 15u)
#define GEMM_D    ((pc.g.types >> 16) & 15u)

/* d = activation(alpha sum + beta c + bias): strides in elements, d's columns
 * are neighbours; x_batch: from one matrix to the next. */
struct gemm_shape {
    u32 m;
    u32 n;
    u32 k;
    u32 batch;
    u32 types;
    u32 activation;
    float alpha;
    float beta;
    u32 a_batch;
    u32 b_batch;
    u32 c_batch;
    u32 d_batch;
    u32 c_row;
    u32 c_column;
    u32 bias_batch;
    u32 bias_row;
    u32 bias_column;
    u32 d_row;
};

/* gemm_panel.k: the tiles down and across of a task, the depth of a block of k,
 * and whether the sums begin and end in this launch: in between they are in
 * `partial`. */
struct gemm_panel_args {
    u32 d16_at;
    u32 d32_at;
    u32 c16_at;
    u32 c32_at;
    u32 bias16_at;
    u32 bias32_at;
    u32 a_at;
    u32 b_at;
    u32 partial_at;
    STRUCT(gemm_shape) g;
    u32 down;
    u32 across;
    u32 depth;
    u32 begins;
    u32 ends;
    u32 b_row; /* of a b that is not packed */
};

/* gemm_tiled.k: factors of any strides; and whether the sums begin and end in
 * this launch: else they come from `partial`, or go there. */
struct gemm_tiled_args {
    u32 d16_at;
    u32 d32_at;
    u32 c16_at;
    u32 c32_at;
    u32 bias16_at;
    u32 bias32_at;
    u32 a16_at;
    u32 a32_at;
    u32 b16_at;
    u32 b32_at;
    u32 partial_at;
    STRUCT(gemm_shape) g;
    u32 a_row;
    u32 a_column;
    u32 b_row;
    u32 b_column;
    u32 begins;
    u32 ends;
};

/* gemm_finish.k: sums in rows and matrices of this size; the first m and n of
 * them are d's. */
struct gemm_finish_args {
    u32 d16_at;
    u32 d32_at;
    u32 c16_at;
    u32 c32_at;
    u32 bias16_at;
    u32 bias32_at;
    u32 sums_at;
    STRUCT(gemm_shape) g;
    u32 sums_row;
    u32 sums_matrix;
};

/* gemm_pad.k: `batch` matrices of this many lines of this many columns, from
 * line to line and from matrix to matrix in elements; then the ones that are
 * made of them, one after the other, in words of two elements. */
struct gemm_pad_args {
    u32 from_at;
    u32 to_at;
    u32 batch;
    u32 lines;
    u32 columns;
    u32 line;
    u32 matrix;
    u32 to_lines;
    u32 to_words;
};

/* gemm/coopmat.comp: a and b as u16 and as 16 bytes at a time; bits of types
 * say that all their lines begin at multiples of 16 bytes. */
#define GEMM_WHOLE_A (1u << 20)
#define GEMM_WHOLE_B (1u << 21)
struct gemm_coopmat_args {
    u32 d16_at;
    u32 d32_at;
    u32 c16_at;
    u32 c32_at;
    u32 bias16_at;
    u32 bias32_at;
    u32 a16_at;
    u32 a128_at;
    u32 b16_at;
    u32 b128_at;
    STRUCT(gemm_shape) g;
    u32 a_row;
    u32 a_column;
    u32 b_row;
    u32 b_column;
};

/* gemm_mma.nv: factors whose lines all begin at multiples of 16 bytes. */
struct gemm_mma_args {
    u32 d16_at;
    u32 d32_at;
    u32 c16_at;
    u32 c32_at;
    u32 bias16_at;
    u32 bias32_at;
    u32 a_at;
    u32 b_at;
    STRUCT(gemm_shape) g;
    u32 a_row;
    u32 a_column;
    u32 b_row;
    u32 b_column;
};

/* The work of gemm_pack.k for one factor. */
struct gemm_lines {
    u32 n;
    u32 batch;
    u32 dtype;
    u32 lines;  /* in a panel */
    u32 line;   /* stride from line to line, */
    u32 step;   /* along a line */
    u32 matrix; /* and from matrix to matrix */
};

/* gemm_pack.k: of a and of b n lines of k elements each, into panels of so
 * many lines; n is 0 if it is not packed. */
struct gemm_pack_args {
    u32 a16_at;
    u32 a32_at;
    u32 a_panels_at;
    u32 b16_at;
    u32 b32_at;
    u32 b_panels_at;
    u32 k;
    u32 chunk; /* of k that a task packs */
    STRUCT(gemm_lines) a;
    STRUCT(gemm_lines) b;
};

/* Most lines of a panel: 2 WIDEs of 16. */
#define GEMM_LINES 32u

/* Most depth of gemm_panel.k where b is not packed: as many of b's rows are
 * read side by side, and converted at a time. */
#define GEMM_PLAIN_DEPTH 32

/* Rows of a tile of gemm_panel.k: with two WIDEs of sums in each they fill 28
 * of the 32 vector registers of machines with 16 lanes, and 12 of 16 on others;
 * the rest is for factors. */
#define GEMM_ROWS(LANES) ((LANES) >= 16 ? 14 : 6)
/* Rows of a tile where b is not packed: for one or two rows of a, and for
 * more. */
#define GEMM_ROWS_FEW  2
#define GEMM_ROWS_SOME 8

/* gemm_tiled.k: how a group's items lie on a tile; the rest are across. */
#define GEMM_ITEMS_DOWN(GROUP)                                                 \
    ((GROUP) < 8 ? 1 : (GROUP) < 256 ? 8 : (GROUP) < 1024 ? 16 : 32)

#endif
