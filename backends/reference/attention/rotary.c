/* SPDX-License-Identifier: Apache-2.0 */
/* rotary.c - reference: rotary positions. */
#include "lib/op/attention/rotary.h"

#include "backends/reference/rows.h"
#include "kernels/attention/rotary.h"
#include "kernels/scalar/convert.h"

/* Return the position of a row: the given one at offset `at`, or else
 * op->offset + j. */
static float rotary_position(const struct rotary_op *op, int64_t at, int64_t j)
{
    const void *positions = view_host(&op->position);
    uint32_t position = positions == NULL ? (uint32_t)(op->offset + j)
                                          : load_bits(positions, SSQ_I32, at);
    return i32_to_f32(position);
}

/* The numbers that rotate a row: its position and the frequencies, or given
 * cosines and sines. */
struct angles {
    float position;
    struct line freq, cosine, sine;
};

/* Return the cosine of pair i, given or computed. It does not depend on the
 * direction. */
static float rotary_cos_of(const struct angles *n, int64_t i)
{
    if (n->cosine.base != NULL)
        return line_load(&n->cosine, i);
    return s_cos(rotary_angle(n->position, line_load(&n->freq, i)));
}

/* Return the sine of pair i. For the inverse, of the negative angle. */
static float rotary_sin_of(const struct angles *n, int64_t i, bool inverse)
{
    if (n->sine.base == NULL)
        return rotary_sin(rotary_angle(n->position, line_load(&n->freq, i)),
                          inverse);
    float s = line_load(&n->sine, i);
    return inverse ? s_neg(s) : s;
}

/* Rotate a row. Both elements of a pair are read before one is written, because
 * y may be x. */
static void rotary_row(const struct rotary_op *op, const struct line *x,
                       const struct line *y, const struct angles *n)
{
    int64_t pairs = op->dims / 2;
    for (int64_t i = 0; i < pairs; i++) {
        int64_t first = op->interleaved ? 2 * i : i;
        int64_t second = op->interleaved ? 2 * i + 1 : i + pairs;
        float c = rotary_cos_of(n, i), s = rotary_sin_of(n, i, op->inverse);
        float a = line_load(x, first), b = line_load(x, second);
        line_store(y, first, rotary_first(a, b, c, s));
        line_store(y, second, rotary_second(a, b, c, s));
    }
}

/* Copy the elements after the last pair, converted as by ssq_cast. */
static void rotary_copy_rest(const struct rotary_op *op, const struct line *x,
                             const struct line *y, int64_t d)
{
    for (int64_t i = op->dims; i < d; i++) {
        uint32_t bits = load_bits(x->base, x->dtype, x->at + i * x->stride);
        store_bits(y->base, y->dtype, y->at + i * y->stride,
                   convert_bits(bits, x->dtype, y->dtype, ROUND_NEAREST, 0u));
    }
}

/* Rotate row by row. Unless positions are given, the position of a row is its
 * index in the second last dimension, plus an offset. */
static ssq_status reference_rotary_run(struct backend_queue *queue,
                                       const struct rotary_op *op)
{
    (void)queue;
    const struct view *v[] = {&op->x, &op->y, &op->position, &op->cosine,
                              &op->sine};
    int64_t d = op->x.shape[op->x.rank - 1];
    struct walk w;
    walk_rows(&w, v, 5, 1);
    do {
        struct line x = line_of(&op->x, w.at[0]), y = line_of(&op->y, w.at[1]);
        struct angles n = {
            .position = rotary_position(op, w.at[2], w.index[w.rank - 1]),
            .freq = line_of(&op->freq, 0),
            .cosine = line_of(&op->cosine, w.at[3]),
            .sine = line_of(&op->sine, w.at[4])};
        rotary_row(op, &x, &y, &n);
        rotary_copy_rest(op, &x, &y, d);
    } while (walk_next(&w));
    return SSQ_OK;
}

REFERENCE_IMPL(rotary);
