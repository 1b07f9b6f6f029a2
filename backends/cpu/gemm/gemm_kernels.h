/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_kernels.h - the functions of an instruction set that GEMM calls.
 *
 * A factor consists of lines along k: rows of a, columns of b. Packed, it
 * consists of panels of several lines, in words of 4 bytes: the first words of
 * all lines of a panel, then the second ones. A word is a float32 or, for dot
 * products, two bf16 that are adjacent in k. For AMX tiles, panels
 * have the layout in which these are loaded (isa/gemm/gemm_pack_tiles.c), which
 * differs for a and b. A tile of sums is a panel of a times one of b:
 *
 *                  columns: 2 vectors
 *                    +-------+
 *              words | panel |
 *                    +-------+
 *         +--------+ +-------+
 *   rows  | panel  | | tile  |
 *         +--------+ +-------+
 *
 * Each sum is one chain along k, from the first product to the last, in any
 * division into blocks. So neither blocks nor the number of threads can change
 * a bit. */
#ifndef BACKENDS_CPU_GEMM_GEMM_KERNELS_H
#define BACKENDS_CPU_GEMM_GEMM_KERNELS_H

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

/** The memory for packed lines; `height` lines are a panel. Up to GEMM_SLACK
 * words past a panel's end may be written, which the next panel overwrites. */
struct gemm_panels {
    float *to;
    uint32_t height;
    size_t apart; /* words from panel to panel */
    /* Only on AMX tiles, which split an f16 or a float32 into several bf16: set
     * if an element is infinite or NaN, which cannot be split. */
    atomic_bool *not_finite;
};
#define GEMM_SLACK 16u

/** Pack lines line .. line + lines - 1 of k .. k + depth - 1. Missing lines of
 * a panel, and the word after an odd depth, become zeros. */
typedef void gemm_pack_fn(const struct gemm_source *from, int64_t line,
                          int64_t lines, int64_t k, uint32_t depth,
                          const struct gemm_panels *panels);

/** The form of b: panels, or its own rows, which are read in place. */
enum gemm_rows { GEMM_F32, GEMM_F16, GEMM_BF16 };

/** Sums that are finished while the next ones are computed: rows first .. rows
 * - 1, each GEMM_LINES long, written to a result from (i, j) on. */
struct gemm_later {
    const struct gemm_result *result;
    const float *sums;
    uint32_t first, rows, columns;
    int64_t i, j;
};

/** Compute rows x columns sums: those in `from`, or 0, plus the products of
 * depth words of a panel of a and one of b. Write them to `to`. */
struct gemm_tile {
    uint32_t rows, height; /* of a's panel: the first rows of height */
    uint32_t columns;      /* at most a vector's: only the first are computed */
    uint32_t depth;        /* words */
    const void *a;
    int64_t a_row; /* 0: a panel. Otherwise bytes between rows of a itself,
                      whose words are adjacent; b then consists of words, too */
    const void *b;
    int64_t b_row;         /* bytes between rows */
    int64_t ahead;         /* bytes to the part of b that will be read next */
    enum gemm_rows b_rows; /* GEMM_F32: panels, too */
    bool odd;              /* the last word of a pair of rows is one row */
    const float *from;     /* NULL: 0 */
    int64_t from_row;      /* floats between rows */
    void *to;
    int64_t to_row;       /* bytes between rows */
    enum gemm_rows to_is; /* GEMM_F32, unless all columns are computed */
    const void *d;        /* the rows that are written next; NULL: none */
    int64_t d_row;        /* bytes between rows */
    /* for the processor's tiles only */
    uint32_t turn, turns; /* this tile's number, of the ones that read this b */
    struct gemm_later *later; /* all of these are finished during the call */
};

/** How the sums of a matrix become results. args.g is as set by
 * product_shape(), and its offsets are 0. Pointers are those of first elements,
 * NULL if absent. */
struct gemm_result {
    const void *c, *bias;
    void *d;
    int64_t c_row, c_column; /* elements */
    int64_t bias_row, bias_column, d_row;
    bool plain; /* d is the rounded sums */
    struct gemm_finish_args args;
};

#define GEMM_TYPE_C(R)    ((R)->args.g.types >> 8 & 15u)
#define GEMM_TYPE_BIAS(R) ((R)->args.g.types >> 12 & 15u)
#define GEMM_TYPE_D(R)    ((R)->args.g.types >> 16 & 15u)

/** Write rows x columns of sums, columns at most GEMM_LINES, to d from (i, j).
 */
typedef void gemm_finish_fn(const struct gemm_result *r, const float *sums,
                            int64_t sums_row, uint32_t rows, uint32_t columns,
                            int64_t i, int64_t j);

/** Most lines of a tile's short side, and of its long side. */
#define GEMV_SHORT 4u
#define GEMV_LONG  8u

/** Products of lines whose elements are adjacent along k: each of `rows` with
 * each of `few`, which consist of words. Sums are written to sums[row *
 * sums_row + one * sums_one].
 *
 *  A sum has 16 lanes: word k is added to lane k mod 16, with k ascending. Then
 * lane l is added to lane l + 8, and so on by halves, for any vector width. */
struct gemv_tile {
    const char *row; /* the first; then bytes to the next */
    int64_t row_step;
    enum gemm_rows rows_are; /* their form */
    uint32_t rows;           /* 1..GEMV_LONG */
    const char *one;         /* the first of the few, likewise */
    int64_t one_step;
    uint32_t few; /* 1..GEMV_SHORT */
    int64_t k;    /* elements */
    float *sums;
    uint32_t sums_row, sums_one; /* floats from one to the next */
};

/** The functions of an instruction set for words of one kind. */
struct gemm_kernels {
    uint32_t rows, columns; /* most of a tile */
    uint32_t pair;          /* elements of k in a word */
    gemm_pack_fn *pack;
    void (*multiply)(const struct gemm_tile *tile);
    gemm_finish_fn *finish;
    void (*gemv)(const struct gemv_tile *tile);
    uint32_t
        gemv_rows[GEMV_SHORT + 1]; /* rows of a tile, by number of the few */
    bool tiles; /* the processor's tiles: the members below are then set. Panels
                   have `rows` lines, b is never read in place, and sums are
                   written to the caller's memory before they are finished */
    gemm_pack_fn *pack_a; /* `pack` packs only b */
    uint32_t unit;        /* a block of k is a multiple of this many words */
    uint32_t deep;       /* most words of a block, so that a panel of b stays in
                            the L1 cache while those of a are read */
    void (*begin)(void); /* called on each thread before it multiplies */
    void (*end)(void);   /* and afterwards */
};

/** Kernels for the processor's tiles, by factors. */
struct gemm_tiles {
    const struct gemm_kernels *bf16;
    const struct gemm_kernels *f16; /* by tdpfp16ps */
    /* f16 as halves: all four products of them, and all but low by low */
    const struct gemm_kernels *four, *three;
};

#endif
