/* SPDX-License-Identifier: Apache-2.0 */
/* probe.c - what a device's arithmetic does, seen by running it. */
#include "backends/opencl/opencl.h"

#include "backends/common/subnormals.h"
#include "kernel_table.h"

/* Write, launch, read, all of it waited for. */
static ssq_status run(struct backend_queue *q, const struct launch *l,
                      struct probe_answer *answer)
{
    const struct opencl_mem *x = (struct opencl_mem *)l->binding[0].mem;
    const struct opencl_mem *y = (struct opencl_mem *)l->binding[1].mem;
    cl_int e =
        CL(EnqueueWriteBuffer)(q->cl, x->cl, CL_TRUE, 0, sizeof(probe_asked),
                               probe_asked, 0, NULL, NULL);
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
                      struct probe_answer *answer)
{
    static const struct kernel probe = {.name = "probe", .id = KERNEL_probe};
    static const uint8_t key[LAUNCH_KEYS] = {0};
    struct backend_mem *x, *y;
    struct launch l = {.groups = 1, .nbindings = 2, .nwords = 3};
    l.param[2] = PROBE_ROWS;
    ssq_status st = opencl_kernel_get(d, &probe, key, &l.code);
    if (st == SSQ_OK)
        st = opencl_alloc(d, sizeof(probe_asked), &x);
    if (st != SSQ_OK)
        return st;
    st = opencl_alloc(d, sizeof(*answer), &y);
    if (st != SSQ_OK)
        goto out_x;
    l.binding[0] = (struct binding){x, 0, sizeof(probe_asked), sizeof(uint32_t),
                                    ACCESS_READ};
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
    struct probe_answer answer = {0};
    ssq_status st = opencl_queue_open(d, &q);
    if (st != SSQ_OK)
        return st;
    st = ask(d, q, &answer);
    opencl_queue_close(q);
    bool kept = st == SSQ_OK && probe_keeps(&answer);
    bool load = st == SSQ_OK, store = st == SSQ_OK;
    for (int i = 0; i < PROBE_PAGES; i++) {
        load = load && answer.wrong[i] == 0;
        store = store && answer.lost[i] == 0;
    }
    d->unfused = kept && !probe_keeps_fused(&answer);
    d->subnormals = kept ? SSQ_SUBNORMALS_PRESERVED : SSQ_SUBNORMALS_FLUSHED;
    d->half_load = load;
    d->half_store = store;
    d->core->log_line(SSQ_LOG_INFO, "device",
                      "%s: f16 loads %s, f16 stores %s%s", d->name,
                      load ? "by vload_half" : "in integers",
                      store ? "by vstore_half_rte" : "in integers",
                      d->unfused ? ", no fma: it flushes subnormals" : "");
    return st;
}
