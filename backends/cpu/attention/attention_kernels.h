/* SPDX-License-Identifier: Apache-2.0 */
/* attention_kernels.h - the functions of an instruction set that attention
 * calls, apart from the tiles and the packing of a GEMM.
 *
 * A query block has as many queries as a tile has columns. A block of scores
 * has a row for each key, with the query block's queries side by side. Work
 * along the keys of a query therefore goes from vector to vector:
 *
 *                   query block
 *                    +-----------+
 *                    | q, packed | d
 *                    +-----------+
 *        d           query block                query block
 *      +--------+    +-----------+              +-----------+
 *      | k,     |    | scores,   |    v, packed | means of  |
 * keys | packed |    | weights   | keys     ->  | values    | dv
 *      +--------+    +-----------+              +-----------+
 *
 * Such a block already has the form of a packed panel of b. */
#ifndef BACKENDS_CPU_ATTENTION_ATTENTION_KERNELS_H
#define BACKENDS_CPU_ATTENTION_ATTENTION_KERNELS_H

#include "backends/cpu/gemm/gemm_kernels.h"

/** Dropout of weights. Query i and key j of the block use word `word` + i tk +
 * j of a stream. */
struct attention_dropout {
    bool given;
    bool all;
    uint32_t threshold, seed[2], step, id;
    float keep;
    uint64_t word, tk;
};

/** The parameters of a block of scores. */
struct attention_scores {
    uint32_t keys, vectors; /* rows; vectors of queries: 1 or 2 */
    uint32_t dtype;         /* weights are rounded to it */
    float scale, softcap;   /* softcap 0: none */
    int32_t first;          /* query i does not see key j if i < first + j */
    bool mark;         /* weights of keys that are not seen are TILE_SKIP */
    const float *bias; /* like the block, added to the scores; NULL: 0 */
    float *bend;       /* memory for slopes of the softcap, or NULL */
    struct attention_dropout dropout;
};

/** Of each query of a query block. */
struct attention_state {
    float most[GEMM_LINES];  /* its greatest score so far */
    float total[GEMM_LINES]; /* sum(exp(score - most)) */
    float kept[GEMM_LINES];  /* what means of the blocks before count for */
};

/** Saved values of the queries of a query block, for the gradients. */
struct attention_saved {
    float lse[GEMM_LINES], rest[GEMM_LINES]; /* rest: rounding error of lse */
    float delta[GEMM_LINES];
};

struct attention_kernels {
    /** Replace products by the weights of these keys in the means, and update
     * the state. */
    void (*weights)(const struct attention_scores *s, float *block,
                    struct attention_state *state);
    /** Replace products by rounded changes of scores, without the factor scale.
     *  Replace slopes, dy times values, by rounded weights. */
    void (*factors)(const struct attention_scores *s, float *block,
                    float *slopes, const struct attention_saved *saved);
    /** Multiply each column by its own factor. */
    void (*rescale)(float *to, uint32_t rows, const float *factor);
    /** For each column, sum the products of two panels. */
    void (*dots)(const float *x, const float *y, uint32_t rows, float *sums);
    /** Write the logarithms of the sums of a query block's first n queries. */
    void (*logs)(const struct attention_state *state, uint32_t n, float *to);
    bool (*finite)(const float *x, size_t n);
    /** As gemm_kernels' multiply for panels, except that elements that are
     * TILE_SKIP are not multiplied. */
    void (*multiply)(const struct gemm_tile *tile);
    /** Write rows x columns, multiplied by a factor and rounded, to elements of
     *  dtype, with to_row between rows. */
    void (*store)(void *to, uint32_t dtype, int64_t to_row, const float *from,
                  size_t from_row, uint32_t rows, uint32_t columns,
                  float factor);
};

struct isa;

/** Return the functions of an instruction set. */
const struct attention_kernels *isa_attention(const struct isa *isa);

#endif
