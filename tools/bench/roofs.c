/* SPDX-License-Identifier: Apache-2.0 */
/* roofs.c - measures the limits of a case. These are the processor's
 * units if the host computes, otherwise a large gemm, and a copy larger
 * than the caches. */
#include "tools/bench/bench.h"

#include <stdlib.h>
#include <unistd.h>

#define RUNS  3
#define BYTES (256.0 * 1024.0 * 1024.0)

/* Return the device's number of threads: SSQ_NUM_THREADS, or one for each
 * processor that is online. */
static int threads(void)
{
    const char *text = getenv("SSQ_NUM_THREADS");
    long n = text != NULL ? atol(text) : sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > 256 ? 256 : (int)n;
}

bool roofs_measure(const struct workload *w, struct roofs *r)
{
    ssq_device_props props = SSQ_DEVICE_PROPS_INIT;
    struct copier c = {NULL, NULL};
    double gbytes;
    *r = (struct roofs){0.0, 0.0, 0.0, 0.0};
    if (ssq_device_props_get(w->device, &props) != SSQ_OK)
        return false;
    if (props.host_memory)
        loops_measure(threads(), &r->fma, &r->dot, &r->tile);
    if (r->fma <= 0.0 && !peak_measure(w->queue, &r->fma, &gbytes))
        return false;
    for (int i = 0; i <= RUNS; i++) { /* the first run allocates the tensors */
        double seconds = copier_run(w->queue, &c, BYTES);
        double throughput = seconds > 0.0 ? 1e-9 * BYTES / seconds : 0.0;
        r->bytes = i > 0 && throughput > r->bytes ? throughput : r->bytes;
    }
    copier_drop(&c);
    return r->bytes > 0.0;
}
