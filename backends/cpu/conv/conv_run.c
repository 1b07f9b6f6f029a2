/* SPDX-License-Identifier: Apache-2.0 */
/* conv_run.c - the loops of a convolution forward, and of its gradient for the
 * image.
 *
 *     pack the filter as panels                       (all threads)
 *     for each band of rows, or of small images       (all threads)
 *         for each block of channels
 *             make their planes
 *             for each product
 *                 copy its columns from the planes
 *                 for each tile: from sums that wait, to them
 *         round the sums
 *
 * A filter of a single panel reads the planes themselves: copies would be read
 * only once. Each sum is one chain along k, channel by channel and tap by tap:
 * no division into bands and blocks changes a bit. */
#include "backends/cpu/conv/conv_run.h"

#include "backends/cpu/conv/conv_columns.h"
#include "backends/cpu/conv/conv_filter.h"
#include "backends/cpu/conv/conv_planes.h"
#include "lib/core/module/backend.h"
#include "lib/core/base/size.h"

/* Least columns of a band: fewer leave tiles half empty, and panels of the
 * filter are read for them alone. */
#define LEAST_COLUMNS 64
#define LEAST_COPIED  128
/* Columns that are copied at a time: a multiple of every tile's. */
#define STRIP_COLUMNS ((size_t)256)
/* The part of planes that counts where columns are copied. */
#define PLANES_READ 8
/* Least words along k of a block: sums are read and written once for each. */
#define LEAST_DEPTH 512
/* Tasks for each thread, so that all end together. */
#define TASKS_OF_THREAD 3
/* Multiplications that are not worth another thread: its waking takes longer.
 */
#define FEW 200000.0
/* Most words of panels that one thread packs while the others wait. */
#define PACK_ALONE 8192

/* The values shared by results that have the same taps. */
struct conv_run_product {
    uint32_t taps;
    size_t first; /* where its taps begin; its offsets: times a block */
    size_t a;     /* where its panels begin, of a group */
    size_t panel; /* words from panel to panel */
    struct conv_places place[AXES];
};

struct cpu_conv_run {
    const struct conv_op *op;
    const struct conv_kernels *kernels;
    struct conv_planes planes;
    const struct view *made;
    int64_t rows, panels; /* channels of the result, as panels of */
    uint32_t height;      /* this many */
    int64_t results;      /* rows of them, in bands of */
    int64_t band, bands;
    int64_t images, turns; /* images of a task, and how many times that many */
    int64_t block;         /* channels of a block */
    int64_t parts, part;   /* panels of a task, where bands are few */
    int64_t sums_row;
    size_t image;                       /* words of its planes */
    size_t a_group;                     /* words of panels */
    size_t words, spare, columns, sums; /* of a thread */
    uint32_t products, most_taps;
    struct conv_run_product *product;
    int64_t *tap;
    uint32_t *offset, *steps; /* of rows in planes, and in copied columns */
    float *a, *memory;
    struct backend_mem *scratch;
    bool copies; /* columns are copied from the planes */
    bool alone;  /* one thread is enough */
};

/* One task. */
struct conv_run_task {
    struct conv_part part;
    int64_t images;
    int64_t first, end; /* panels */
    float *planes, *spare, *columns, *sums;
};

/* ---- the filter ---- */

static struct conv_filter conv_run_filter(const struct cpu_conv_run *run,
                                          const struct conv_run_product *x)
{
    return (struct conv_filter){.op = run->op,
                                .kernels = run->kernels,
                                .tap = run->tap + x->first,
                                .taps = x->taps,
                                .height = run->height,
                                .rows = run->rows,
                                .elements = run->planes.elements,
                                .pair = run->planes.pair};
}

static void conv_run_pack_task(void *context, uint32_t index, uint32_t worker)
{
    const struct cpu_conv_run *run = context;
    int64_t group = index / run->panels, panel = index % run->panels;
    float *to = run->a + (size_t)group * run->a_group;
    (void)worker;
    for (uint32_t i = 0; i < run->products; i++) {
        const struct conv_run_product *x = &run->product[i];
        struct conv_filter f = conv_run_filter(run, x);
        conv_filter_pack(&f, group, panel,
                         to + x->a + (size_t)panel * x->panel);
    }
}

/* ---- tiles ---- */

/* Rows from, n of a product in a band. */
struct conv_run_rows {
    int64_t from, n;
};

static struct conv_run_rows rows_in(const struct conv_run_product *x,
                                    const struct conv_part *part)
{
    const struct conv_places *h = &x->place[HEIGHT];
    int64_t from = size_most(h->first, part->row);
    int64_t end = size_least(h->first + h->n, part->row + part->rows);
    if (x->place[WIDTH].n == 0)
        end = from;
    return (struct conv_run_rows){from, size_most(0, end - from)};
}

/* Return the first word of a product in the planes of an image. */
static int64_t first_word(const struct cpu_conv_run *run,
                          const struct conv_run_product *x,
                          const struct conv_part *part)
{
    return (rows_in(x, part).from - part->row) * run->planes.pitch +
           x->place[WIDTH].first;
}

/* The sums of panel i and of the columns from j on, `columns` at most. Row k of
 * b is at offset[k]. */
static void conv_run_tile(const struct cpu_conv_run *run,
                          const struct conv_run_product *x,
                          const struct conv_run_task *task, int64_t i,
                          int64_t j, int64_t columns, const float *b,
                          const uint32_t *offset, float *sums)
{
    const struct conv_part *part = &task->part;
    const uint32_t height = run->height;
    float *at = sums + (i - task->first) * height * run->sums_row + j;
    struct gemm_tile t = {
        .rows = (uint32_t)size_least(height, run->rows - i * height),
        .columns = (uint32_t)columns,
        .height = height,
        .depth = (uint32_t)part->channels * x->taps,
        .a = run->a + (size_t)part->group * run->a_group + x->a +
             (size_t)i * x->panel + (size_t)part->channel * x->taps * height,
        .b = b,
        .from = part->channel == 0 ? NULL : at,
        .from_row = run->sums_row,
        .to = at,
        .to_row = run->sums_row * (int64_t)sizeof(float)};
    run->kernels->multiply(&t, offset);
}

/* Tiles of the planes themselves: columns run on across rows. */
static void multiply_planes(const struct cpu_conv_run *run,
                            const struct conv_run_product *x,
                            const struct conv_run_task *task, float *sums)
{
    const uint32_t *offset = run->offset + x->first * (size_t)run->block;
    const float *b = task->planes + first_word(run, x, &task->part);
    int64_t columns =
        (rows_in(x, &task->part).n - 1) * run->planes.pitch + x->place[WIDTH].n;
    int64_t most = run->height == 1 ? columns : run->kernels->columns;
    for (int64_t j = 0; j < columns; j += most)
        for (int64_t i = task->first; i < task->end; i++)
            conv_run_tile(run, x, task, i, j, size_least(most, columns - j),
                          b + j, offset, sums);
}

/* Copy the columns of a block to panels, strip by strip, and multiply these. */
static void multiply_columns(const struct cpu_conv_run *run,
                             const struct conv_run_product *x,
                             const struct conv_run_task *task, float *sums)
{
    const struct conv_kernels *kernels = run->kernels;
    const uint32_t *offset = run->offset + x->first * (size_t)run->block;
    const int64_t wide = x->place[WIDTH].n, rows = rows_in(x, &task->part).n;
    const uint32_t depth = (uint32_t)task->part.channels * x->taps;
    struct conv_columns c = {.bytes = sizeof(float),
                             .wide = wide,
                             .pitch = run->planes.pitch,
                             .image = (int64_t)run->image,
                             .first = first_word(run, x, &task->part),
                             .rows = rows,
                             .others = rows};
    struct conv_move moves[CONV_MOVES];
    const int64_t columns = task->images * rows * wide;
    const int64_t most = kernels->columns, strip = STRIP_COLUMNS;
    for (int64_t from = 0; from < columns; from += strip) {
        const int64_t end = size_least(columns, from + strip);
        for (int64_t j = from; j < end; j += most) {
            uint32_t n =
                conv_columns_next(&c, (uint32_t)size_least(most, end - j),
                                  kernels->vector, moves);
            kernels->gather(task->planes, sizeof(float), offset, depth, moves,
                            n, task->columns + (j - from) * depth,
                            (size_t)most * sizeof(float));
        }
        for (int64_t i = task->first; i < task->end; i++)
            for (int64_t j = from; j < end; j += most)
                conv_run_tile(run, x, task, i, j, size_least(most, end - j),
                              task->columns + (j - from) * depth, run->steps,
                              sums);
    }
}

/* ---- results ---- */

/* Round the sums of an image: a row of them is `pitch` words long. */
static void conv_run_put(const struct cpu_conv_run *run,
                         const struct conv_run_product *x,
                         const struct conv_run_task *task, int64_t n,
                         int64_t pitch, float *sums)
{
    const struct conv_part *part = &task->part;
    const struct view *d = run->made, *bias = &run->op->bias;
    const struct conv_places *h = &x->place[HEIGHT], *w = &x->place[WIDTH];
    struct conv_run_rows rows = rows_in(x, part);
    struct conv_result r = {.dtype = d->dtype,
                            .high = (uint32_t)rows.n,
                            .wide = (uint32_t)w->n,
                            .sums_row = pitch,
                            .h = d->stride[3] * h->step,
                            .w = d->stride[4] * w->step,
                            .activation = run->op->activation,
                            .biased = bias->buffer != NULL};
    if (pitch == w->n && r.h == w->n * r.w) {
        r.wide *= r.high;
        r.high = 1;
    }
    int64_t at = n * d->stride[0] + part->group * d->stride[1] +
                 (h->at + (rows.from - h->first) * h->step) * d->stride[3] +
                 w->at * d->stride[4];
    int64_t bytes = d->dtype == SSQ_F32 ? 4 : 2;
    int64_t end = size_least(task->end * run->height, run->rows);
    for (int64_t i = task->first * run->height; i < end; i++) {
        if (r.biased)
            r.bias = conv_element(bias, part->group * bias->stride[0] +
                                            i * bias->stride[1]);
        run->kernels->put(
            &r, sums, (char *)view_host(d) + (at + i * d->stride[2]) * bytes);
        sums += run->sums_row;
    }
}

static void put_product(const struct cpu_conv_run *run,
                        const struct conv_run_product *x,
                        const struct conv_run_task *task, float *sums)
{
    const int64_t wide = x->place[WIDTH].n, rows = rows_in(x, &task->part).n;
    if (rows == 0)
        return;
    if (!run->copies) {
        conv_run_put(run, x, task, task->part.n, run->planes.pitch, sums);
        return;
    }
    for (int64_t n = 0; n < task->images; n++)
        conv_run_put(run, x, task, task->part.n + n, wide,
                     sums + n * rows * wide);
}

/* ---- tasks ---- */

static void find_task(const struct cpu_conv_run *run, int64_t index,
                      uint32_t worker, struct conv_run_task *task)
{
    const struct conv_op *op = run->op;
    int64_t i = index / run->parts;
    struct conv_part *part = &task->part;
    task->first = index % run->parts * run->part;
    task->end = size_least(run->panels, task->first + run->part);
    *part = (struct conv_part){.row = i % run->bands * run->band,
                               .room = run->band};
    part->rows = size_least(run->band, run->results - part->row);
    part->group = i / run->bands % op->groups;
    part->n = i / run->bands / op->groups * run->images;
    task->images = size_least(run->images, op->n - part->n);
    task->planes =
        run->memory + worker * (run->words + run->spare + run->columns +
                                run->products * run->sums);
    task->spare = task->planes + run->words;
    task->columns = task->spare + run->spare;
    task->sums = task->columns + run->columns;
}

/* The planes of all images of the task, for a block of channels. */
static void fill_images(const struct cpu_conv_run *run,
                        const struct conv_run_task *task)
{
    struct conv_part part = task->part;
    for (int64_t n = 0; n < task->images; n++, part.n++)
        conv_planes_fill(&run->planes, &part, run->kernels->fill, task->spare,
                         task->planes + (size_t)n * run->image);
}

static void conv_run_perform(void *context, uint32_t index, uint32_t worker)
{
    const struct cpu_conv_run *run = context;
    const int64_t channels = run->planes.channels;
    struct conv_run_task task;
    find_task(run, index, worker, &task);
    struct conv_part *part = &task.part;
    for (; part->channel < channels; part->channel += run->block) {
        part->channels = size_least(run->block, channels - part->channel);
        fill_images(run, &task);
        for (uint32_t j = 0; j < run->products; j++) {
            const struct conv_run_product *x = &run->product[j];
            float *sums = task.sums + j * run->sums;
            if (rows_in(x, part).n == 0)
                continue;
            if (run->copies)
                multiply_columns(run, x, &task, sums);
            else
                multiply_planes(run, x, &task, sums);
        }
    }
    for (uint32_t j = 0; j < run->products; j++)
        put_product(run, &run->product[j], &task, task.sums + j * run->sums);
}

/* ---- sizes ---- */

/* Words of a band for each row, and the positions that are multiplied. */
static int64_t row_columns(const struct cpu_conv_run *run)
{
    return run->copies ? run->planes.axis[WIDTH].results : run->planes.pitch;
}

static int64_t columns_least(const struct cpu_conv_run *run)
{
    return run->copies ? LEAST_COPIED : LEAST_COLUMNS;
}

/* The columns of a task. */
static size_t task_columns(const struct cpu_conv_run *run, int64_t band)
{
    return (size_t)run->images * (size_t)(band * row_columns(run));
}

/* The columns that are copied at a time. */
static size_t strip_columns(const struct cpu_conv_run *run, int64_t band)
{
    size_t columns = task_columns(run, band);
    return columns < STRIP_COLUMNS ? columns : STRIP_COLUMNS;
}

/* The words of the second cache that a task of this band and block needs.
 * Copied columns are read by every panel. Their planes are read once, one strip
 * after the other, and their sums once for each block. */
static size_t conv_run_need(const struct cpu_conv_run *run, int64_t band,
                            int64_t block)
{
    size_t planes =
        (size_t)(run->images * block) * conv_planes_words(&run->planes, band);
    if (run->copies)
        return planes / PLANES_READ +
               (size_t)(block * run->most_taps) * strip_columns(run, band);
    return planes + run->products * (size_t)run->rows * task_columns(run, band);
}

/* As many rows and channels as fit in the second cache, beside panels. */
static void choose_block(struct cpu_conv_run *run, const struct cpu_features *f)
{
    size_t room = f->l2 / sizeof(float) * 5 / 8;
    int64_t row = row_columns(run), most = columns_least(run);
    int64_t least = size_div_up(most, row);
    int64_t depth = run->copies ? LEAST_DEPTH / run->most_taps + 1 : 1;
    run->band = run->results;
    run->images = 1;
    if (run->copies && run->band * row < most) {
        run->images = size_div_up(most, run->band * row);
        run->images =
            size_div_up(run->op->n, size_div_up(run->op->n, run->images));
    }
    run->block = run->planes.channels;
    if (run->copies)
        while (run->block > depth &&
               conv_run_need(run, run->band, run->block) > room)
            run->block = size_most(depth, size_div_up(run->block, 2));
    for (int64_t n = 2; conv_run_need(run, run->band, run->block) > room; n++) {
        if (run->band <= least)
            break;
        run->band = size_most(least, size_div_up(run->results, n));
    }
    while (run->block > 1 && conv_run_need(run, run->band, run->block) > room)
        run->block = size_div_up(run->block, 2);
}

/* Where threads would have nothing to do there are more bands, and panels of
 * the same band are made by several tasks, each with its own planes. */
static void conv_run_choose_tasks(struct cpu_conv_run *run,
                                  const struct cpu_features *f,
                                  uint32_t threads)
{
    const struct slide *s = run->op->slide;
    double flops = (double)run->op->n * (double)run->op->groups *
                   (double)run->op->c * (double)run->op->o *
                   (double)(s[HEIGHT].window * s[WIDTH].window) *
                   (double)(s[HEIGHT].map * s[WIDTH].map);
    choose_block(run, f);
    run->turns = size_div_up(run->op->n, run->images);
    int64_t bands = run->turns * run->op->groups;
    int64_t wanted = (int64_t)threads * TASKS_OF_THREAD;
    run->alone = threads == 1 || flops < FEW;
    run->parts = 1;
    if (!run->alone && run->images == 1) {
        int64_t least = size_div_up(columns_least(run), row_columns(run));
        int64_t most = size_most(
            least, size_div_up(run->results, size_div_up(wanted, bands)));
        run->band = size_least(run->band, most);
    }
    run->bands = size_div_up(run->results, run->band);
    bands *= run->bands;
    if (!run->alone && bands < threads)
        run->parts = size_least(run->panels, size_div_up(threads, bands));
    run->part = size_div_up(run->panels, run->parts);
    run->parts = size_div_up(run->panels, run->part);
}

/* ---- products ---- */

static uint32_t products_along(const struct conv_op *op, int axis)
{
    return op->kind == CONV_DATA ? (uint32_t)op->slide[axis].stride : 1;
}

/* Return the taps of an axis that product i has. */
static uint32_t taps_along(const struct conv_op *op, int axis, uint32_t i)
{
    uint32_t n = 0;
    for (int64_t r = 0; r < op->slide[axis].window; r++)
        n += conv_tap(op, axis, r).product == i;
    return n;
}

/* Of product 0: it has tap 0, and so at least as many as others. */
static uint32_t taps_most(const struct conv_op *op)
{
    return taps_along(op, HEIGHT, 0) * taps_along(op, WIDTH, 0);
}

static size_t conv_run_in_lines(size_t words)
{
    return (words + 63) & ~(size_t)63;
}

/* The offsets of product (i, j)'s taps of all channels of a block. */
static void set_product(struct cpu_conv_run *run, struct conv_run_product *x,
                        uint32_t i, uint32_t j, size_t *first, size_t *a)
{
    const struct conv_op *op = run->op;
    const int64_t *stride = op->filter.stride;
    size_t channel = conv_planes_words(&run->planes, run->band);
    uint32_t *to = run->offset + *first * (size_t)run->block;
    *x = (struct conv_run_product){.first = *first, .a = *a};
    x->place[HEIGHT] = conv_places(&run->planes, HEIGHT, i);
    x->place[WIDTH] = conv_places(&run->planes, WIDTH, j);
    for (int64_t r = 0; r < op->slide[HEIGHT].window; r++)
        for (int64_t s = 0; s < op->slide[WIDTH].window; s++) {
            struct conv_tap h = conv_tap(op, HEIGHT, r);
            struct conv_tap w = conv_tap(op, WIDTH, s);
            if (h.product != i || w.product != j)
                continue;
            run->tap[x->first + x->taps] = r * stride[3] + s * stride[4];
            to[x->taps++] = conv_planes_offset(&run->planes, run->band, h, w);
        }
    for (size_t k = x->taps; k < x->taps * (size_t)run->block; k++)
        to[k] = to[k - x->taps] + (uint32_t)channel;
    struct conv_filter f = conv_run_filter(run, x);
    x->panel = conv_run_in_lines(conv_filter_panel(&f) + GEMM_SLACK);
    *first += x->taps;
    *a += x->panel * (size_t)run->panels;
}

/* A band may be shorter than others: offsets are of the longest, so that a
 * short one's planes are as far apart. */
static void set_products(struct cpu_conv_run *run)
{
    uint32_t wide = products_along(run->op, WIDTH);
    size_t first = 0, a = 0;
    for (uint32_t i = 0; i < run->products; i++)
        set_product(run, &run->product[i], i / wide, i % wide, &first, &a);
    for (uint32_t k = 0; run->copies && k < run->block * run->most_taps; k++)
        run->steps[k] = k * run->kernels->columns;
}

static void conv_run_choose_panels(struct cpu_conv_run *run)
{
    const struct conv_op *op = run->op;
    bool data = op->kind == CONV_DATA;
    run->made = data ? &op->image : &op->map;
    run->rows = data ? op->c : op->o;
    run->panels = size_div_up(run->rows, run->kernels->rows);
    run->height = (uint32_t)size_div_up(run->rows, run->panels);
    run->results = run->planes.axis[HEIGHT].results;
    run->products = products_along(op, HEIGHT) * products_along(op, WIDTH);
    run->most_taps = taps_most(op);
    run->copies = run->panels > 1;
}

/* Set the words of a thread. */
static void choose_words(struct cpu_conv_run *run)
{
    const size_t tile = run->kernels->columns;
    run->image =
        (size_t)run->block * conv_planes_words(&run->planes, run->band);
    run->words = conv_run_in_lines((size_t)run->images * run->image + 2 * tile +
                                   CONV_SLACK);
    run->spare = conv_run_in_lines(conv_planes_spare(&run->planes));
    run->sums_row =
        (int64_t)conv_run_in_lines(task_columns(run, run->band) + 2 * tile);
    run->sums = (size_t)(run->part * run->height) * (size_t)run->sums_row;
    run->columns = 0;
    if (run->copies)
        run->columns =
            conv_run_in_lines((size_t)run->block * run->most_taps *
                                  (strip_columns(run, run->band) + tile) +
                              tile);
}

/* Take memory for all of it, and divide that. */
static ssq_status conv_run_take(struct cpu_conv_run *run,
                                const struct conv_means *m)
{
    const struct slide *s = run->op->slide;
    size_t taps = (size_t)(s[HEIGHT].window * s[WIDTH].window);
    size_t panel = (size_t)run->planes.channels * taps * run->height;
    choose_words(run);
    run->a_group = (size_t)run->panels * (panel + run->products * 128);
    size_t words[] = {
        conv_run_in_lines(run->products * sizeof(*run->product) / 4 + 1),
        conv_run_in_lines(taps * sizeof(*run->tap) / 4),
        conv_run_in_lines(taps * (size_t)run->block),
        conv_run_in_lines((size_t)run->block * run->most_taps),
        conv_run_in_lines(run->a_group * (size_t)run->op->groups)};
    size_t all = 0, threads = run->alone ? 1 : team_size(m->team);
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        all += words[i];
    all += threads *
           (run->words + run->spare + run->columns + run->products * run->sums);
    ssq_status st =
        scratch_take(m->scratch, sizeof(float) * all, &run->scratch);
    if (st != SSQ_OK)
        return st;
    float *memory = run->scratch->host;
    run->product = (void *)memory;
    run->tap = (void *)(memory += words[0]);
    run->offset = (void *)(memory += words[1]);
    run->steps = (void *)(memory += words[2]);
    run->a = memory += words[3];
    run->memory = memory + words[4];
    return SSQ_OK;
}

static void conv_run_loop(struct cpu_conv_run *run, struct team *team,
                          int64_t n, team_task each, bool alone)
{
    if (!alone) {
        parallel_for(team, (uint32_t)n, each, run);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        each(run, i, 0);
}

ssq_status conv_run(const struct conv_op *op, const struct conv_means *m)
{
    struct cpu_conv_run run = {.op = op, .kernels = m->kernels};
    conv_planes_init(&run.planes, op, m->kernels->pair);
    conv_run_choose_panels(&run);
    conv_run_choose_tasks(&run, m->features, team_size(m->team));
    ssq_status st = conv_run_take(&run, m);
    if (st != SSQ_OK)
        return st;
    set_products(&run);
    conv_run_loop(&run, m->team, op->groups * run.panels, conv_run_pack_task,
                  run.alone || run.a_group * (size_t)op->groups <= PACK_ALONE);
    conv_run_loop(&run, m->team, run.turns * op->groups * run.bands * run.parts,
                  conv_run_perform, run.alone);
    scratch_return(m->scratch, run.scratch);
    return SSQ_OK;
}
