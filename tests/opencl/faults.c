/* SPDX-License-Identifier: Apache-2.0 */
/* faults.c - a training program in which the Nth OpenCL call fails, for every
 * N. */

#include "backends/opencl/calls.h"
#include "tests/api/faults.h"
#include "tests/core/driver.h"

static struct opencl_calls cl;

#define REAL(NAME) cl.NAME

/* Calls that ask, set or wait. */
#define ASKS(NAME, PARAMS, ARGS)                                               \
    static cl_int fake##NAME PARAMS                                            \
    {                                                                          \
        return faults_next("cl" #NAME) ? CL_OUT_OF_RESOURCES                   \
                                       : REAL(NAME) ARGS;                      \
    }
ASKS(GetPlatformInfo,
     (cl_platform_id p, cl_platform_info w, size_t n, void *v, size_t *r),
     (p, w, n, v, r))
ASKS(GetContextInfo,
     (cl_context c, cl_context_info w, size_t n, void *v, size_t *r),
     (c, w, n, v, r))
ASKS(GetCommandQueueInfo,
     (cl_command_queue q, cl_command_queue_info w, size_t n, void *v,
      size_t *r),
     (q, w, n, v, r))
ASKS(GetMemObjectInfo, (cl_mem m, cl_mem_info w, size_t n, void *v, size_t *r),
     (m, w, n, v, r))
ASKS(GetDeviceInfo,
     (cl_device_id d, cl_device_info w, size_t n, void *v, size_t *r),
     (d, w, n, v, r))
ASKS(BuildProgram,
     (cl_program p, cl_uint n, const cl_device_id *d, const char *o,
      void (*f)(cl_program, void *), void *u),
     (p, n, d, o, f, u))
ASKS(GetProgramBuildInfo,
     (cl_program p, cl_device_id d, cl_program_build_info w, size_t n, void *v,
      size_t *r),
     (p, d, w, n, v, r))
ASKS(GetProgramInfo,
     (cl_program p, cl_program_info w, size_t n, void *v, size_t *r),
     (p, w, n, v, r))
ASKS(GetKernelWorkGroupInfo,
     (cl_kernel k, cl_device_id d, cl_kernel_work_group_info w, size_t n,
      void *v, size_t *r),
     (k, d, w, n, v, r))
ASKS(SetKernelArg, (cl_kernel k, cl_uint i, size_t n, const void *v),
     (k, i, n, v))
ASKS(GetEventInfo, (cl_event e, cl_event_info w, size_t n, void *v, size_t *r),
     (e, w, n, v, r))
ASKS(GetEventProfilingInfo,
     (cl_event e, cl_profiling_info w, size_t n, void *v, size_t *r),
     (e, w, n, v, r))
ASKS(WaitForEvents, (cl_uint n, const cl_event *e), (n, e))
ASKS(Flush, (cl_command_queue q), (q))
ASKS(Finish, (cl_command_queue q), (q))

/* Calls that create, with a pointer to their error last. */
#define CREATES(TYPE, NAME, PARAMS, ARGS)                                      \
    static TYPE fake##NAME PARAMS                                              \
    {                                                                          \
        TYPE made = NULL;                                                      \
        if (faults_next("cl" #NAME))                                           \
            *error = CL_OUT_OF_RESOURCES;                                      \
        else                                                                   \
            made = REAL(NAME) ARGS;                                            \
        fault.live += made != NULL;                                            \
        return made;                                                           \
    }
CREATES(cl_context, CreateContext,
        (const cl_context_properties *w, cl_uint n, const cl_device_id *d,
         void (*f)(const char *, const void *, size_t, void *), void *u,
         cl_int *error),
        (w, n, d, f, u, error))
CREATES(cl_command_queue, CreateCommandQueue,
        (cl_context c, cl_device_id d, cl_command_queue_properties w,
         cl_int *error),
        (c, d, w, error))
CREATES(cl_mem, CreateBuffer,
        (cl_context c, cl_mem_flags f, size_t n, void *h, cl_int *error),
        (c, f, n, h, error))
CREATES(cl_mem, CreateSubBuffer,
        (cl_mem m, cl_mem_flags f, cl_buffer_create_type t, const void *r,
         cl_int *error),
        (m, f, t, r, error))
CREATES(cl_program, CreateProgramWithSource,
        (cl_context c, cl_uint n, const char **s, const size_t *b,
         cl_int *error),
        (c, n, s, b, error))
CREATES(cl_program, CreateProgramWithBinary,
        (cl_context c, cl_uint n, const cl_device_id *d, const size_t *b,
         const unsigned char **s, cl_int *st, cl_int *error),
        (c, n, d, b, s, st, error))
CREATES(cl_kernel, CreateKernel, (cl_program p, const char *n, cl_int *error),
        (p, n, error))

/* Calls that enqueue: an event that they hand out is an object too. */
#define ENQUEUES(NAME, PARAMS, ARGS)                                           \
    static cl_int fake##NAME PARAMS                                            \
    {                                                                          \
        if (faults_next("cl" #NAME))                                           \
            return CL_OUT_OF_RESOURCES;                                        \
        cl_int error = REAL(NAME) ARGS;                                        \
        fault.live += error == CL_SUCCESS && event != NULL;                    \
        return error;                                                          \
    }
ENQUEUES(EnqueueNDRangeKernel,
         (cl_command_queue q, cl_kernel k, cl_uint n, const size_t *o,
          const size_t *g, const size_t *l, cl_uint w, const cl_event *e,
          cl_event *event),
         (q, k, n, o, g, l, w, e, event))
ENQUEUES(EnqueueReadBuffer,
         (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t n, void *h,
          cl_uint w, const cl_event *e, cl_event *event),
         (q, m, b, o, n, h, w, e, event))
ENQUEUES(EnqueueWriteBuffer,
         (cl_command_queue q, cl_mem m, cl_bool b, size_t o, size_t n,
          const void *h, cl_uint w, const cl_event *e, cl_event *event),
         (q, m, b, o, n, h, w, e, event))
ENQUEUES(EnqueueMarkerWithWaitList,
         (cl_command_queue q, cl_uint w, const cl_event *e, cl_event *event),
         (q, w, e, event))
ENQUEUES(EnqueueBarrierWithWaitList,
         (cl_command_queue q, cl_uint w, const cl_event *e, cl_event *event),
         (q, w, e, event))

/* Calls that count references: they do not fail, or nothing could be. */
#define RETAINS(TYPE, NAME)                                                    \
    static cl_int fake##NAME(TYPE object)                                      \
    {                                                                          \
        fault.live++;                                                          \
        return REAL(NAME)(object);                                             \
    }
RETAINS(cl_context, RetainContext)
RETAINS(cl_command_queue, RetainCommandQueue)
RETAINS(cl_mem, RetainMemObject)
#define RELEASES(TYPE, NAME)                                                   \
    static cl_int fake##NAME(TYPE object)                                      \
    {                                                                          \
        fault.live--;                                                          \
        return REAL(NAME)(object);                                             \
    }
RELEASES(cl_context, ReleaseContext)
RELEASES(cl_command_queue, ReleaseCommandQueue)
RELEASES(cl_mem, ReleaseMemObject)
RELEASES(cl_program, ReleaseProgram)
RELEASES(cl_kernel, ReleaseKernel)
RELEASES(cl_event, ReleaseEvent)

/* The calls of cl_khr_command_buffer, which the driver hands out by name. */
static struct {
    clCreateCommandBufferKHR_fn CreateCommandBufferKHR;
    clFinalizeCommandBufferKHR_fn FinalizeCommandBufferKHR;
    clReleaseCommandBufferKHR_fn ReleaseCommandBufferKHR;
    clEnqueueCommandBufferKHR_fn EnqueueCommandBufferKHR;
    clCommandNDRangeKernelKHR_fn CommandNDRangeKernelKHR;
} khr;
#undef REAL
#define REAL(NAME) khr.NAME
CREATES(cl_command_buffer_khr, CreateCommandBufferKHR,
        (cl_uint n, const cl_command_queue *q,
         const cl_command_buffer_properties_khr *w, cl_int *error),
        (n, q, w, error))
ASKS(FinalizeCommandBufferKHR, (cl_command_buffer_khr b), (b))
ASKS(CommandNDRangeKernelKHR,
     (cl_command_buffer_khr b, cl_command_queue q, const cl_properties *w,
      cl_kernel k, cl_uint n, const size_t *o, const size_t *g, const size_t *l,
      cl_uint s, const cl_sync_point_khr *a, cl_sync_point_khr *p,
      cl_mutable_command_khr *m),
     (b, q, w, k, n, o, g, l, s, a, p, m))
ENQUEUES(EnqueueCommandBufferKHR,
         (cl_uint n, cl_command_queue *q, cl_command_buffer_khr b, cl_uint w,
          const cl_event *e, cl_event *event),
         (n, q, b, w, e, event))
RELEASES(cl_command_buffer_khr, ReleaseCommandBufferKHR)

/* ISO C has no conversion between pointers to objects and to functions. */
#define STAND_IN(NAME)                                                         \
    if (strcmp(name, "cl" #NAME) == 0) {                                       \
        cl##NAME##_fn fake = fake##NAME;                                       \
        memcpy(&khr.NAME, &real, sizeof(real));                                \
        memcpy(&real, &fake, sizeof(real));                                    \
    }
static void *fake_by_name(cl_platform_id platform, const char *name)
{
    void *real = cl.GetExtensionFunctionAddressForPlatform(platform, name);
    if (real == NULL || faults_next("clGetExtensionFunctionAddressForPlatform"))
        return NULL;
    STAND_IN(CreateCommandBufferKHR)
    STAND_IN(FinalizeCommandBufferKHR)
    STAND_IN(ReleaseCommandBufferKHR)
    STAND_IN(EnqueueCommandBufferKHR)
    STAND_IN(CommandNDRangeKernelKHR)
    return real;
}

/* Put the above in the module's table, once it is loaded. */
static void stand_between(void)
{
    struct opencl_calls *table = driver_symbol("opencl", "ssq_opencl_calls");

    cl = *table;
    *table = (struct opencl_calls){
        .GetPlatformIDs = cl.GetPlatformIDs,
        .GetPlatformInfo = fakeGetPlatformInfo,
        .GetDeviceIDs = cl.GetDeviceIDs,
        .GetDeviceInfo = fakeGetDeviceInfo,
        .GetExtensionFunctionAddressForPlatform = fake_by_name,
        .CreateContext = fakeCreateContext,
        .RetainContext = fakeRetainContext,
        .GetContextInfo = fakeGetContextInfo,
        .RetainCommandQueue = fakeRetainCommandQueue,
        .GetCommandQueueInfo = fakeGetCommandQueueInfo,
        .RetainMemObject = fakeRetainMemObject,
        .GetMemObjectInfo = fakeGetMemObjectInfo,
        .ReleaseContext = fakeReleaseContext,
        .CreateCommandQueue = fakeCreateCommandQueue,
        .ReleaseCommandQueue = fakeReleaseCommandQueue,
        .CreateBuffer = fakeCreateBuffer,
        .CreateSubBuffer = fakeCreateSubBuffer,
        .ReleaseMemObject = fakeReleaseMemObject,
        .CreateProgramWithSource = fakeCreateProgramWithSource,
        .CreateProgramWithBinary = fakeCreateProgramWithBinary,
        .BuildProgram = fakeBuildProgram,
        .GetProgramBuildInfo = fakeGetProgramBuildInfo,
        .GetProgramInfo = fakeGetProgramInfo,
        .ReleaseProgram = fakeReleaseProgram,
        .CreateKernel = fakeCreateKernel,
        .GetKernelWorkGroupInfo = fakeGetKernelWorkGroupInfo,
        .SetKernelArg = fakeSetKernelArg,
        .ReleaseKernel = fakeReleaseKernel,
        .EnqueueNDRangeKernel = fakeEnqueueNDRangeKernel,
        .EnqueueReadBuffer = fakeEnqueueReadBuffer,
        .EnqueueWriteBuffer = fakeEnqueueWriteBuffer,
        .EnqueueMarkerWithWaitList = fakeEnqueueMarkerWithWaitList,
        .EnqueueBarrierWithWaitList = fakeEnqueueBarrierWithWaitList,
        .GetEventInfo = fakeGetEventInfo,
        .GetEventProfilingInfo = fakeGetEventProfilingInfo,
        .WaitForEvents = fakeWaitForEvents,
        .ReleaseEvent = fakeReleaseEvent,
        .Flush = fakeFlush,
        .Finish = fakeFinish,
    };
    const void *slot[sizeof(cl) / sizeof(void *)];
    memcpy(slot, table, sizeof(*table));
    for (size_t i = 0; i < sizeof(slot) / sizeof(slot[0]); i++)
        if (slot[i] == NULL)
            tap_bail("call %zu of the table is not stood in for", i);
}

static bool told(const char *text)
{
    return core_has(text, "opencl: ") && core_has(text, "(-5)");
}

static const struct faults_of calls = {.device = "opencl:0",
                                       .what = "calls",
                                       .told = told,
                                       .dense = LONG_MAX,
                                       .told_share = 4};

int main(void)
{
    const char *tmp = getenv("TMPDIR");
    char dir[256], command[300];
    ssq_device *dev = NULL;

    if (driver_missing("opencl"))
        return tap_done(0);
    /* programs come from the disk, or the test would take half an hour */
    snprintf(dir, sizeof(dir), "%s/sesqui-faults-XXXXXX",
             tmp == NULL ? "/tmp" : tmp);
    if (mkdtemp(dir) == NULL)
        tap_bail("no directory %s", dir);
    setenv("XDG_CACHE_HOME", dir, 1);
    unsetenv("SSQ_CACHE");
    unsetenv("SSQ_CACHE_PROGRAMS");
    stand_between();
    faults_sweep(&calls, "open, first multiplication", NULL, 0,
                 stages_find("gemm: logits"));
    NEED(ssq_device_open("opencl:0", NULL, &dev));
    faults_sweep(&calls, "training", dev, 1, TRAINING_STAGES);
    ssq_device_close(&dev);
    tap_ok(fault.live == 0, "no object is left in the end, but %ld",
           fault.live);
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    if (system(command) != 0)
        tap_diag("cannot remove %s", dir);
    return tap_done(11);
}
