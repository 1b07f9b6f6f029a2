/* SPDX-License-Identifier: Apache-2.0 */
/* conv_planes.c - make planes of images. */
#include "backends/cpu/conv/conv_planes.h"

#include "lib/core/base/size.h"

#include <string.h>

/* Most words of the planes of a channel for one row of results, of a window's
 * taps, and of their parts. */
#define MOST_WORDS (INT64_C(1) << 20)

static int64_t floor_div(int64_t a, int64_t b)
{
    return a >= 0 ? a / b : -size_div_up(-a, b);
}

/* ---- one axis ---- */

/* Forward and for weights, each plane has every stride-th element. */
static void set_image(struct conv_axis *a, const struct slide *s)
{
    a->start = -s->before;
    a->stride = (uint32_t)s->stride;
    a->phases = (uint32_t)size_least(s->stride, slide_extent(s));
    a->results = (uint32_t)s->map;
    a->reach = (uint32_t)((slide_extent(s) - 1) / s->stride);
}

/* Element h of the image meets position (h + before - r dilation) / stride. */
static void set_map(struct conv_axis *a, const struct slide *s)
{
    int64_t first = s->before / s->stride;
    int64_t last = (s->image - 1 + s->before) / s->stride;
    a->stride = a->phases = 1;
    a->results = (uint32_t)(last - first + 1);
    a->reach = (uint32_t)((slide_extent(s) - 1) / s->stride);
    a->start = first - a->reach;
}

struct conv_tap conv_tap(const struct conv_op *op, int axis, int64_t r)
{
    const struct slide *s = &op->slide[axis];
    int64_t at = r * s->dilation;
    uint32_t shift = (uint32_t)(at / s->stride);
    uint32_t rest = (uint32_t)(at % s->stride);
    uint32_t reach = (uint32_t)((slide_extent(s) - 1) / s->stride);
    if (op->kind == CONV_DATA)
        return (struct conv_tap){0, reach - shift, rest};
    return (struct conv_tap){rest, shift, 0};
}

struct conv_places conv_places(const struct conv_planes *p, int axis,
                               uint32_t i)
{
    const struct slide *s = &p->op->slide[axis];
    if (p->op->kind != CONV_DATA)
        return (struct conv_places){0, s->map, 0, 1};
    int64_t first = size_div_up(s->before - i, s->stride);
    int64_t last = floor_div(s->image - 1 + s->before - i, s->stride);
    return (struct conv_places){first - s->before / s->stride,
                                size_most(0, last - first + 1),
                                first * s->stride + i - s->before, s->stride};
}

/* ---- planes ---- */

void conv_planes_init(struct conv_planes *p, const struct conv_op *op,
                      uint32_t pair)
{
    bool data = op->kind == CONV_DATA;
    *p = (struct conv_planes){.op = op,
                              .from = data ? &op->map : &op->image,
                              .elements = data ? op->o : op->c,
                              .pair = pair,
                              .bytes = sizeof(float)};
    p->channels = size_div_up(p->elements, pair);
    for (int i = 0; i < AXES; i++) {
        if (data)
            set_map(&p->axis[i], &op->slide[i]);
        else
            set_image(&p->axis[i], &op->slide[i]);
        for (int64_t r = 0; r < op->slide[i].window; r++)
            p->axis[i].used |= 1u << conv_tap(op, i, r).phase;
    }
    p->pitch = p->axis[WIDTH].results + p->axis[WIDTH].reach;
}

/* Check one axis. All later sizes are products of values of two axes. */
static bool check_slide(const struct slide *s, struct why *why)
{
    if (s->stride > CONV_PHASES)
        return refuse(why, "a stride of %lld, expected %d at most",
                      (long long)s->stride, CONV_PHASES);
    if (s->window > MOST_WORDS || slide_extent(s) > MOST_WORDS ||
        s->before > MOST_WORDS || s->image > MOST_WORDS || s->map > MOST_WORDS)
        return refuse(why, "a size of %lld, padded by %lld, of windows of %lld",
                      (long long)s->image, (long long)s->before,
                      (long long)slide_extent(s));
    return true;
}

bool conv_planes_check(const struct conv_op *op, struct why *why)
{
    const struct slide *h = &op->slide[HEIGHT], *w = &op->slide[WIDTH];
    if (!check_slide(h, why) || !check_slide(w, why))
        return false;
    int64_t taps = h->window * w->window;
    int64_t words = (slide_extent(h) + h->stride) *
                    (slide_extent(w) + w->map * w->stride + w->image);
    if (taps > MOST_WORDS || words > MOST_WORDS)
        return refuse(why, "a row of windows needs %lld words, expected %lld",
                      (long long)(taps > words ? taps : words),
                      (long long)MOST_WORDS);
    return true;
}

/* Return the words from plane to plane. */
static size_t plane_words(const struct conv_planes *p, int64_t rows)
{
    return (size_t)(rows + p->axis[HEIGHT].reach) * p->pitch + CONV_SLACK;
}

size_t conv_planes_words(const struct conv_planes *p, int64_t rows)
{
    size_t planes =
        (size_t)p->axis[HEIGHT].phases * (size_t)p->axis[WIDTH].phases;
    return planes * plane_words(p, rows);
}

size_t conv_planes_spare(const struct conv_planes *p)
{
    return (size_t)p->axis[WIDTH].stride * (p->pitch + CONV_SLACK) +
           2 * CONV_SLACK;
}

uint32_t conv_planes_offset(const struct conv_planes *p, int64_t rows,
                            struct conv_tap r, struct conv_tap s)
{
    size_t plane = (size_t)r.phase * p->axis[WIDTH].phases + s.phase;
    return (uint32_t)(plane * plane_words(p, rows) +
                      (size_t)r.shift * p->pitch + s.shift);
}

/* ---- rows ---- */

static struct conv_line conv_planes_line_of(const struct conv_planes *p,
                                            int64_t rows, float *spare)
{
    const struct conv_axis *w = &p->axis[WIDTH];
    struct conv_line l = {.dtype = p->from->dtype,
                          .step = p->from->stride[4],
                          .padding = p->padding,
                          .words = p->pitch,
                          .phases = w->stride,
                          .used = w->used,
                          .apart = plane_words(p, rows),
                          .spare = spare};
    int64_t all = (int64_t)l.words * l.phases, size = p->from->shape[4];
    int64_t first = size_most(0, w->start);
    l.before = (uint32_t)size_least(all, size_most(0, -w->start));
    l.n = (uint32_t)size_most(0, size_least(size - first, all - l.before));
    return l;
}

/* Fill every row of a channel's planes of phase `phase` along the height, and a
 * word after them. */
static void fill_rows(const struct conv_planes *p, const struct conv_part *part,
                      const struct conv_line *l, uint32_t phase,
                      const char *from, const char *next, conv_fill_fn *fill,
                      char *to)
{
    const struct conv_axis *a = &p->axis[HEIGHT];
    const int64_t size = p->from->shape[3];
    const size_t row = (size_t)p->pitch * p->bytes;
    int64_t bytes = p->from->stride[3] * (l->dtype == SSQ_F32 ? 4 : 2);
    struct conv_line empty = *l;
    empty.n = 0;
    empty.before = l->words * l->phases;
    for (int64_t y = 0; y < part->rows + a->reach; y++, to += row) {
        int64_t h = a->start + (part->row + y) * a->stride + phase;
        if (h >= 0 && h < size)
            fill(l, from + h * bytes, next == NULL ? NULL : next + h * bytes,
                 to);
        else
            fill(&empty, from, NULL, to);
    }
    for (uint32_t i = 0; i < p->axis[WIDTH].phases; i++)
        memset(to + i * l->apart * p->bytes, 0, p->bytes);
}

void conv_planes_fill(const struct conv_planes *p, const struct conv_part *part,
                      conv_fill_fn *fill, float *spare, void *to)
{
    const struct view *v = p->from;
    const struct conv_axis *h = &p->axis[HEIGHT], *w = &p->axis[WIDTH];
    const struct conv_line l = conv_planes_line_of(p, part->room, spare);
    const int64_t bytes = l.dtype == SSQ_F32 ? 4 : 2;
    int64_t first = size_most(0, w->start) * v->stride[4];
    const size_t planes = w->phases * l.apart * p->bytes;
    const char *from = view_host(v);
    char *at = to;
    from += (part->n * v->stride[0] + part->group * v->stride[1] +
             part->channel * p->pair * v->stride[2] + first) *
            bytes;
    for (int64_t c = 0; c < part->channels; c++) {
        int64_t last = (part->channel + c + 1) * p->pair;
        const char *next = NULL;
        if (p->pair == 2 && last <= p->elements)
            next = from + v->stride[2] * bytes;
        for (uint32_t i = 0; i < h->phases; i++, at += planes)
            if ((h->used >> i & 1u) != 0)
                fill_rows(p, part, &l, i, from, next, fill, at);
        from += p->pair * v->stride[2] * bytes;
    }
}
