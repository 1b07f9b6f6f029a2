/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_blocks.c - divide a GEMM into tasks and blocks by its sizes, the caches
 * and the number of threads. No bit of the result depends on this. */
#include "backends/cpu/gemm/gemm_blocks.h"

#include "lib/core/base/size.h"

/* Words of a block of k, up to half more or less. Panels of it, 64 KiB of b and
 * 28 KiB of a, are read from the L2 cache at a third of its throughput. */
#define DEEP 512
/* The same for rows of b that are read in place: while a block is multiplied,
 * the rows of the next one are prefetched. */
#define DEEP_ROWS 32
/* The same if a has so few rows that their sums stay in a cache in any case:
 * few rows of b, with all their columns. */
#define FEW_ROWS      2
#define DEEP_FEW_ROWS 8
/* The same for a b that is in a cache in any case. */
#define DEEP_NEAR 256
/* Most panels of a for which each task packs its b, also if others pack it too.
 */
#define MOST_ALONE 30
/* Multiplications that are not worth another thread: waking takes longer. */
#define FEW (INT64_C(1) << 20)
/* Most panels of b in a task: its partial sums stay in the L2 cache, and rows
 * of a b that is read in place are read 4 KiB at a time. */
#define MOST_ACROSS 32
/* Tasks per thread, if there are many matrices for each: one thread computes
 * adjacent ones, and the same thread gets them in the next call. */
#define TASKS_OF_THREAD 2
#define MANY_MATRICES   8
/* Most words of b that are packed before all tasks. */
#define MOST_SHARED (INT64_C(32) << 20)
/* Cost of packing a panel, if multiplying two of them costs COST_TILE. */
#define COST_TILE 16
#define COST_A    3
#define COST_B    6
/* Cost of reading a panel that another core has packed: the cores may share no
 * cache. If all threads have the same number of tasks across, each packs the
 * panels that it multiplies. */
#define COST_FAR 12
/* All threads then read all of a, which must be at most this part of the L3. */
#define OWN_PART 8
/* Bytes between rows of which a multiple puts the same column of all rows into
 * the same sets of the L1 cache: it has fewer ways than there are rows. */
#define SAME_PLACES 4096
/* The processor's tiles multiply a dozen times as fast, but packing does not
 * become faster. Their sums are in half a MiB, 8 panels of a by 16 of b. */
#define COST_A_TILES      24
#define COST_B_TILES      32
#define MOST_ALONE_TILES  12
#define MOST_DOWN_TILES   8
#define MOST_ACROSS_TILES 16

static int64_t gemm_blocks_round_up(int64_t a, int64_t b)
{
    return size_div_up(a, b) * b;
}

static void choose_depth(struct gemm_blocks *t, const struct gemm_job *job)
{
    int64_t words = size_div_up(job->k, job->kernels->pair);
    const struct gemm_kernels *x = job->kernels;
    int64_t most = DEEP, unit = 8;
    if (x->tiles) {
        most = x->deep;
        unit = x->unit;
    }
    if (t->direct && !t->ready && t->a.panels > 1)
        most = DEEP_NEAR;
    else if (t->direct && !t->ready)
        most = job->m > FEW_ROWS ? DEEP_ROWS : DEEP_FEW_ROWS;
    t->rounds = size_most(1, size_div_up(words, most));
    if (!x->tiles && (!t->direct || t->ready))
        t->rounds = size_most(1, (words + DEEP / 2) / DEEP);
    t->deep =
        (uint32_t)gemm_blocks_round_up(size_div_up(words, t->rounds), unit);
    t->rounds = size_most(1, size_div_up(words, size_most(1, t->deep)));
    t->depth = t->deep * job->kernels->pair;
}

/* Estimate tasks of so many panels. */
static void try_grid(struct gemm_blocks *t, bool tiles, int64_t batch,
                     uint32_t threads, int64_t down, int64_t across,
                     int64_t *best)
{
    struct gemm_side *a = &t->a, *b = &t->b;
    int64_t high = size_div_up(a->panels, down);
    int64_t wide = size_div_up(b->panels, across);
    int64_t each = down * across * COST_TILE;
    if (!a->lies)
        each += down * (tiles ? COST_A_TILES : COST_A);
    if (t->own && wide % threads != 0)
        each += across * COST_FAR;
    if (!t->shared && !t->direct)
        each += across * (tiles ? COST_B_TILES : COST_B);
    int64_t cost = size_div_up(batch * high * wide, threads) * each;
    if (cost >= *best)
        return;
    *best = cost;
    a->task = (uint32_t)down;
    b->task = (uint32_t)across;
    a->tasks = high;
    b->tasks = wide;
}

/* Choose the tasks along both sides: threads should end together, and little
 * should be packed twice. At most so many panels of a and of b each. */
static void choose_grid(struct gemm_blocks *t, bool tiles, int64_t batch,
                        uint32_t threads, int64_t most_a, int64_t most_b)
{
    int64_t least_a = size_div_up(t->a.panels, most_a);
    int64_t least_b = size_div_up(t->b.panels, most_b);
    int64_t best = INT64_MAX;
    for (int64_t i = least_a; i <= least_a + 2 * threads; i++)
        for (int64_t times = 0; times < 4; times++) {
            int64_t j = size_div_up(times * threads, i * batch);
            j = size_most(j, least_b);
            try_grid(t, tiles, batch, threads, size_div_up(t->a.panels, i),
                     size_div_up(t->b.panels, j), &best);
            if (t->own)
                try_grid(
                    t, tiles, batch, threads, size_div_up(t->a.panels, i),
                    size_div_up(t->b.panels, gemm_blocks_round_up(j, threads)),
                    &best);
        }
}

/* own: panels that a task packs itself. */
static void choose_words(const struct gemm_blocks *t, struct gemm_side *s,
                         uint32_t own)
{
    /* 64 bytes more than a power of two, so that adjacent panels are in
     * different sets of the caches; they also hold words written past the end
     */
    s->apart = (size_t)t->deep * s->height + GEMM_SLACK;
    s->words = (size_t)gemm_blocks_round_up(
        (int64_t)(own * s->apart + GEMM_SLACK), 1024);
}

static void gemm_blocks_choose_panels(struct gemm_side *s, int64_t lines,
                                      uint32_t most, bool even)
{
    s->panels = size_div_up(lines, most);
    s->height = even ? (uint32_t)size_div_up(lines, s->panels) : most;
}

/* Return whether a is read in place. Its words must be adjacent along k, b must
 * also be words, and its rows must be in different sets of the L1 cache. */
static bool a_lies(const struct gemm_blocks *t, const struct gemm_job *job)
{
    const struct gemm_kernels *x = job->kernels;
    const ssq_dtype word = x->pair == 2 ? SSQ_BF16 : SSQ_F32;
    bool words =
        !t->direct || job->b.dtype == SSQ_F32 || (t->ready && x->pair == 2);
    return !x->tiles && words && job->a.dtype == word && job->a.step == 1 &&
           job->k > 0 && job->k % x->pair == 0 && job->a.line > 0 &&
           job->a.line * (4 / x->pair) % SAME_PLACES != 0;
}

void gemm_blocks_choose(const struct gemm_job *job,
                        const struct cpu_features *f, uint32_t threads,
                        struct gemm_blocks *t)
{
    const struct gemm_kernels *x = job->kernels;
    *t = (struct gemm_blocks){.rounds = 1};
    gemm_blocks_choose_panels(&t->a, job->m, x->rows, !x->tiles);
    gemm_blocks_choose_panels(&t->b, job->n, x->columns, false);
    int64_t words = size_div_up(job->k, x->pair);
    int64_t near = f->l2 / 2 / sizeof(float);
    bool small = job->b.dtype == SSQ_F32 && job->n * words <= near / 2;
    t->ready = job->panels != NULL;
    t->direct = t->ready ||
                (!x->tiles && job->b.line == 1 && (t->a.panels == 1 || small));
    t->shared = !t->direct && job->batch == 1 &&
                t->a.panels > (x->tiles ? MOST_ALONE_TILES : MOST_ALONE) &&
                job->n * words <= MOST_SHARED;
    t->own = t->shared && job->m * words <= f->l3 / OWN_PART / 4;
    t->a.lies = a_lies(t, job);
    choose_depth(t, job);
    int64_t a_panel = size_most(1, (int64_t)t->deep * t->a.height);
    int64_t b_panel = size_most(1, (int64_t)t->deep * t->b.height);
    int64_t most_b = MOST_ACROSS;
    if (t->direct && job->m <= FEW_ROWS)
        most_b *= 4;
    if (!t->shared && !t->direct)
        most_b = size_most(1, near / b_panel);
    if ((double)job->batch * (double)job->m * (double)job->n * (double)job->k <
        (double)FEW)
        threads = 1;
    int64_t most_a = size_most(1, near / a_panel);
    if (x->tiles) {
        most_a = size_least(most_a, MOST_DOWN_TILES);
        if (t->rounds > 1)
            most_b = size_least(most_b, MOST_ACROSS_TILES);
    }
    choose_grid(t, x->tiles, job->batch, threads, most_a, most_b);
    bool strips = (t->own || !t->shared) && t->b.tasks % threads == 0;
    t->strip = strips ? t->b.tasks / threads : t->b.tasks;
    choose_words(t, &t->a, t->a.lies ? 0 : t->a.task);
    choose_words(t, &t->b, t->shared ? 0 : t->direct ? 1 : t->b.task);
    t->block = (size_t)t->b.panels * t->b.apart;
    t->each = 1;
    if (job->batch >= (int64_t)threads * MANY_MATRICES)
        t->each = size_div_up(job->batch * t->a.tasks * t->b.tasks,
                              (int64_t)threads * TASKS_OF_THREAD);
    if (t->rounds > 1)
        t->sums = (size_t)t->a.task * t->b.task * t->a.height * t->b.height;
    else if (x->tiles)
        t->sums = (size_t)2 * t->a.height * t->b.height;
}
