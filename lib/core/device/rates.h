/* SPDX-License-Identifier: Apache-2.0 */
/* rates.h - training rates of devices, as stored in files of the cache. */
#ifndef LIB_CORE_DEVICE_RATES_H
#define LIB_CORE_DEVICE_RATES_H

#include "lib/core/core.h"

/** Room for rate_command's text. */
#define RATE_COMMAND 120

/** Write the command that measures this device's rate, for example "sesqui tune
 *  --train --device cpu --threads 2 --types f16". */
void rate_command(const ssq_device *device, ssq_dtype dtype, char *text,
                  size_t bytes);

#endif
