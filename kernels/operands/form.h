/* SPDX-License-Identifier: Apache-2.0 */
/* form.h - elements of strided views, by rows or one by one.
 *
 * A view is rows of pc.form.cols elements, its last dimension; rank and size
 * have the others; contiguous views are one row. FORM_ROWS gives a group a
 * piece of a row, so that strides are walked once for all of it and the loop
 * over it is simple; FORM_ELEMENTS, for short rows, walks every element on its
 * own. */
#ifndef KERNELS_OPERANDS_FORM_H
#define KERNELS_OPERANDS_FORM_H

#include "kernels/operands/quads.h"

#define FORM_ELEMENTS 0u
#define FORM_ROWS     1u

/* STRUCT(form_shape) form; among the parameters, and rank and size. */
struct form_shape {
    u32 n;
    u32 by; /* FORM_ELEMENTS or FORM_ROWS */
    u32 cols;
    u32 piece;  /* most columns of a piece */
    u32 pieces; /* of a row */
};

#define EACH_PIECE(T) EACH_GROUP(T, pc.form.n / pc.form.cols * pc.form.pieces)
/* Piece T: its row, its first column and the one behind its last. */
#define ROW_OF(T, ROW, FROM, TO)                                               \
    u32 ROW = T / pc.form.pieces;                                              \
    u32 FROM = (T - ROW * pc.form.pieces) * pc.form.piece;                     \
    u32 TO = pc.form.cols - FROM < pc.form.piece ? pc.form.cols                \
                                                 : FROM + pc.form.piece;
/* Element I: its row and column. */
#define ELEMENT_OF(I, ROW, COL)                                                \
    u32 ROW = I / pc.form.cols;                                                \
    u32 COL = I - ROW * pc.form.cols;
/* Columns of a piece, over the items of the group. */
#define EACH_COLUMN(J, FROM, TO)                                               \
    for (u32 J = FROM + LOCAL_ID; J < TO; J += U32(WG))

#endif
