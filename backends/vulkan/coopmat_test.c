/* SPDX-License-Identifier: Apache-2.0 */
/* coopmat_test.c - are a device's cooperative matrices right?
 *
 * Products of integers, and of numbers that are subnormal in f16, whose sums
 * are exact in float32, so that any order of adding gives the same bits: more
 * than a tile and more than a stage each way, in all four orders of the
 * operands. Any other bits refuse the driver. Then a look at sums that are not
 * exact: do they round to nearest, or are they cut off? Both are admitted, but
 * an explanation of a gemm names it. */
#include "backends/vulkan/coopmat.h"

#include <stdio.h>
#include <string.h>

/** Units that truncate add at least this many products
 * exactly before they do. */
#define LEAST_BLOCK 4u
/** Groups of a launch: fewer than tiles, so that a group has to continue to
 * another tile. */
#define GROUPS 3u
/** Launches of exact sums: orders of the operands, and kinds of numbers. */
#define ORDERS 4u
#define SETS   2u

/* A test of one tile of a kind: its queue, the factors and the product in
 * memory that the host sees, and the sizes, which no tile divides. */
struct vulkan_coopmat_test {
    struct backend_device *device;
    struct coopmat_kind *kind;
    const struct coopmat_tile *tile;
    struct backend_queue *queue;
    struct vulkan_mem *a, *b, *d;
    uint32_t m, n, k;
    struct gemm_coopmat_args args;
};

/* A set of numbers: factors are integers of at most `most`, scaled. With k
 * products of them, sums stay below 2^24 times the scales' product. */
struct coopmat_test_set {
    const char *name;
    int a_most, b_most;
    float a_scale[2], b_scale[2]; /* f16, bf16 */
};

static const struct coopmat_test_set sets[SETS] = {
    {"sums of integers", 120, 120, {1.0f, 1.0f}, {1.0f, 1.0f}},
    {"sums of subnormal factors",
     200,
     4,
     {0x1p-24f, 0x1p-100f},
     {1.0f, 0x1p60f}}};

static bool is_bf16(const struct vulkan_coopmat_test *t)
{
    return t->kind->dtype == SSQ_BF16;
}

/* The bits of a factor; the values used here are exact in either type. */
static uint16_t coopmat_test_encode(const struct vulkan_coopmat_test *t,
                                    float x)
{
    return (uint16_t)(is_bf16(t) ? bf16_store(x) : f16_store(x));
}

/* The i-th of a row of integers from -most to most, the same ones each time. */
static int coopmat_test_draw(uint32_t i, int most)
{
    uint32_t x = (i + 1u) * 2654435761u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return (int)(x % (uint32_t)(2 * most + 1)) - most;
}

/* The integer behind a[i, q]; behind b[q, j] below. Both are computed again for
 * the comparison, for any order in memory. */
static int a_value(const struct vulkan_coopmat_test *t,
                   const struct coopmat_test_set *s, uint32_t i, uint32_t q)
{
    return coopmat_test_draw(i * t->k + q, s->a_most);
}

static int b_value(const struct vulkan_coopmat_test *t,
                   const struct coopmat_test_set *s, uint32_t q, uint32_t j)
{
    return coopmat_test_draw(77777u + q * t->n + j, s->b_most);
}

/* ---- a launch ---- */

void coopmat_bind(struct launch *l, struct backend_mem *mem, uint64_t offset,
                  uint64_t bytes, uint32_t unit, enum access access)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct binding *b = &l->binding[l->nbindings++];
        if (mem == NULL) { /* absent: left alone by the kernel */
            *b = l->binding[0];
            b->access = ACCESS_NONE;
        } else {
            *b =
                (struct binding){mem, offset, bytes, i == 0 ? 2 : unit, access};
        }
    }
}

/* Elements from a line to the next: odd, so that the shader loads one by one,
 * or whole multiples of 16 bytes, so that it loads these. */
static uint32_t coopmat_test_line(uint32_t elements, bool whole)
{
    return whole ? (elements + 7u) / 8u * 8u : elements | 1u;
}

/* Sizes and strides for an order of the operands. Bit 0: a's columns are its
 * lines; bit 1: b's are. The orders 0 and 3 have whole lines, the others odd
 * ones. */
static void set_order(struct vulkan_coopmat_test *t, uint32_t order)
{
    struct gemm_coopmat_args *x = &t->args;
    bool whole = order == 0 || order == 3;
    bool a_columns = (order & 1u) != 0, b_columns = (order & 2u) != 0;
    uint32_t a_line = coopmat_test_line(a_columns ? t->m : t->k, whole);
    uint32_t b_line = coopmat_test_line(b_columns ? t->k : t->n, whole);
    x->g.m = t->m;
    x->g.n = t->n;
    x->g.k = t->k;
    x->g.batch = 1;
    x->g.types = GEMM_TYPES((uint32_t)t->kind->dtype, (uint32_t)t->kind->dtype,
                            0u, 0u, (uint32_t)SSQ_F32);
    if (whole)
        x->g.types |= GEMM_WHOLE_A | GEMM_WHOLE_B;
    x->g.alpha = 1.0f;
    x->g.d_row = t->n;
    x->a_row = a_columns ? 1 : a_line;
    x->a_column = a_columns ? a_line : 1;
    x->b_row = b_columns ? 1 : b_line;
    x->b_column = b_columns ? b_line : 1;
}

/* Multiply and wait. The product's memory is filled before, so that what is not
 * written is not a right sum. */
static ssq_status coopmat_test_launch(struct vulkan_coopmat_test *t)
{
    struct launch l = {.code = &t->tile->code,
                       .groups = GROUPS,
                       .nwords = sizeof(t->args) / sizeof(uint32_t)};
    memcpy(l.param, &t->args, sizeof(t->args));
    coopmat_bind(&l, &t->d->mem, 0, t->d->mem.bytes, 4, ACCESS_WRITE);
    coopmat_bind(&l, NULL, 0, 0, 0, ACCESS_READ);
    coopmat_bind(&l, NULL, 0, 0, 0, ACCESS_READ);
    coopmat_bind(&l, &t->a->mem, 0, t->a->mem.bytes, 16, ACCESS_READ);
    coopmat_bind(&l, &t->b->mem, 0, t->b->mem.bytes, 16, ACCESS_READ);
    memset(t->d->map, 0xff, (size_t)t->m * t->n * sizeof(float));
    ssq_status st = vulkan_launch(t->queue, &l);
    return st == SSQ_OK ? vulkan_queue_sync(t->queue) : st;
}

/* ---- exact sums ---- */

/* Write the numbers of a set into both factors, by the strides of the order. */
static void coopmat_test_fill(struct vulkan_coopmat_test *t,
                              const struct coopmat_test_set *s)
{
    uint16_t *a = t->a->map, *b = t->b->map;
    const struct gemm_coopmat_args *x = &t->args;
    float a_scale = s->a_scale[is_bf16(t)], b_scale = s->b_scale[is_bf16(t)];
    for (uint32_t i = 0; i < t->m; i++)
        for (uint32_t q = 0; q < t->k; q++)
            a[i * x->a_row + q * x->a_column] =
                coopmat_test_encode(t, (float)a_value(t, s, i, q) * a_scale);
    for (uint32_t q = 0; q < t->k; q++)
        for (uint32_t j = 0; j < t->n; j++)
            b[q * x->b_row + j * x->b_column] =
                coopmat_test_encode(t, (float)b_value(t, s, q, j) * b_scale);
}

/* Compare all sums with integers'; the first wrong one goes into the
 * kind's why. */
static bool coopmat_test_compare(struct vulkan_coopmat_test *t,
                                 const struct coopmat_test_set *s)
{
    const float *d = t->d->map;
    float scale = s->a_scale[is_bf16(t)] * s->b_scale[is_bf16(t)];
    uint32_t wrong = 0, first = 0;
    float should = 0.0f;
    for (uint32_t at = 0; at < t->m * t->n; at++) {
        int sum = 0;
        for (uint32_t q = 0; q < t->k; q++)
            sum += a_value(t, s, at / t->n, q) * b_value(t, s, q, at % t->n);
        if (d[at] == (float)sum * scale)
            continue;
        if (wrong++ == 0) {
            first = at;
            should = (float)sum * scale;
        }
    }
    if (wrong == 0)
        return true;
    snprintf(t->kind->why.text, sizeof(t->kind->why.text),
             "%.48s fails the self-test of %s %ux%ux%u in subgroups of %u: "
             "%s: %u of %u wrong, [%u,%u] is %g and not %g",
             t->device->caps.driver, is_bf16(t) ? "bf16" : "f16", t->kind->m,
             t->kind->n, t->kind->k, t->kind->subgroup, s->name, wrong,
             t->m * t->n, first / t->n, first % t->n, (double)d[first],
             (double)should);
    return false;
}

static ssq_status test_sums(struct vulkan_coopmat_test *t, bool *passed)
{
    for (uint32_t i = 0; i < SETS * ORDERS; i++) {
        set_order(t, i % ORDERS);
        coopmat_test_fill(t, &sets[i / ORDERS]);
        ssq_status st = coopmat_test_launch(t);
        if (st != SSQ_OK)
            return st;
        *passed = coopmat_test_compare(t, &sets[i / ORDERS]);
        if (!*passed)
            break;
    }
    return SSQ_OK;
}

/* ---- rounding ---- */

/* A sum 1 + x y that is not exact: `nearest` is what rounding gives, and
 * cutting off gives something else. */
struct inexact {
    float x, y;
    /* x y is added by the next multiplication of matrices, not the same one */
    bool next;
    float nearest;
};

static const struct inexact inexacts[] = {
    {0x1.8p-12f, 0x1p-12f, false, 0x1.000002p0f},
    {0x1.8p-12f, 0x1p-12f, true, 0x1.000002p0f},
    {-0x1p-13f, 0x1p-13f, false, 1.0f},
    {-0x1p-13f, 0x1p-13f, true, 1.0f},
};
#define INEXACTS (sizeof(inexacts) / sizeof(inexacts[0]))

/* Compute all inexact sums in one product: sum i is d[i, i], of row i and
 * column i. Elements outside the diagonal are ignored. If a sum is not rounded
 * to nearest, the units truncate. */
static ssq_status test_rounding(struct vulkan_coopmat_test *t)
{
    uint16_t *a = t->a->map, *b = t->b->map;
    const struct gemm_coopmat_args *x = &t->args;
    const float *d = t->d->map;
    set_order(t, 0);
    memset(a, 0, t->a->mem.bytes);
    memset(b, 0, t->b->mem.bytes);
    for (uint32_t i = 0; i < INEXACTS; i++) {
        uint32_t q = inexacts[i].next ? t->kind->k : 1;
        a[i * x->a_row] = coopmat_test_encode(t, 1.0f);
        b[i] = coopmat_test_encode(t, 1.0f);
        a[i * x->a_row + q] = coopmat_test_encode(t, inexacts[i].x);
        b[q * x->b_row + i] = coopmat_test_encode(t, inexacts[i].y);
    }
    ssq_status st = coopmat_test_launch(t);
    if (st != SSQ_OK)
        return st;
    for (uint32_t i = 0; i < INEXACTS; i++)
        if (d[i * t->n + i] != inexacts[i].nearest)
            t->kind->truncates_after = LEAST_BLOCK;
    return SSQ_OK;
}

/* ---- all of it ---- */

/* Memory for the factors and the product, with 8 elements more each way for the
 * longest lines of coopmat_test_line(). */
static ssq_status open_memory(struct vulkan_coopmat_test *t)
{
    uint64_t m = t->m + 8u, n = t->n + 8u, k = t->k + 8u;
    ssq_status st =
        vulkan_mem_create(t->device, 2 * m * k, VULKAN_FROM_HOST, &t->a);
    if (st == SSQ_OK)
        st = vulkan_mem_create(t->device, 2 * n * k, VULKAN_FROM_HOST, &t->b);
    if (st == SSQ_OK)
        st = vulkan_mem_create(t->device, 4 * m * n, VULKAN_TO_HOST, &t->d);
    return st;
}

ssq_status coopmat_test(struct backend_device *device,
                        struct coopmat_kind *kind,
                        const struct coopmat_tile *tile, bool *passed)
{
    struct vulkan_coopmat_test t = {.device = device,
                                    .kind = kind,
                                    .tile = tile,
                                    .m = tile->m + 3u,
                                    .n = tile->n + 5u,
                                    .k = 2u * tile->depth + 5u};
    *passed = false;
    ssq_status st = vulkan_queue_open(device, &t.queue);
    if (st != SSQ_OK)
        return st;
    st = open_memory(&t);
    if (st == SSQ_OK)
        st = test_sums(&t, passed);
    if (st == SSQ_OK && *passed)
        st = test_rounding(&t);
    vulkan_queue_close(t.queue);
    struct vulkan_mem *mem[] = {t.a, t.b, t.d};
    for (int i = 0; i < 3; i++)
        if (mem[i] != NULL)
            vulkan_mem_destroy(device, mem[i]);
    return st;
}
