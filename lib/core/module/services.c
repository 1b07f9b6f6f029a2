/* SPDX-License-Identifier: Apache-2.0 */
/* services.c - the core's functions for modules. Modules import no symbols, so
 * they can use no other function of the core. */
#include "lib/core/module/services.h"

#include "lib/core/base/env.h"
#include "lib/core/base/error.h"
#include "lib/core/module/module_file.h"
#include "lib/core/base/object.h"

const struct services core_services = {
    .abi = SSQ_BACKEND_ABI,
    .error_set = error_set,
    .error_text = ssq_last_error,
    .log_line = log_line,
    .mem_alloc = mem_alloc,
    .mem_free = mem_free,
    .env_text = env_text,
    .env_number = env_number,
    .env_flag = env_flag,
    .file_safe = module_file_safe,
};
