/* SPDX-License-Identifier: Apache-2.0 */
/* plot.h - where the elements of an operand lie in its buffer. */
#ifndef CONFORMANCE_PLOT_H
#define CONFORMANCE_PLOT_H

#include "conformance/suite.h"

struct plot {
    struct plot *next; /* of all operands of the case */
    ssq_tensor *bytes; /* the whole buffer as u8 */
    ssq_tensor *tensor;
    unsigned char *image;  /* host memory: the expected bytes of the buffer */
    uint64_t size, offset; /* bytes: of the buffer; of its first element */
    int64_t stride[SSQ_MAX_RANK]; /* elements */
    bool dense;                   /* element i is at place i */
    size_t element;               /* bytes of one */
};

/** Strides of a layout, for the operand's shape.
 *  @return the elements that the buffer must hold */
int64_t plot_lay_out(struct operand *x, enum layout layout);
/** The operand's bits into an image of its buffer; nothing else of the image
 *  changes. */
void plot_write(const struct operand *x, unsigned char *image);
/** Bits and values of the operand from an image of its buffer. */
void plot_read(struct operand *x, const unsigned char *image);

#endif
