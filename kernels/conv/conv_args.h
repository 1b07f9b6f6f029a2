/* SPDX-License-Identifier: Apache-2.0 */
/* conv_args.h - the parameters of the kernels of convolution.
 *
 * Every kind is rows by depth times depth by columns, for every image of the
 * batch and group. One factor is in memory; the other one is gathered from
 * images: for a column and a depth it is at the sum of both shares,
 * an offset and a point, and zero where the point is outside. Column j is three
 * digits a, b, c, the last two of sizes column_b and column_c, and contributes
 * a column_at, (b column_h + column_h0, c column_w + column_w0); a depth
 * the same. All modulo 2^32: no point that is inside can be another one. */
#ifndef KERNELS_CONV_CONV_ARGS_H
#define KERNELS_CONV_CONV_ARGS_H

#include "kernels/operands/either.h"
#include "kernels/gemm/epilogue.h"

/* The dtypes of the operands in a word, and each of them taken out. */
#define CONV_TYPES(MADE, LIES, FROM, BIAS)                                     \
    ((MADE) | (LIES) << 4 | (FROM) << 8 | (BIAS) << 12)
#define CONV_MADE (pc.made.types & 15u)
#define CONV_LIES ((pc.made.types >> 4u) & 15u)
#define CONV_FROM ((pc.made.types >> 8u) & 15u)
#define CONV_BIAS ((pc.made.types >> 12u) & 15u)

/* Where results go: a result is of a row and a column, and the column's three
 * digits each have a step; all steps are in elements. */
struct conv_made {
    u32 rows;
    u32 columns;
    u32 groups;
    u32 column_b; /* sizes of a column's second and third digit */
    u32 column_c;
    u32 image; /* from image to image, and so on */
    u32 group;
    u32 row;
    u32 a;
    u32 b;
    u32 c;
    u32 types;
};

/* conv_tile.k: `made` is the result, `is` the factor in memory, `from` the
 * one that is gathered. */
struct conv_args {
    u32 made2_at;
    u32 made4_at;
    u32 lies2_at;
    u32 lies4_at;
    u32 from2_at;
    u32 from4_at;
    u32 bias2_at;
    u32 bias4_at;
    u32 partial_at;
    STRUCT(conv_made) made;
    u32 tasks;
    u32 row_blocks; /* tiles down and across */
    u32 column_blocks;
    u32 images;
    u32 depth;
    u32 slice; /* of the depth, a split's; below it sums are partial */
    u32 depth_b;
    u32 depth_c;
    u32 column_at;
    u32 column_h;
    u32 column_h0;
    u32 column_w;
    u32 column_w0;
    u32 depth_at;
    u32 depth_h;
    u32 depth_h0;
    u32 depth_w;
    u32 depth_w0;
    u32 lies_image;
    u32 lies_group;
    u32 lies_row;
    u32 lies_a;
    u32 lies_b;
    u32 lies_c;
    u32 from_image;
    u32 from_group;
    u32 from_h;
    u32 from_w;
    u32 height;
    u32 width;
    u32 stride_h; /* that a point must be a multiple of */
    u32 stride_w;
    u32 bias_group;
    u32 bias_row;
    u32 activation;
};

/* conv_fold.k: n results of each of `splits` slices. */
struct conv_fold_args {
    u32 made2_at;
    u32 made4_at;
    u32 partial_at;
    STRUCT(conv_made) made;
    u32 n;
    u32 splits;
};

/* conv_gather.k; steps in elements, points as above. */
struct conv_gather_args {
    u32 y_at;
    u32 x_at;
    u32 images;
    u32 lines;  /* of an image */
    u32 line_b; /* sizes of the digits of a line */
    u32 line_c;
    u32 line_at;
    u32 line_h;
    u32 line_h0;
    u32 line_w;
    u32 line_w0;
    u32 b_count;
    u32 b_low; /* size of b's second digit */
    u32 b_h;   /* by b's first digit */
    u32 b_w;   /* by its second one */
    u32 c_count;
    u32 c_w;
    u32 c_at;
    u32 x_image;
    u32 x_h;
    u32 x_w;
    u32 height;
    u32 width;
};

/* conv_pack.k: n elements, rows of depth of them. */
struct conv_pack_args {
    u32 y_at;
    u32 x_at;
    u32 n;
    u32 depth;
    u32 size_b;
    u32 size_c;
    u32 x_row;
    u32 x_a;
    u32 x_b;
    u32 x_c;
};

/* The digits of a number: a counts size_b of b, and b size_c of c. */
struct conv_digits {
    u32 a;
    u32 b;
    u32 c;
};

FN STRUCT(conv_digits) conv_digits_of(u32 i, u32 size_b, u32 size_c)
{
    STRUCT(conv_digits) d;
    u32 rest = i / size_c;

    d.c = i - rest * size_c;
    d.a = rest / size_b;
    d.b = rest - d.a * size_b;
    return d;
}

#endif
