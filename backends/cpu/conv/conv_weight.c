/* SPDX-License-Identifier: Apache-2.0 */
/* conv_weight.c - the loops of a convolution's gradient for its filter.
 *
 *     for each slice, group and block of channels     (all threads)
 *         for each band of the slice's rows
 *             make the channels' planes
 *             pack the map: channels of one position after the other
 *             for each strip of positions, for each panel of taps
 *                 copy their positions from the planes, and turn them
 *                 for each tile of map channels by taps:
 *                     from sums that wait, to them
 *     add the slices up and round                     (all threads)
 *
 * A slice is rows of positions, whose sums are one chain each. Slices are cut
 * by the op's sizes alone, so that bits depend on nothing else. */
#include "backends/cpu/conv/conv_run.h"

#include "backends/cpu/conv/conv_columns.h"
#include "backends/cpu/conv/conv_planes.h"
#include "lib/core/module/backend.h"
#include "lib/core/base/size.h"

/* Positions that are worth a slice of their own, and most slices. */
#define LEAST_POSITIONS 512
#define MOST_SLICES     16
/* Most words of the slices' sums. */
#define MOST_SUMS (INT64_C(16) << 20)
/* Limits of the words along k of a band and of a strip. A band of one longer
 * row has more; the lower limit is for large maps. */
#define MOST_DEPTH  256
#define LEAST_DEPTH 64
/* Tasks for each thread, so that all end together. */
#define TASKS_OF_THREAD 2
/* Multiplications that are not worth another thread: its waking takes longer.
 */
#define FEW 200000.0
/* Most columns of a tile. */
#define MOST_COLUMNS 32

struct conv_weight_run {
    const struct conv_op *op;
    const struct conv_kernels *kernels;
    struct conv_planes planes;
    int64_t taps;          /* of a channel */
    uint32_t height;       /* channels of the map in a panel */
    int64_t panels;        /* of them */
    int64_t map_rows;      /* of all images */
    int64_t words_wide;    /* of a row of the map: its positions, or pairs */
    int64_t slice, slices; /* rows of the map, of all images */
    int64_t band, images;  /* rows of an image, or images if these are small */
    int64_t block, blocks; /* channels, whose taps are */
    int64_t across, width; /* words of a row of sums: of a block, of all */
    size_t image;          /* elements of an image's planes */
    size_t panel;          /* words of a panel of the map */
    size_t words, spare;   /* of a thread */
    size_t map, turned;
    uint32_t *offset, *steps; /* of taps in planes, and of words of a panel */
    float *sums, *memory;
    struct backend_mem *scratch;
    bool alone; /* one thread is enough */
};

/* Rows of the map that are multiplied at a time: `rows` of the first image and
 * then images from their first row on. */
struct conv_weight_band {
    struct conv_part part; /* the first image */
    int64_t images;
    int64_t all;   /* rows of all images */
    bool first;    /* of the slice: nothing waits */
    int64_t words; /* along k */
    float *planes, *spare, *map, *turned, *sums;
};

/* Return the part of a band that is image i of it. */
static struct conv_part image_of(const struct conv_weight_run *run,
                                 const struct conv_weight_band *b, int64_t i)
{
    const int64_t high = run->op->slide[HEIGHT].map;
    struct conv_part part = b->part;
    if (i == 0)
        return part;
    int64_t before = b->part.rows + (i - 1) * high;
    part.n += i;
    part.row = 0;
    part.rows = size_least(high, b->all - before);
    return part;
}

/* ---- packing ---- */

/* The map's channels side by side, for each position of an image's part. */
static void pack_map(const struct conv_weight_run *run,
                     const struct conv_part *part, float *to)
{
    const struct view *v = &run->op->map;
    const int64_t wide = v->shape[4], bytes = v->dtype == SSQ_F32 ? 4 : 2;
    struct gemm_source from = {
        .dtype = v->dtype, .line = v->stride[2], .step = v->stride[4]};
    struct gemm_panels panels = {.height = run->height, .apart = run->panel};
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

/* The planes and the packed map of all images of a band. */
static void fill_band(const struct conv_weight_run *run,
                      const struct conv_weight_band *b)
{
    int64_t row = 0;
    for (int64_t i = 0; i < b->images; i++) {
        struct conv_part part = image_of(run, b, i);
        char *planes =
            (char *)b->planes + (size_t)i * run->image * run->planes.bytes;
        conv_planes_fill(&run->planes, &part, run->kernels->fill_taps, b->spare,
                         planes);
        pack_map(run, &part, b->map + row * run->words_wide * run->height);
        row += part.rows;
    }
}

/* `lines` taps as a panel: for each position, or pair of them, from word
 * `first` to the one before `end`, a word of each. A band of several strips is
 * one row.
 */
static void turn_taps(const struct conv_weight_run *run,
                      const struct conv_weight_band *b, const uint32_t *offset,
                      uint32_t lines, int64_t first, int64_t end)
{
    const struct conv_kernels *kernels = run->kernels;
    const uint32_t pair = kernels->pair, bytes = run->planes.bytes;
    const int64_t most = kernels->columns * pair;
    struct conv_columns c = {.bytes = bytes,
                             .wide = run->words_wide * pair,
                             .pitch = run->planes.pitch,
                             .image = (int64_t)run->image,
                             .rows = b->part.rows,
                             .others = run->op->slide[HEIGHT].map,
                             .x = first * pair};
    struct conv_move moves[CONV_MOVES];
    _Alignas(64) float rows[MOST_COLUMNS * MOST_COLUMNS + CONV_SLACK];
    struct gemm_source from = {.data = rows,
                               .dtype = pair == 2 ? SSQ_BF16 : SSQ_F32,
                               .line = most,
                               .step = 1};
    struct gemm_panels to = {.to = b->turned, .height = kernels->columns};
    for (int64_t p = first * pair; p < end * pair; p += most) {
        uint32_t some = (uint32_t)size_least(most, end * pair - p);
        uint32_t n = conv_columns_next(&c, some, kernels->vector, moves);
        kernels->gather(b->planes, bytes, offset, lines, moves, n, rows,
                        (size_t)most * bytes);
        kernels->pack(&from, 0, lines, 0, some, &to);
        to.to += (size_t)kernels->columns * kernels->columns;
    }
}

/* ---- tiles ---- */

/* Words first .. end - 1 of a band, for all taps of a block. */
static void multiply_strip(const struct conv_weight_run *run,
                           const struct conv_weight_band *b, int64_t first,
                           int64_t end)
{
    const uint32_t height = run->height, columns = run->kernels->columns;
    const bool begins = b->first && first == 0;
    int64_t taps = b->part.channels * run->taps;
    for (int64_t k = 0; k < taps; k += columns) {
        uint32_t some = (uint32_t)size_least(columns, taps - k);
        turn_taps(run, b, run->offset + k, some, first, end);
        for (int64_t i = 0; i < run->panels; i++) {
            float *at = b->sums + i * height * run->width + k;
            struct gemm_tile t = {
                .rows = (uint32_t)size_least(height, run->op->o - i * height),
                .columns = some,
                .height = height,
                .depth = (uint32_t)(end - first),
                .a = b->map + (size_t)i * run->panel + first * height,
                .b = b->turned,
                .from = begins ? NULL : at,
                .from_row = run->width,
                .to = at,
                .to_row = run->width * (int64_t)sizeof(float)};
            run->kernels->multiply(&t, run->steps);
        }
    }
}

/* ---- tasks ---- */

/* Set the band that begins at row `row` of all images' and ends before `end`.
 */
static void find_band(const struct conv_weight_run *run, int64_t row,
                      int64_t end, struct conv_weight_band *b)
{
    const int64_t high = run->op->slide[HEIGHT].map;
    b->part.n = row / high;
    b->part.row = row % high;
    b->all = size_least(run->band * run->images, end - row);
    if (run->images == 1)
        b->all = size_least(b->all, high - b->part.row);
    b->part.rows = size_least(b->all, high - b->part.row);
    b->images = 1 + size_div_up(b->all - b->part.rows, high);
    b->words = b->all * run->words_wide;
}

static void conv_weight_task(void *context, uint32_t index, uint32_t worker)
{
    const struct conv_weight_run *run = context;
    const struct conv_op *op = run->op;
    int64_t block = index % run->blocks,
            slice = index / run->blocks / op->groups;
    int64_t group = index / run->blocks % op->groups;
    int64_t from = slice * run->slice;
    int64_t end = size_least(run->map_rows, from + run->slice);
    struct conv_weight_band b = {
        .part = {.group = group,
                 .channel = block * run->block,
                 .room = run->band},
        .planes = run->memory +
                  worker * (run->words + run->spare + run->map + run->turned),
        .sums = run->sums + (slice * op->groups + group) * op->o * run->width +
                block * run->across};
    b.part.channels =
        size_least(run->block, run->planes.channels - b.part.channel);
    b.spare = b.planes + run->words;
    b.map = b.spare + run->spare;
    b.turned = b.map + run->map;
    for (int64_t row = from; row < end; row += b.all) {
        find_band(run, row, end, &b);
        b.first = row == from;
        fill_band(run, &b);
        for (int64_t w = 0; w < b.words; w += MOST_DEPTH)
            multiply_strip(run, &b, w, size_least(b.words, w + MOST_DEPTH));
    }
}

/* ---- the sum of slices ---- */

/* Round the sums of a block's taps to a channel of the filter. */
static void conv_weight_put(const struct conv_weight_run *run, int64_t at,
                            int64_t channels, float *sums)
{
    const struct view *f = &run->op->filter;
    const struct slide *s = run->op->slide;
    const int64_t bytes = f->dtype == SSQ_F32 ? 4 : 2;
    struct conv_result r = {.dtype = f->dtype,
                            .high = (uint32_t)s[HEIGHT].window,
                            .wide = (uint32_t)s[WIDTH].window,
                            .sums_row = s[WIDTH].window,
                            .h = f->stride[3],
                            .w = f->stride[4]};
    int64_t step = 1;
    if (r.w == 1 && r.h == r.sums_row && f->stride[2] == run->taps) {
        r.high = 1;
        r.wide = (uint32_t)(channels * run->taps);
        step = channels;
    }
    for (int64_t c = 0; c < channels; c += step)
        run->kernels->put(&r, sums + c * run->taps,
                          (char *)view_host(f) +
                              (at + c * f->stride[2]) * bytes);
}

/* A channel of the map. */
static void conv_weight_fold(void *context, uint32_t index, uint32_t worker)
{
    const struct conv_weight_run *run = context;
    const struct conv_op *op = run->op;
    const struct view *f = &op->filter;
    const size_t apart =
        (size_t)op->groups * (size_t)op->o * (size_t)run->width;
    float *sums = run->sums + (size_t)index * (size_t)run->width;
    int64_t at = index / op->o * f->stride[0] + index % op->o * f->stride[1];
    (void)worker;
    for (int64_t i = 1; i < run->slices; i++)
        for (int64_t k = 0; k < run->width; k++)
            sums[k] += sums[(size_t)i * apart + (size_t)k];
    for (int64_t c = 0; c < op->c; c += run->block, sums += run->across)
        conv_weight_put(run, at + c * f->stride[2],
                        size_least(run->block, op->c - c), sums);
}

/* ---- sizes ---- */

/* A pure function of the op's sizes: it decides bits. */
static void conv_weight_slices(struct conv_weight_run *run)
{
    const struct conv_op *op = run->op;
    int64_t positions = run->map_rows * op->slide[WIDTH].map;
    int64_t sums = op->groups * op->c * run->taps * op->o;
    int64_t slices = size_least(MOST_SLICES, positions / LEAST_POSITIONS);
    slices = size_most(1, size_least(slices, MOST_SUMS / sums));
    run->slice = size_div_up(run->map_rows, slices);
    run->slices = size_div_up(run->map_rows, run->slice);
}

static size_t conv_weight_in_lines(size_t words)
{
    return (words + 63) & ~(size_t)63;
}

/* Return the images that a band may touch: it can begin within one. */
static int64_t images_touched(const struct conv_weight_run *run)
{
    return run->images == 1 ? 1 : run->images + 1;
}

/* The map of a band fits in the second cache, and so do the planes of a block
 * of channels, but a block has at least a panel of taps: a smaller one would
 * leave tiles half empty. */
static void conv_weight_choose_tasks(struct conv_weight_run *run,
                                     const struct cpu_features *f,
                                     uint32_t threads)
{
    const struct conv_op *op = run->op;
    const int64_t high = op->slide[HEIGHT].map;
    const int64_t room = (int64_t)(f->l2 / sizeof(float) / 4);
    int64_t depth = size_least(MOST_DEPTH, room / (run->panels * run->height));
    int64_t rows = size_most(LEAST_DEPTH, depth) / run->words_wide;
    run->band = size_most(1, size_least(rows, size_least(high, run->slice)));
    run->images = run->band < high
                      ? 1
                      : size_most(1, size_least(rows, run->slice) / high);
    const int64_t least = size_div_up(run->kernels->columns, run->taps);
    const int64_t words = images_touched(run) *
                          (int64_t)conv_planes_words(&run->planes, run->band);
    run->block = run->planes.channels;
    while (run->block > least && run->block * words > room)
        run->block = size_most(least, size_div_up(run->block, 2));
    double products = (double)run->map_rows * (double)op->slide[WIDTH].map *
                      (double)(op->c * run->taps) * (double)op->o *
                      (double)op->groups;
    run->alone = threads == 1 || products < FEW;
    int64_t others = run->slices * op->groups;
    int64_t blocks =
        run->alone ? 1
                   : size_div_up((int64_t)threads * TASKS_OF_THREAD, others);
    int64_t fair = size_div_up(run->planes.channels, blocks);
    run->block = size_least(run->block, size_most(least, fair));
    run->blocks = size_div_up(run->planes.channels, run->block);
}

static void conv_weight_choose_panels(struct conv_weight_run *run)
{
    const struct conv_op *op = run->op;
    run->taps = op->slide[HEIGHT].window * op->slide[WIDTH].window;
    run->panels = size_div_up(op->o, run->kernels->rows);
    run->height = (uint32_t)size_div_up(op->o, run->panels);
    run->map_rows = op->n * op->slide[HEIGHT].map;
    run->words_wide = size_div_up(op->slide[WIDTH].map, run->kernels->pair);
    run->planes.bytes = sizeof(float) / run->kernels->pair;
}

/* Return the words along k of a strip, at most. */
static size_t strip_words(const struct conv_weight_run *run)
{
    return (size_t)size_least(MOST_DEPTH,
                              run->band * run->images * run->words_wide);
}

/* Set the words of a thread, and of the sums. */
static void conv_weight_choose_words(struct conv_weight_run *run)
{
    const int64_t columns = run->kernels->columns;
    const size_t depth = (size_t)(run->band * run->images * run->words_wide);
    run->image =
        (size_t)run->block * conv_planes_words(&run->planes, run->band);
    run->panel = conv_weight_in_lines(depth * run->height + GEMM_SLACK);
    run->words = conv_weight_in_lines((size_t)images_touched(run) * run->image +
                                      CONV_SLACK);
    run->spare = conv_weight_in_lines(conv_planes_spare(&run->planes));
    run->map = (size_t)run->panels * run->panel;
    run->turned = conv_weight_in_lines(
        (size_t)(size_div_up((int64_t)strip_words(run), columns) * columns *
                 columns) +
        GEMM_SLACK);
    run->across = size_div_up(run->block * run->taps, columns) * columns;
    run->width = run->blocks * run->across;
}

static ssq_status conv_weight_take(struct conv_weight_run *run,
                                   const struct conv_means *m)
{
    const struct conv_op *op = run->op;
    conv_weight_choose_words(run);
    size_t offsets = conv_weight_in_lines((size_t)(run->block * run->taps));
    size_t steps = conv_weight_in_lines(strip_words(run));
    size_t sums = conv_weight_in_lines(
        (size_t)(run->slices * op->groups * op->o * run->width) + CONV_SLACK);
    size_t of_thread = run->words + run->spare + run->map + run->turned;
    size_t threads = run->alone ? 1 : team_size(m->team);
    ssq_status st = scratch_take(
        m->scratch,
        sizeof(float) * (offsets + steps + sums + threads * of_thread),
        &run->scratch);
    if (st != SSQ_OK)
        return st;
    void *memory = run->scratch->host;
    run->offset = memory;
    run->steps = run->offset + offsets;
    run->sums = (float *)memory + offsets + steps;
    run->memory = run->sums + sums;
    return SSQ_OK;
}

/* The offsets of all taps of a block of channels, and of words of a panel. */
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
    for (size_t k = 0; k < strip_words(run); k++)
        run->steps[k] = (uint32_t)k * run->kernels->columns;
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
    conv_weight_loop(&run, m->team, op->groups * op->o, conv_weight_fold);
    scratch_return(m->scratch, run.scratch);
    return SSQ_OK;
}
