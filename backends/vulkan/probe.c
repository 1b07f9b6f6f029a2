/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c - what a device's arithmetic does, seen by running it. */
#include "backends/vulkan/vulkan.h"

#include "kernel_table.h"

#include <string.h>

#define PRODUCTS 2
#define PAGES    256 /* that the kernel answers for, too */

/* Factors and the product of float32s that is, or begins with, a subnormal. */
static const uint32_t factors[2 * PRODUCTS] = {
    0x00800000u, 0x3f000000u, /* 2^-126 * 0.5 */
    0x00400000u, 0x40000000u, /* 2^-127 * 2 */
};
static const uint32_t products[PRODUCTS] = {0x00400000u, 0x00800000u};

#define ANSWER_BYTES ((PRODUCTS + PAGES) * sizeof(uint32_t))

/* The launch of kernels/probe.k, waited for, on memory that the host sees. */
static ssq_status ask(struct backend_device *d, struct vulkan_mem *x,
                      struct vulkan_mem *y)
{
    static const struct kernel probe = {.name = "probe", .id = KERNEL_probe};
    static const uint8_t key[LAUNCH_KEYS] = {0};
    struct backend_queue *q;
    struct launch l = {.groups = 1, .nbindings = 2, .nwords = 3};
    l.param[2] = PRODUCTS;
    l.binding[0] = (struct binding){&x->mem, 0, sizeof(factors),
                                    sizeof(uint32_t), ACCESS_READ};
    l.binding[1] = (struct binding){&y->mem, 0, ANSWER_BYTES, sizeof(uint32_t),
                                    ACCESS_WRITE};
    memcpy(x->map, factors, sizeof(factors));
    ssq_status st = vulkan_kernel_get(d, &probe, key, &l.code);
    if (st == SSQ_OK)
        st = vulkan_queue_open(d, &q);
    if (st != SSQ_OK)
        return st;
    st = vulkan_launch(q, &l);
    if (st == SSQ_OK)
        st = vulkan_queue_sync(q);
    vulkan_queue_close(q);
    return st;
}

ssq_status vulkan_probe(struct backend_device *d)
{
    struct vulkan_mem *x, *y;
    ssq_status st = vulkan_mem_create(d, sizeof(factors), VULKAN_FROM_HOST, &x);
    if (st != SSQ_OK)
        return st;
    st = vulkan_mem_create(d, ANSWER_BYTES, VULKAN_TO_HOST, &y);
    if (st == SSQ_OK) {
        memset(y->map, 0, ANSWER_BYTES);
        st = ask(d, x, y);
        bool kept = memcmp(y->map, products, sizeof(products)) == 0;
        d->subnormals =
            kept ? SSQ_SUBNORMALS_PRESERVED : SSQ_SUBNORMALS_FLUSHED;
        vulkan_mem_destroy(d, y);
    }
    vulkan_mem_destroy(d, x);
    return st;
}
