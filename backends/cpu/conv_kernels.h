/* SPDX-License-Identifier: Apache-2.0 */
/* conv_kernels.h - what the loops of a convolution call of an instruction set.
 *
 * A plane is a channel of an image as float32, with the zeros of its padding;
 * with a stride there are several, each with every so-manyth row and column.
 * In a plane the elements that one tap meets, from position to position, are
 * neighbours, and those of another tap are the same ones shifted:
 *
 *     row of a plane    0 0 x x x x x x x 0
 *     tap 0             ---------------
 *     tap 1               ---------------      positions run on across rows:
 *     tap 2                 ---------------    the few between are not used
 *
 * So a product's b is the planes themselves, at an offset for each k. */
#ifndef BACKENDS_CPU_CONV_KERNELS_H
#define BACKENDS_CPU_CONV_KERNELS_H

#include "backends/cpu/gemm_kernels.h"

/** A row of an image, and the rows of planes that it becomes. */
struct conv_line {
    ssq_dtype dtype;
    int64_t step;    /* elements from one to the next */
    uint32_t before; /* words of padding, then */
    uint32_t n;      /* elements, then padding */
    float padding;
    uint32_t words;  /* of a plane's row */
    uint32_t phases; /* planes that take turns; of those that taps meet: */
    uint32_t used;   /* a bit each */
    size_t apart;    /* words from plane to plane */
    float *spare;    /* phases * words and CONV_SLACK: the row as a whole */
};
/** A row's end may be written over by so many words, and a plane read. */
#define CONV_SLACK 32u

/** from: the first element. to: the row in the first plane. next: the row of
 *  the next channel, for the upper halves of words that are pairs of bf16;
 *  NULL: 0, or words are float32. */
typedef void conv_fill_fn(const struct conv_line *line, const void *from,
                          const void *next, void *to);

/** Sums of a channel, and where they go. */
struct conv_result {
    ssq_dtype dtype;
    uint32_t high, wide; /* how many, of which */
    int64_t sums_row;    /* words from row to row, */
    int64_t h, w;        /* and elements */
    uint32_t activation;
    bool biased;
    float bias;
};

/** The sums are overwritten. */
typedef void conv_put_fn(const struct conv_result *r, float *sums, void *d);

/** A tile whose rows are taps, each a shift of the planes: its k are positions,
 *  some rows of them. */
struct conv_taps {
    const void *planes;     /* at the first position: bf16s for pairs */
    const uint32_t *offset; /* of each tap */
    uint32_t taps, columns;
    uint32_t high, wide; /* positions */
    int64_t row;         /* elements from row to row of a plane */
    const float *b;      /* columns, of one position or pair after the other */
    uint32_t height;     /* words from one to the next */
    const float *from;   /* NULL: 0 */
    float *to;
    int64_t to_row; /* words from tap to tap, of from as well */
};

struct conv_kernels {
    uint32_t rows, columns; /* of a tile, at most */
    uint32_t pair;          /* channels in a word, or positions of taps */
    conv_fill_fn *fill, *fill_taps;
    /** As of gemm_kernels, but that row k of b is at b + offset[k]. A panel of
     *  height 1 may have any number of columns: words are read and written up
     *  to 2 columns behind them. */
    void (*multiply)(const struct gemm_tile *tile, const uint32_t *offset);
    void (*taps)(const struct conv_taps *taps);
    conv_put_fn *put;
    gemm_pack_fn *pack;
    /** Of pairs: true if all of n bf16s are 0, or finite and so large that no
     *  sum of products is a subnormal. */
    bool (*even)(const void *from, int64_t n);
};

#endif
