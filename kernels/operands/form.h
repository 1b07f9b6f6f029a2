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

/* A piece: its row, its first column, and the end of its columns. */
struct form_piece {
    u32 row;
    u32 from;
    u32 to;
};

FN STRUCT(form_piece) form_piece_of(u32 t, STRUCT(form_shape) form)
{
    STRUCT(form_piece) p;

    p.row = t / form.pieces;
    p.from = (t - p.row * form.pieces) * form.piece;
    p.to = form.cols - p.from < form.piece ? form.cols : p.from + form.piece;
    return p;
}

#define EACH_PIECE(T) EACH_GROUP(T, pc.form.n / pc.form.cols * pc.form.pieces)
/* Columns of a piece, over the items of the group. */
#define EACH_COLUMN(J, FROM, TO)                                               \
    for (u32 J = FROM + LOCAL_ID; J < TO; J += U32(WG))

#endif
