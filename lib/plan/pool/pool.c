/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - the plan of pooling.
 *
 * The host computes which taps or windows each row and column has. It does this
 * in 64 bits, once for all channels. */
#include "lib/plan/windows.h"

#include "kernels/pool/pool_args.h"
#include "lib/op/pool/pool.h"

/* The numbers first to end - 1; empty if both are equal. */
struct pool_span {
    int64_t first, end;
};

/* Return the part of first to end - 1 that is within 0 to most - 1. */
static struct pool_span span_of(int64_t first, int64_t end, int64_t most)
{
    if (first < 0)
        first = 0;
    if (end > most)
        end = most;
    return (struct pool_span){first, end > first ? end : first};
}

/* Return the taps of position p that meet coordinates [from, to) of the
 * image. */
static struct pool_span pool_taps(const struct slide *s, int64_t p,
                                  int64_t from, int64_t to)
{
    int64_t start = slide_at(s, p, 0);
    return span_of(size_div_up(from - start, s->dilation),
                   size_div_up(to - start, s->dilation), s->window);
}

/* Return the positions whose windows may contain row or column x. */
static struct pool_span pool_windows(const struct slide *s, int64_t x)
{
    int64_t at = x + s->before;
    return span_of(size_div_up(at - (slide_extent(s) - 1), s->stride),
                   at / s->stride + 1, s->map);
}

/* Return the number of taps of position p that an average counts: taps in the
 * image and, with count_padding, in its padding. The last window may extend
 * past the padding; such taps never count. */
static uint32_t plan_pool_counted(const struct pool_op *op, int axis, int64_t p)
{
    const struct slide *s = &op->slide[axis];
    struct pool_span t = op->count_padding
                             ? pool_taps(s, p, -s->before, s->image + s->after)
                             : pool_taps(s, p, 0, s->image);
    return (uint32_t)(t.end - t.first);
}

/* Return true for the gradients, which read the map and write the image. */
static bool plan_pool_is_backward(const struct pool_op *op)
{
    return op->kind == POOL_MAX_BACKWARD || op->kind == POOL_AVG_BACKWARD;
}

/* Write the words of each row or column of the result, beginning at word.
 * @return the place after the last one
 *
 * A coordinate may be negative: words are modulo 2^32, and so are the kernel's
 * sums. */
static uint32_t *fill_axis(uint32_t *word, const struct pool_op *op, int axis)
{
    const struct slide *s = &op->slide[axis];
    bool backward = plan_pool_is_backward(op);
    int64_t n = backward ? s->image : s->map;
    for (int64_t i = 0; i < n; i++, word += POOL_WORDS) {
        struct pool_span t =
            backward ? pool_windows(s, i) : pool_taps(s, i, 0, s->image);
        word[POOL_PLACE] =
            (uint32_t)(backward ? i + s->before : slide_at(s, i, 0));
        word[POOL_FIRST] = (uint32_t)t.first;
        word[POOL_END] = (uint32_t)t.end;
        word[POOL_COUNT] = backward ? 0 : plan_pool_counted(op, axis, i);
    }
    return word;
}

/* Write the table that pool_args.h describes. The gradient of an average
 * divides by the counts of the map's positions, not of its result. These counts
 * follow the rest. */
static void pool_make_table(struct plan *p, const struct pool_op *op,
                            struct view *table)
{
    const struct view *made = plan_pool_is_backward(op) ? &op->image : &op->map;
    uint64_t words = (uint64_t)(made->shape[2] + made->shape[3]) * POOL_WORDS;
    const struct slide *s = op->slide;
    if (op->kind == POOL_AVG_BACKWARD)
        words += (uint64_t)(s[HEIGHT].map + s[WIDTH].map);
    uint32_t *word = plan_words(p, words, table);
    if (word == NULL)
        return;
    word = fill_axis(word, op, HEIGHT);
    word = fill_axis(word, op, WIDTH);
    for (int axis = 0; axis < AXES && op->kind == POOL_AVG_BACKWARD; axis++)
        for (int64_t i = 0; i < s[axis].map; i++)
            *word++ = plan_pool_counted(op, axis, i);
}

/* Return the most taps or positions of an axis that one element reads: its
 * loops. */
static uint64_t looks(const struct pool_op *op, int axis)
{
    const struct slide *s = &op->slide[axis];
    int64_t n = s->window, most = s->image;
    if (plan_pool_is_backward(op)) {
        n = size_div_up(slide_extent(s), s->stride);
        most = s->map;
    }
    return (uint64_t)(n < most ? n : most);
}

/* Record a window, with one item per element of the result. The result is bound
 * as elements of 2 and of 4 bytes, one of them absent, so its dtype needs no
 * variant. The kernels of maxima have an index; if it is not wanted, it is
 * absent. */
static void pool_window(struct plan *p, const struct op *some, void *user)
{
    const struct pool_op *op = (const struct pool_op *)some;
    const struct view *table = user;
    const struct view *y = plan_pool_is_backward(op) ? &op->image : &op->map;
    const struct view *x = plan_pool_is_backward(op) ? &op->map : &op->image;
    static const struct view absent;
    struct pool_args a = {.n = (uint32_t)view_elements(y),
                          .channels_last = y->stride[3] != 1,
                          .channels = (uint32_t)y->shape[1],
                          .rows = (uint32_t)y->shape[2],
                          .columns = (uint32_t)y->shape[3],
                          .width = (uint32_t)op->slide[WIDTH].image,
                          .map_rows = (uint32_t)op->slide[HEIGHT].map,
                          .x_dtype = x->dtype,
                          .y_dtype = y->dtype,
                          .indexed = op->index.buffer != NULL,
                          .divisor = (float)op->divisor};
    for (int i = 0; i < 4; i++) {
        a.x_step[i] = (uint32_t)x->stride[i];
        a.y_step[i] = (uint32_t)y->stride[i];
        a.index_step[i] = (uint32_t)op->index.stride[i];
    }
    for (int i = 0; i < AXES; i++) {
        a.stride[i] = (uint32_t)op->slide[i].stride;
        a.dilation[i] = (uint32_t)op->slide[i].dilation;
    }
    bool wide = y->dtype == SSQ_F32;
    plan_kernel(p, KERNEL_pool2d,
                KEYS((uint8_t)op->kind, (uint8_t)dtype_bytes(x->dtype)));
    plan_bind(p, table, ACCESS_READ);
    plan_bind(p, x, ACCESS_READ);
    plan_bind(p, wide ? &absent : y, ACCESS_WRITE);
    plan_bind(p, wide ? y : &absent, ACCESS_WRITE);
    if (op->kind == POOL_MAX)
        plan_bind(p, &op->index, ACCESS_WRITE);
    if (op->kind == POOL_MAX_BACKWARD)
        plan_bind(p, &op->index, ACCESS_READ);
    plan_items(p, &a, sizeof(a), a.n,
               LOOPS_FEW + loops_of(looks(op, HEIGHT),
                                    loops_of(looks(op, WIDTH), LOOPS_DIVIDE)));
}

/* Build pooling. It is cut between images and channels, which are
 * independent. */
static void pool_build(struct plan *p, const struct pool_op *op)
{
    struct pool_op part = *op;
    struct view table;
    const struct window_cut cut = {.walked = 7, .dims = plan_dims(2)};
    pool_make_table(p, op, &table);
    plan_windows(p, &part.op, &cut, pool_window, &table);
}

const struct pool_plan pool_plans[] = {{"portable", NULL, pool_build}, {NULL}};
