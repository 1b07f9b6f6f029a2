/* SPDX-License-Identifier: Apache-2.0 */
/* attention_kernels.h - what the loops of attention call of an instruction set,
 * beside the tiles and the packing of a gemm.
 *
 * A strip is as many queries as a tile has columns. A block of scores has a row
 * for each key, and the strip's queries lie side by side in it, so that
 * whatever goes along a query's keys goes from vector to vector:
 *
 *                   strip of queries
 *                    +-----------+
 *                    | q, packed | d
 *                    +-----------+
 *        d           strip
 *      +--------+    +-----------+              +-----------+
 *      | k,     |    | scores,   |    v, packed | strip:    |
 * keys | packed |    | weights   | keys     ->  | means of  | dv
 *      +--------+    +-----------+              | values    |
 *                                               +-----------+
 *
 * As it is made, such a block is a packed panel of b. */
#ifndef BACKENDS_CPU_ATTENTION_KERNELS_H
#define BACKENDS_CPU_ATTENTION_KERNELS_H

#include "backends/cpu/gemm_kernels.h"

/** Weights that are dropped: those of query i and key j of the block by word
 *  `word` + i tk + j of a stream. */
struct attention_dropout {
    bool given;
    bool all;
    uint32_t threshold, seed[2], step, id;
    float keep;
    uint64_t word, tk;
};

/** What is said of a block of scores. */
struct attention_scores {
    uint32_t keys, vectors; /* rows; vectors of queries: 1 or 2 */
    uint32_t dtype;         /* what weights are rounded to */
    float scale, softcap;   /* softcap 0: none */
    int32_t first;          /* query i does not see key j if i < first + j */
    bool mark;         /* weights of keys that are not seen are TILE_SKIP */
    const float *bias; /* like the block, added to the scores; NULL: 0 */
    float *bend;       /* memory for slopes of the softcap, or NULL */
    struct attention_dropout dropout;
};

/** Of each query of a strip. */
struct attention_state {
    float most[GEMM_LINES];  /* its greatest score so far */
    float total[GEMM_LINES]; /* sum(exp(score - most)) */
    float kept[GEMM_LINES];  /* what means of the blocks before count for */
};

/** Of each query of a strip, for its gradients. */
struct attention_saved {
    float lse[GEMM_LINES], rest[GEMM_LINES]; /* and what that has lost */
    float delta[GEMM_LINES];
};

struct attention_kernels {
    /** Products become the weights that these keys have in the means, and the
     *  state is brought up to date. */
    void (*weights)(const struct attention_scores *s, float *block,
                    struct attention_state *state);
    /** Products become rounded changes of scores, without the factor scale, and
     *  slopes, dy times values, become rounded weights. */
    void (*factors)(const struct attention_scores *s, float *block,
                    float *slopes, const struct attention_saved *saved);
    /** Each column times a factor of its own. */
    void (*rescale)(float *to, uint32_t rows, const float *factor);
    /** Of each column, the sum of products of two panels. */
    void (*dots)(const float *x, const float *y, uint32_t rows, float *sums);
    /** The logarithms of the sums of a strip's first n queries. */
    void (*logs)(const struct attention_state *state, uint32_t n, float *to);
    bool (*finite)(const float *x, size_t n);
    /** As gemm_kernels' multiply for panels, but words that are TILE_SKIP are
     *  not multiplied. */
    void (*multiply)(const struct gemm_tile *tile);
    /** rows x columns, times a factor and rounded, to elements of dtype, which
     *  are to_row apart from row to row. */
    void (*store)(void *to, uint32_t dtype, int64_t to_row, const float *from,
                  size_t from_row, uint32_t rows, uint32_t columns,
                  float factor);
};

struct isa;

/** Those of a set of instructions. */
const struct attention_kernels *isa_attention(const struct isa *isa);

#endif
