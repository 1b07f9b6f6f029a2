/* SPDX-License-Identifier: Apache-2.0 */
/* binary.c - reference: y = f(a, b), comparisons, and where. Views have the
 * shape of y, with stride 0 along broadcast dimensions. y may be exactly an
 * operand, because an element is loaded before its position is written. */
#include "lib/op/elementwise/elementwise.h"

#include "backends/reference/reference.h"
#include "kernels/scalar/convert.h"
#include "kernels/elementwise/elementwise.h"

/* Compute y = f(a, b). Integers are computed as bits, because a float32 cannot
 * represent all values of an i32. */
static ssq_status reference_binary_run(struct backend_queue *queue,
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

/* Set y to 1 if the comparison is true, else to 0. Integers are compared as
 * integers, because two of them may be equal as float32. 16-bit floats are
 * compared as float32, which is exact. */
static ssq_status reference_compare_run(struct backend_queue *queue,
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

/* Compute y = cond != 0 ? a : b. a, b and y may have different dtypes: the bits
 * of the chosen element are converted to the dtype of y. The other element is
 * not loaded, so a NaN in it has no effect. */
static ssq_status reference_where_run(struct backend_queue *queue,
                                      const struct where_op *op)
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

REFERENCE_IMPL(binary);
REFERENCE_IMPL(compare);
REFERENCE_IMPL(where);
