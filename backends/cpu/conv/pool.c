/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - pooling forward: planes as for a convolution (conv_kernels.h),
 * padded with values that are never the greatest, or add nothing. */
#include "backends/cpu/conv/pool.h"

#include "backends/cpu/conv/conv_planes.h"
#include "backends/cpu/conv/pool_backward.h"
#include "backends/cpu/conv/pool_kernels.h"
#include "backends/cpu/cpu.h"
#include "lib/core/base/size.h"
#include "lib/op/pool/pool.h"

#include <math.h>

/* Elements of images that a task reads, at least. */
#define LEAST_ELEMENTS (INT64_C(1) << 14)
/* Elements that are not worth another thread: its waking takes longer. */
#define FEW (INT64_C(1) << 15)
/* Words that vectors read after the last position. */
#define SLACK 16

ISA_TABLE(struct conv_kernels, conv_kernels)
ISA_TABLE(struct pool_kernels, pool_kernels)

struct pool_run {
    const struct pool_op *op;
    const struct pool_kernels *kernels;
    conv_fill_fn *fill;
    struct conv_op as; /* whose planes are the same */
    struct conv_planes planes;
    int64_t band, bands, each, images; /* of one channel, of all */
    size_t words, of_thread;
    uint32_t taps;
    uint32_t *offset;
    int32_t *place, *column, *first;
    float *count, *memory;
};

/* ---- taps within the image ---- */

/* Taps first .. end - 1 of position p lie in [from, to). */
static void pool_taps_in(const struct slide *s, int64_t p, int64_t from,
                         int64_t to, int64_t *first, int64_t *end)
{
    int64_t start = slide_at(s, p, 0);
    *first = size_most(0, size_div_up(from - start, s->dilation));
    *end = size_least(s->window, size_div_up(to - start, s->dilation));
    *end = size_most(*first, *end);
}

/* How many of them count for an average. */
static float pool_counted(const struct pool_op *op, int axis, int64_t p)
{
    const struct slide *s = &op->slide[axis];
    int64_t first, end;
    if (op->count_padding)
        pool_taps_in(s, p, -s->before, s->image + s->after, &first, &end);
    else
        pool_taps_in(s, p, 0, s->image, &first, &end);
    return (float)(end - first);
}

/* Where the first tap of position p is, along an axis; -1: there is none. */
static int64_t first_tap(const struct slide *s, int64_t p)
{
    int64_t first, end;
    pool_taps_in(s, p, 0, s->image, &first, &end);
    return end > first ? slide_at(s, p, first) : -1;
}

/* ---- tasks ---- */

static const char *pool_moved(const struct view *v, int64_t n, int64_t c,
                              int64_t h)
{
    int64_t at = n * v->stride[0] + c * v->stride[1] + h * v->stride[2];
    return (const char *)view_host(v) +
           at * (v->dtype == SSQ_F16 || v->dtype == SSQ_BF16 ? 2 : 4);
}

static void pool_make_rows(const struct pool_run *run,
                           const struct conv_part *part, const float *planes)
{
    const struct pool_op *op = run->op;
    const struct slide *h = &op->slide[HEIGHT];
    struct pool_row r = {.planes = planes,
                         .offset = run->offset,
                         .taps = run->taps,
                         .wide = (uint32_t)op->slide[WIDTH].map,
                         .dtype = op->map.dtype,
                         .count = run->count,
                         .place = run->place,
                         .column = run->column,
                         .first = run->first};
    const int64_t wide = op->slide[WIDTH].image;
    for (int64_t i = 0; i < part->rows; i++, r.planes += run->planes.pitch) {
        int64_t p = part->row + i, first = first_tap(h, p);
        union {
            const char *of;
            void *y;
            int32_t *index;
        } y = {pool_moved(&op->map, part->n, part->channel, p)}, index = {NULL};
        if (op->index.buffer != NULL)
            index.of = pool_moved(&op->index, part->n, part->channel, p);
        r.y = y.y;
        r.index = index.index;
        r.row_count = op->divisor != 0 ? 1.0f : pool_counted(op, HEIGHT, p);
        r.row_place = (int32_t)(p * h->stride * wide);
        r.row_first = (int32_t)(first < 0 ? -1 : first * wide);
        if (op->kind == POOL_AVG)
            run->kernels->average(&r);
        else
            run->kernels->most(&r);
    }
}

/* Channels of images, one after the other. */
static void pool_task(void *context, uint32_t index, uint32_t worker)
{
    const struct pool_run *run = context;
    float *planes = run->memory + worker * run->of_thread;
    int64_t from = index / run->bands * run->each;
    int64_t end = size_least(run->images, from + run->each);
    struct conv_part part = {.channels = 1,
                             .room = run->band,
                             .row = index % run->bands * run->band};
    part.rows = size_least(run->band, run->op->slide[HEIGHT].map - part.row);
    for (int64_t i = from; i < end; i++) {
        part.n = i / run->op->image.shape[1];
        part.channel = i % run->op->image.shape[1];
        conv_planes_fill(&run->planes, &part, run->fill, planes + run->words,
                         planes);
        pool_make_rows(run, &part, planes);
    }
}

/* ---- sizes and tables ---- */

/* A convolution whose filter has the window. */
static struct conv_op convolution(const struct pool_op *op)
{
    const struct view *v = &op->image;
    struct conv_op as = {.op = op->op,
                         .kind = CONV_FORWARD,
                         .n = v->shape[0],
                         .groups = 1,
                         .c = v->shape[1],
                         .o = 1,
                         .image = *v};
    as.slide[HEIGHT] = op->slide[HEIGHT];
    as.slide[WIDTH] = op->slide[WIDTH];
    as.image.rank = 5;
    as.image.shape[1] = 1;
    as.image.stride[1] = 0;
    for (int i = 1; i < 4; i++) {
        as.image.shape[i + 1] = v->shape[i];
        as.image.stride[i + 1] = v->stride[i];
    }
    return as;
}

static void pool_choose_tasks(struct pool_run *run,
                              const struct cpu_features *f)
{
    const struct pool_op *op = run->op;
    const size_t room = f->l2 / sizeof(float) / 4;
    run->band = op->slide[HEIGHT].map;
    while (run->band > 1 && conv_planes_words(&run->planes, run->band) > room)
        run->band = size_div_up(run->band, 2);
    run->bands = size_div_up(op->slide[HEIGHT].map, run->band);
    run->images = op->image.shape[0] * op->image.shape[1];
    run->each = 1;
    if (run->bands == 1)
        run->each = size_div_up(LEAST_ELEMENTS, op->slide[HEIGHT].image *
                                                    op->slide[WIDTH].image);
}

static void set_tables(struct pool_run *run)
{
    const struct pool_op *op = run->op;
    const struct slide *h = &op->slide[HEIGHT], *w = &op->slide[WIDTH];
    uint32_t t = 0;
    for (int64_t r = 0; r < h->window; r++)
        for (int64_t s = 0; s < w->window; s++, t++) {
            run->offset[t] = conv_planes_offset(&run->planes, run->band,
                                                conv_tap(&run->as, HEIGHT, r),
                                                conv_tap(&run->as, WIDTH, s));
            run->place[t] = (int32_t)((r * h->dilation - h->before) * w->image +
                                      s * w->dilation);
        }
    for (int64_t q = 0; q < w->map; q++) {
        run->column[q] = (int32_t)slide_at(w, q, 0);
        run->first[q] = (int32_t)first_tap(w, q);
        run->count[q] =
            op->divisor != 0 ? (float)op->divisor : pool_counted(op, WIDTH, q);
    }
}

static ssq_status pool_take(struct pool_run *run, struct backend_device *d,
                            struct backend_mem **memory)
{
    const struct slide *s = run->op->slide;
    size_t wide = ((size_t)s[WIDTH].map + 2 * SLACK) / SLACK * SLACK;
    run->taps = (uint32_t)(s[HEIGHT].window * s[WIDTH].window);
    run->words = conv_planes_words(&run->planes, run->band) + CONV_SLACK;
    run->of_thread = run->words + conv_planes_spare(&run->planes) + SLACK;
    size_t tables = 2 * (size_t)run->taps + 3 * wide;
    ssq_status st = scratch_take(
        &d->scratch,
        sizeof(float) * (tables + team_size(d->team) * run->of_thread), memory);
    if (st != SSQ_OK)
        return st;
    run->count = (*memory)->host;
    run->column = (int32_t *)(run->count + wide);
    run->first = run->column + wide;
    run->place = run->first + wide;
    run->offset = (uint32_t *)(run->place + run->taps);
    run->memory = run->count + tables;
    return SSQ_OK;
}

/* ---- the implementation ---- */

static bool check_planes(const struct backend_device *d,
                         const struct pool_op *op, struct why *why)
{
    const struct slide *h = &op->slide[HEIGHT], *w = &op->slide[WIDTH];
    struct conv_op as = convolution(op);
    (void)d;
    if (op->kind != POOL_MAX && op->kind != POOL_AVG)
        return refuse(why, "it is a gradient");
    if (op->image.stride[3] != 1 || op->map.stride[3] != 1 ||
        (op->index.buffer != NULL && op->index.stride[3] != 1))
        return refuse(why, "a row's elements are not adjacent");
    if (!conv_planes_check(&as, why))
        return false;
    if (h->image * w->image == 0)
        return refuse(why, "the image is empty");
    if ((h->image + h->before + slide_extent(h)) * w->image > INT32_MAX / 2 ||
        op->image.shape[0] * op->image.shape[1] > INT32_MAX / h->map)
        return refuse(why, "images of %lld by %lld are too large",
                      (long long)h->image, (long long)w->image);
    return true;
}

static ssq_status pool_run_planes(struct backend_queue *queue,
                                  const struct pool_op *op)
{
    struct backend_device *d = queue->device;
    struct pool_run run = {.op = op, .as = convolution(op)};
    struct backend_mem *memory;
    run.kernels = pool_kernels_of[d->isa->number];
    run.fill = conv_kernels_of[d->isa->number]->fill;
    conv_planes_init(&run.planes, &run.as, 1);
    run.planes.padding = op->kind == POOL_MAX ? -INFINITY : 0.0f;
    pool_choose_tasks(&run, &d->features);
    ssq_status st = pool_take(&run, d, &memory);
    if (st != SSQ_OK)
        return st;
    set_tables(&run);
    uint32_t tasks = (uint32_t)(size_div_up(run.images, run.each) * run.bands);
    if ((int64_t)view_elements(&op->image) >= FEW)
        parallel_for(d->team, tasks, pool_task, &run);
    else
        for (uint32_t j = 0; j < tasks; j++)
            pool_task(&run, j, 0);
    scratch_return(&d->scratch, memory);
    return SSQ_OK;
}

const struct pool_impl cpu_pool[] = {
    {.name = "planes", .check = check_planes, .run = pool_run_planes},
    {.name = "sums", .check = pool_backward_check, .run = pool_backward_run},
    {.name = NULL},
};
