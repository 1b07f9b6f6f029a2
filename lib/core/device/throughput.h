/* SPDX-License-Identifier: Apache-2.0 */
/* throughput.h - training throughputs of devices, as stored in files of the
 * cache. */
#ifndef LIB_CORE_DEVICE_THROUGHPUT_H
#define LIB_CORE_DEVICE_THROUGHPUT_H

#include "lib/core/core.h"

/** Room for throughput_command's text. */
#define THROUGHPUT_COMMAND 120

/** Write the command that measures this device's throughput, for example
 *  "sesqui tune --train --device cpu --threads 2 --types f16". */
void throughput_command(const ssq_device *device, ssq_dtype dtype, char *text,
                        size_t bytes);

#endif
