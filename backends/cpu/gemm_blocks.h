/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_blocks.h - how a product is cut into tasks and blocks.
 *
 * A task is some panels of a times some of b, for all of k. It goes through
 * blocks of k, between which its sums wait in memory of its thread. What
 * several tasks read is packed once, before all of them; what one task alone
 * reads is packed by it, just before it is multiplied. */
#ifndef BACKENDS_CPU_GEMM_BLOCKS_H
#define BACKENDS_CPU_GEMM_BLOCKS_H

#include "backends/cpu/features.h"
#include "backends/cpu/gemm_job.h"

/** One factor. */
struct gemm_side {
    uint32_t height; /* lines of a panel */
    int64_t panels;  /* of a matrix */
    uint32_t task;   /* panels of a task, at most */
    int64_t tasks;   /* of a matrix, along this side */
    bool shared;     /* packed once, all of k */
    size_t apart;    /* words from panel to panel */
    size_t block;    /* words from one block of k to the next, if shared */
    size_t words;    /* of scratch: of all threads if shared, else of each */
};

struct gemm_blocks {
    uint32_t depth; /* elements of k in a block: as many as are in words */
    uint32_t deep;  /* words of a block */
    int64_t rounds; /* blocks of k: at least one */
    struct gemm_side a, b;
    bool direct; /* whole panels of b are not packed, but read where they are */
    size_t sums; /* words of scratch for sums that wait, per thread */
};

/** Choose them for so many threads. */
void gemm_blocks_choose(const struct gemm_job *job,
                        const struct cpu_features *f, uint32_t threads,
                        struct gemm_blocks *blocks);

#endif
