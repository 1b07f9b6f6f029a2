/* SPDX-License-Identifier: Apache-2.0 */
/* opencl.h - what the tests of the opencl backend share. */
#ifndef TESTS_OPENCL_OPENCL_H
#define TESTS_OPENCL_OPENCL_H

#include "tests/core/core.h"

/* Whether there is a device; if not, that is a failure where one is required.
 * Asked in a child: PoCL's threads would not survive a fork. */
static int opencl_open(void *arg)
{
    ssq_device *dev = NULL;

    (void)arg;
    return ssq_device_open("opencl:0", NULL, &dev) == SSQ_OK ? 0 : 1;
}

static inline bool opencl_missing(void)
{
    int st = tap_fork(opencl_open, NULL, 60);

    if (tap_exited(st, 0))
        return false;
    if (tap_required("opencl"))
        tap_ok(false, "opencl:0 is required, and not there: %s",
               tap_status(st));
    else
        tap_skip("no opencl:0", "the opencl backend");
    return true;
}

static inline void opencl_copy(ssq_queue *q, const ssq_tensor *x,
                               const ssq_tensor *y)
{
    ssq_copy_args args = SSQ_COPY_INIT;

    args.x = x;
    args.y = y;
    NEED(ssq_copy(q, &args));
}

static inline void opencl_fill(ssq_queue *q, const ssq_tensor *x, double value)
{
    ssq_fill_args args = SSQ_FILL_INIT;

    args.x = x;
    args.value = value;
    NEED(ssq_fill(q, &args));
}

#endif
