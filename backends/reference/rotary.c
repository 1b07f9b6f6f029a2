/* SPDX-License-Identifier: Apache-2.0 */
/* rotary.c - reference: rotary positions. */
#include "lib/op/rotary.h"

#include "backends/reference/rows.h"
#include "kernels/convert.h"
#include "kernels/rotary.h"

/* The position of row j of its t. */
static float position_of(const struct rotary_op *op, int64_t at, int64_t j)
{
    const void *given = view_host(&op->position);
    uint32_t position = given == NULL ? (uint32_t)(op->offset + j)
                                      : load_bits(given, SSQ_I32, at);
    return i32_to_f32(position);
}

/* Both of a pair are read before one is written: y may be x. */
static void turn_row(const struct rotary_op *op, const struct line *x,
                     const struct line *y, float position)
{
    const struct line freq = line_of(&op->freq, 0);
    int64_t pairs = op->dims / 2;
    for (int64_t i = 0; i < pairs; i++) {
        int64_t first = op->interleaved ? 2 * i : i;
        int64_t second = op->interleaved ? 2 * i + 1 : i + pairs;
        float angle = rotary_angle(position, line_load(&freq, i));
        float c = s_cos(angle), s = rotary_sin(angle, op->inverse);
        float a = line_load(x, first), b = line_load(x, second);
        line_store(y, first, rotary_first(a, b, c, s));
        line_store(y, second, rotary_second(a, b, c, s));
    }
}

/* As ssq_cast does. */
static void copy_rest(const struct rotary_op *op, const struct line *x,
                      const struct line *y, int64_t d)
{
    for (int64_t i = op->dims; i < d; i++) {
        uint32_t bits = load_bits(x->base, x->dtype, x->at + i * x->stride);
        store_bits(y->base, y->dtype, y->at + i * y->stride,
                   convert_bits(bits, x->dtype, y->dtype, ROUND_NEAREST, 0u));
    }
}

static ssq_status rotary(struct backend_queue *queue,
                         const struct rotary_op *op)
{
    (void)queue;
    const struct view *v[] = {&op->x, &op->y, &op->position};
    int64_t d = op->x.shape[op->x.rank - 1];
    struct walk w;
    walk_rows(&w, v, 3, 1);
    do {
        struct line x = line_of(&op->x, w.at[0]), y = line_of(&op->y, w.at[1]);
        float position = position_of(op, w.at[2], w.index[w.rank - 1]);
        turn_row(op, &x, &y, position);
        copy_rest(op, &x, &y, d);
    } while (walk_next(&w));
    return SSQ_OK;
}

REFERENCE_IMPL(rotary, rotary);
