/* SPDX-License-Identifier: Apache-2.0 */
/* conv_run.c - the loops of a convolution forward, and of its gradient for the
 * image.
 *
 *     pack the filter as panels                       (all threads)
 *     for each image, group and band of rows          (all threads)
 *         for each block of channels
 *             make their planes
 *             for each product, for each tile of it
 *                 from sums that wait, to them
 *         round the sums
 *
 * Each sum is one chain along k, channel by channel and tap by tap: no division
 * into bands and blocks changes a bit. */
#include "backends/cpu/conv/conv_run.h"

#include "backends/cpu/conv/conv_planes.h"
#include "kernels/scalar/cast.h"
#include "lib/core/module/backend.h"
#include "lib/core/base/size.h"

#include <string.h>

/* Least columns of a band: fewer leave tiles half empty. */
#define LEAST_COLUMNS 64
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
    size_t offset; /* where its taps' offsets begin, of a block of channels */
    size_t a;      /* where its panels begin, of a group */
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
    int64_t block;       /* channels of a block */
    int64_t parts, part; /* panels of a task, where bands are few */
    int64_t sums_row;
    size_t a_group, words, sums, spare; /* of panels, and of a thread */
    uint32_t products;
    struct conv_run_product *product;
    uint32_t *offset;
    float *a, *memory;
    struct backend_mem *scratch;
    bool alone; /* one thread is enough */
};

/* ---- the filter ---- */

static float conv_run_element(const struct view *v, int64_t at)
{
    if (v->dtype == SSQ_F32)
        return ((const float *)view_host(v))[at];
    uint16_t h = ((const uint16_t *)view_host(v))[at];
    return v->dtype == SSQ_F16 ? f16_load(h) : bf16_load(h);
}

static uint32_t bits(const struct view *v, int64_t at)
{
    return ((const uint16_t *)view_host(v))[at];
}

/* The words of one panel for one tap of one channel, whose second one, if it is
 * there, is next elements away: 0 if not. */
static void pack_lines(const struct cpu_conv_run *run, int64_t panel,
                       int64_t at, int64_t next, float *to)
{
    const struct view *f = &run->op->filter;
    int64_t first = panel * run->height;
    int64_t n = size_least(run->height, run->rows - first);
    int64_t step = f->stride[run->op->kind == CONV_DATA ? 2 : 1];
    at += first * step;
    for (int64_t i = 0; i < n; i++, at += step)
        if (run->planes.pair == 1) {
            to[i] = conv_run_element(f, at);
        } else {
            uint32_t word = bits(f, at);
            if (next != 0)
                word |= bits(f, at + next) << 16;
            memcpy(&to[i], &word, sizeof(word));
        }
}

/* Panels of product (i, j) in the order of k. */
static void pack_product(const struct cpu_conv_run *run,
                         const struct conv_run_product *x, uint32_t i,
                         uint32_t j, int64_t at, int64_t panel, float *to)
{
    const struct conv_op *op = run->op;
    const int64_t *stride = op->filter.stride;
    const int64_t channel = stride[op->kind == CONV_DATA ? 1 : 2];
    const uint32_t pair = run->planes.pair;
    to += x->a +
          (size_t)panel * x->taps * (size_t)run->planes.channels * run->height;
    for (int64_t c = 0; c < run->planes.channels; c++)
        for (int64_t r = 0; r < op->slide[HEIGHT].window; r++)
            for (int64_t s = 0; s < op->slide[WIDTH].window; s++) {
                if (conv_tap(op, HEIGHT, r).product != i ||
                    conv_tap(op, WIDTH, s).product != j)
                    continue;
                pack_lines(
                    run, panel,
                    at + c * pair * channel + r * stride[3] + s * stride[4],
                    (c + 1) * pair <= run->planes.elements ? channel : 0, to);
                to += run->height;
            }
}

static void conv_run_pack_task(void *context, uint32_t index, uint32_t worker)
{
    const struct cpu_conv_run *run = context;
    int64_t group = index / run->panels, panel = index % run->panels;
    int64_t at = group * run->op->filter.stride[0];
    uint32_t wide = run->products == 1 ? 1 : run->op->slide[WIDTH].stride;
    (void)worker;
    for (uint32_t i = 0; i < run->products; i++)
        pack_product(run, &run->product[i], i / wide, i % wide, at, panel,
                     run->a + (size_t)group * run->a_group);
}

/* ---- tiles ---- */

/* Rows from, n of a product in a band. */
struct conv_run_rows {
    int64_t from, n;
};

static struct conv_run_rows rows_in(const struct cpu_conv_run *run,
                                    const struct conv_run_product *x,
                                    const struct conv_part *part)
{
    const struct conv_places *h = &x->place[HEIGHT];
    int64_t from = size_most(h->first, part->row);
    int64_t end = size_least(h->first + h->n, part->row + part->rows);
    (void)run;
    return (struct conv_run_rows){from, end - from};
}

/* The tiles of a product in the band: columns run on across rows. */
static void conv_run_multiply(const struct cpu_conv_run *run,
                              const struct conv_run_product *x,
                              const struct conv_part *part, int64_t first,
                              int64_t end, const float *planes, float *sums)
{
    const struct conv_places *w = &x->place[WIDTH];
    struct conv_run_rows rows = rows_in(run, x, part);
    if (rows.n <= 0 || w->n == 0)
        return;
    int64_t from = (rows.from - part->row) * run->planes.pitch + w->first;
    int64_t columns = (rows.n - 1) * run->planes.pitch + w->n;
    size_t depth = (size_t)run->planes.channels * x->taps;
    const float *a = run->a + (size_t)part->group * run->a_group + x->a +
                     (size_t)part->channel * x->taps * run->height;
    struct gemm_tile t = {.height = run->height,
                          .depth = (uint32_t)part->channels * x->taps,
                          .from_row = run->sums_row,
                          .to_row = run->sums_row * (int64_t)sizeof(float)};
    int64_t most = run->height == 1 ? columns : run->kernels->columns;
    for (int64_t j = 0; j < columns; j += most)
        for (int64_t i = first; i < end; i++) {
            float *at = sums + (i - first) * run->height * run->sums_row + j;
            t.rows =
                (uint32_t)size_least(run->height, run->rows - i * run->height);
            t.columns = (uint32_t)size_least(most, columns - j);
            t.a = a + (size_t)i * depth * run->height;
            t.b = planes + from + j;
            t.from = part->channel == 0 ? NULL : at;
            t.to = at;
            run->kernels->multiply(&t, run->offset + x->offset);
        }
}

/* ---- results ---- */

static void conv_run_put(const struct cpu_conv_run *run,
                         const struct conv_run_product *x,
                         const struct conv_part *part, int64_t first,
                         int64_t end, float *sums)
{
    const struct conv_op *op = run->op;
    const struct view *d = run->made, *bias = &op->bias;
    const struct conv_places *h = &x->place[HEIGHT], *w = &x->place[WIDTH];
    struct conv_run_rows rows = rows_in(run, x, part);
    if (rows.n <= 0 || w->n == 0)
        return;
    struct conv_result r = {.dtype = d->dtype,
                            .high = (uint32_t)rows.n,
                            .wide = (uint32_t)w->n,
                            .sums_row = run->planes.pitch,
                            .h = d->stride[3] * h->step,
                            .w = d->stride[4] * w->step,
                            .activation = op->activation,
                            .biased = bias->buffer != NULL};
    int64_t at = part->n * d->stride[0] + part->group * d->stride[1] +
                 (h->at + (rows.from - h->first) * h->step) * d->stride[3] +
                 w->at * d->stride[4];
    int64_t bytes = d->dtype == SSQ_F32 ? 4 : 2;
    end = size_least(end * run->height, run->rows);
    for (int64_t i = first * run->height; i < end; i++) {
        if (r.biased)
            r.bias = conv_run_element(bias, part->group * bias->stride[0] +
                                                i * bias->stride[1]);
        run->kernels->put(
            &r, sums, (char *)view_host(d) + (at + i * d->stride[2]) * bytes);
        sums += run->sums_row;
    }
}

/* ---- tasks ---- */

static void conv_run_task(void *context, uint32_t index, uint32_t worker)
{
    const struct cpu_conv_run *run = context;
    const struct conv_op *op = run->op;
    int64_t i = index / run->parts, first = index % run->parts * run->part;
    int64_t end = size_least(run->panels, first + run->part);
    struct conv_part part = {.row = i % run->bands * run->band,
                             .room = run->band};
    part.rows = size_least(run->band, run->results - part.row);
    part.group = i / run->bands % op->groups;
    part.n = i / run->bands / op->groups;
    float *planes = run->memory + worker * (run->words + run->spare +
                                            run->products * run->sums);
    float *spare = planes + run->words, *sums = spare + run->spare;
    for (; part.channel < run->planes.channels; part.channel += run->block) {
        part.channels =
            size_least(run->block, run->planes.channels - part.channel);
        conv_planes_fill(&run->planes, &part, run->kernels->fill, spare,
                         planes);
        for (uint32_t j = 0; j < run->products; j++)
            conv_run_multiply(run, &run->product[j], &part, first, end, planes,
                              sums + j * run->sums);
    }
    for (uint32_t j = 0; j < run->products; j++)
        conv_run_put(run, &run->product[j], &part, first, end,
                     sums + j * run->sums);
}

/* ---- sizes ---- */

/* Words that a task of this many rows and channels works in. */
static size_t conv_run_need(const struct cpu_conv_run *run, int64_t band,
                            int64_t block)
{
    size_t columns = (size_t)band * run->planes.pitch;
    return (size_t)block * conv_planes_words(&run->planes, band) +
           run->products * (size_t)run->rows * columns;
}

/* As many rows and channels as the second cache has room for, beside panels. */
static void choose_block(struct cpu_conv_run *run, const struct cpu_features *f)
{
    size_t room = f->l2 / sizeof(float) * 5 / 8;
    int64_t least = size_div_up(LEAST_COLUMNS, run->planes.pitch);
    run->block = run->planes.channels;
    run->band = run->results;
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
    int64_t images = run->op->n * run->op->groups;
    int64_t wanted = (int64_t)threads * TASKS_OF_THREAD;
    run->alone = threads == 1 || flops < FEW;
    run->parts = 1;
    if (!run->alone) {
        int64_t least = size_div_up(LEAST_COLUMNS, run->planes.pitch);
        int64_t bands = size_div_up(wanted, images);
        int64_t most = size_most(least, size_div_up(run->results, bands));
        run->band = size_least(run->band, most);
    }
    run->bands = size_div_up(run->results, run->band);
    if (!run->alone && images * run->bands < threads)
        run->parts =
            size_least(run->panels, size_div_up(threads, images * run->bands));
    run->part = size_div_up(run->panels, run->parts);
    run->parts = size_div_up(run->panels, run->part);
}

/* ---- products ---- */

static uint32_t products_along(const struct conv_op *op, int axis)
{
    return op->kind == CONV_DATA ? (uint32_t)op->slide[axis].stride : 1;
}

/* The offsets of product (i, j)'s taps of all channels of a block. */
static void set_product(struct cpu_conv_run *run, struct conv_run_product *x,
                        uint32_t i, uint32_t j, size_t *offset, size_t *a)
{
    const struct conv_op *op = run->op;
    size_t channel = conv_planes_words(&run->planes, run->band);
    uint32_t *to = run->offset + *offset;
    *x = (struct conv_run_product){.offset = *offset, .a = *a};
    x->place[HEIGHT] = conv_places(&run->planes, HEIGHT, i);
    x->place[WIDTH] = conv_places(&run->planes, WIDTH, j);
    for (int64_t r = 0; r < op->slide[HEIGHT].window; r++)
        for (int64_t s = 0; s < op->slide[WIDTH].window; s++) {
            struct conv_tap h = conv_tap(op, HEIGHT, r);
            struct conv_tap w = conv_tap(op, WIDTH, s);
            if (h.product == i && w.product == j)
                to[x->taps++] =
                    conv_planes_offset(&run->planes, run->band, h, w);
        }
    for (size_t k = x->taps; k < x->taps * (size_t)run->block; k++)
        to[k] = to[k - x->taps] + (uint32_t)channel;
    *offset += x->taps * (size_t)run->block;
    *a += x->taps * (size_t)run->planes.channels * (size_t)run->panels *
          run->height;
}

/* A band may be shorter than others: offsets are of the longest, so that a
 * short one's planes are as far apart. */
static void set_products(struct cpu_conv_run *run)
{
    uint32_t wide = products_along(run->op, WIDTH);
    size_t offset = 0, a = 0;
    for (uint32_t i = 0; i < run->products; i++)
        set_product(run, &run->product[i], i / wide, i % wide, &offset, &a);
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
}

static size_t conv_run_in_lines(size_t words)
{
    return (words + 63) & ~(size_t)63;
}

/* Take memory for all of it, and divide that. */
static ssq_status conv_run_take(struct cpu_conv_run *run,
                                const struct conv_means *m)
{
    const struct slide *s = run->op->slide;
    size_t taps = (size_t)(s[HEIGHT].window * s[WIDTH].window);
    size_t columns = 2 * (size_t)run->kernels->columns;
    run->sums_row = (int64_t)conv_run_in_lines(
        (size_t)run->band * run->planes.pitch + columns);
    run->words = conv_run_in_lines(
        (size_t)run->block * conv_planes_words(&run->planes, run->band) +
        columns + CONV_SLACK);
    run->spare = conv_run_in_lines(conv_planes_spare(&run->planes));
    run->sums = (size_t)(run->part * run->height) * (size_t)run->sums_row;
    run->a_group = conv_run_in_lines(taps * (size_t)run->planes.channels *
                                     (size_t)run->panels * run->height);
    size_t products =
        conv_run_in_lines(run->products * sizeof(*run->product) / 4 + 1);
    size_t offsets = conv_run_in_lines(taps * (size_t)run->block);
    size_t a = run->a_group * (size_t)run->op->groups;
    size_t of_thread = run->words + run->spare + run->products * run->sums;
    ssq_status st = scratch_take(
        m->scratch,
        sizeof(float) * (products + offsets + a +
                         (run->alone ? 1 : team_size(m->team)) * of_thread),
        &run->scratch);
    if (st != SSQ_OK)
        return st;
    void *memory = run->scratch->host;
    run->product = memory;
    run->offset = (uint32_t *)memory + products;
    run->a = (float *)memory + products + offsets;
    run->memory = run->a + a;
    return SSQ_OK;
}

static void conv_run_loop(const struct cpu_conv_run *run, struct team *team,
                          int64_t n, team_task each, bool alone)
{
    union {
        const struct cpu_conv_run *run;
        void *context;
    } of = {run};
    if (!alone) {
        parallel_for(team, (uint32_t)n, each, of.context);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        each(of.context, i, 0);
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
    conv_run_loop(&run, m->team, op->n * op->groups * run.bands * run.parts,
                  conv_run_task, run.alone);
    scratch_return(m->scratch, run.scratch);
    return SSQ_OK;
}
