/* SPDX-License-Identifier: Apache-2.0 */
/* random.c - reference: random fills and dropout. */
#include "lib/op/random/random.h"

#include "backends/reference/random/stream.h"
#include "kernels/scalar/convert.h"

/* Fill with random numbers. Element i of the whole call draws word offset + i
 * of the stream, on every device and for any division of the call. op.first
 * elements came before this op. A word belongs to an element and not to a
 * memory address, so strides do not change the numbers. */
static ssq_status reference_random_run(struct backend_queue *queue,
                                       const struct random_op *op)
{
    (void)queue;
    struct walk w;
    const struct view *v[] = {&op->y};
    void *y = view_host(&op->y);
    uint32_t step = stream_step(&op->step);
    uint64_t i = op->stream.offset + op->op.first;
    walk_begin(&w, v, 1);
    do {
        uint32_t r = stream_word(&op->stream, step, i++);
        float value;
        if (op->kind == RANDOM_KIND_BERNOULLI)
            value = random_chance(r, op->one.threshold, op->one.always) ? 1.0f
                                                                        : 0.0f;
        else
            value = random_affine(op->kind, r, op->a, op->b);
        store_f32(y, op->y.dtype, w.at[0], value);
    } while (walk_next(&w));
    return SSQ_OK;
}

/* Compute y = dropped ? 0 : x scale, and mask = 1 if x was kept. Without a
 * mask, y replaces it in the walk, which needs a view; nothing is stored
 * through that. Element i draws the same word as in random_fill(). */
static ssq_status reference_dropout_run(struct backend_queue *queue,
                                        const struct dropout_op *op)
{
    (void)queue;
    struct walk w;
    bool masked = op->mask.buffer != NULL;
    const struct view *v[] = {&op->x, &op->y, masked ? &op->mask : &op->y};
    const void *x = view_host(&op->x);
    void *y = view_host(&op->y), *mask = view_host(&op->mask);
    uint32_t step = stream_step(&op->step);
    uint64_t i = op->stream.offset + op->op.first;
    walk_begin(&w, v, 3);
    do {
        uint32_t r = stream_word(&op->stream, step, i++);
        bool drop = random_chance(r, op->drop.threshold, op->drop.always);
        float value = load_f32(x, op->x.dtype, w.at[0]);
        value = dropout_value(value, drop, op->scale);
        store_f32(y, op->y.dtype, w.at[1], value);
        if (masked)
            store_bits(mask, SSQ_U8, w.at[2], drop ? 0 : 1);
    } while (walk_next(&w));
    return SSQ_OK;
}

REFERENCE_IMPL(random);
REFERENCE_IMPL(dropout);
