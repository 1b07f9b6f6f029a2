/* SPDX-License-Identifier: Apache-2.0 */
/* conv_kernels.h - the functions of an instruction set that a convolution
 * calls.
 *
 * A plane is a channel of an image as float32, with the zeros of its padding.
 * With a stride there are several planes, each with every stride-th row and
 * column. In a plane the elements that one tap meets are adjacent, from
 * position to position, and those of another tap are the same ones shifted:
 *
 *     row of a plane    0 0 x x x x x x x 0
 *     tap 0             ---------------
 *     tap 1               ---------------      positions continue across rows:
 *     tap 2                 ---------------    the few between are not used
 *
 * So the operand b of a GEMM is the planes themselves, at an offset for each k.
 * Where several tiles read the same columns, these are first copied from the
 * planes, without the positions between rows: rows of b are then aligned, and
 * a tile can have positions of several images. */
#ifndef BACKENDS_CPU_CONV_CONV_KERNELS_H
#define BACKENDS_CPU_CONV_CONV_KERNELS_H

#include "backends/cpu/gemm/gemm_kernels.h"

/** A row of an image, and the rows of planes that are made from it. */
struct conv_line {
    ssq_dtype dtype;
    int64_t step;    /* elements from one to the next */
    uint32_t before; /* words of padding, then */
    uint32_t n;      /* elements, then padding */
    float padding;
    uint32_t words;  /* of a plane's row */
    uint32_t phases; /* number of planes for the stride */
    uint32_t used;   /* a bit for each phase that taps meet */
    size_t apart;    /* words from plane to plane */
    float *spare;    /* phases * words and CONV_SLACK: the whole row */
};
/** This many words past a row may be overwritten, and past a plane read. */
#define CONV_SLACK 32u

/** from: the first element. to: the row in the first plane. next: the row of
 * the next channel, for the upper halves of words that are pairs of bf16. NULL:
 * 0, or words are float32. */
typedef void conv_fill_fn(const struct conv_line *line, const void *from,
                          const void *next, void *to);

/** Sums of a channel, and the results that they are written to. */
struct conv_result {
    ssq_dtype dtype;
    uint32_t high, wide; /* rows and columns */
    int64_t sums_row;    /* words between rows of sums */
    int64_t h, w;        /* elements between rows and columns of results */
    uint32_t activation;
    bool biased;
    float bias;
};

/** Write results. The sums are overwritten. */
typedef void conv_put_fn(const struct conv_result *r, float *sums, void *d);

/** A vector of elements of a plane, in bytes from the plane and into a row. */
struct conv_move {
    uint32_t to;
    int64_t from;
};
/** Most moves of a row: the elements of the columns of a tile. */
#define CONV_MOVES 64u

/** Make `depth` rows of n moves each, `row` bytes apart, row k from the plane
 * at element offset[k]. Moves go upwards: up to a vector past a row is
 * overwritten. */
typedef void conv_gather_fn(const void *planes, uint32_t bytes,
                            const uint32_t *offset, uint32_t depth,
                            const struct conv_move *moves, uint32_t n, void *to,
                            size_t row);

struct conv_kernels {
    uint32_t rows, columns; /* of a tile, at most */
    uint32_t pair;          /* channels in a word, or positions of taps */
    uint32_t vector;        /* bytes of one */
    conv_fill_fn *fill, *fill_taps;
    conv_gather_fn *gather;
    /** As in gemm_kernels, except that row k of b is at b + offset[k]. A panel
     * of height 1 may have any number of columns: if more than of a tile, words
     * are read and written up to 2 columns past them. */
    void (*multiply)(const struct gemm_tile *tile, const uint32_t *offset);
    conv_put_fn *put;
    gemm_pack_fn *pack;
    /** For pairs: true if each of n bf16 is 0, or finite and so large that no
     * sum of products is subnormal. */
    bool (*even)(const void *from, int64_t n);
};

#endif
