/* SPDX-License-Identifier: Apache-2.0 */
/* plot.c - an operand's elements in an image of its buffer, row by row: the
 * harness does that with every operand of every run. */
#include "conformance/plot.h"

#include "conformance/element.h"

#include <string.h>

int64_t plot_lay_out(struct operand *x, enum layout layout)
{
    int64_t *stride = x->plot->stride;
    int order[SSQ_MAX_RANK];
    int64_t span = 1;
    for (int i = 0; i < x->rank; i++)
        order[i] = i;
    if (layout == LAYOUT_TRANSPOSED && x->rank >= 2) {
        order[x->rank - 1] = x->rank - 2;
        order[x->rank - 2] = x->rank - 1;
    }
    for (int i = x->rank - 1; i >= 0; i--) {
        int64_t size = x->shape[order[i]];
        stride[order[i]] = layout == LAYOUT_BROADCAST ? 0 : span;
        span *= size == 0 ? 1 : size;
        if (layout == LAYOUT_PADDED && i == x->rank - 1)
            span += 3;
    }
    return layout == LAYOUT_BROADCAST ? 1 : span;
}

/* Elements with one distance from each to the next. */
struct plot_row {
    int64_t n, step;
};

static struct plot_row plot_row_of(const struct operand *x)
{
    int last = x->rank - 1;
    if (x->plot->dense || x->rank == 0)
        return (struct plot_row){x->n, 1};
    return (struct plot_row){x->shape[last], x->plot->stride[last]};
}

/* The byte at which row r begins. */
static uint64_t plot_row_at(const struct operand *x, int64_t r)
{
    const struct plot *p = x->plot;
    int64_t at = 0;
    for (int k = x->rank - 2; k >= 0 && !p->dense; k--) {
        at += r % x->shape[k] * p->stride[k];
        r /= x->shape[k];
    }
    return p->offset + (uint64_t)at * p->element;
}

/* memcpy of a constant size is one move, and an image need not be aligned. */
static void write_row(unsigned char *to, const uint32_t *bits,
                      struct plot_row row, size_t size)
{
    size_t step = (size_t)row.step * size;
    for (int64_t i = 0; i < row.n; i++, to += step) {
        uint16_t two = (uint16_t)bits[i];
        if (size == 4)
            memcpy(to, &bits[i], 4);
        else if (size == 2)
            memcpy(to, &two, 2);
        else
            *to = (unsigned char)bits[i];
    }
}

static void read_row(const unsigned char *from, uint32_t *bits,
                     struct plot_row row, size_t size)
{
    size_t step = (size_t)row.step * size;
    for (int64_t i = 0; i < row.n; i++, from += step) {
        uint16_t two;
        if (size == 4) {
            memcpy(&bits[i], from, 4);
        } else if (size == 2) {
            memcpy(&two, from, 2);
            bits[i] = two;
        } else {
            bits[i] = *from;
        }
    }
}

void plot_write(const struct operand *x, unsigned char *image)
{
    struct plot_row row = plot_row_of(x);
    for (int64_t i = 0, r = 0; i < x->n; i += row.n, r++)
        write_row(image + plot_row_at(x, r), x->bits + i, row,
                  x->plot->element);
}

void plot_read(struct operand *x, const unsigned char *image)
{
    struct plot_row row = plot_row_of(x);
    for (int64_t i = 0, r = 0; i < x->n; i += row.n, r++)
        read_row(image + plot_row_at(x, r), x->bits + i, row, x->plot->element);
    element_values(x->value, x->bits, (size_t)x->n, x->dtype);
}
