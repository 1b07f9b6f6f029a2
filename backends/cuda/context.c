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

/* Another thread's capture in the mode "global", which is the default, forbids
 * calls that might wait or allocate to the whole process; a capture of this
 * thread forbids them to it. Ours never touch a stream that is captured, so the
 * thread may leave that order for a while, as CUDA has it. */
CUstreamCaptureMode cuda_relax(const struct backend_device *d)
{
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    /* a failure leaves it as it is; the calls that follow show why */
    (void)CU(d, ThreadExchangeCaptureMode)(&mode);
    return mode;
}

void cuda_relaxed(const struct backend_device *d, CUstreamCaptureMode before)
{
    if (before != CU_STREAM_CAPTURE_MODE_RELAXED)
        (void)CU(d, ThreadExchangeCaptureMode)(&before);
}
