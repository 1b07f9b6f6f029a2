/* SPDX-License-Identifier: Apache-2.0 */
/* conv_planes.h - how the images of a convolution become planes, and where taps
 * meet them (conv_kernels.h has the picture).
 *
 *     kind             planes are of   results run along
 *     forward, weight  image           positions of the map
 *     data             map             the image, every stride-th element at a
 * time: each such GEMM has the taps that meet its elements */
#ifndef BACKENDS_CPU_CONV_CONV_PLANES_H
#define BACKENDS_CPU_CONV_CONV_PLANES_H

#include "backends/cpu/conv/conv_kernels.h"
#include "lib/op/conv/conv.h"

/** Most phases of an axis: the bits of conv_line.used. */
#define CONV_PHASES 32

/** One axis of the planes, in elements. */
struct conv_axis {
    int64_t start;   /* the element at the first place of phase 0 */
    uint32_t stride; /* planes take turns, of which there are `phases` */
    uint32_t phases;
    uint32_t used;    /* a bit for each phase that a tap meets */
    uint32_t results; /* places from which taps are counted */
    uint32_t reach;   /* shift of the farthest tap */
};

struct conv_planes {
    const struct conv_op *op;
    const struct view *from;
    int64_t elements; /* channels of from in a group, as planes of */
    uint32_t pair;    /* so many: */
    int64_t channels; /* of planes */
    struct conv_axis axis[AXES];
    uint32_t pitch; /* words from row to row of a plane */
    float padding;  /* 0 */
    uint32_t bytes; /* of a word: 4, or 2 for bf16 that is not converted */
};

/** One tap along an axis. */
struct conv_tap {
    uint32_t phase, shift;
    uint32_t product; /* data: the number of its GEMM, below stride */
};

/** The results of a GEMM along an axis: places first .. first + n - 1 are
 * elements at + i step. */
struct conv_places {
    int64_t first, n, at, step;
};

/** False, with why, if one row of windows is too large for a thread. */
bool conv_planes_check(const struct conv_op *op, struct why *why);

/** pair: channels in a word of a plane, 1 or 2. */
void conv_planes_init(struct conv_planes *p, const struct conv_op *op,
                      uint32_t pair);

struct conv_tap conv_tap(const struct conv_op *op, int axis, int64_t r);

/** Return the places of GEMM i along an axis; only data has more than one. */
struct conv_places conv_places(const struct conv_planes *p, int axis,
                               uint32_t i);

/** Return the words of a channel's planes for this many rows of results. */
size_t conv_planes_words(const struct conv_planes *p, int64_t rows);

/** Return the words of a thread's memory that conv_planes_fill() needs too. */
size_t conv_planes_spare(const struct conv_planes *p);

/** Return the offset of tap (r, s) of the first channel in such planes. */
uint32_t conv_planes_offset(const struct conv_planes *p, int64_t rows,
                            struct conv_tap r, struct conv_tap s);

/** A part of an image of the batch and a group. Channels are planes'.
 */
struct conv_part {
    int64_t n, group, channel, channels;
    int64_t row, rows; /* of results */
    int64_t room;      /* rows of results for which planes have memory */
};

/** Make the planes of a part. A word after the last row of each is 0. */
void conv_planes_fill(const struct conv_planes *p, const struct conv_part *part,
                      conv_fill_fn *fill, float *spare, void *to);

#endif
