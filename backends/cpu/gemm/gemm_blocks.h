/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_blocks.h - how a GEMM is divided into tasks and blocks.
 *
 * A task is some panels of a times some of b, for all of k. It goes through
 * blocks of k, between which its partial sums are in its thread's memory. It
 * packs a just before it multiplies, or reads it in place if a already consists
 * of words. A large b, which many tasks read, is packed once before all of
 * them, if a is small enough for the threads that multiply it. Of a small b
 * each task packs its own part, even if another task packs it too: reading what
 * another core has written is slower. */
#ifndef BACKENDS_CPU_GEMM_GEMM_BLOCKS_H
#define BACKENDS_CPU_GEMM_GEMM_BLOCKS_H

#include "backends/cpu/device/features.h"
#include "backends/cpu/gemm/gemm_job.h"

/** One factor. */
struct gemm_side {
    bool lies;       /* a: read in place, not packed. b: see direct */
    uint32_t height; /* lines of a panel */
    int64_t panels;  /* of a matrix */
    uint32_t task;   /* most panels of a task */
    int64_t tasks;   /* of a matrix, along this side */
    size_t apart;    /* words from panel to panel */
    size_t words;    /* of a thread's scratch, for panels that its task packs */
};

struct gemm_blocks {
    uint32_t depth; /* elements of k in a block: those of `deep` words */
    uint32_t deep;  /* words of a block */
    int64_t rounds; /* blocks of k: at least one */
    struct gemm_side a, b;
    int64_t strip; /* adjacent tasks across, with all their rows: one thread
                      computes them, and packs their b if it is its own */
    int64_t each;  /* parts, each of one matrix, that a task computes in turn */
    bool shared;   /* b is packed once, all of k */
    bool own;      /* and each panel by the thread that multiplies it */
    bool ready;    /* whole panels of b exist before the call; implies direct */
    bool direct;   /* whole panels of b are read in place, not packed */
    size_t block;  /* words of all of b's panels of a block of k */
    size_t sums;   /* words of a thread's scratch, for partial sums */
};

/** Choose tasks and blocks for this many threads. */
void gemm_blocks_choose(const struct gemm_job *job,
                        const struct cpu_features *f, uint32_t threads,
                        struct gemm_blocks *blocks);

#endif
