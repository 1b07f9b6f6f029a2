/* SPDX-License-Identifier: Apache-2.0 */
/* context.c - make a device's context current.
 *
 * The current context is a property of the thread. Pushing a context and
 * popping it leaves the caller's as it was. Setting one would replace, for
 * example, PyTorch's. */
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

/* A capture of another thread in the mode "global", the default, forbids calls
 * that may wait or allocate to the whole process. A capture of this thread
 * forbids them to this thread. The calls made here never use a captured stream,
 * so CUDA allows the thread to ignore the rule for a while. */
CUstreamCaptureMode cuda_relax(const struct backend_device *d)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    /* a failure does not change the mode; the calls that follow report it */
    (void)CU(d, ThreadExchangeCaptureMode)(&mode);
    return mode;
}

void cuda_relaxed(const struct backend_device *d, CUstreamCaptureMode before)
{
    if (before != CU_STREAM_CAPTURE_MODE_RELAXED)
        (void)CU(d, ThreadExchangeCaptureMode)(&before);
}
