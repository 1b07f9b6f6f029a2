/* SPDX-License-Identifier: Apache-2.0 */
/* error.c - errors of the driver's calls, and of host memory. */
#include "backends/cuda/cuda.h"

#include <stdarg.h>
#include <stdio.h>

bool cuda_refuse(struct why *why, const char *format, ...)
{
    if (why != NULL) {
        va_list args;
        va_start(args, format);
        vsnprintf(why->text, sizeof(why->text), format, args);
        va_end(args);
    }
    return false;
}

ssq_status cuda_no_memory(const struct services *core, size_t bytes)
{
    return core->error_set(SSQ_ERR_NOMEM, "cuda: no host memory for %zu bytes",
                           bytes);
}

const char *cuda_error_name(const struct cuda_calls *calls, CUresult error)
{
    const char *name = NULL;
    return calls->GetErrorName(error, &name) == CUDA_SUCCESS && name != NULL
               ? name
               : "an error without a name";
}

ssq_status cuda_error(const struct backend_device *d, const char *call,
                      CUresult error)
{
    return d->core->error_set(
        error == CUDA_ERROR_OUT_OF_MEMORY ? SSQ_ERR_NOMEM : SSQ_ERR_DEVICE,
        "cuda: %s: %s (%d)", call, cuda_error_name(d->calls, error),
        (int)error);
}
