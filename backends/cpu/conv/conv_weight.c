/* SPDX-License-Identifier: Apache-2.0 */
/* conv_weight.c - the loops of a convolution's gradient for its filter.
 *
 *     for each slice, group and block of channels     (all threads)
 *         for each band of the slice's rows
 *             make the channels' planes
 *             pack the map: o of one position after the other
 *             for each tile of taps by o: from sums that wait, to them
 *     add the slices up and round                     (all threads)
 *
 * A slice is rows of positions, whose sums are one chain each. Slices are cut
 * by the op's sizes alone, so that bits depend on nothing else. */
#include "backends/cpu/conv/conv_run.h"

#include "backends/cpu/conv/conv_planes.h"
#include "kernels/scalar/cast.h"
#include "lib/core/module/backend.h"
#include "lib/core/base/size.h"

/* Positions that are worth a slice of their own, and most slices. */
#define LEAST_POSITIONS 512
#define MOST_SLICES     16
/* Most words of the slices' sums. */
#define MOST_SUMS (INT64_C(16) << 20)
/* Tasks for each thread, so that all end together. */
#define TASKS_OF_THREAD 2
/* Multiplications that are not worth another thread: its waking takes longer.
 */
#define FEW 200000.0
/* Taps whose slices one task adds up. */
#define FOLD_TAPS 64

struct conv_weight_run {
    const struct conv_op *op;
    const struct conv_kernels *kernels;
    struct conv_planes planes;
    int64_t taps;     /* of a channel */
    int64_t k;        /* of all channels */
    uint32_t height;  /* channels of the map in a panel */
    int64_t panels;   /* of them */
    int64_t width;    /* words of sums of a tap */
    int64_t map_rows; /* of all images */
    int64_t slice, slices, band, block, blocks;
    size_t words, spare, map; /* of a thread */
    uint32_t *offset;
    int64_t words_wide; /* of a row of the map: its positions, or pairs */
    float *sums, *memory;
    struct backend_mem *scratch;
    bool alone; /* one thread is enough */
};

/* ---- one band ---- */

/* The map's channels side by side, for each position of the part. */
static void conv_weight_pack(const struct conv_weight_run *run,
                             const struct conv_part *part, float *to)
{
    const struct view *v = &run->op->map;
    const int64_t wide = v->shape[4], bytes = v->dtype == SSQ_F32 ? 4 : 2;
    struct gemm_source from = {
        .dtype = v->dtype, .line = v->stride[2], .step = v->stride[4]};
    struct gemm_panels panels = {.height = run->height,
                                 .apart = run->map / (size_t)run->panels};
    int64_t at = part->n * v->stride[0] + part->group * v->stride[1] +
                 part->row * v->stride[3];
    bool even = run->kernels->pair == 1 && v->stride[3] == wide * v->stride[4];
    int64_t rows = even ? 1 : part->rows, k = even ? part->rows * wide : wide;
    for (int64_t p = 0; p < rows; p++, at += v->stride[3]) {
        from.data = (const char *)view_host(v) + at * bytes;
        panels.to = to + p * run->words_wide * run->height;
        run->kernels->pack(&from, 0, run->op->o, 0, (uint32_t)k, &panels);
    }
}

static void conv_weight_multiply(const struct conv_weight_run *run,
                                 const struct conv_part *part, bool first,
                                 const float *planes, const float *map,
                                 float *sums)
{
    const uint32_t rows = run->kernels->rows;
    struct conv_taps t = {.planes = planes,
                          .high = (uint32_t)part->rows,
                          .wide = (uint32_t)run->op->map.shape[4],
                          .row = run->planes.pitch,
                          .height = run->height,
                          .columns = run->height,
                          .to_row = run->width};
    int64_t all = part->channels * run->taps;
    uint32_t count = (uint32_t)size_div_up(all, size_div_up(all, rows));
    for (int64_t j = 0; j < run->panels; j++)
        for (int64_t i = 0; i < all; i += count) {
            t.b = map + (size_t)j * (run->map / (size_t)run->panels);
            t.taps = (uint32_t)size_least(count, all - i);
            t.offset = run->offset + i;
            t.to = sums + (part->channel * run->taps + i) * run->width +
                   j * run->height;
            t.from = first ? NULL : t.to;
            run->kernels->taps(&t);
        }
}

/* ---- tasks ---- */

static void conv_weight_task(void *context, uint32_t index, uint32_t worker)
{
    const struct conv_weight_run *run = context;
    const int64_t high = run->op->slide[HEIGHT].map;
    int64_t slice = index / run->blocks / run->op->groups;
    int64_t from = slice * run->slice;
    int64_t end = size_least(run->map_rows, from + run->slice);
    struct conv_part part = {.group = index / run->blocks % run->op->groups,
                             .channel = index % run->blocks * run->block,
                             .room = run->band};
    part.channels = size_least(run->block, run->planes.channels - part.channel);
    float *planes = run->memory + worker * (run->words + run->spare + run->map);
    float *spare = planes + run->words, *map = spare + run->spare;
    float *sums = run->sums +
                  (slice * run->op->groups + part.group) * run->k * run->width;
    for (int64_t row = from; row < end; row += part.rows) {
        part.n = row / high;
        part.row = row % high;
        part.rows = size_least(run->band, high - part.row);
        part.rows = size_least(part.rows, end - row);
        conv_planes_fill(&run->planes, &part, run->kernels->fill_taps, spare,
                         planes);
        conv_weight_pack(run, &part, map);
        conv_weight_multiply(run, &part, row == from, planes, map, sums);
    }
}

/* ---- the sum of slices ---- */

static void conv_weight_store(const struct view *v, int64_t at, float x)
{
    if (v->dtype == SSQ_F32)
        ((float *)view_host(v))[at] = x;
    else
        ((uint16_t *)view_host(v))[at] =
            (uint16_t)(v->dtype == SSQ_F16 ? f16_store(x) : bf16_store(x));
}

/* Some taps of a group. */
static void conv_weight_fold(void *context, uint32_t index, uint32_t worker)
{
    const struct conv_weight_run *run = context;
    const struct view *f = &run->op->filter;
    const int64_t wide = run->op->slide[WIDTH].window;
    int64_t tasks = size_div_up(run->k, FOLD_TAPS), group = index / tasks;
    int64_t from = index % tasks * FOLD_TAPS;
    size_t apart =
        (size_t)run->op->groups * (size_t)run->k * (size_t)run->width;
    (void)worker;
    for (int64_t k = from; k < size_least(run->k, from + FOLD_TAPS); k++) {
        float *sums = run->sums + (group * run->k + k) * run->width;
        for (int64_t i = 1; i < run->slices; i++)
            for (int64_t o = 0; o < run->op->o; o++)
                sums[o] += sums[(size_t)i * apart + (size_t)o];
        int64_t at = group * f->stride[0] + k / run->taps * f->stride[2] +
                     k % run->taps / wide * f->stride[3] +
                     k % wide * f->stride[4];
        for (int64_t o = 0; o < run->op->o; o++)
            conv_weight_store(f, at + o * f->stride[1], sums[o]);
    }
}

/* ---- sizes ---- */

/* A pure function of the op's sizes: it decides bits. */
static void conv_weight_slices(struct conv_weight_run *run)
{
    const struct conv_op *op = run->op;
    int64_t positions = run->map_rows * op->slide[WIDTH].map;
    int64_t sums = op->groups * run->k * op->o;
    int64_t slices = size_least(MOST_SLICES, positions / LEAST_POSITIONS);
    slices = size_most(1, size_least(slices, MOST_SUMS / sums));
    run->slice = size_div_up(run->map_rows, slices);
    run->slices = size_div_up(run->map_rows, run->slice);
}

/* Words that a task works in. */
static size_t conv_weight_need(const struct conv_weight_run *run, int64_t band,
                               int64_t block)
{
    size_t map = (size_t)(band * run->op->slide[WIDTH].map * run->width);
    return (size_t)block * conv_planes_words(&run->planes, band) + map;
}

static void conv_weight_choose_tasks(struct conv_weight_run *run,
                                     const struct cpu_features *f,
                                     uint32_t threads)
{
    const int64_t high = run->op->slide[HEIGHT].map;
    size_t room = f->l2 / sizeof(float) / 2;
    run->band = size_least(high, run->slice);
    run->block = run->planes.channels;
    for (int64_t n = 2; run->band > 1; n++) {
        if (conv_weight_need(run, run->band, run->block) <= room)
            break;
        run->band = size_least(run->band, size_div_up(high, n));
        if (n > high)
            break;
    }
    while (run->block > 1 &&
           conv_weight_need(run, run->band, run->block) > room)
        run->block = size_div_up(run->block, 2);
    double products = (double)run->map_rows *
                      (double)run->op->slide[WIDTH].map * (double)run->k *
                      (double)run->op->o * (double)run->op->groups;
    run->alone = threads == 1 || products < FEW;
    int64_t others = run->slices * run->op->groups;
    int64_t blocks =
        run->alone ? 1
                   : size_div_up((int64_t)threads * TASKS_OF_THREAD, others);
    run->block =
        size_least(run->block, size_div_up(run->planes.channels, blocks));
    run->blocks = size_div_up(run->planes.channels, run->block);
}

static void conv_weight_choose_panels(struct conv_weight_run *run)
{
    const struct conv_op *op = run->op;
    uint32_t columns = run->kernels->columns;
    run->taps = op->slide[HEIGHT].window * op->slide[WIDTH].window;
    run->k = op->c * run->taps;
    run->height = op->o <= columns / 2 ? columns / 2 : columns;
    run->panels = size_div_up(op->o, run->height);
    run->width = run->panels * run->height;
    run->map_rows = op->n * op->slide[HEIGHT].map;
    run->words_wide = size_div_up(op->slide[WIDTH].map, run->kernels->pair);
    run->planes.bytes = sizeof(float) / run->kernels->pair;
}

/* The offsets of all taps of a block of channels. */
static void set_offsets(struct conv_weight_run *run)
{
    const struct conv_op *op = run->op;
    uint32_t *to = run->offset;
    size_t channel = conv_planes_words(&run->planes, run->band);
    for (int64_t r = 0; r < op->slide[HEIGHT].window; r++)
        for (int64_t s = 0; s < op->slide[WIDTH].window; s++)
            *to++ = conv_planes_offset(&run->planes, run->band,
                                       conv_tap(op, HEIGHT, r),
                                       conv_tap(op, WIDTH, s));
    for (int64_t k = run->taps; k < run->block * run->taps; k++, to++)
        *to = *(to - run->taps) + (uint32_t)channel;
}

static size_t conv_weight_in_lines(size_t words)
{
    return (words + 63) & ~(size_t)63;
}

static ssq_status conv_weight_take(struct conv_weight_run *run,
                                   const struct conv_means *m)
{
    const struct conv_op *op = run->op;
    run->words = conv_weight_in_lines(
        (size_t)run->block * conv_planes_words(&run->planes, run->band) +
        CONV_SLACK);
    run->spare = conv_weight_in_lines(conv_planes_spare(&run->planes));
    run->map =
        (size_t)run->panels *
        conv_weight_in_lines(
            (size_t)(run->band * run->words_wide) * run->height + GEMM_SLACK);
    size_t offsets = conv_weight_in_lines((size_t)(run->block * run->taps));
    size_t sums = conv_weight_in_lines(
        (size_t)(run->slices * op->groups * run->k * run->width));
    size_t of_thread = run->words + run->spare + run->map;
    ssq_status st = scratch_take(
        m->scratch,
        sizeof(float) * (offsets + sums +
                         (run->alone ? 1 : team_size(m->team)) * of_thread),
        &run->scratch);
    if (st != SSQ_OK)
        return st;
    void *memory = run->scratch->host;
    run->offset = memory;
    run->sums = (float *)memory + offsets;
    run->memory = run->sums + sums;
    return SSQ_OK;
}

static void conv_weight_loop(struct conv_weight_run *run, struct team *team,
                             int64_t n, team_task each)
{
    if (!run->alone) {
        parallel_for(team, (uint32_t)n, each, run);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        each(run, i, 0);
}

ssq_status conv_weight_run(const struct conv_op *op, const struct conv_means *m)
{
    struct conv_weight_run run = {.op = op, .kernels = m->kernels};
    conv_planes_init(&run.planes, op, 1);
    conv_weight_choose_panels(&run);
    conv_weight_slices(&run);
    conv_weight_choose_tasks(&run, m->features, team_size(m->team));
    ssq_status st = conv_weight_take(&run, m);
    if (st != SSQ_OK)
        return st;
    set_offsets(&run);
    conv_weight_loop(&run, m->team, run.slices * op->groups * run.blocks,
                     conv_weight_task);
    conv_weight_loop(&run, m->team, op->groups * size_div_up(run.k, FOLD_TAPS),
                     conv_weight_fold);
    scratch_return(m->scratch, run.scratch);
    return SSQ_OK;
}
