/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_copy.c - copies and fills.
 *
 * As documented for pageable host memory: data to the device has been read
 * when the call returns, and data from it has arrived.
 * Pinned memory is read and written when its turn has come. */
#include "tests/fakecuda/driver/cuda_state.h"

#include <stdlib.h>
#include <string.h>

/* Device memory, or pinned, that is not freed. */
static CUresult known(uint64_t p, uint64_t bytes, const char *what)
{
    const struct memory *m = fake_memory(p, bytes);

    if (m == NULL)
        return fake_refuse(CUDA_ERROR_INVALID_VALUE,
                           "%s %#llx: no allocation has %llu bytes there", what,
                           (unsigned long long)p, (unsigned long long)bytes);
    if (m->freeing)
        return fake_refuse(CUDA_ERROR_INVALID_VALUE, "%s %#llx: freed", what,
                           (unsigned long long)p);
    return CUDA_SUCCESS;
}

static struct cuda_work *copy_work(uint64_t to, uint64_t from, size_t bytes)
{
    struct cuda_work *w = fake_work(COPY);

    if (w != NULL) {
        w->to = to;
        w->from = from;
        w->bytes = bytes;
    }
    return w;
}

/* bytes 0 is allowed, and nothing. */
static CUresult copy(CUstream s, uint64_t to, uint64_t from, size_t bytes)
{
    struct cuda_work *w = copy_work(to, from, bytes);

    return w == NULL ? CUDA_ERROR_OUT_OF_MEMORY : fake_submit(s, w);
}

static CUresult upload(CUstream s, uint64_t to, const void *from, size_t bytes)
{
    struct cuda_work *w;

    if (fake_memory((uintptr_t)from, bytes) != NULL)
        return copy(s, to, (uintptr_t)from, bytes);
    if (s->capture != NULL)
        return fake_refuse(CUDA_ERROR_NOT_SUPPORTED,
                           "pageable memory in a capture");
    w = copy_work(to, 0, bytes);
    if (w == NULL || (w->staged = malloc(bytes)) == NULL) {
        fake_work_free(w);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    memcpy(w->staged, from, bytes);
    return fake_submit(s, w);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes,
                              CUstream s)
{
    CUresult e = fake_enter("cuMemcpyHtoDAsync_v2", CURRENT);

    if (e != CUDA_SUCCESS)
        return e;
    e = from == NULL ? CUDA_ERROR_INVALID_VALUE : fake_stream(s, &s);
    if (e == CUDA_SUCCESS)
        e = known(to, bytes, "destination");
    if (e == CUDA_SUCCESS && bytes > 0)
        e = upload(s, to, from, bytes);
    return fake_leave(e);
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes,
                              CUstream s)
{
    CUresult e = fake_enter("cuMemcpyDtoHAsync_v2", CURRENT);
    bool pinned;

    if (e != CUDA_SUCCESS)
        return e;
    e = to == NULL ? CUDA_ERROR_INVALID_VALUE : fake_stream(s, &s);
    if (e == CUDA_SUCCESS)
        e = known(from, bytes, "source");
    pinned = fake_memory((uintptr_t)to, bytes) != NULL;
    if (e == CUDA_SUCCESS && !pinned && s->capture != NULL)
        e = fake_refuse(CUDA_ERROR_NOT_SUPPORTED,
                        "pageable memory in a capture");
    if (e == CUDA_SUCCESS && bytes > 0)
        e = copy(s, (uintptr_t)to, from, bytes);
    if (e == CUDA_SUCCESS && !pinned)
        e = fake_wait(s->object.ctx, (struct point){s, s->submitted});
    return fake_leave(e);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes,
                              CUstream s)
{
    CUresult e = fake_enter("cuMemcpyDtoDAsync_v2", CURRENT);

    if (e != CUDA_SUCCESS)
        return e;
    e = fake_stream(s, &s);
    if (e == CUDA_SUCCESS)
        e = known(to, bytes, "destination");
    if (e == CUDA_SUCCESS)
        e = known(from, bytes, "source");
    if (e == CUDA_SUCCESS && to < from + bytes && from < to + bytes)
        e = fake_refuse(CUDA_ERROR_INVALID_VALUE, "a copy onto itself");
    if (e == CUDA_SUCCESS && bytes > 0)
        e = copy(s, to, from, bytes);
    return fake_leave(e);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes,
                         CUstream s)
{
    CUresult e = fake_enter("cuMemsetD8Async", CURRENT);
    struct cuda_work *w = NULL;

    if (e != CUDA_SUCCESS)
        return e;
    e = fake_stream(s, &s);
    if (e == CUDA_SUCCESS)
        e = known(to, bytes, "destination");
    if (e != CUDA_SUCCESS || bytes == 0)
        return fake_leave(e);
    w = fake_work(FILL);
    if (w == NULL)
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
    w->to = to;
    w->value = value;
    w->bytes = bytes;
    return fake_leave(fake_submit(s, w));
}
