/* SPDX-License-Identifier: Apache-2.0 */
/* pool_backward.c - the gradients of pooling: each window's value is added to
 * the elements that it came from, in a plane of sums.
 *
 * Windows are taken in their order. So each element's sum has its terms in the
 * order of kernels/pool/pool2d.k, which looks for the windows of an element. */
#include "backends/cpu/conv/pool_backward.h"

#include "backends/cpu/conv/conv_kernels.h"
#include "lib/core/base/size.h"

#include <string.h>

/* Elements of images that a task writes, at least. */
#define LEAST_ELEMENTS (INT64_C(1) << 14)
/* Elements that are not worth another thread: its waking takes longer. */
#define FEW (INT64_C(1) << 15)
/* Most elements of an image, of which each thread has a plane. */
#define MOST_ELEMENTS (INT64_C(1) << 20)

ISA_KERNELS(conv_kernels)

struct pool_backward {
    const struct pool_op *op;
    const struct conv_kernels *kernels;
    int64_t images, each; /* planes of all channels, and of a task */
    size_t plane, row;    /* words of a thread */
    float *memory;
};

/* The taps of window p that lie in the image: the first element, and their
 * number; counted: how many an average is divided by. */
struct window_taps {
    int64_t at, n;
    float counted;
};

static struct window_taps window_of(const struct pool_op *op, int axis,
                                    int64_t p)
{
    const struct slide *s = &op->slide[axis];
    const int64_t start = slide_at(s, p, 0), d = s->dilation;
    int64_t first = size_most(0, size_div_up(-start, d));
    int64_t end = size_least(s->window, size_div_up(s->image - start, d));
    int64_t count = size_most(0, end - first);
    if (op->count_padding)
        count =
            size_least(s->window, size_div_up(s->image + s->after - start, d));
    return (struct window_taps){start + first * d, size_most(0, end - first),
                                (float)count};
}

/* True if an element is a tap of the window that begins at start. */
static bool is_tap(const struct slide *s, int64_t start, int64_t element)
{
    int64_t from = element - start;
    if (s->dilation > 1) { /* a division costs more than all else here */
        if (from % s->dilation != 0)
            return false;
        from /= s->dilation;
    }
    return from >= 0 && from < s->window;
}

/* A row of windows whose places are known. */
static void add_most(const struct pool_op *op, int64_t p, const float *dy,
                     const int32_t *index, float *plane)
{
    const struct slide *h = &op->slide[HEIGHT], *w = &op->slide[WIDTH];
    const uint32_t wide = (uint32_t)w->image, n = (uint32_t)h->image * wide;
    const int64_t top = slide_at(h, p, 0);
    for (int64_t q = 0; q < w->map; q++) {
        uint32_t at = (uint32_t)index[q], row = at / wide;
        if (at < n && is_tap(h, top, row) &&
            is_tap(w, slide_at(w, q, 0), at - row * wide))
            plane[at] = plane[at] + dy[q];
    }
}

/* A row of windows, each of which is shared by its taps. */
static void add_shares(const struct pool_op *op, int64_t p, const float *dy,
                       float *plane)
{
    const struct slide *h = &op->slide[HEIGHT], *w = &op->slide[WIDTH];
    const struct window_taps rows = window_of(op, HEIGHT, p);
    for (int64_t q = 0; q < w->map; q++) {
        const struct window_taps columns = window_of(op, WIDTH, q);
        float divisor = op->divisor != 0 ? (float)op->divisor
                                         : rows.counted * columns.counted;
        float share = dy[q] / divisor;
        float *at = plane + rows.at * w->image + columns.at;
        for (int64_t r = 0; r < rows.n; r++, at += h->dilation * w->image)
            for (int64_t s = 0; s < columns.n; s++)
                at[s * w->dilation] = at[s * w->dilation] + share;
    }
}

static char *element_of(const struct view *v, int64_t n, int64_t c, int64_t h)
{
    int64_t at = n * v->stride[0] + c * v->stride[1] + h * v->stride[2];
    return (char *)view_host(v) +
           at * (v->dtype == SSQ_F16 || v->dtype == SSQ_BF16 ? 2 : 4);
}

/* A channel of an image. */
static void pool_backward_plane(const struct pool_backward *run, int64_t n,
                                int64_t c, float *plane, float *dy)
{
    const struct pool_op *op = run->op;
    const struct slide *h = &op->slide[HEIGHT], *w = &op->slide[WIDTH];
    const struct view *image = &op->image;
    const struct conv_line line = {.dtype = op->map.dtype,
                                   .step = op->map.stride[3],
                                   .n = (uint32_t)w->map,
                                   .words = (uint32_t)w->map,
                                   .phases = 1,
                                   .used = 1,
                                   .spare = dy + run->row / 2};
    memset(plane, 0, (size_t)(h->image * w->image) * sizeof(float));
    for (int64_t p = 0; p < h->map; p++) {
        run->kernels->fill(&line, element_of(&op->map, n, c, p), NULL, dy);
        union {
            const char *of;
            const int32_t *index;
        } places = {NULL};
        if (op->kind == POOL_AVG_BACKWARD) {
            add_shares(op, p, dy, plane);
            continue;
        }
        places.of = element_of(&op->index, n, c, p);
        add_most(op, p, dy, places.index, plane);
    }
    const struct conv_result r = {.dtype = image->dtype,
                                  .high = (uint32_t)h->image,
                                  .wide = (uint32_t)w->image,
                                  .sums_row = w->image,
                                  .h = image->stride[2],
                                  .w = image->stride[3]};
    run->kernels->put(&r, plane, element_of(image, n, c, 0));
}

static void pool_backward_task(void *context, uint32_t index, uint32_t worker)
{
    const struct pool_backward *run = context;
    const int64_t channels = run->op->image.shape[1];
    float *plane = run->memory + worker * (run->plane + run->row);
    int64_t from = index * run->each;
    int64_t end = size_least(run->images, from + run->each);
    for (int64_t i = from; i < end; i++)
        pool_backward_plane(run, i / channels, i % channels, plane,
                            plane + run->plane);
}

bool pool_backward_check(const struct backend_device *d,
                         const struct pool_op *op, struct why *why)
{
    const struct slide *h = &op->slide[HEIGHT], *w = &op->slide[WIDTH];
    (void)d;
    if (op->kind != POOL_MAX_BACKWARD && op->kind != POOL_AVG_BACKWARD)
        return refuse(why, "it is no gradient");
    if (op->index.buffer != NULL && op->index.stride[3] != 1)
        return refuse(why, "a row's places are not adjacent");
    if (h->map == 0 || w->map == 0)
        return refuse(why, "there is no window");
    if (h->image > MOST_ELEMENTS / w->image || w->map > MOST_ELEMENTS)
        return refuse(why, "images of %lld by %lld are too large",
                      (long long)h->image, (long long)w->image);
    if (op->image.shape[0] * op->image.shape[1] > INT32_MAX)
        return refuse(why, "there are too many images");
    return true;
}

ssq_status pool_backward_run(struct backend_queue *queue,
                             const struct pool_op *op)
{
    struct backend_device *d = queue->device;
    const int64_t elements = op->slide[HEIGHT].image * op->slide[WIDTH].image;
    const size_t slack = 2 * CONV_SLACK;
    struct pool_backward run = {
        .op = op,
        .kernels = kernels_of(d->isa),
        .images = op->image.shape[0] * op->image.shape[1],
        .each = size_div_up(LEAST_ELEMENTS, elements),
        .plane = ((size_t)elements + slack) / CONV_SLACK * CONV_SLACK,
        .row = 2 * (((size_t)op->slide[WIDTH].map + slack) / CONV_SLACK *
                    CONV_SLACK)};
    struct backend_mem *memory;
    ssq_status st = scratch_take(
        &d->scratch, sizeof(float) * team_size(d->team) * (run.plane + run.row),
        &memory);
    if (st != SSQ_OK)
        return st;
    run.memory = memory->host;
    uint32_t tasks = (uint32_t)size_div_up(run.images, run.each);
    if ((int64_t)view_elements(&op->image) >= FEW)
        parallel_for(d->team, tasks, pool_backward_task, &run);
    else
        for (uint32_t j = 0; j < tasks; j++)
            pool_backward_task(&run, j, 0);
    scratch_return(&d->scratch, memory);
    return SSQ_OK;
}
