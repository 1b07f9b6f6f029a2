/* SPDX-License-Identifier: Apache-2.0 */
/* unary.c - functions of many elements of 16 bits: by a table. And relu and its
 * gradient, which are as quick as a copy (dense.c).
 *
 * There are 65536 such x, and most functions take longer to work out than a
 * load from the second cache does. The kernels make the tables, so the bits are
 * the same. */
#include "backends/cpu/elementwise/unary.h"

#include "backends/cpu/cpu.h"
#include "backends/cpu/elementwise/dense.h"
#include "backends/cpu/norm/rows.h"
#include "kernel_table.h"
#include "kernels/elementwise/unary_args.h"
#include "lib/op/elementwise/elementwise.h"

#include <string.h>

/* Elements of which a table is worth making even if they are the only ones. */
#define TABLE_LEAST (4u * TABLE_SIZE)
/* Elements that a thread takes at a time. */
#define CHUNK 32768u
/* An op for its chunks. Without memory for a table, values is NULL, and exact,
 * the kernel that makes tables, computes the elements. */
struct lookup {
    const struct table_kernels *kernels;
    const struct backend_kernel *exact;
    struct table_key key;
    const void *values;
    uint16_t *x;
    struct floats_at dy, y; /* y is dx where there is a dy */
    size_t n;
};

/* ---- which ---- */

/* The traits of the kinds, by number. */
#define TRAITS_OF(N, NAME, WITH, CLASS, TRAITS, ...) [N] = TRAITS,
static const unsigned char traits[] = {
    UNARY_KINDS(TRAITS_OF, TRAITS_OF, TRAITS_OF, TRAITS_OF)};

/* Return true if y is found in a table faster than it is computed. */
static bool y_by_table(uint32_t kind)
{
    return (traits[kind] & Y_BY_TABLE) != 0;
}

/* Return true if the slope is, too. */
static bool slope_by_table(uint32_t kind)
{
    return (traits[kind] & BY_TABLE) == BY_TABLE;
}

static bool unary_is_half(ssq_dtype dtype)
{
    return dtype == SSQ_F16 || dtype == SSQ_BF16;
}

static bool check_x(const struct view *x, struct why *why)
{
    if (!unary_is_half(x->dtype))
        return refuse(why, "x is %s: tables are of 16 bits",
                      ssq_dtype_name(x->dtype));
    if (view_elements(x) < TABLE_LEAST)
        return refuse(why, "%lld elements: a table is worth making from %u on",
                      (long long)view_elements(x), TABLE_LEAST);
    return true;
}

static bool check_unary(const struct backend_device *d,
                        const struct unary_op *op, struct why *why)
{
    (void)d;
    if (!y_by_table(op->kind))
        return refuse(why, "a table is no faster than the function");
    if (!unary_is_half(op->y.dtype))
        return refuse(why, "y is %s: a table's values have 16 bits",
                      ssq_dtype_name(op->y.dtype));
    if (!view_contiguous(&op->x) || !view_contiguous(&op->y))
        return refuse(why, "x or y is not contiguous");
    return check_x(&op->x, why);
}

static bool unary_check_backward(const struct backend_device *d,
                                 const struct unary_backward_op *op,
                                 struct why *why)
{
    (void)d;
    if (!slope_by_table(op->kind))
        return refuse(why,
                      "dx is not a product of dy and a slope, or is one that "
                      "a table is no faster for");
    if (!view_contiguous(&op->x) || !view_contiguous(&op->dy) ||
        !view_contiguous(&op->dx))
        return refuse(why, "x, dy or dx is not contiguous");
    return check_x(&op->x, why);
}

/* ---- and how ---- */

static struct floats_at from_on(const struct floats_at *f, size_t from)
{
    size_t bytes = from * dtype_bytes(f->is);
    return (struct floats_at){(char *)f->p + bytes, f->is};
}

static void run_chunk(void *context, uint32_t i, uint32_t worker)
{
    const struct lookup *l = context;
    size_t from = (size_t)i * CHUNK;
    size_t n = l->n - from < CHUNK ? l->n - from : CHUNK;
    uint16_t *x = l->x + from;
    struct floats_at y = from_on(&l->y, from);
    (void)worker;
    if (l->key.kernel == KERNEL_unary) {
        if (l->values != NULL)
            l->kernels->map(y.p, x, l->values, n, l->n);
        else
            table_exact_map(&l->key, l->exact, y.p, x, (uint32_t)n);
        return;
    }
    struct floats_at dy = from_on(&l->dy, from);
    if (l->values != NULL)
        l->kernels->slope(y, dy, x, l->values, n, l->n);
    else
        table_exact_slope(&l->key, l->exact, y, dy, 1, x, (uint32_t)n);
}

/* Compute by a table. Without memory for a table, use the kernel. */
static ssq_status unary_run(struct backend_device *d, struct lookup *l,
                            const uint8_t keys[LAUNCH_KEYS])
{
    ssq_status st = cpu_kernel_get(d, &kernels[l->key.kernel], keys, &l->exact);
    if (st != SSQ_OK)
        return st;
    l->kernels = d->isa->table;
    struct table *table = table_take(&d->tables, &l->key, l->exact, d->team);
    l->values = table == NULL ? NULL : table->values;
    parallel_for(d->team, (uint32_t)((l->n + CHUNK - 1) / CHUNK), run_chunk, l);
    if (table != NULL)
        table_return(&d->tables, table);
    return SSQ_OK;
}

static struct table_key unary_key_of(uint32_t kernel, uint32_t kind,
                                     float alpha, float beta)
{
    struct table_key key;
    memset(&key, 0, sizeof(key)); /* it is compared by its bytes */
    key.kernel = kernel;
    key.kind = kind;
    key.alpha = alpha;
    key.beta = beta;
    return key;
}

static ssq_status run_unary(struct backend_queue *queue,
                            const struct unary_op *op)
{
    const uint8_t keys[LAUNCH_KEYS] = {(uint8_t)op->kind};
    struct lookup l = {
        .key = unary_key_of(KERNEL_unary, op->kind, op->alpha, op->beta),
        .x = view_host(&op->x),
        .y = {view_host(&op->y), op->y.dtype},
        .n = (size_t)view_elements(&op->x)};
    l.key.x = op->x.dtype;
    l.key.y = op->y.dtype;
    return unary_run(queue->device, &l, keys);
}

static ssq_status unary_run_backward(struct backend_queue *queue,
                                     const struct unary_backward_op *op)
{
    const uint8_t keys[LAUNCH_KEYS] = {(uint8_t)op->kind};
    struct lookup l = {.key = unary_key_of(KERNEL_unary_backward, op->kind,
                                           op->alpha, op->beta),
                       .x = view_host(&op->x),
                       .dy = {view_host(&op->dy), op->dy.dtype},
                       .y = {view_host(&op->dx), op->dx.dtype},
                       .n = (size_t)view_elements(&op->x)};
    l.key.x = op->x.dtype;
    return unary_run(queue->device, &l, keys);
}

/* ---- relu ---- */

static bool check_relu(const struct backend_device *d,
                       const struct unary_op *op, struct why *why)
{
    (void)d;
    if (op->kind != UNARY_relu)
        return refuse(why, "only relu");
    if (op->x.dtype != op->y.dtype)
        return refuse(why, "x and y have different dtypes");
    return dense_check(&op->x, &op->y, why);
}

static ssq_status run_relu(struct backend_queue *queue,
                           const struct unary_op *op)
{
    dense_run(queue, DENSE_RELU, &op->x, NULL, &op->y);
    return SSQ_OK;
}

static bool check_relu_backward(const struct backend_device *d,
                                const struct unary_backward_op *op,
                                struct why *why)
{
    (void)d;
    if (op->kind != UNARY_relu)
        return refuse(why, "only relu");
    if (op->x.dtype != op->dx.dtype || op->dy.dtype != op->dx.dtype)
        return refuse(why, "x, dy and dx have different dtypes");
    return dense_check(&op->x, &op->dx, why) &&
           dense_check(&op->dy, &op->dx, why);
}

static ssq_status run_relu_backward(struct backend_queue *queue,
                                    const struct unary_backward_op *op)
{
    dense_run(queue, DENSE_RELU_BACKWARD, &op->x, &op->dy, &op->dx);
    return SSQ_OK;
}

const struct unary_impl cpu_unary[] = {
    {.name = "dense", .check = check_relu, .run = run_relu},
    {.name = "table", .check = check_unary, .run = run_unary},
    {.name = NULL},
};

const struct unary_backward_impl cpu_unary_backward[] = {
    {.name = "dense", .check = check_relu_backward, .run = run_relu_backward},
    {.name = "table", .check = unary_check_backward, .run = unary_run_backward},
    {.name = NULL},
};
