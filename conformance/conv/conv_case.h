/* SPDX-License-Identifier: Apache-2.0 */
/* conv_case.h - one convolution as a test case: operands, oracle, bound.
 * Shared by the tables of the conv family.
 *
 * The oracle walks the products of a convolution of an image with filters to a
 * map, tap by tap; each kind sums them to another operand. A transposed
 * convolution makes an image of a map. */
#ifndef CONFORMANCE_CONV_CONV_CASE_H
#define CONFORMANCE_CONV_CONV_CASE_H

#include "conformance/suite.h"

/** Sizes of a window on an image: height, then width. */
struct conv_shape {
    const char *name;
    int64_t image[2], window[2], stride[2], padding[4], dilation[2];
};

#define CONV_SHAPES 18
/** Awkward ones, each with a name. */
extern const struct conv_shape conv_shapes[CONV_SHAPES];

/** Channels of image and map, in groups. */
struct conv_channels {
    int64_t c, o, groups;
};

/** Where elements are; all indices are dense in the operand's own layout. */
struct conv_geometry {
    int64_t n, c, o, groups;
    int64_t image[2], window[2], map[2];
    int64_t stride[2], padding[4], dilation[2];
    ssq_layout layout;
};

struct conv_geometry conv_geometry(const struct conv_shape *s,
                                   struct conv_channels channels, int64_t n,
                                   ssq_layout layout);
/** Shapes of the operands; all have rank 4. */
void conv_image_shape(const struct conv_geometry *g, int64_t *shape);
void conv_filter_shape(const struct conv_geometry *g, int64_t *shape);
void conv_map_shape(const struct conv_geometry *g, int64_t *shape);
/** "2x3x5x7 by 4 of 3x3 .." */
void conv_describe(const struct conv_geometry *g, char *text, size_t bytes);

enum conv_made { MADE_MAP, MADE_IMAGE, MADE_FILTER };

/** Of one element: the sum of its products, of their absolute values (finite
 *  ones), and the part of that with a float32-subnormal factor. */
struct conv_sum {
    double value, size, subnormal;
};

/** Sums of the result, from dense values of the other two. */
void conv_sums(const struct conv_geometry *g, enum conv_made made,
               const double *image, const double *filter, const double *map,
               struct conv_sum *sums);
/** Elements of the result, and products in one sum. */
int64_t conv_elements(const struct conv_geometry *g, enum conv_made made);
double conv_depth(const struct conv_geometry *g, enum conv_made made);

/** How a result is compared. */
struct conv_check {
    const struct conv_geometry *g;
    enum conv_made made;
    const struct operand *a, *b; /* the two that are multiplied */
    const struct operand *bias;  /* NULL: none */
    ssq_activation activation;
    bool integers; /* operands are small integers: to the bit */
};

/** y against the sums, under the bound. */
bool conv_compare(struct harness *b, const struct conv_check *c,
                  const struct operand *y, const struct conv_sum *sums);

/** sum of dy * (what is made), as a function of one operand: for central
 *  differences. Linear, so its third derivative is 0. */
struct conv_linear {
    const struct conv_geometry *g;
    enum conv_made made;
    const double *image, *filter, *map; /* NULL: the variable */
    const double *weights;              /* dy */
    struct conv_sum *scratch;
};
double conv_linear(const void *data, const double *x);

#endif
