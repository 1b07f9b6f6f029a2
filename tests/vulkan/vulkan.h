/* SPDX-License-Identifier: Apache-2.0 */
/* vulkan.h - what the tests of the vulkan backend share. */
#ifndef TESTS_VULKAN_VULKAN_H
#define TESTS_VULKAN_VULKAN_H

#include "tests/core/core.h"

/* Whether there is a device; if not, that is a failure where one is required.
 * Asked in a child: a driver's threads would not survive a fork. */
static int vulkan_open(void *arg)
{
    ssq_device *dev = NULL;

    (void)arg;
    return ssq_device_open("vulkan:0", NULL, &dev) == SSQ_OK ? 0 : 1;
}

static inline bool vulkan_missing(void)
{
    int st = tap_fork(vulkan_open, NULL, 60);

    if (tap_exited(st, 0))
        return false;
    if (tap_required("vulkan"))
        tap_ok(false, "vulkan:0 is required, and not there: %s",
               tap_status(st));
    else
        tap_skip("no vulkan:0", "the vulkan backend");
    return true;
}

static inline void vulkan_copy(ssq_queue *q, const ssq_tensor *x,
                               const ssq_tensor *y)
{
    ssq_copy_args args = SSQ_COPY_INIT;

    args.x = x;
    args.y = y;
    NEED(ssq_copy(q, &args));
}

static inline void vulkan_fill(ssq_queue *q, const ssq_tensor *x, double value)
{
    ssq_fill_args args = SSQ_FILL_INIT;

    args.x = x;
    args.value = value;
    NEED(ssq_fill(q, &args));
}

#endif
