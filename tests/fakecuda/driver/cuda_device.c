/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_device.c - devices, and their primary contexts. */
#include "tests/fakecuda/driver/cuda_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The contexts that this thread has pushed. */
static _Thread_local struct {
    CUcontext ctx[FAKE_CURRENT];
    unsigned n;
} current;

CUcontext fake_current(void)
{
    return current.n == 0 ? NULL : current.ctx[current.n - 1];
}

void *fake_object(enum kind kind, size_t bytes)
{
    struct cuda_object *o = calloc(1, bytes);

    if (o == NULL)
        return NULL;
    o->kind = kind;
    o->ctx = kind == GRAPH || kind == CONTEXT ? NULL : fake_current();
    o->next = fake.objects;
    fake.objects = o;
    return o;
}

CUresult fake_check(const void *handle, enum kind kind, const char *what)
{
    const struct cuda_object *o = handle;

    if (o == NULL)
        return fake_refuse(CUDA_ERROR_INVALID_HANDLE, "the %s is NULL", what);
    if (o->kind != kind)
        return fake_refuse(CUDA_ERROR_INVALID_HANDLE, "this is no %s", what);
    if (o->dead)
        return fake_refuse(CUDA_ERROR_INVALID_HANDLE, "the %s was destroyed",
                           what);
    return CUDA_SUCCESS;
}

CUresult cuInit(unsigned flags)
{
    CUresult e = fake_enter("cuInit", NOTHING);

    if (e != CUDA_SUCCESS)
        return e;
    if (flags != 0)
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    if (fake.devices == 0)
        return fake_leave(CUDA_ERROR_NO_DEVICE);
    fake.initialized = true;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuDriverGetVersion(int *version)
{
    CUresult e = fake_enter("cuDriverGetVersion", NOTHING);

    if (e != CUDA_SUCCESS)
        return e;
    if (version == NULL)
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    *version = fake.driver;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetCount(int *count)
{
    CUresult e = fake_enter("cuDeviceGetCount", INITIALIZED);

    if (e != CUDA_SUCCESS)
        return e;
    if (count == NULL)
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    *count = fake.devices;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    CUresult e = fake_enter("cuDeviceGet", INITIALIZED);

    if (e != CUDA_SUCCESS)
        return e;
    if (device == NULL)
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    if (ordinal < 0 || ordinal >= fake.devices)
        return fake_leave(CUDA_ERROR_INVALID_DEVICE);
    *device = ordinal;
    return fake_leave(CUDA_SUCCESS);
}

/* As fake_enter, of a call about a device. */
static CUresult enter(const char *call, CUdevice device, const void *result)
{
    CUresult e = fake_enter(call, INITIALIZED);

    if (e != CUDA_SUCCESS)
        return e;
    if (device < 0 || device >= fake.devices)
        return fake_leave(CUDA_ERROR_INVALID_DEVICE);
    if (result == NULL)
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *name, int bytes, CUdevice device)
{
    CUresult e = enter("cuDeviceGetName", device, name);

    if (e != CUDA_SUCCESS)
        return e;
    if (bytes <= 0)
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    snprintf(name, (size_t)bytes,
             "NOT A GPU: PTX interpreted on the host; proves neither speed nor "
             "NVIDIA's arithmetic");
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    CUresult e = enter("cuDeviceGetUuid_v2", device, uuid);

    if (e != CUDA_SUCCESS)
        return e;
    memcpy(uuid->bytes, "PTX interpreted", 16);
    uuid->bytes[15] = (char)device;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
    CUresult e = enter("cuDeviceGetAttribute", device, value);
    const struct {
        int attribute, value;
    } known[] = {
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, FAKE_ITEMS},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, FAKE_ITEMS},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7fffffff},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, FAKE_SHARED},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 2},
        {CU_DEVICE_ATTRIBUTE_INTEGRATED, 0},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, 0},
        {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device + 1},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
        {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
         e == CUDA_SUCCESS ? fake.capability[device] / 10 : 0},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
         e == CUDA_SUCCESS ? fake.capability[device] % 10 : 0},
        {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, !fake.no_pools},
    };

    if (e != CUDA_SUCCESS)
        return e;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].attribute == attribute) {
            *value = known[i].value;
            return fake_leave(CUDA_SUCCESS);
        }
    return fake_leave(fake_refuse(CUDA_ERROR_INVALID_VALUE,
                                  "attribute %d is not known to the stand-in",
                                  attribute));
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    CUresult e = enter("cuDeviceTotalMem_v2", device, bytes);

    if (e != CUDA_SUCCESS)
        return e;
    *bytes = fake.memory_bytes;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *ctx, CUdevice device)
{
    CUresult e = enter("cuDevicePrimaryCtxRetain", device, ctx);

    if (e != CUDA_SUCCESS)
        return e;
    if (fake.refs[device] == 0) {
        CUcontext c = fake_object(CONTEXT, sizeof(*c));

        if (c == NULL)
            return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
        c->device = device;
        fake.primary[device] = c;
    }
    fake.refs[device]++;
    *ctx = fake.primary[device];
    return fake_leave(CUDA_SUCCESS);
}

/* All that was made in the context ends with it. */
void fake_context_end(CUcontext ctx)
{
    struct memory **m = &fake.memory;

    fake_wait_all(ctx);
    for (struct cuda_object *o = fake.objects; o != NULL; o = o->next)
        if (o->ctx == ctx && !o->dead && o->kind == STREAM)
            fake_stream_end((CUstream)o);
    for (struct cuda_object *o = fake.objects; o != NULL; o = o->next) {
        if (o->ctx != ctx || o->dead)
            continue;
        if (o->kind == MODULE)
            fake_module_end((CUmodule)o);
        o->dead = true;
    }
    while (*m != NULL)
        if ((*m)->ctx == ctx)
            fake_memory_end(*m);
        else
            m = &(*m)->next;
    ctx->object.dead = true;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    CUresult e = enter("cuDevicePrimaryCtxRelease_v2", device, &fake);

    if (e != CUDA_SUCCESS)
        return e;
    if (fake.refs[device] == 0)
        return fake_leave(fake_refuse(CUDA_ERROR_INVALID_CONTEXT,
                                      "nobody has retained device %d", device));
    if (--fake.refs[device] == 0) {
        fake_context_end(fake.primary[device]);
        fake.primary[device] = NULL;
    }
    return fake_leave(CUDA_SUCCESS);
}

void fakecuda_break(CUdevice device, CUresult result)
{
    pthread_mutex_lock(&fake.lock);
    if (device >= 0 && device < FAKE_DEVICES && fake.primary[device] != NULL)
        fake_error(fake.primary[device], result, "the device was broken");
    pthread_mutex_unlock(&fake.lock);
}

void fakecuda_break_context(CUcontext ctx, CUresult result)
{
    pthread_mutex_lock(&fake.lock);
    fake_error(ctx, result, "the context was broken");
    pthread_mutex_unlock(&fake.lock);
}

CUresult cuCtxCreate_v2(CUcontext *ctx, unsigned flags, CUdevice device)
{
    CUresult e = enter("cuCtxCreate_v2", device, ctx);
    CUcontext c;

    if (e != CUDA_SUCCESS)
        return e;
    if (flags != 0 || current.n == FAKE_CURRENT)
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    c = fake_object(CONTEXT, sizeof(*c));
    if (c == NULL)
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
    c->device = device;
    current.ctx[current.n++] = c;
    *ctx = c;
    return fake_leave(CUDA_SUCCESS);
}

/* With all that was made in it; it is current in this thread no more. */
CUresult cuCtxDestroy_v2(CUcontext ctx)
{
    CUresult e = fake_enter("cuCtxDestroy_v2", INITIALIZED);

    if (e != CUDA_SUCCESS)
        return e;
    e = fake_check(ctx, CONTEXT, "context");
    for (int i = 0; i < FAKE_DEVICES && e == CUDA_SUCCESS; i++)
        if (ctx == fake.primary[i])
            e = fake_refuse(CUDA_ERROR_INVALID_CONTEXT,
                            "a primary context is released");
    if (e != CUDA_SUCCESS)
        return fake_leave(e);
    fake_context_end(ctx);
    if (fake_current() == ctx)
        current.n--;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuCtxPushCurrent_v2(CUcontext ctx)
{
    CUresult e = fake_enter("cuCtxPushCurrent_v2", INITIALIZED);

    if (e != CUDA_SUCCESS)
        return e;
    e = fake_check(ctx, CONTEXT, "context");
    if (e != CUDA_SUCCESS)
        return fake_leave(CUDA_ERROR_INVALID_CONTEXT);
    if (current.n == FAKE_CURRENT)
        return fake_leave(fake_refuse(CUDA_ERROR_INVALID_VALUE,
                                      "%d contexts are pushed and not popped",
                                      FAKE_CURRENT));
    current.ctx[current.n++] = ctx;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuCtxPopCurrent_v2(CUcontext *ctx)
{
    CUresult e = fake_enter("cuCtxPopCurrent_v2", INITIALIZED);

    if (e != CUDA_SUCCESS)
        return e;
    if (current.n == 0)
        return fake_leave(
            fake_refuse(CUDA_ERROR_INVALID_CONTEXT, "no context is current"));
    current.n--;
    if (ctx != NULL)
        *ctx = current.ctx[current.n];
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetCurrent(CUcontext *ctx)
{
    CUresult e = fake_enter("cuCtxGetCurrent", INITIALIZED);

    if (e != CUDA_SUCCESS)
        return e;
    if (ctx == NULL)
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    *ctx = fake_current();
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuCtxGetDevice(CUdevice *device)
{
    CUresult e = fake_enter("cuCtxGetDevice", CURRENT);

    if (e != CUDA_SUCCESS)
        return e;
    if (device == NULL)
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    *device = fake_current()->device;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuCtxSynchronize(void)
{
    CUresult e = fake_enter("cuCtxSynchronize", CURRENT);

    if (e != CUDA_SUCCESS)
        return e;
    e = fake_unsafe("cuCtxSynchronize");
    if (e == CUDA_SUCCESS)
        e = fake_wait_all(fake_current());
    return fake_leave(e);
}
