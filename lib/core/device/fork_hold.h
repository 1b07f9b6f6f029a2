/* SPDX-License-Identifier: Apache-2.0 */
/* fork_hold.h - devices whose locks are taken before a fork. */
#ifndef LIB_CORE_DEVICE_FORK_HOLD_H
#define LIB_CORE_DEVICE_FORK_HOLD_H

#include "lib/core/core.h"

/** Have the locks of watched devices taken at each fork. Called before a device
 *  has a lock. */
void fork_hold_devices(void);
/** Watch a device whose backend works in a child: other threads are kept out of
 *  it while the process is copied. */
void fork_watch(ssq_device *device);
/** Stop watching a device; call this before it is freed. The device need not
 *  have been watched. */
void fork_unwatch(ssq_device *device);

#endif
