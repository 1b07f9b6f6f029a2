/* SPDX-License-Identifier: Apache-2.0 */
/* form.h - elements of strided views, by rows or one by one.
 *
 * A view is rows of pc.cols elements, its last dimension, and WALK_SHAPE has
 * the others; contiguous views are one row. FORM_ROWS gives a group a piece of
 * a row, so that strides are walked once for all of it and the loop over it is
 * simple; FORM_ELEMENTS, for short rows, walks every element on its own. */
#ifndef KERNELS_DIALECT_FORM_H
#define KERNELS_DIALECT_FORM_H

#include "kernels/dialect/tensor.h"

#define FORM_ELEMENTS 0u
#define FORM_ROWS     1u

/* struct form, lib/plan/form.h */
#define FORM_FIELDS                                                            \
    u32 n;                                                                     \
    u32 form;                                                                  \
    u32 cols;                                                                  \
    u32 piece;  /* most columns of a piece */                                  \
    u32 pieces; /* of a row */                                                 \
    WALK_SHAPE

#define EACH_PIECE(T) EACH_GROUP(T, pc.n / pc.cols * pc.pieces)
/* Piece T: its row, its first column and the one behind its last. */
#define ROW_OF(T, ROW, FROM, TO)                                               \
    u32 ROW = T / pc.pieces;                                                   \
    u32 FROM = (T - ROW * pc.pieces) * pc.piece;                               \
    u32 TO = pc.cols - FROM < pc.piece ? pc.cols : FROM + pc.piece;
/* Element I: its row and column. */
#define ELEMENT_OF(I, ROW, COL)                                                \
    u32 ROW = I / pc.cols;                                                     \
    u32 COL = I - ROW * pc.cols;
/* Columns of a piece, over the items of the group. */
#define EACH_COLUMN(J, FROM, TO)                                               \
    for (u32 J = FROM + LOCAL_ID; J < TO; J += U32(WG))

#endif
