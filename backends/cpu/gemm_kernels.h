/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_kernels.h - what the loops of a gemm call of an instruction set.
 *
 * A factor is lines along k: rows of a, columns of b. Packed, it is panels of
 * so many lines, in words of 4 bytes: the first words of all lines of a panel,
 * then the second ones. A word is a float32, or for dot products two bf16s that
 * are neighbours in k. For the processor's tiles panels are laid out as those
 * are loaded (isa/gemm_pack_tiles.c), and a and b differently. A tile of sums
 * is a panel of a times one of b:
 *
 *                  columns: 2 vectors
 *                    +-------+
 *              words | panel |
 *                    +-------+
 *         +--------+ +-------+
 *   rows  | panel  | | tile  |
 *         +--------+ +-------+
 *
 * Each sum is one chain along k, from the first product to the last, whatever
 * the blocks are that it is made in: neither they nor the number of threads can
 * change a bit. */
#ifndef BACKENDS_CPU_GEMM_KERNELS_H
#define BACKENDS_CPU_GEMM_KERNELS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sesqui/dtype.h>

#include "kernels/gemm/gemm_args.h"

/** Lines of one matrix. */
struct gemm_source {
    const void *data;
    ssq_dtype dtype;
    int64_t line, step; /* elements to the next line, and along k: one is 1 */
};

/** Where packed lines go: `height` lines are a panel. A panel's end may be
 *  written over by up to GEMM_SLACK words, which the next one overwrites. */
struct gemm_panels {
    float *to;
    uint32_t height;
    size_t apart;            /* words from panel to panel */
    atomic_bool *not_finite; /* halves: becomes true if an element is infinite
                                or NaN, which has none. Others: not used */
};
#define GEMM_SLACK 16u

/** Lines line .. line + lines - 1 of k .. k + depth - 1 into panels, with zeros
 *  in the place of lines that a panel lacks, and behind an odd depth. */
typedef void gemm_pack_fn(const struct gemm_source *from, int64_t line,
                          int64_t lines, int64_t k, uint32_t depth,
                          const struct gemm_panels *panels);

/** What b is: panels, or rows of itself, that are read as they lie. */
enum gemm_rows { GEMM_F32, GEMM_F16, GEMM_BF16 };

/** Sums that wait to be finished while the next ones are made: rows first ..
 *  rows - 1, each GEMM_LINES long, to a result from (i, j) on. */
struct gemm_later {
    const struct gemm_result *result;
    const float *sums;
    uint32_t first, rows, columns;
    int64_t i, j;
};

/** rows x columns sums: those in `from`, or 0, and the products of depth words
 *  more of a panel of a and of one of b, to `to`. */
struct gemm_tile {
    uint32_t rows, height; /* of a's panel: the first rows of height */
    uint32_t columns;      /* at most a vector's: only the first are made */
    uint32_t depth;        /* words */
    const void *a;
    int64_t a_row; /* 0: a panel. Else bytes from row to row of a itself, whose
                      words are neighbours; b is words, too */
    const void *b;
    int64_t b_row;         /* bytes from row to row */
    int64_t ahead;         /* bytes to what will be read next of b */
    enum gemm_rows b_rows; /* GEMM_F32: panels, too */
    bool odd;              /* the last word of a pair of rows is one row */
    const float *from;     /* NULL: 0 */
    int64_t from_row;      /* floats from row to row */
    void *to;
    int64_t to_row;       /* bytes from row to row */
    enum gemm_rows to_is; /* GEMM_F32, but where all columns are made */
    const void *d;        /* the rows that are written next; NULL: none */
    int64_t d_row;        /* bytes from row to row */
    /* of the processor's tiles alone */
    uint32_t turn, turns;     /* which of so many tiles that read this b */
    struct gemm_later *later; /* finished on the way, all of them */
};

/** What becomes of the sums of one matrix: args.g is as product_shape() has it,
 *  args' offsets are 0, and the pointers are of first elements, NULL of what is
 *  absent. */
struct gemm_result {
    const void *c, *bias;
    void *d;
    int64_t c_row, c_column; /* elements */
    int64_t bias_row, bias_column, d_row;
    bool plain; /* d is the sums, rounded */
    struct gemm_finish_args args;
};

#define GEMM_TYPE_C(R)    ((R)->args.g.types >> 8 & 15u)
#define GEMM_TYPE_BIAS(R) ((R)->args.g.types >> 12 & 15u)
#define GEMM_TYPE_D(R)    ((R)->args.g.types >> 16 & 15u)

/** Sums of rows x columns, columns at most GEMM_LINES, to d from (i, j) on. */
typedef void gemm_finish_fn(const struct gemm_result *r, const float *sums,
                            int64_t sums_row, uint32_t rows, uint32_t columns,
                            int64_t i, int64_t j);

/** Most lines of a tile's short side, and of its long one. */
#define GEMV_SHORT 4u
#define GEMV_LONG  8u

/** Products of lines that lie side by side along k: each of `rows` with each of
 *  `few`, which are words. Sums go to sums[row * row_step + one * few_step].
 *
 *  A sum has 16 lanes: word k is added to lane k mod 16, with k ascending. Lane
 *  l then takes lane l + 8, and so on by halves, whatever vectors there are. */
struct gemv_tile {
    const char *row; /* the first; bytes to the next */
    int64_t row_step;
    enum gemm_rows rows_are; /* what they are made of */
    uint32_t rows;           /* 1..GEMV_LONG */
    const char *one;         /* of the few, likewise */
    int64_t one_step;
    uint32_t few; /* 1..GEMV_SHORT */
    int64_t k;    /* elements */
    float *sums;
    uint32_t sums_row, sums_one; /* floats from one to the next */
};

/** What an instruction set has for words of one kind. */
struct gemm_kernels {
    uint32_t rows, columns; /* of a tile, at most */
    uint32_t pair;          /* elements of k in a word */
    gemm_pack_fn *pack;
    void (*multiply)(const struct gemm_tile *tile);
    gemm_finish_fn *finish;
    void (*gemv)(const struct gemv_tile *tile);
    uint32_t gemv_rows[GEMV_SHORT + 1]; /* of a tile with so many others */
    bool tiles; /* of the processor: what is below is not NULL and not 0. Panels
                   have `rows` lines, b is never read where it is, and sums go
                   to memory of the caller before they are finished */
    gemm_pack_fn *pack_a; /* pack is of b */
    uint32_t unit;        /* words that a block of k is a multiple of */
    uint32_t deep;        /* most of a block, so that a panel of b stays in the
                             first cache while those of a pass by */
    void (*begin)(void);  /* on each thread, before it multiplies */
    void (*end)(void);    /* and after it has */
};

/** Kernels for tiles, by what they multiply. */
struct gemm_tiles {
    const struct gemm_kernels *bf16;
    const struct gemm_kernels *f16; /* by tdpfp16ps */
    /* f16 as halves, by all four products of them, and without low by low */
    const struct gemm_kernels *four, *three;
};

#endif
