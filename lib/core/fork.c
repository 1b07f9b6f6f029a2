/* SPDX-License-Identifier: Apache-2.0 */
/* fork.c - the use of devices in a child of fork.
 *
 * A child has one thread. A driver's threads do not exist in it, and locks that
 * they held stay locked. A device of such a backend is lost to the child: calls
 * on it return SSQ_ERR_DEVICE, except calls that destroy objects. Devices that
 * are host code stay usable: all their locks are taken before the process is
 * copied (fork_hold.c). */
#include "lib/core/fork.h"

static atomic_uint forks;

unsigned fork_count(void)
{
    return atomic_load_explicit(&forks, memory_order_relaxed);
}

void fork_counted(void)
{
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

ssq_status device_check(const ssq_device *device, const char *what)
{
    if (!device_lost(device))
        return SSQ_OK;
    return error_set(SSQ_ERR_DEVICE,
                     "%s: %s was opened before this process was forked: its "
                     "driver cannot be used in a child",
                     what, device->props.name);
}
