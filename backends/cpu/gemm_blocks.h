/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_blocks.h - how a product is cut into tasks and blocks.
 *
 * A task is some panels of a times some of b, for all of k. It goes through
 * blocks of k, between which its sums wait in memory of its thread, and packs a
 * just before it multiplies, or reads it where it is if that are words. A large
 * b, which many tasks read, is packed once before all of them, if a is
 * small by the threads that will multiply it; of a small one each task packs
 * its own part, even if another does the same: what another core has written is
 * slower to read. */
#ifndef BACKENDS_CPU_GEMM_BLOCKS_H
#define BACKENDS_CPU_GEMM_BLOCKS_H

#include "backends/cpu/features.h"
#include "backends/cpu/gemm_job.h"

/** One factor. */
struct gemm_side {
    bool lies;       /* a: not packed, but read where it is. b: see direct */
    uint32_t height; /* lines of a panel */
    int64_t panels;  /* of a matrix */
    uint32_t task;   /* panels of a task, at most */
    int64_t tasks;   /* of a matrix, along this side */
    size_t apart;    /* words from panel to panel */
    size_t words;    /* of a thread's scratch, for what its task packs */
};

struct gemm_blocks {
    uint32_t depth; /* elements of k in a block: as many as are in words */
    uint32_t deep;  /* words of a block */
    int64_t rounds; /* blocks of k: at least one */
    struct gemm_side a, b;
    int64_t strip; /* tasks across, all rows of which are neighbours: a thread
                      makes them, and packs their b if it is its own */
    int64_t each;  /* parts, each of one matrix, that a task does in turn */
    bool shared;   /* b is packed once, all of k */
    bool own;      /* and each panel by the thread that multiplies it */
    bool ready;    /* whole panels of b are there: direct, too */
    bool direct; /* whole panels of b are not packed, but read where they are */
    size_t block; /* words of all of b's panels of a block of k */
    size_t sums;  /* words of a thread's scratch, for sums that wait */
};

/** Choose them for so many threads. */
void gemm_blocks_choose(const struct gemm_job *job,
                        const struct cpu_features *f, uint32_t threads,
                        struct gemm_blocks *blocks);

#endif
