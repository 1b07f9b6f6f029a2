/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.c - the kernels of a device, loaded at their first use, and launches.
 *
 * The driver compiles PTX for its device and keeps the result on disk
 * (CUDA_CACHE_PATH), so this backend has no cache on disk. A kernel gets a
 * pointer to the first element of each operand. A launch can access all memory
 * of the device. */
#include "backends/cuda/cuda.h"

#include <string.h>

struct backend_kernel {
    struct kernel_map_entry entry; /* must be first */
    CUmodule module;
    CUfunction function;
};

/* Free a kernel, with the context. A module that cannot be unloaded is freed
 * with the context. */
static void cuda_kernel_free(const struct backend_device *d,
                             struct backend_kernel *k)
{
    if (k->module != NULL)
        (void)CU(d, ModuleUnload)(k->module);
    d->core->mem_free(k);
}

/* Load the machine code for this device into k->module, with the context.
 * k->module stays NULL if the module contains none, or if the driver refuses
 * it. The driver may be older than the toolkit that compiled the code. The
 * caller then loads the PTX. */
static ssq_status load_code(struct backend_device *d, struct backend_kernel *k,
                            const char *name)
{
    void *code;
    ssq_status st = cuda_sass(d->core, d->found->capability, k->entry.kernel,
                              k->entry.key, name, &code);
    if (st != SSQ_OK || code == NULL)
        return st;
    CUresult e = CU(d, ModuleLoadDataEx)(&k->module, code, 0, NULL, NULL);
    d->core->mem_free(code);
    if (e == CUDA_SUCCESS)
        return SSQ_OK;
    k->module = NULL;
    if (e == CUDA_ERROR_OUT_OF_MEMORY)
        return cuda_error(d, "cuModuleLoadDataEx", e);
    d->core->log_line(SSQ_LOG_INFO, "cuda",
                      "kernel %s: the driver refuses its machine code (%s) and "
                      "gets the PTX",
                      name, cuda_error_name(d->calls, e));
    return SSQ_OK;
}

/* Let the driver compile the PTX. With the context. */
static ssq_status load_text(struct backend_device *d, struct backend_kernel *k,
                            const char *name)
{
    char *ptx;
    ssq_status st =
        cuda_ptx(d->core, k->entry.kernel, k->entry.key, name, &ptx);
    if (st != SSQ_OK)
        return st;
    char said[512] = "";
    CUjit_option option[] = {CU_JIT_ERROR_LOG_BUFFER,
                             CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *value[] = {said, (void *)(uintptr_t)(sizeof(said) - 1)};
    CUresult e = CU(d, ModuleLoadDataEx)(&k->module, ptx, 2, option, value);
    d->core->mem_free(ptx);
    if (e == CUDA_SUCCESS)
        return SSQ_OK;
    k->module = NULL;
    return d->core->error_set(
        e == CUDA_ERROR_OUT_OF_MEMORY ? SSQ_ERR_NOMEM : SSQ_ERR_DEVICE,
        "cuda: kernel %s: cuModuleLoadDataEx: %s (%d)%s%s", name,
        cuda_error_name(d->calls, e), (int)e, said[0] == '\0' ? "" : ": ",
        said);
}

/* Load a kernel and check that it runs in groups of CUDA_GROUP work-items. With
 * the context. */
static ssq_status kernel_build(struct backend_device *d,
                               struct backend_kernel *k)
{
    const struct kernel *kernel = k->entry.kernel;
    char name[128];
    kernel_map_name(kernel, k->entry.key, name, sizeof(name));
    ssq_status st = load_code(d, k, name);
    if (st == SSQ_OK && k->module == NULL)
        st = load_text(d, k, name);
    if (st != SSQ_OK)
        return st;
    CUresult e =
        CU(d, ModuleGetFunction)(&k->function, k->module, kernel->name);
    if (e != CUDA_SUCCESS)
        return cuda_error(d, "cuModuleGetFunction", e);
    int most = 0;
    e = CU(d, FuncGetAttribute)(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
                                k->function);
    if (e != CUDA_SUCCESS)
        return cuda_error(d, "cuFuncGetAttribute", e);
    if (most < (int)CUDA_GROUP)
        return d->core->error_set(
            SSQ_ERR_DEVICE,
            "cuda: kernel %s runs in groups of at most %d work-items here, of "
            "%u expected",
            name, most, CUDA_GROUP);
    return SSQ_OK;
}

ssq_status cuda_kernel_get(struct backend_device *d,
                           const struct kernel *kernel,
                           const uint8_t key[LAUNCH_KEYS],
                           const struct backend_kernel **code)
{
    bool mine;
    struct backend_kernel *k = (struct backend_kernel *)kernel_map_get(
        &d->kernels, kernel, key, sizeof(*k), &mine);
    if (k == NULL)
        return cuda_no_memory(d->core, sizeof(*k));
    if (!mine) {
        *code = k;
        return SSQ_OK;
    }
    ssq_status st = cuda_enter(d);
    bool entered = st == SSQ_OK;
    if (entered) {
        CUstreamCaptureMode mode = cuda_relax(d);
        st = kernel_build(d, k);
        cuda_relaxed(d, mode);
    }
    kernel_map_built(&d->kernels, &k->entry, st == SSQ_OK);
    if (st == SSQ_OK)
        *code = k;
    else
        cuda_kernel_free(d, k);
    if (entered)
        cuda_leave(d);
    return st;
}

void cuda_kernels_free(struct backend_device *d)
{
    struct backend_kernel *k;
    while ((k = (struct backend_kernel *)kernel_map_take(&d->kernels)) != NULL)
        cuda_kernel_free(d, k);
}

/* Pass to a stand-in the memory that the launch may access, operand by
 * operand. */
static void tell_bindings(const struct backend_device *d,
                          const struct launch *l)
{
    struct ssq_standin_range range[LAUNCH_BINDINGS];
    for (uint32_t i = 0; i < l->nbindings; i++) {
        const struct binding *b = &l->binding[i];
        range[i] = (struct ssq_standin_range){
            ((const struct cuda_mem *)b->mem)->address + b->offset, b->bytes,
            (b->access & ACCESS_WRITE) != 0};
    }
    d->calls->standin_bindings(range, l->nbindings);
}

CUresult cuda_launch_on(const struct backend_device *d, CUstream stream,
                        const struct launch *l)
{
    CUdeviceptr address[LAUNCH_BINDINGS];
    uint32_t param[LAUNCH_WORDS];
    void *arguments[LAUNCH_BINDINGS + 1];
    memcpy(param, l->param, l->nwords * sizeof(*param));
    for (uint32_t i = 0; i < l->nbindings; i++) {
        const struct binding *b = &l->binding[i];
        address[i] = ((const struct cuda_mem *)b->mem)->address + b->offset;
        param[i] = 0; /* the offset, which the pointer includes */
        arguments[i] = &address[i];
    }
    arguments[l->nbindings] = param;
    if (d->calls->standin_bindings != NULL)
        tell_bindings(d, l);
    return CU(d, LaunchKernel)(l->code->function, l->groups, 1, 1, CUDA_GROUP,
                               1, 1, 0, stream, arguments, NULL);
}
