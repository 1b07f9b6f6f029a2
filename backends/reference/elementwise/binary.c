/* SPDX-License-Identifier: Apache-2.0 */
/* binary.c - reference: y = f(a, b), comparisons, and where. Views have the
 * shape of y: along what is broadcast their stride is 0. y may be an operand
 * that lies just as it does, as an element is loaded before its place is stored
 * to. */
#include "lib/op/elementwise/elementwise.h"

#include "backends/reference/reference.h"
#include "kernels/dialect/convert.h"
#include "kernels/elementwise/elementwise.h"

/* y = f(a, b). Integers are computed as bits: a float32 does not hold all
 * values of an i32. */
static ssq_status binary(struct backend_queue *queue,
                         const struct binary_op *op)
{
    (void)queue;
    struct walk w;
    const struct view *v[] = {&op->a, &op->b, &op->y};
    const void *a = view_host(&op->a), *b = view_host(&op->b);
    void *y = view_host(&op->y);
    bool integers = !dtype_is_float(op->a.dtype);
    walk_begin(&w, v, 3);
    do {
        if (integers) {
            uint32_t i = load_bits(a, op->a.dtype, w.at[0]);
            uint32_t j = load_bits(b, op->b.dtype, w.at[1]);
            store_bits(y, op->y.dtype, w.at[2], binary_int(op->kind, i, j));
        } else {
            float f = load_f32(a, op->a.dtype, w.at[0]);
            float g = load_f32(b, op->b.dtype, w.at[1]);
            f = binary_value(op->kind, f, g, op->alpha, op->beta);
            store_f32(y, op->y.dtype, w.at[2], f);
        }
    } while (walk_next(&w));
    return SSQ_OK;
}

/* y = 1 where the comparison holds, else 0. Integers are compared as integers,
 * for two of them may be one float32. Floats of 16 bits are compared as
 * float32, which is exact. */
static ssq_status compare(struct backend_queue *queue,
                          const struct compare_op *op)
{
    (void)queue;
    struct walk w;
    const struct view *v[] = {&op->a, &op->b, &op->y};
    const void *a = view_host(&op->a), *b = view_host(&op->b);
    void *y = view_host(&op->y);
    bool integers = !dtype_is_float(op->a.dtype), holds;
    walk_begin(&w, v, 3);
    do {
        if (integers)
            holds = compare_int(op->kind, load_bits(a, op->a.dtype, w.at[0]),
                                load_bits(b, op->b.dtype, w.at[1]));
        else
            holds = compare_value(op->kind, load_f32(a, op->a.dtype, w.at[0]),
                                  load_f32(b, op->b.dtype, w.at[1]));
        store_bits(y, SSQ_U8, w.at[2], holds ? 1 : 0);
    } while (walk_next(&w));
    return SSQ_OK;
}

/* y = cond != 0 ? a : b. Each of the three may have a dtype of its own: the
 * element that is chosen is converted from its dtype to that of y, on its bits.
 * The other one is not loaded, and a NaN in it does no harm. */
static ssq_status where(struct backend_queue *queue, const struct where_op *op)
{
    (void)queue;
    struct walk w;
    const struct view *v[] = {&op->cond, &op->a, &op->b, &op->y};
    const void *cond = view_host(&op->cond);
    const void *a = view_host(&op->a), *b = view_host(&op->b);
    void *y = view_host(&op->y);
    walk_begin(&w, v, 4);
    do {
        bool first = load_bits(cond, SSQ_U8, w.at[0]) != 0;
        ssq_dtype from = first ? op->a.dtype : op->b.dtype;
        uint32_t bits =
            first ? load_bits(a, from, w.at[1]) : load_bits(b, from, w.at[2]);
        bits = convert_bits(bits, from, op->y.dtype, ROUND_NEAREST, 0);
        store_bits(y, op->y.dtype, w.at[3], bits);
    } while (walk_next(&w));
    return SSQ_OK;
}

REFERENCE_IMPL(binary, binary);
REFERENCE_IMPL(compare, compare);
REFERENCE_IMPL(where, where);
