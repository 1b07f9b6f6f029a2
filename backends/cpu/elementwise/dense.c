/* SPDX-License-Identifier: Apache-2.0 */
/* dense.c - casts, sums and products of many elements that are neighbours. What
 * has strides, mixed dtypes or few elements is left to the plans; bits are the
 * same. */
#include "backends/cpu/elementwise/dense.h"

#include "backends/cpu/cpu.h"
#include "backends/cpu/norm/rows.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/scalar/cast.h"
#include "lib/core/base/size.h"
#include "lib/core/module/data.h"
#include "lib/op/elementwise/elementwise.h"

/* For fewer elements the plan is as fast. */
#define LEAST 1024
/* Elements that a thread takes at a time. */
#define CHUNK 32768
/* A vector's bytes, the longest: a store past the caches has whole ones. */
#define LINE 64u

struct dense_run {
    const struct dense *d;
    const struct dense_kernels *kernels;
    size_t n;
};

ISA_KERNELS(dense_kernels)

static void task(void *context, uint32_t i, uint32_t worker)
{
    const struct dense_run *r = context;
    size_t from = (size_t)i * CHUNK;
    (void)worker;
    r->kernels->map(r->d, from, r->n - from < CHUNK ? r->n : from + CHUNK);
}

static void dense_loop(struct backend_queue *queue, struct dense *d,
                       const struct view *y)
{
    struct backend_device *device = queue->device;
    const int64_t n = view_elements(y);
    struct dense_run r = {d, kernels_of(device->isa), (size_t)n};
    d->past = rows_past(y) && (uintptr_t)d->y % LINE == 0;
    rows_loop(device->team, (uint64_t)n, size_div_up(n, CHUNK), task, &r);
}

void dense_run(struct backend_queue *queue, enum dense_kind kind,
               const struct view *a, const struct view *b, const struct view *y)
{
    struct dense d = {.kind = kind,
                      .is = a->dtype,
                      .to = y->dtype,
                      .a = view_host(a),
                      .b = b == NULL ? NULL : view_host(b),
                      .y = view_host(y)};
    dense_loop(queue, &d, y);
}

bool dense_check(const struct view *x, const struct view *y, struct why *why)
{
    if (!dtype_is_float(x->dtype) || !dtype_is_float(y->dtype))
        return refuse(why, "%s to %s: not both are floats",
                      ssq_dtype_name(x->dtype), ssq_dtype_name(y->dtype));
    if (!view_contiguous(x) || !view_contiguous(y))
        return refuse(why, "an operand is not contiguous");
    if (view_elements(x) < LEAST)
        return refuse(why, "%lld elements, expected %d or more",
                      (long long)view_elements(x), LEAST);
    return true;
}

/* ---- casts ---- */

static bool check_cast(const struct backend_device *d, const struct cast_op *op,
                       struct why *why)
{
    (void)d;
    if (op->x.dtype == op->y.dtype)
        return refuse(why, "a cast between equal dtypes is a copy");
    if (op->rounding != SSQ_ROUND_NEAREST && op->y.dtype != SSQ_F32)
        return refuse(why, "only rounding to nearest");
    return dense_check(&op->x, &op->y, why);
}

static ssq_status run_cast(struct backend_queue *queue,
                           const struct cast_op *op)
{
    dense_run(queue, DENSE_CAST, &op->x, NULL, &op->y);
    return SSQ_OK;
}

const struct cast_impl cpu_cast[] = {
    {.name = "dense", .check = check_cast, .run = run_cast},
    {.name = NULL},
};

/* ---- sums and products ---- */

/* True for one element that all others of a row meet. */
static bool is_one(const struct view *v)
{
    for (int i = 0; i < v->rank; i++)
        if (v->shape[i] > 1 && v->stride[i] != 0)
            return false;
    return dtype_is_float(v->dtype);
}

/* Which operand is the one element, for kinds that then have a function of the
 * other one: 0 neither, 1 a, 2 b. a of a difference has none. */
static int one_of(const struct binary_op *op)
{
    if (op->kind == BINARY_AXPBY)
        return 0;
    if (is_one(&op->b))
        return 2;
    return is_one(&op->a) && op->kind != BINARY_SUB ? 1 : 0;
}

static bool check_binary(const struct backend_device *d,
                         const struct binary_op *op, struct why *why)
{
    int one = one_of(op);
    (void)d;
    if (op->kind != BINARY_ADD && op->kind != BINARY_SUB &&
        op->kind != BINARY_MUL && op->kind != BINARY_AXPBY)
        return refuse(why, "only sums, differences and products");
    if ((one != 1 && op->a.dtype != op->y.dtype) ||
        (one != 2 && op->b.dtype != op->y.dtype))
        return refuse(why, "operands have several dtypes");
    return (one == 1 || dense_check(&op->a, &op->y, why)) &&
           (one == 2 || dense_check(&op->b, &op->y, why));
}

static float element_of(const struct view *v)
{
    if (v->dtype == SSQ_F32)
        return *(const float *)view_host(v);
    uint16_t h = *(const uint16_t *)view_host(v);
    return v->dtype == SSQ_F16 ? f16_load(h) : bf16_load(h);
}

static ssq_status run_binary(struct backend_queue *queue,
                             const struct binary_op *op)
{
    static const enum dense_kind kinds[][2] = {
        [BINARY_ADD] = {DENSE_ADD, DENSE_ADD_ONE},
        [BINARY_SUB] = {DENSE_SUB, DENSE_SUB_ONE},
        [BINARY_MUL] = {DENSE_MUL, DENSE_MUL_ONE},
        [BINARY_AXPBY] = {DENSE_AXPBY, DENSE_AXPBY}};
    const int one = one_of(op);
    const struct view *a = one == 1 ? &op->b : &op->a;
    struct dense d = {.kind = kinds[op->kind][one != 0],
                      .is = op->y.dtype,
                      .to = op->y.dtype,
                      .a = view_host(a),
                      .y = view_host(&op->y),
                      .alpha = op->alpha,
                      .beta = op->beta};
    if (one == 0)
        d.b = view_host(&op->b);
    else
        d.beta = element_of(one == 1 ? &op->a : &op->b);
    dense_loop(queue, &d, &op->y);
    return SSQ_OK;
}

const struct binary_impl cpu_binary[] = {
    {.name = "dense", .check = check_binary, .run = run_binary},
    {.name = NULL},
};

/* ---- scale ---- */

static bool check_scale(const struct backend_device *d,
                        const struct scale_op *op, struct why *why)
{
    (void)d;
    if (op->x.dtype != op->y.dtype)
        return refuse(why, "operands have several dtypes");
    return dense_check(&op->x, &op->y, why);
}

/* The factor is alpha times the scale, rounded. */
static ssq_status run_scale(struct backend_queue *queue,
                            const struct scale_op *op)
{
    struct dense d = {.kind = DENSE_MUL_ONE,
                      .is = op->x.dtype,
                      .to = op->y.dtype,
                      .a = view_host(&op->x),
                      .y = view_host(&op->y),
                      .beta = op->alpha};
    if (op->scale.buffer != NULL)
        d.beta = op->alpha * element_of(&op->scale);
    dense_loop(queue, &d, &op->y);
    return SSQ_OK;
}

const struct scale_impl cpu_scale[] = {
    {.name = "dense", .check = check_scale, .run = run_scale},
    {.name = NULL},
};
