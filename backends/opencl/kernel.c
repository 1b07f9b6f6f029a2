/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.c - kernels of a device, compiled once, and their launches.
 *
 * OpenCL keeps arguments in the kernel object, which all queues share: a lock
 * holds them from the first one set to the launch. Compiled kernels go to
 * the disk when the device is closed, not immediately: some drivers finish a
 * program at its first launch. */
#include "backends/opencl/opencl.h"

#include <string.h>

/* A kernel in one variant. */
struct backend_kernel {
    struct kernel_map_entry entry; /* first */
    bool fresh;                    /* compiled, and not on the disk yet */
    cl_program program;
    cl_kernel cl;
    /* lock was made, and wants destroying */
    bool lockable;
    pthread_mutex_t lock; /* of the arguments */
};

/* Also of one of which only a part was made. */
static void opencl_kernel_free(const struct services *core,
                               struct backend_kernel *k)
{
    if (k->cl != NULL)
        (void)CL(ReleaseKernel)(k->cl);
    if (k->program != NULL)
        (void)CL(ReleaseProgram)(k->program);
    if (k->lockable)
        pthread_mutex_destroy(&k->lock);
    core->mem_free(k);
}

/* Compile a kernel in a variant and see that its groups may be as large as all
 * launches take for granted: a kernel that needs many registers may allow less.
 * If this fails, everything created so far is freed with k. */
static ssq_status opencl_kernel_build(struct backend_device *d,
                                      struct backend_kernel *k)
{
    const struct kernel *kernel = k->entry.kernel;
    k->lockable = pthread_mutex_init(&k->lock, NULL) == 0;
    if (!k->lockable)
        return opencl_no_memory(d->core, sizeof(k->lock));
    ssq_status st =
        opencl_program_create(d, kernel, k->entry.key, &k->program, &k->fresh);
    if (st != SSQ_OK)
        return st;
    /* kernels that the self-test compiles have other options afterwards */
    k->fresh = k->fresh && d->settled;
    cl_int e;
    k->cl = CL(CreateKernel)(k->program, kernel->name, &e);
    if (k->cl == NULL)
        return opencl_create_error(d->core, "clCreateKernel", e);
    size_t most = 0;
    e = CL(GetKernelWorkGroupInfo)(k->cl, d->id, CL_KERNEL_WORK_GROUP_SIZE,
                                   sizeof(most), &most, NULL);
    if (e != CL_SUCCESS)
        return opencl_error(d->core, "clGetKernelWorkGroupInfo", e);
    if (most < d->group)
        return d->core->error_set(
            SSQ_ERR_DEVICE,
            "opencl: kernel %s runs in groups of at most %zu work-items here, "
            "of %u expected",
            kernel->name, most, (unsigned)d->group);
    return SSQ_OK;
}

ssq_status opencl_kernel_get(struct backend_device *d,
                             const struct kernel *kernel,
                             const uint8_t key[LAUNCH_KEYS],
                             const struct backend_kernel **code)
{
    bool mine;
    struct backend_kernel *k = (struct backend_kernel *)kernel_map_get(
        &d->kernels, kernel, key, sizeof(*k), &mine);
    if (k == NULL)
        return opencl_no_memory(d->core, sizeof(*k));
    ssq_status st = mine ? opencl_kernel_build(d, k) : SSQ_OK;
    if (mine)
        kernel_map_built(&d->kernels, &k->entry, st == SSQ_OK);
    if (st != SSQ_OK)
        opencl_kernel_free(d->core, k);
    else
        *code = k;
    return st;
}

void opencl_kernels_free(struct backend_device *d)
{
    struct backend_kernel *k;
    while ((k = (struct backend_kernel *)kernel_map_take(&d->kernels)) !=
           NULL) {
        if (k->fresh)
            opencl_program_store(d, k->entry.kernel, k->entry.key, k->program);
        opencl_kernel_free(d->core, k);
    }
}

/* A sub-buffer for an operand that begins where a word of parameters cannot
 * say: from the last place before it where the device lets one begin. *offset
 * is then from there. */
static cl_mem kernel_window(const struct backend_device *d,
                            const struct binding *b, uint64_t *offset,
                            cl_int *error)
{
    uint64_t aligned = b->offset - b->offset % d->sub_align;
    uint64_t rest = b->mem->bytes - aligned;
    cl_buffer_region region = {(size_t)aligned, (size_t)rest};
    *offset -= aligned;
    return CL(CreateSubBuffer)(((const struct opencl_mem *)b->mem)->cl,
                               CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION,
                               &region, error);
}

/* Bind operand i, and say in *place where it begins, in its units. */
static cl_int kernel_bind(const struct backend_device *d, cl_kernel kernel,
                          const struct binding *b, uint32_t i, uint32_t *place,
                          const char **call)
{
    cl_mem mem = ((const struct opencl_mem *)b->mem)->cl, part = NULL;
    uint64_t offset = b->offset;
    cl_int e = CL_SUCCESS;
    /* the kernel adds a place and an index in 32 bits: both below 2^31 */
    if (offset / b->unit >= d->reach) {
        *call = "clCreateSubBuffer";
        part = kernel_window(d, b, &offset, &e);
        if (part == NULL)
            return e;
        mem = part;
    }
    *place = (uint32_t)(offset / b->unit);
    *call = "clSetKernelArg";
    e = CL(SetKernelArg)(kernel, i, sizeof(mem), &mem);
    /* The launch holds a reference to it, and so does the argument until the
     * next launch sets it. */
    if (part != NULL)
        (void)CL(ReleaseMemObject)(part);
    return e;
}

/* Set all arguments of a launch: the operands, then the parameters as one
 * struct. Its first words are the operands' places, which the core left to be
 * filled. *params is the buffer that they are in, for the caller to release
 * after the launch was enqueued, or NULL: a kernel holds no reference. */
static cl_int set_arguments(const struct backend_device *d, cl_kernel kernel,
                            const struct launch *l, cl_mem *params,
                            const char **call)
{
    uint32_t param[LAUNCH_WORDS];
    cl_int e = CL_SUCCESS;
    memcpy(param, l->param, l->nwords * sizeof(*param));
    for (uint32_t i = 0; i < l->nbindings && e == CL_SUCCESS; i++)
        e = kernel_bind(d, kernel, &l->binding[i], i, &param[i], call);
    if (e == CL_SUCCESS && d->params != NULL)
        e = opencl_params_get(d, param, l->nwords, params, call);
    if (e != CL_SUCCESS)
        return e;
    *call = "clSetKernelArg";
    if (d->params != NULL)
        return CL(SetKernelArg)(kernel, l->nbindings, sizeof(*params), params);
    return CL(SetKernelArg)(kernel, l->nbindings, l->nwords * sizeof(*param),
                            param);
}

cl_int opencl_record(const struct backend_device *d,
                     cl_command_buffer_khr buffer, const struct launch *l,
                     cl_kernel *own, cl_mem *params, const char **call)
{
    size_t local = d->group, global = l->groups * local;
    cl_int e;
    *call = "clCreateKernel";
    *own = CL(CreateKernel)(l->code->program, l->code->entry.kernel->name, &e);
    if (*own == NULL)
        return e;
    e = set_arguments(d, *own, l, params, call);
    if (e != CL_SUCCESS)
        return e;
    *call = "clCommandNDRangeKernelKHR";
    return d->record.kernel(buffer, NULL, NULL, *own, 1, NULL, &global, &local,
                            0, NULL, NULL, NULL);
}

/* Enqueue a launch, on as many groups as it says. Other queues' launches of the
 * same kernel wait only until its arguments are set and it is enqueued. */
ssq_status opencl_launch(struct backend_queue *queue,
                         const struct launch *launch)
{
    ssq_status st = opencl_queue_check(queue);
    if (st != SSQ_OK)
        return st;
    const char *call = "";
    cl_event done;
    cl_mem params = NULL;
    /* the table gives kernels out as const: only their lock is written */
    struct backend_kernel *k = (struct backend_kernel *)(uintptr_t)launch->code;
    size_t local = queue->device->group, global = launch->groups * local;
    pthread_mutex_lock(&k->lock);
    cl_int e = set_arguments(queue->device, k->cl, launch, &params, &call);
    if (e == CL_SUCCESS) {
        call = "clEnqueueNDRangeKernel";
        e = CL(EnqueueNDRangeKernel)(queue->cl, k->cl, 1, NULL, &global, &local,
                                     0, NULL, &done);
    }
    pthread_mutex_unlock(&k->lock);
    if (params != NULL)
        (void)CL(ReleaseMemObject)(params);
    if (e != CL_SUCCESS)
        return opencl_queue_fail(queue, call, e);
    opencl_queue_enqueued(queue, done);
    return SSQ_OK;
}
