/* SPDX-License-Identifier: Apache-2.0 */
/* lost.c - a device that a child of fork cannot use. */
#include "lib/core/core.h"

ssq_status device_check(const ssq_device *device, const char *what)
{
    if (!device_lost(device))
        return SSQ_OK;
    return error_set(SSQ_ERR_DEVICE,
                     "%s: %s was opened before this process was forked: its "
                     "driver cannot be used in a child",
                     what, device->props.name);
}
