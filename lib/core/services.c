/* SPDX-License-Identifier: Apache-2.0 */
/* services.c - the core's functions for modules. Modules import no symbols, so
 * they can use no other function of the core. */
#include "lib/core/services.h"

#include "lib/core/env.h"
#include "lib/core/error.h"
#include "lib/core/module_file.h"
#include "lib/core/object.h"

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
