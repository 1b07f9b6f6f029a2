/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - whose context is current.
 *
 * A context is a property of the thread. Pushing ours and popping it again
 * leaves the caller's as it was; setting one would take PyTorch's away. */
#include "backends/cuda/cuda.h"

ssq_status cuda_enter(const struct backend_device *d)
{
    CUresult e = CU(d, CtxPushCurrent)(d->context);
    return e == CUDA_SUCCESS ? SSQ_OK : cuda_error(d, "cuCtxPushCurrent", e);
}

void cuda_leave(const struct backend_device *d)
{
    CUcontext ours;
    (void)CU(d, CtxPopCurrent)(&ours);
}
