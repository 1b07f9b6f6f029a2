/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c - what a device's arithmetic does, seen by running it. */
#include "backends/opencl/opencl.h"

#include "kernel_table.h"

#define PRODUCTS 2
#define PAGES    256 /* of 256 f16s each */

/* Factors and the product of float32s that is, or begins with, a subnormal. */
static const uint32_t factors[2 * PRODUCTS] = {
    0x00800000u, 0x3f000000u, /* 2^-126 * 0.5 */
    0x00400000u, 0x40000000u, /* 2^-127 * 2 */
};
static const uint32_t products[PRODUCTS] = {0x00400000u, 0x00800000u};

struct answer {
    uint32_t product[PRODUCTS];
    uint32_t wrong[PAGES]; /* f16s that the device's own load has wrong */
    uint32_t lost[PAGES];  /* and floats, its own store */
};

/* Write, launch, read, all of it waited for. */
static ssq_status run(struct backend_queue *q, const struct launch *l,
                      struct answer *answer)
{
    const struct opencl_mem *x = (struct opencl_mem *)l->binding[0].mem;
    const struct opencl_mem *y = (struct opencl_mem *)l->binding[1].mem;
    cl_int e = CL(EnqueueWriteBuffer)(q->cl, x->cl, CL_TRUE, 0, sizeof(factors),
                                      factors, 0, NULL, NULL);
    if (e != CL_SUCCESS)
        return opencl_error(q->device->core, "clEnqueueWriteBuffer", e);
    ssq_status st = opencl_launch(q, l);
    if (st != SSQ_OK)
        return st;
    e = CL(EnqueueReadBuffer)(q->cl, y->cl, CL_TRUE, 0, sizeof(*answer), answer,
                              0, NULL, NULL);
    return e == CL_SUCCESS
               ? SSQ_OK
               : opencl_error(q->device->core, "clEnqueueReadBuffer", e);
}

/* The launch of kernels/probe.k, on memory of its own. */
static ssq_status ask(struct backend_device *d, struct backend_queue *q,
                      struct answer *answer)
{
    static const struct kernel probe = {.name = "probe", .id = KERNEL_probe};
    static const uint8_t key[LAUNCH_KEYS] = {0};
    struct backend_mem *x, *y;
    struct launch l = {.groups = 1, .nbindings = 2, .nwords = 3};
    l.param[2] = PRODUCTS;
    ssq_status st = opencl_kernel_get(d, &probe, key, &l.code);
    if (st == SSQ_OK)
        st = opencl_alloc(d, sizeof(factors), &x);
    if (st != SSQ_OK)
        return st;
    st = opencl_alloc(d, sizeof(*answer), &y);
    if (st != SSQ_OK)
        goto out_x;
    l.binding[0] =
        (struct binding){x, 0, sizeof(factors), sizeof(uint32_t), ACCESS_READ};
    l.binding[1] =
        (struct binding){y, 0, sizeof(*answer), sizeof(uint32_t), ACCESS_WRITE};
    st = run(q, &l, answer);
    opencl_free(d, y);
out_x:
    opencl_free(d, x);
    return st;
}

ssq_status opencl_probe(struct backend_device *d)
{
    struct backend_queue *q;
    struct answer answer = {0};
    ssq_status st = opencl_queue_open(d, &q);
    if (st != SSQ_OK)
        return st;
    st = ask(d, q, &answer);
    opencl_queue_close(q);
    bool kept = true, load = st == SSQ_OK, store = st == SSQ_OK;
    for (int i = 0; i < PRODUCTS; i++)
        kept = kept && answer.product[i] == products[i];
    for (int i = 0; i < PAGES; i++) {
        load = load && answer.wrong[i] == 0;
        store = store && answer.lost[i] == 0;
    }
    d->subnormals = kept ? SSQ_SUBNORMALS_PRESERVED : SSQ_SUBNORMALS_FLUSHED;
    d->half_load = load;
    d->half_store = store;
    d->core->log_line(SSQ_LOG_INFO, "device", "%s: f16 loads %s, f16 stores %s",
                      d->name, load ? "by vload_half" : "in integers",
                      store ? "by vstore_half_rte" : "in integers");
    return st;
}
