/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_run.c - the loops of a GEMM.
 *
 *     if all tasks share b, pack its panels                 (all threads)
 *     for each task                                         (all threads)
 *         for each block of k
 *             pack the panels that only this task reads
 *             for each panel of b, for each panel of a
 *                 a tile: from partial sums, to partial sums or to d */
#include "backends/cpu/gemm/gemm_run.h"

#include "backends/cpu/gemm/gemm_batch.h"
#include "backends/cpu/gemm/gemm_blocks.h"
#include "lib/core/module/backend.h"

/* Panels that a task packs. */
#define PACK_PANELS 4

struct cpu_gemm_run {
    const struct gemm_job *job;
    struct gemm_blocks t;
    float *a, *b, *sums; /* scratch: of all threads, or of the first */
    int64_t parts;
};

/* The state of a task, on one thread. */
struct gemm_run_part {
    const struct cpu_gemm_run *run;
    struct gemm_source a, b;
    struct gemm_result result;
    int64_t i, j; /* the first panels */
    uint32_t down, across;
    uint32_t words;                   /* of the block of k */
    bool odd;                         /* the last word is half a pair */
    const float *a_panels, *b_panels; /* of the block of k; if b is read in
                                         place, only its last panel */
    float *sums;
    struct gemm_later later; /* of the previous tile; first == rows: none */
};

/* ---- packing ---- */

static int64_t gemm_run_lines_of(const struct gemm_side *s, int64_t lines,
                                 int64_t panel, int64_t panels)
{
    int64_t from = panel * s->height;
    return size_least(lines - from, panels * s->height);
}

/* Return the panels of block r of k. */
static void gemm_run_pack(const struct cpu_gemm_run *run,
                          const struct gemm_side *s,
                          const struct gemm_source *from, int64_t lines,
                          int64_t panel, int64_t panels, int64_t r, float *to)
{
    const struct gemm_job *job = run->job;
    struct gemm_panels where = {to, s->height, s->apart, job->not_finite};
    int64_t k = r * run->t.depth, depth = size_least(run->t.depth, job->k - k);
    bool a = s == &run->t.a && job->kernels->tiles;
    gemm_pack_fn *fn = a ? job->kernels->pack_a : job->kernels->pack;
    fn(from, panel * s->height, gemm_run_lines_of(s, lines, panel, panels), k,
       (uint32_t)depth, &where);
}

/* Pack a group of panels of a shared b, for a block of k. Columns are in order,
 * so that the threads that multiply strips of them also pack them. */
static void gemm_run_pack_task(void *context, uint32_t i, uint32_t worker)
{
    const struct cpu_gemm_run *run = context;
    const struct gemm_side *s = &run->t.b;
    int64_t r = i % run->t.rounds, panel = i / run->t.rounds * PACK_PANELS;
    int64_t panels = size_least(PACK_PANELS, s->panels - panel);
    (void)worker;
    gemm_run_pack(run, s, &run->job->b, run->job->n, panel, panels, r,
                  run->b + (size_t)r * run->t.block + (size_t)panel * s->apart);
}

/* ---- tiles ---- */

/* The same for panels that existed before the call: words along all of k. */
static void find_ready(const struct gemm_run_part *p, uint32_t j, int64_t r,
                       struct gemm_tile *x)
{
    const struct gemm_blocks *t = &p->run->t;
    const struct gemm_job *job = p->run->job;
    const bool pairs = job->kernels->pair == 2;
    const int64_t words = job->k / job->kernels->pair;
    x->b_row = t->b.height * (pairs || p->b.dtype == SSQ_F32 ? 4 : 2);
    x->b = (const char *)job->panels +
           ((p->j + j) * words + r * t->deep) * x->b_row;
    x->ahead = words * x->b_row;
    x->b_rows = pairs ? GEMM_F32 : gemm_rows_of(p->b.dtype);
}

/* Return panel i of a part's a, for block r of k. */
static void find_a(const struct gemm_run_part *p, uint32_t i, int64_t r,
                   struct gemm_tile *x)
{
    const struct gemm_side *s = &p->run->t.a;
    const int64_t bytes = p->a.dtype == SSQ_F32 ? 4 : 2;
    x->height = s->height;
    if (!s->lies) {
        /* k may be 0: then no panel exists, and NULL must get no offset */
        x->a = p->a_panels == NULL ? NULL : p->a_panels + i * s->apart;
        return;
    }
    x->a_row = p->a.line * bytes;
    x->a = (const char *)p->a.data + (p->i + i) * s->height * x->a_row +
           r * p->run->t.depth * bytes;
}

/* Return panel j of a part's b, for block r of k and x->columns columns. The
 * next panel is prefetched, or for rows that are read in place, the next block
 * of k. */
static void find_b(const struct gemm_run_part *p, uint32_t j, int64_t r,
                   struct gemm_tile *x)
{
    const struct gemm_blocks *t = &p->run->t;
    const struct gemm_source *b = &p->b;
    x->b = p->b_panels;
    if (!t->direct && p->b_panels != NULL)
        x->b = p->b_panels + j * t->b.apart;
    x->b_row = 4 * (int64_t)t->b.height;
    x->ahead = (int64_t)(t->b.apart * sizeof(float));
    if (!t->direct || x->columns < t->b.height)
        return;
    if (t->ready) {
        find_ready(p, j, r, x);
        return;
    }
    int64_t bytes = b->dtype == SSQ_F32 ? 4 : 2;
    int64_t column = (p->j + j) * t->b.height;
    x->b = (const char *)b->data + (r * t->depth * b->step + column) * bytes;
    x->b_row = b->step * bytes;
    x->ahead = r + 1 < t->rounds ? x->b_row * t->depth : bytes * t->b.height;
    x->b_rows = gemm_rows_of(b->dtype);
}

/* Set where the sums of a tile are read and written. Sums that are only rounded
 * are written to d at once. True if they must be finished from `sums`. */
static bool find_sums(const struct gemm_run_part *p, uint32_t i, uint32_t j,
                      int64_t r, float *sums, struct gemm_tile *x)
{
    const struct gemm_blocks *t = &p->run->t;
    const struct gemm_result *d = &p->result;
    const uint32_t columns = t->b.height;
    float *waiting =
        p->sums + ((size_t)j * p->down + i) * t->a.height * columns;
    x->from_row = columns;
    x->to_row = columns * (int64_t)sizeof(float);
    if (r > 0)
        x->from = waiting;
    x->to = waiting;
    if (r + 1 < t->rounds)
        return false;
    int64_t at = (p->i + i) * t->a.height * d->d_row + (p->j + j) * columns;
    int64_t bytes = GEMM_TYPE_D(d) == SSQ_F32 ? 4 : 2;
    char *to = (char *)d->d + at * bytes;
    x->d = to;
    x->d_row = d->d_row * bytes;
    x->to = sums;
    if (p->run->job->kernels->tiles || !d->plain || x->columns < columns)
        return true;
    x->to = to;
    x->to_row = x->d_row;
    x->to_is = gemm_rows_of(GEMM_TYPE_D(d));
    return false;
}

/* Finish the rest of the previous tile. */
static void finish_later(struct gemm_run_part *p)
{
    struct gemm_later *l = &p->later;
    if (l->first < l->rows)
        p->run->job->kernels->finish(l->result, l->sums + l->first * GEMM_LINES,
                                     GEMM_LINES, l->rows - l->first, l->columns,
                                     l->i + l->first, l->j);
    l->first = l->rows;
}

/* Return where a processor's tile writes its last sums: over its partial sums
 * or, if there is a single block, to one of two places in turn, because the
 * previous tile's sums are finished meanwhile. */
static float *sums_of_tile(const struct gemm_run_part *p, uint32_t i,
                           uint32_t j)
{
    const struct gemm_blocks *t = &p->run->t;
    size_t at = (size_t)j * p->down + i;
    return p->sums + (t->rounds > 1 ? at : at % 2) * GEMM_LINES * GEMM_LINES;
}

/* The same as tile(), by the processor's tiles. */
static void tile_later(struct gemm_run_part *p, uint32_t i, uint32_t j,
                       int64_t r, struct gemm_tile *x)
{
    const struct gemm_blocks *t = &p->run->t;
    float *sums = sums_of_tile(p, i, j);
    find_b(p, j, r, x);
    bool finish = find_sums(p, i, j, r, sums, x);
    x->turn = i;
    x->turns = p->down;
    x->later = &p->later;
    p->run->job->kernels->multiply(x);
    if (finish)
        p->later = (struct gemm_later){
            .result = &p->result,
            .sums = sums,
            .rows = x->rows,
            .columns = x->columns,
            .i = (p->i + i) * t->a.height,
            .j = (p->j + j) * t->b.height,
        };
}

/* Compute the tile of panels i and j of a part, for block r of k. */
static void tile(struct gemm_run_part *p, uint32_t i, uint32_t j, int64_t r)
{
    const struct gemm_blocks *t = &p->run->t;
    const struct gemm_job *job = p->run->job;
    const struct gemm_kernels *kernels = job->kernels;
    _Alignas(64) float sums[GEMM_LINES * GEMM_LINES];
    int64_t row = (p->i + i) * t->a.height, column = (p->j + j) * t->b.height;
    struct gemm_tile x = {
        .rows = (uint32_t)size_least(t->a.height, job->m - row),
        .columns = (uint32_t)size_least(t->b.height, job->n - column),
        .depth = p->words,
        .odd = p->odd};
    find_a(p, i, r, &x);
    if (kernels->tiles) {
        tile_later(p, i, j, r, &x);
        return;
    }
    find_b(p, j, r, &x);
    bool finish = find_sums(p, i, j, r, sums, &x);
    kernels->multiply(&x);
    if (finish)
        kernels->finish(&p->result, sums, t->b.height, x.rows, x.columns, row,
                        column);
}

/* ---- tasks ---- */

/* Pack the panels of a for block r. */
static const float *find_a_panels(const struct gemm_run_part *p, int64_t r,
                                  uint32_t worker)
{
    const struct cpu_gemm_run *run = p->run;
    float *memory = run->a + worker * run->t.a.words;
    if (!run->t.a.lies)
        gemm_run_pack(run, &run->t.a, &p->a, run->job->m, p->i, p->down, r,
                      memory);
    return memory;
}

/* Set the panels of b: the ones that all tasks share, or the part's own. If b
 * is read in place, only a last panel with fewer columns is packed. */
static const float *find_b_panels(const struct gemm_run_part *p, int64_t r,
                                  uint32_t worker)
{
    const struct cpu_gemm_run *run = p->run;
    const struct gemm_side *s = &run->t.b;
    int64_t first = p->j, n = p->across, all = run->job->n;
    if (run->t.shared)
        return run->b + (size_t)r * run->t.block + (size_t)first * s->apart;
    if (run->t.direct) {
        bool part = first + n == s->panels && all % s->height != 0;
        first += n - 1;
        n = part ? 1 : 0;
    }
    float *memory = run->b + worker * s->words;
    if (n > 0)
        gemm_run_pack(run, s, &p->b, all, first, n, r, memory);
    return memory;
}

/* Prepare block r of k. */
static void gemm_run_begin_block(struct gemm_run_part *p, int64_t r,
                                 uint32_t worker)
{
    const struct gemm_job *job = p->run->job;
    const uint32_t pair = job->kernels->pair, depth = p->run->t.depth;
    uint32_t n = (uint32_t)size_least(depth, job->k - r * depth);
    p->words = n / pair + n % pair;
    p->odd = n % pair != 0;
    if (job->k > 0) {
        p->b_panels = find_b_panels(p, r, worker);
        p->a_panels = find_a_panels(p, r, worker);
    }
}

/* Return part `index` of a matrix: strip by strip, and in each row by row. */
static void find_part(struct gemm_run_part *p, int64_t index)
{
    const struct gemm_blocks *t = &p->run->t;
    int64_t of_strip = t->a.tasks * t->strip, at = index % of_strip;
    int64_t j = index / of_strip * t->strip + at % t->strip;
    p->i = at / t->strip * t->a.task;
    p->j = j * t->b.task;
    p->down = (uint32_t)size_least(t->a.task, t->a.panels - p->i);
    p->across = (uint32_t)size_least(t->b.task, t->b.panels - p->j);
}

/* Return part `index` of the parts of all matrices. */
static void make_part(const struct cpu_gemm_run *run, int64_t index,
                      uint32_t worker)
{
    const struct gemm_blocks *t = &run->t;
    int64_t of_matrix = t->a.tasks * t->b.tasks;
    struct gemm_run_part p = {.run = run, .sums = run->sums + worker * t->sums};
    gemm_matrix(run->job, index / of_matrix, &p.a, &p.b, &p.result);
    find_part(&p, index % of_matrix);
    for (int64_t r = 0; r < t->rounds; r++) {
        gemm_run_begin_block(&p, r, worker);
        for (uint32_t j = 0; j < p.across; j++)
            for (uint32_t i = 0; i < p.down; i++)
                tile(&p, i, j, r);
    }
    finish_later(&p);
}

/* A factor could not be split: the results would not be used. */
static bool is_over(const struct gemm_job *job)
{
    return job->not_finite != NULL && atomic_load(job->not_finite);
}

static void gemm_run_task(void *context, uint32_t index, uint32_t worker)
{
    const struct cpu_gemm_run *run = context;
    const struct gemm_kernels *kernels = run->job->kernels;
    int64_t from = index * run->t.each;
    int64_t end = size_least(run->parts, from + run->t.each);
    if (kernels->tiles)
        kernels->begin();
    for (; from < end && !is_over(run->job); from++)
        make_part(run, from, worker);
    if (kernels->tiles)
        kernels->end();
}

ssq_status gemm_run(const struct gemm_job *job, const struct cpu_features *f,
                    struct team *team, struct scratch *scratch)
{
    struct cpu_gemm_run run = {.job = job};
    struct gemm_blocks *t = &run.t;
    size_t threads = team_size(team);
    gemm_blocks_choose(job, f, (uint32_t)threads, t);
    size_t a = t->a.words * threads, b = t->b.words * threads;
    if (t->shared)
        b = (size_t)t->rounds * t->block;
    size_t bytes = (a + b + t->sums * threads) * sizeof(float);
    struct backend_mem *memory;
    ssq_status st = scratch_take(scratch, bytes, &memory);
    if (st != SSQ_OK)
        return st;
    run.a = memory->host;
    run.b = run.a + a;
    run.sums = run.b + b;
    int64_t groups = size_div_up(t->b.panels, PACK_PANELS);
    if (t->shared && job->k > 0)
        parallel_for(team, (uint32_t)(t->rounds * groups), gemm_run_pack_task,
                     &run);
    run.parts = job->batch * t->a.tasks * t->b.tasks;
    parallel_for(team, (uint32_t)size_div_up(run.parts, t->each), gemm_run_task,
                 &run);
    scratch_return(scratch, memory);
    return SSQ_OK;
}
