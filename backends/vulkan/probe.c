/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c - what a device's arithmetic does, seen by running it. */
#include "backends/vulkan/vulkan.h"

#include "backends/common/subnormals.h"
#include "kernel_table.h"

#include <string.h>

/* The launch of kernels/probe.k, waited for, on memory that the host sees. */
static ssq_status ask(struct backend_device *d, struct vulkan_mem *x,
                      struct vulkan_mem *y)
{
    static const struct kernel probe = {.name = "probe", .id = KERNEL_probe};
    static const uint8_t key[LAUNCH_KEYS] = {0};
    struct backend_queue *q;
    struct launch l = {.groups = 1, .nbindings = 2, .nwords = 3};
    l.param[2] = PROBE_ROWS;
    l.binding[0] = (struct binding){&x->mem, 0, sizeof(probe_asked),
                                    sizeof(uint32_t), ACCESS_READ};
    l.binding[1] = (struct binding){&y->mem, 0, sizeof(struct probe_answer),
                                    sizeof(uint32_t), ACCESS_WRITE};
    memcpy(x->map, probe_asked, sizeof(probe_asked));
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
    ssq_status st =
        vulkan_mem_create(d, sizeof(probe_asked), VULKAN_FROM_HOST, &x);
    if (st != SSQ_OK)
        return st;
    st = vulkan_mem_create(d, sizeof(struct probe_answer), VULKAN_TO_HOST, &y);
    if (st == SSQ_OK) {
        memset(y->map, 0, sizeof(struct probe_answer));
        st = ask(d, x, y);
        const struct probe_answer *answer = y->map;
        bool kept = probe_keeps(answer) && probe_keeps_fused(answer);
        d->subnormals =
            kept ? SSQ_SUBNORMALS_PRESERVED : SSQ_SUBNORMALS_FLUSHED;
        vulkan_mem_destroy(d, y);
    }
    vulkan_mem_destroy(d, x);
    return st;
}
