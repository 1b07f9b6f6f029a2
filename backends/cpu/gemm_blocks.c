/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_blocks.c - how a product is cut, from its sizes, the caches and the
 * number of threads. None of it changes a bit of the result. */
#include "backends/cpu/gemm_blocks.h"

#include "lib/core/size.h"

/* Words of a block of k: panels of it, 64 KiB of b and 28 KiB of a, are read
 * from the second cache at a third of what it gives. */
#define DEEP 512
/* Of rows of b that are read where they are: while a block is multiplied, the
 * next one's rows are fetched. */
#define DEEP_DIRECT 32
/* Most panels of a for which b is read where it is. */
#define FEW_PANELS 1
/* Most panels of a for which each task packs the panels of b that it reads. */
#define MOST_ALONE 4
/* Products that are not worth another thread: its waking takes longer. */
#define FEW (INT64_C(1) << 20)
/* Most panels of b in a task: what bounds the sums that wait. */
#define MOST_ACROSS 128
/* Most words of b that are packed before all tasks. */
#define MOST_SHARED (INT64_C(32) << 20)
/* What packing a panel costs, where multiplying two of them costs COST_TILE. */
#define COST_TILE 16
#define COST_A    3
#define COST_B    6

static int64_t round_up(int64_t a, int64_t b)
{
    return size_div_up(a, b) * b;
}

static void choose_depth(struct gemm_blocks *t, const struct gemm_job *job)
{
    int64_t words = size_div_up(job->k, job->kernels->pair);
    int64_t most = t->direct ? DEEP_DIRECT : DEEP;
    t->rounds = size_most(1, size_div_up(words, most));
    t->deep = (uint32_t)round_up(size_div_up(words, t->rounds), 8);
    t->rounds = size_most(1, size_div_up(words, size_most(1, t->deep)));
    t->depth = t->deep * job->kernels->pair;
}

/* Choose the tasks along both sides: threads shall end together, and little be
 * packed twice. At most so many panels of a and of b each. */
static void choose_grid(struct gemm_blocks *t, int64_t batch, uint32_t threads,
                        int64_t most_a, int64_t most_b)
{
    struct gemm_side *a = &t->a, *b = &t->b;
    int64_t least_a = size_div_up(a->panels, most_a);
    int64_t least_b = size_div_up(b->panels, most_b);
    int64_t best = INT64_MAX;
    for (int64_t i = least_a; i <= least_a + 2 * threads; i++)
        for (int64_t j = least_b; j <= least_b + 2 * threads; j++) {
            int64_t down = size_div_up(a->panels, i);
            int64_t across = size_div_up(b->panels, j);
            int64_t high = size_div_up(a->panels, down);
            int64_t wide = size_div_up(b->panels, across);
            int64_t each = down * across * COST_TILE +
                           (a->shared ? 0 : down * COST_A) +
                           (b->shared || t->direct ? 0 : across * COST_B);
            int64_t cost = size_div_up(batch * high * wide, threads) * each;
            if (cost >= best)
                continue;
            best = cost;
            a->task = (uint32_t)down;
            b->task = (uint32_t)across;
            a->tasks = high;
            b->tasks = wide;
        }
}

/* own: panels that a task packs itself. */
static void choose_words(const struct gemm_blocks *t, struct gemm_side *s,
                         uint32_t own)
{
    /* 64 bytes more than a power of two, so that neighbouring panels do not
     * share their places in caches; they hold what is written over an end */
    s->apart = (size_t)t->deep * s->height + GEMM_SLACK;
    s->block = (size_t)s->panels * s->apart;
    s->words = s->shared ? (size_t)t->rounds * s->block + GEMM_SLACK
                         : (size_t)own * s->apart + GEMM_SLACK;
    s->words = (size_t)round_up((int64_t)s->words, 1024);
}

static void choose_panels(struct gemm_side *s, int64_t lines, uint32_t most,
                          bool even)
{
    s->panels = size_div_up(lines, most);
    s->height = even ? (uint32_t)size_div_up(lines, s->panels) : most;
}

void gemm_blocks_choose(const struct gemm_job *job,
                        const struct cpu_features *f, uint32_t threads,
                        struct gemm_blocks *t)
{
    const struct gemm_kernels *x = job->kernels;
    *t = (struct gemm_blocks){.rounds = 1};
    choose_panels(&t->a, job->m, x->rows, true);
    choose_panels(&t->b, job->n, x->columns, false);
    t->direct = job->b.line == 1 && t->a.panels <= FEW_PANELS;
    choose_depth(t, job);
    int64_t words = t->rounds * t->deep, near = f->l2 / 2 / sizeof(float);
    int64_t a_panel = size_most(1, (int64_t)t->deep * t->a.height);
    int64_t b_panel = size_most(1, (int64_t)t->deep * t->b.height);
    if (job->batch == 1) {
        t->a.shared = job->m * words <= near;
        t->b.shared = !t->direct && job->n * words <= MOST_SHARED &&
                      t->a.panels > MOST_ALONE;
    }
    bool packs = !t->b.shared && !t->direct;
    int64_t most_b = packs ? size_most(1, near / 2 / b_panel) : MOST_ACROSS;
    if ((double)job->batch * (double)job->m * (double)job->n * (double)job->k <
        (double)FEW)
        threads = 1;
    choose_grid(t, job->batch, threads, size_most(1, near / a_panel), most_b);
    choose_words(t, &t->a, t->a.task);
    choose_words(t, &t->b, t->direct ? 1 : t->b.task);
    if (t->rounds > 1)
        t->sums = (size_t)t->a.task * t->b.task * t->a.height * t->b.height;
}
