/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - NVIDIA's GPUs: list, describe and open them.
 *
 * cuda:N is the driver's device N, as in all other programs on the machine. A
 * device that is not supported keeps its number. `auto` never chooses it, and
 * opening it fails with the reason. */
#include "backends/cuda/lt.h"
#include "backends/cuda/mma.h"

#include <stdio.h>
#include <string.h>

/** Bytes of a slab of the core's pool. */
#define SLAB_BYTES (UINT64_C(64) << 20)
/** Most bytes of a buffer whose elements a u32 index can address, for any
 *  element size. */
#define MOST_BYTES ((UINT64_C(1) << 32) - CUDA_ALIGN)

/* Return an attribute of a device that need not be open; 0 if the driver does
 * not report it. */
static int cuda_device_ask(const struct cuda_calls *c, CUdevice id,
                           CUdevice_attribute what)
{
    int v = 0;
    return c->DeviceGetAttribute(&v, what, id) == CUDA_SUCCESS ? v : 0;
}

static void cuda_device_look_at(struct backend_instance *instance, int i)
{
    const struct cuda_calls *c = &instance->calls;
    struct cuda_found *f = &instance->found[i];
    if (c->DeviceGet(&f->id, i) != CUDA_SUCCESS)
        return; /* its capability stays 0 */
    if (c->DeviceGetName(f->name, sizeof(f->name), f->id) != CUDA_SUCCESS)
        snprintf(f->name, sizeof(f->name), "unknown");
    f->capability =
        10 * cuda_device_ask(c, f->id,
                             CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
        cuda_device_ask(c, f->id, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    f->prohibited =
        cuda_device_ask(c, f->id, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE) ==
        CU_COMPUTEMODE_PROHIBITED;
}

/* Initialise the driver, check its version, and set *n to the number of its
 * devices. If false, reason is set. */
static bool cuda_device_start(struct backend_instance *instance, int *n,
                              struct why *reason)
{
    const struct cuda_calls *c = &instance->calls;
    CUresult e = c->DriverGetVersion(&instance->driver);
    if (e == CUDA_SUCCESS && instance->driver < CUDA_DRIVER_LEAST)
        return cuda_refuse(
            reason, "%.160s is of CUDA %d.%d: %d.%d or later is needed",
            c->path, instance->driver / 1000, instance->driver % 1000 / 10,
            CUDA_DRIVER_LEAST / 1000, CUDA_DRIVER_LEAST % 1000 / 10);
    const char *call = "cuDriverGetVersion";
    if (e == CUDA_SUCCESS) {
        call = "cuInit";
        e = c->Init(0);
    }
    if (e == CUDA_SUCCESS) {
        call = "cuDeviceGetCount";
        e = c->DeviceGetCount(n);
    }
    if (e != CUDA_SUCCESS)
        return cuda_refuse(reason, "%.120s: %s: %s (%d)", c->path, call,
                           cuda_error_name(c, e), (int)e);
    return *n > 0 ? true : cuda_refuse(reason, "%.160s has no device", c->path);
}

unsigned cuda_count(struct backend_instance *instance, struct why *reason)
{
    int n = 0;
    if (!cuda_calls_open(&instance->calls, reason) ||
        !cuda_device_start(instance, &n, reason))
        return 0;
    if (n > CUDA_MOST_DEVICES)
        n = CUDA_MOST_DEVICES;
    for (int i = 0; i < n; i++)
        cuda_device_look_at(instance, i);
    instance->core->log_line(SSQ_LOG_INFO, "cuda", "%s, CUDA %d.%d, %d devices",
                             instance->calls.path, instance->driver / 1000,
                             instance->driver % 1000 / 10, n);
    instance->n = (unsigned)n;
    return instance->n;
}

/* Return whether device i can be opened. If not, why (may be NULL) is set. */
static bool is_fit(const struct backend_instance *instance, unsigned i,
                   struct why *why)
{
    const struct cuda_found *f = &instance->found[i];
    if (f->capability == 0)
        return cuda_refuse(
            why, "cuda:%u: the driver does not report its attributes", i);
    if (f->capability < CUDA_CAPABILITY_LEAST)
        return cuda_refuse(
            why,
            "cuda:%u (%s) has compute capability %d.%d: %d.%d or later "
            "is needed",
            i, f->name, f->capability / 10, f->capability % 10,
            CUDA_CAPABILITY_LEAST / 10, CUDA_CAPABILITY_LEAST % 10);
    if (f->prohibited)
        return cuda_refuse(
            why, "cuda:%u (%s) is in compute mode \"prohibited\"", i, f->name);
    return true;
}

/** Preference of a GPU, for `auto`. It is above Vulkan's and OpenCL's, which
 *  run on the same GPU without cuBLASLt. The certificate and the self-tests
 *  decide whether the device is used. */
#define PREFERENCE 50

/* The preference of a stand-in is 0, so it must be named: it computes
 * correctly, but is not a GPU. */
int cuda_preference_of(const struct backend_instance *instance, unsigned i)
{
    return instance->calls.standin_bindings == NULL && is_fit(instance, i, NULL)
               ? PREFERENCE
               : 0;
}

/* Return the longest end of a path that fits into `bytes` bytes with its
 * terminating 0. The end says more than the beginning. */
static const char *end_of(const char *path, size_t bytes)
{
    size_t n = strlen(path);
    return n < bytes ? path : path + (n - bytes + 1);
}

void cuda_describe(const struct backend_instance *instance, unsigned i,
                   char *text, size_t bytes)
{
    const struct cuda_found *f = &instance->found[i];
    struct why why;
    if (!is_fit(instance, i, &why)) {
        snprintf(text, bytes, "%s", why.text);
        return;
    }
    bool blas = cuda_blas_have(instance->blas, instance->core, &instance->calls,
                               instance->driver);
    int n = snprintf(text, bytes, "%.44s, sm_%d, CUDA %d.%d, ", f->name,
                     f->capability, instance->driver / 1000,
                     instance->driver % 1000 / 10);
    size_t left = bytes - (size_t)n;
    n += snprintf(text + n, left, "%s, ",
                  end_of(instance->calls.path, left / 2 - 2));
    left = bytes - (size_t)n;
    snprintf(text + n, left, "%s",
             blas ? end_of(instance->blas->path, left) : "no libcublasLt");
}

/* Create a memory pool, if the driver and the device support it. Allocations
 * from it do not wait for the device. A failure only means that there is no
 * pool. The device's default pool is not used: other code in the process owns
 * it, and decides how much it keeps. With the context. */
static void cuda_device_make_pool(struct backend_device *d)
{
    const CUmemPoolProps props = {
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
        .handleTypes = CU_MEM_HANDLE_TYPE_NONE,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = d->found->id},
    };
    /* keep freed memory until cuda_trim(): each step allocates the same sizes
     * as the step before */
    unsigned long long keep = UINT64_MAX;
    if (cuda_device_ask(d->calls, d->found->id,
                        CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) == 0 ||
        !cuda_calls_have(d->calls, CUDA_POOLS, NULL))
        return;
    if (CU(d, MemPoolCreate)(&d->pool, &props) != CUDA_SUCCESS) {
        d->pool = NULL;
        return;
    }
    /* after a failure the pool only releases memory at each synchronisation,
     * which costs time */
    (void)CU(d, MemPoolSetAttribute)(d->pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                     &keep);
}

/* With the context. */
static ssq_status cuda_device_measure(struct backend_device *d)
{
    const struct cuda_calls *c = d->calls;
    CUdevice id = d->found->id;
    size_t memory = 0;
    CUresult e = c->DeviceTotalMem(&memory, id);
    if (e != CUDA_SUCCESS)
        return cuda_error(d, "cuDeviceTotalMem", e);
    d->memory_bytes = memory;
    int resident =
        cuda_device_ask(c, id,
                        CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) /
        (int)CUDA_GROUP;
    int processors =
        cuda_device_ask(c, id, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    d->processors = processors > 0 ? (uint32_t)processors : 1;
    d->units = d->processors * (uint32_t)(resident > 0 ? resident : 1);
    d->local_bytes = (uint32_t)cuda_device_ask(
        c, id, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
    d->integrated = cuda_device_ask(c, id, CU_DEVICE_ATTRIBUTE_INTEGRATED) != 0;
    e = CU(d, StreamCreate)(&d->memory_order, CU_STREAM_NON_BLOCKING);
    if (e != CUDA_SUCCESS) {
        d->memory_order = NULL;
        return cuda_error(d, "cuStreamCreate", e);
    }
    cuda_device_make_pool(d);
    return SSQ_OK;
}

/* Use the caller's context, or retain the primary one if native is NULL. */
static ssq_status cuda_device_take_context(struct backend_device *d,
                                           CUcontext native)
{
    d->context = native;
    if (native != NULL)
        return SSQ_OK;
    CUresult e = CU(d, PrimaryCtxRetain)(&d->context, d->found->id);
    d->retained = e == CUDA_SUCCESS;
    return d->retained ? SSQ_OK : cuda_error(d, "cuDevicePrimaryCtxRetain", e);
}

void cuda_close(struct backend_device *d)
{
    bool entered = d->context != NULL && cuda_enter(d) == SSQ_OK;
    cuda_lt_close(d, entered);
    cuda_mma_close(d);
    if (entered) {
        cuda_kernels_free(d);
        if (d->memory_order != NULL) {
            (void)CU(d, StreamSynchronize)(d->memory_order);
            (void)CU(d, StreamDestroy)(d->memory_order);
        }
        cuda_leave(d);
    }
    /* the pool belongs to the GPU, and exists even if the context does not
     * exist any more */
    if (d->pool != NULL)
        (void)CU(d, MemPoolDestroy)(d->pool);
    if (d->retained)
        (void)CU(d, PrimaryCtxRelease)(d->found->id);
    kernel_map_close(&d->kernels);
    d->core->mem_free(d);
}

ssq_status cuda_open_over(struct backend_instance *instance, unsigned i,
                          CUcontext native, struct backend_device **device)
{
    const struct services *core = instance->core;
    struct why why;
    if (!is_fit(instance, i, &why))
        return core->error_set(SSQ_ERR_UNSUPPORTED, "%s", why.text);
    struct backend_device *d = core->mem_alloc(sizeof(*d));
    if (d == NULL)
        return cuda_no_memory(core, sizeof(*d));
    d->core = core;
    d->calls = &instance->calls;
    d->blas = instance->blas;
    d->found = &instance->found[i];
    d->driver = instance->driver;
    if (kernel_map_open(&d->kernels, core) != SSQ_OK) {
        core->mem_free(d);
        return cuda_no_memory(core, sizeof(d->kernels));
    }
    ssq_status st = cuda_device_take_context(d, native);
    if (st == SSQ_OK)
        st = cuda_enter(d);
    if (st == SSQ_OK) {
        st = cuda_device_measure(d);
        if (st == SSQ_OK)
            st = cuda_lt_open(d);
        if (st == SSQ_OK)
            st = cuda_mma_open(d);
        cuda_leave(d);
    }
    if (st != SSQ_OK)
        cuda_close(d);
    else
        *device = d;
    return st;
}

ssq_status cuda_open(struct backend_instance *instance, unsigned i,
                     struct backend_device **device)
{
    return cuda_open_over(instance, i, NULL, device);
}

/* Write the version of cuBLASLt, for example "13.0.2", or "none". A part that
 * it does not report is 0. */
static void blas_version(const struct backend_device *d, char *text,
                         size_t bytes)
{
    int n[3] = {0, 0, 0};
    snprintf(text, bytes, "none");
    if (d->lt == NULL)
        return;
    (void)d->lt->blas->GetProperty(MAJOR_VERSION, &n[0]);
    (void)d->lt->blas->GetProperty(MINOR_VERSION, &n[1]);
    (void)d->lt->blas->GetProperty(PATCH_LEVEL, &n[2]);
    snprintf(text, bytes, "%d.%d.%d", n[0], n[1], n[2]);
}

/* The words include cuBLASLt, because results of self-tests and timings of
 * matmuls depend on its version. */
void cuda_identify(const struct backend_device *d, char *text, size_t bytes)
{
    char blas[40];
    blas_version(d, blas, sizeof(blas));
    snprintf(text, bytes,
             "%s\ncompute capability %d\ndriver %d\nPTX %s\ncode %s\n"
             "cuBLASLt %s",
             d->found->name, d->found->capability, d->driver, cuda_ptx_sum,
             cuda_sass_sum(d->found->capability), blas);
}

void cuda_certified(struct backend_device *d, const struct findings *f)
{
    d->subnormals =
        f->subnormals ? SSQ_SUBNORMALS_PRESERVED : SSQ_SUBNORMALS_FLUSHED;
}

/* f16 and bf16 are stored as 16-bit integers, and computed in float32. */
#define HALF_CAPS                                                              \
    (SSQ_CAP_STORAGE | SSQ_CAP_STORAGE_EMULATED | SSQ_CAP_ARITHMETIC_EMULATED)

/* Return SSQ_CAP_MATRIX if matmuls of this dtype can use tensor cores. */
static uint32_t cuda_device_matrix_caps(const struct backend_device *d,
                                        ssq_dtype dtype)
{
    bool lt = d->lt != NULL && cuda_lt_kind(d->lt, dtype, false)->admitted;
    return lt || mma_kind(d->mma, dtype)->admitted ? SSQ_CAP_MATRIX : 0;
}

void cuda_props(const struct backend_device *d, ssq_device_props *p)
{
    p->memory_bytes = d->memory_bytes;
    p->binding_bytes = MOST_BYTES;
    p->alignment = CUDA_ALIGN;
    p->f16 = HALF_CAPS | cuda_device_matrix_caps(d, SSQ_F16);
    p->bf16 = HALF_CAPS | cuda_device_matrix_caps(d, SSQ_BF16);
    p->f32_subnormals = d->subnormals;
    p->host_memory = false;
    p->asynchronous = true;
}

void cuda_limits(const struct backend_device *d, struct backend_limits *l)
{
    l->slab_bytes = SLAB_BYTES;
    l->binding_bytes = MOST_BYTES;
    l->memory_bytes = d->memory_bytes;
    l->group = CUDA_GROUP;
    l->units = d->units;
    l->local_bytes = d->local_bytes;
    l->width = CUDA_WIDTH;
}
