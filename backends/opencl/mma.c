/* SPDX-License-Identifier: Apache-2.0 */
/* mma.c - products on tensor cores by NVIDIA's OpenCL driver, whose compiler
 * takes PTX in a text: backends/mma in the opencl module.
 *
 * The driver says what the GPU is (cl_nv_device_attribute_query). A small
 * variant of each dtype is compiled and tested when a device is opened, the
 * others before their first use; a kernel that the compiler rejects is refused
 * in its own words, and the plan does the products. */
#include "backends/opencl/opencl.h"

#include <stdio.h>
#include <string.h>

#define NVIDIA 0x10deu

/* ---- what the driver says ---- */

static uint32_t mma_number(const struct backend_device *d, cl_device_info what)
{
    cl_uint n = 0;
    return CL(GetDeviceInfo)(d->id, what, sizeof(n), &n, NULL) == CL_SUCCESS
               ? n
               : 0;
}

/* Is this one of the words of the list? */
static bool has_word(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)) != NULL; at += n)
        if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return true;
    return false;
}

/* The driver's extensions, which the caller frees; NULL: it does not say. */
static char *extensions_of(const struct backend_device *d)
{
    size_t bytes = 0;
    char *list = NULL;
    if (CL(GetDeviceInfo)(d->id, CL_DEVICE_EXTENSIONS, 0, NULL, &bytes) ==
        CL_SUCCESS)
        list = d->core->mem_alloc(bytes + 1);
    if (list != NULL && CL(GetDeviceInfo)(d->id, CL_DEVICE_EXTENSIONS, bytes,
                                          list, NULL) != CL_SUCCESS)
        list[0] = '\0';
    return list;
}

/* The compute capability, 80 for 8.0; 0: it is not for this device. */
static int capability_of(struct backend_device *d)
{
    if (mma_number(d, CL_DEVICE_VENDOR_ID) != NVIDIA) {
        (void)mma_refuse(&d->mma_why, "it is for NVIDIA's GPUs");
        return 0;
    }
    char *list = extensions_of(d);
    bool told = list != NULL && has_word(list, "cl_nv_device_attribute_query");
    d->registers = list != NULL && has_word(list, "cl_nv_compiler_options");
    d->core->mem_free(list);
    if (!told) {
        (void)mma_refuse(&d->mma_why, "the driver has no "
                                      "cl_nv_device_attribute_query, to tell "
                                      "the compute capability");
        return 0;
    }
    if (d->group != MMA_GROUP) {
        (void)mma_refuse(&d->mma_why,
                         "it needs groups of %u work-items, here are %u",
                         MMA_GROUP, d->group);
        return 0;
    }
    return (int)(mma_number(d, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV) * 10 +
                 mma_number(d, CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV));
}

/* ---- a test's bench: its own queue ---- */

/* The compiler's refusal is final. A reason has little room: it begins with the
 * call that refused, and not with the options. */
static ssq_status kernel_get(struct backend_device *d,
                             const struct kernel *kernel,
                             const uint8_t key[LAUNCH_KEYS],
                             const struct backend_kernel **code)
{
    char text[sizeof(struct why)];
    ssq_status st = opencl_kernel_get(d, kernel, key, code);
    if (st != SSQ_ERR_DEVICE)
        return st;
    const char *all = d->core->error_text(), *call = strstr(all, "clBuild");
    snprintf(text, sizeof(text), "%s", call == NULL ? all : call);
    for (char *c = text; *c != '\0'; c++)
        if (*c == '\n')
            *c = ' ';
    return d->core->error_set(SSQ_ERR_UNSUPPORTED, "%s", text);
}

/* A buffer begins at a multiple of OPENCL_ALIGN: memory lent by a caller is an
 * object of the driver's, or a part of one that begins where the driver lets
 * parts begin. */
static uint32_t opencl_mma_off(const struct view *v)
{
    return (uint32_t)((v->buffer->offset + v->offset) % MMA_ALIGN);
}

static ssq_status opencl_mma_bench_open(struct backend_device *d,
                                        uint64_t bytes, struct mma_bench *b)
{
    struct backend_queue *q = NULL;
    ssq_status st = opencl_queue_open(d, &q);
    if (st != SSQ_OK)
        return st;
    st = opencl_alloc(d, bytes, &b->mem);
    if (st != SSQ_OK)
        opencl_queue_close(q);
    b->order = q;
    return st;
}

static void opencl_mma_bench_close(struct backend_device *d,
                                   struct mma_bench *b)
{
    opencl_queue_close(b->order); /* waits */
    opencl_free(d, b->mem);
}

static cl_mem mma_mem_of(const struct mma_bench *b)
{
    return ((const struct opencl_mem *)b->mem)->cl;
}

static ssq_status opencl_mma_bench_write(struct backend_device *d,
                                         const struct mma_bench *b, uint64_t at,
                                         const void *host, size_t bytes)
{
    const struct backend_queue *q = b->order;
    cl_int e = CL(EnqueueWriteBuffer)(q->cl, mma_mem_of(b), CL_TRUE, (size_t)at,
                                      bytes, host, 0, NULL, NULL);
    return e == CL_SUCCESS ? SSQ_OK
                           : opencl_error(d->core, "clEnqueueWriteBuffer", e);
}

static ssq_status opencl_mma_bench_read(struct backend_device *d,
                                        const struct mma_bench *b, uint64_t at,
                                        void *host, size_t bytes)
{
    const struct backend_queue *q = b->order;
    cl_int e = CL(EnqueueReadBuffer)(q->cl, mma_mem_of(b), CL_TRUE, (size_t)at,
                                     bytes, host, 0, NULL, NULL);
    return e == CL_SUCCESS ? SSQ_OK
                           : opencl_error(d->core, "clEnqueueReadBuffer", e);
}

static ssq_status opencl_mma_bench_launch(struct backend_device *d,
                                          const struct mma_bench *b,
                                          const struct launch *l)
{
    (void)d;
    return opencl_launch(b->order, l);
}

static const struct mma_calls calls = {.kernel_get = kernel_get,
                                       .off = opencl_mma_off,
                                       .launch = opencl_launch,
                                       .bench_open = opencl_mma_bench_open,
                                       .bench_close = opencl_mma_bench_close,
                                       .bench_write = opencl_mma_bench_write,
                                       .bench_read = opencl_mma_bench_read,
                                       .bench_launch = opencl_mma_bench_launch};

/* ---- a device's ---- */

void opencl_mma_find(struct backend_device *d)
{
    int capability = capability_of(d);
    struct mma *mma = capability == 0 ? NULL : d->core->mem_alloc(sizeof(*mma));
    if (mma == NULL) {
        if (capability != 0)
            (void)mma_refuse(&d->mma_why, "no host memory for %zu bytes",
                             sizeof(*mma));
        return;
    }
    *mma = (struct mma){.calls = &calls,
                        .core = d->core,
                        .backend = "opencl",
                        .name = d->name,
                        .capability = capability,
                        .processors = d->units,
                        .local_bytes = d->local_bytes};
    if (mma_open(mma)) {
        d->mma = mma;
    } else {
        (void)mma_refuse(&d->mma_why, "the system has no lock left");
        d->core->mem_free(mma);
    }
}

/* A failed test does not make the device unusable. */
void opencl_mma_open(struct backend_device *d)
{
    static const ssq_dtype dtypes[] = {SSQ_F16, SSQ_BF16};
    for (int i = 0; d->mma != NULL && i < MMA_KINDS; i++)
        if (mma_kind_open(d->mma, d, dtypes[i], true) != SSQ_OK) {
            struct mma_kind *kind = &d->mma->kind[i];
            kind->admitted = mma_refuse(&kind->why, "its self-test: %s",
                                        d->core->error_text());
        }
}

void opencl_mma_close(struct backend_device *d)
{
    if (d->mma == NULL)
        return;
    mma_close(d->mma);
    d->core->mem_free(d->mma);
    d->mma = NULL;
}

bool opencl_mma_check(const struct backend_device *d, const struct gemm_op *op,
                      struct why *why)
{
    if (d->mma == NULL)
        return mma_refuse(why, "%s", d->mma_why.text);
    /* the device owns the state of a variant, which has its own lock */
    return mma_check(d->mma, (struct backend_device *)(uintptr_t)d, op, why);
}

ssq_status opencl_mma_run(struct backend_queue *q, const struct gemm_op *op)
{
    return mma_run(q->device->mma, q->device, q, op);
}

bool opencl_mma_last(const struct backend_device *d, const struct gemm_op *op)
{
    (void)d;
    return mma_last(op);
}
