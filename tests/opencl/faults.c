/* SPDX-License-Identifier: Apache-2.0 */
/* faults.c - a training program in which the Nth OpenCL call fails, for every
 * N.
 *
 * The call that needs it answers SSQ_ERR_DEVICE or SSQ_ERR_NOMEM with the name
 * of the OpenCL call, or does without it and ends with the same loss. A queue
 * that failed stays as it is. Afterwards everything can be destroyed, and all
 * OpenCL objects are released. */

#include <dlfcn.h>

#include "backends/opencl/calls.h"
#include "tests/api/training.h"
#include "tests/opencl/opencl.h"

static struct {
    struct opencl_calls real;
    long calls;
    long fail_at;       /* which call fails; 0 none */
    const char *failed; /* its name, when it did */
    long live;          /* objects created, less those released */
} cl;

/* Does this call fail? */
static bool fails(const char *name)
{
    if (++cl.calls != cl.fail_at)
        return false;
    cl.failed = name;
    return true;
}

#define REAL(NAME) cl.real.NAME

/* Calls that ask, set or wait. */
#define ASKS(NAME, PARAMS, ARGS)                                               \
    static cl_int fake##NAME PARAMS                                            \
    {                                                                          \
        return fails("cl" #NAME) ? CL_OUT_OF_RESOURCES : REAL(NAME) ARGS;      \
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
        if (fails("cl" #NAME))                                                 \
            *error = CL_OUT_OF_RESOURCES;                                      \
        else                                                                   \
            made = REAL(NAME) ARGS;                                            \
        cl.live += made != NULL;                                               \
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
        if (fails("cl" #NAME))                                                 \
            return CL_OUT_OF_RESOURCES;                                        \
        cl_int error = REAL(NAME) ARGS;                                        \
        cl.live += error == CL_SUCCESS && event != NULL;                       \
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
        cl.live++;                                                             \
        return REAL(NAME)(object);                                             \
    }
RETAINS(cl_context, RetainContext)
RETAINS(cl_command_queue, RetainCommandQueue)
RETAINS(cl_mem, RetainMemObject)
#define RELEASES(TYPE, NAME)                                                   \
    static cl_int fake##NAME(TYPE object)                                      \
    {                                                                          \
        cl.live--;                                                             \
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
     (cl_command_buffer_khr b, cl_command_queue q,
      const cl_ndrange_kernel_command_properties_khr *w, cl_kernel k, cl_uint n,
      const size_t *o, const size_t *g, const size_t *l, cl_uint s,
      const cl_sync_point_khr *a, cl_sync_point_khr *p,
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
    void *real = cl.real.GetExtensionFunctionAddressForPlatform(platform, name);
    if (real == NULL || fails("clGetExtensionFunctionAddressForPlatform"))
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
    char path[600];
    const char *dir = getenv("SSQ_MODULE_PATH");

    NEED(ssq_device_count() > 0 ? SSQ_OK : SSQ_ERR_DEVICE);
    snprintf(path, sizeof(path), "%s/opencl.so", dir == NULL ? "." : dir);
    void *module = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    struct opencl_calls *table =
        module == NULL ? NULL : dlsym(module, "ssq_opencl_calls");
    if (table == NULL)
        tap_bail("no table of calls in %s", path);
    cl.real = *table;
    *table = (struct opencl_calls){
        .GetPlatformIDs = cl.real.GetPlatformIDs,
        .GetPlatformInfo = fakeGetPlatformInfo,
        .GetDeviceIDs = cl.real.GetDeviceIDs,
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
    const void *slot[sizeof(cl.real) / sizeof(void *)];
    memcpy(slot, table, sizeof(*table));
    for (size_t i = 0; i < sizeof(slot) / sizeof(slot[0]); i++)
        if (slot[i] == NULL)
            tap_bail("call %zu of the table is not stood in for", i);
}

/* What was wrong, in all trials of a test. */
struct faults {
    long refused, status, text, sticky, result, leak;
};

/* A failed call: does it say so, and does its queue remember? */
static void judge(struct training *p, size_t stage, ssq_status st,
                  struct faults *f)
{
    char text[1100];
    const char *name = training_stages[stage].name;

    f->refused++;
    snprintf(text, sizeof(text), "%s", ssq_last_error());
    if (cl.failed == NULL || (st != SSQ_ERR_DEVICE && st != SSQ_ERR_NOMEM)) {
        f->status++;
        tap_diag("call %ld (%s), %s: %s: %s", cl.fail_at, cl.failed, name,
                 ssq_status_name(st), text);
    }
    if (!core_has(text, "opencl: ") || !core_has(text, "(-5)")) {
        f->text++;
        tap_diag("call %ld (%s), %s: \"%s\"", cl.fail_at, cl.failed, name,
                 text);
    }
    ssq_status now = p->q == NULL ? SSQ_OK : ssq_queue_sync(p->q);
    if (now != SSQ_OK && now != SSQ_ERR_INVALID &&
        (now != SSQ_ERR_DEVICE || ssq_queue_sync(p->q) != now)) {
        f->sticky++;
        tap_diag("call %ld (%s), %s: sync: %s: %s", cl.fail_at, cl.failed, name,
                 ssq_status_name(now), ssq_last_error());
    }
}

/* Stages first .. end - 1, until one fails. */
static bool run(struct training *p, size_t first, size_t end, struct faults *f)
{
    for (size_t i = first; i < end; i++) {
        ssq_status st = training_stages[i].run(p);

        if (st == SSQ_ERR_NOT_READY)
            continue;
        if (st != SSQ_OK) {
            judge(p, i, st, f);
            return false;
        }
    }
    return true;
}

/* With everything new: from the device on, or on a device that is there. */
static void close_all(struct training *p, ssq_device *shared)
{
    if (shared != NULL)
        p->dev = NULL;
    training_close(p);
    if (shared != NULL)
        ssq_device_trim(shared);
}

static size_t stage_named(const char *name)
{
    for (size_t i = 0; i < TRAINING_STAGES; i++)
        if (strcmp(training_stages[i].name, name) == 0)
            return i;
    tap_bail("no stage %s", name);
    return 0;
}

/* The Nth call of stages first .. end - 1 fails, for all N. */
static void sweep(const char *what, ssq_device *shared, size_t first,
                  size_t end)
{
    struct training p = {.name = "opencl:0", .dev = shared};
    struct faults f = {0};
    long n = 0;

    cl.fail_at = 0;
    if (!run(&p, first, end, &f))
        tap_bail("%s: %s", what, ssq_last_error());
    const float loss = p.loss;
    close_all(&p, shared);
    const long live = cl.live;
    do {
        p = (struct training){.name = "opencl:0", .dev = shared};
        cl.calls = 0;
        cl.failed = NULL;
        cl.fail_at = ++n;
        bool done = run(&p, first, end, &f);
        if (done && (memcmp(&p.loss, &loss, sizeof(loss)) != 0)) {
            f.result++;
            tap_diag("call %ld (%s): loss %g, not %g", n, cl.failed,
                     (double)p.loss, (double)loss);
        }
        close_all(&p, shared);
        if (cl.live != live) {
            f.leak++;
            tap_diag("call %ld (%s): %ld objects are left", n, cl.failed,
                     cl.live - live);
            cl.live = live;
        }
    } while (cl.failed != NULL);
    cl.fail_at = 0;
    tap_ok(f.refused > n / 4, "%s: %ld calls failed, %ld were told of", what,
           n - 1, f.refused);
    tap_ok(f.status == 0 && f.text == 0,
           "%s: as device or memory errors that name the call, but %ld and %ld",
           what, f.status, f.text);
    tap_ok(f.sticky == 0, "%s: queues that failed stay so, but %ld", what,
           f.sticky);
    tap_ok(f.result == 0, "%s: the others end with the same loss, but %ld",
           what, f.result);
    tap_ok(f.leak == 0, "%s: everything is released, but %ld times", what,
           f.leak);
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");
    char dir[256], command[300];
    ssq_device *dev = NULL;

    if (opencl_missing())
        return tap_done(0);
    /* programs come from the disk, or the test would take half an hour */
    snprintf(dir, sizeof(dir), "%s/sesqui-faults-XXXXXX",
             tmp == NULL ? "/tmp" : tmp);
    if (mkdtemp(dir) == NULL)
        tap_bail("no directory %s", dir);
    setenv("XDG_CACHE_HOME", dir, 1);
    unsetenv("SSQ_CACHE");
    stand_between();
    sweep("open, first multiplication", NULL, 0, stage_named("gemm: logits"));
    NEED(ssq_device_open("opencl:0", NULL, &dev));
    sweep("training", dev, 1, TRAINING_STAGES);
    ssq_device_close(&dev);
    tap_ok(cl.live == 0, "no object is left in the end, but %ld", cl.live);
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    if (system(command) != 0)
        tap_diag("cannot remove %s", dir);
    return tap_done(11);
}
