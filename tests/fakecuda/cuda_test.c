/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_test.c - the behaviour of the stand-in for libcuda: everything
 * documented works, asynchronously, and what is not is refused. */
#include "tests/fakecuda/driver/fakecuda.h"
#include "tests/tap.h"

#include <pthread.h>

/* y[i] = x[i] + x[i] of n items; spin: waits until *flag is not 0. */
static const char text[] =
    ".version 6.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry twice(.param .u64 x, .param .u64 y, .param .u32 n)\n"
    ".maxntid 64, 1, 1\n{\n"
    ".reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<6>; .reg .f32 %f<3>;\n"
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n"
    "mad.lo.s32 %r4, %r1, %r2, %r3; ld.param.u32 %r5, [n];\n"
    "setp.ge.u32 %p1, %r4, %r5; @%p1 bra DONE;\n"
    "ld.param.u64 %rd1, [x]; ld.param.u64 %rd2, [y];\n"
    "mul.wide.u32 %rd3, %r4, 4; add.s64 %rd4, %rd1, %rd3;\n"
    "add.s64 %rd5, %rd2, %rd3;\n"
    "ld.global.f32 %f1, [%rd4]; add.rn.f32 %f2, %f1, %f1;\n"
    "st.global.f32 [%rd5], %f2;\nDONE:\nret;\n}\n";

static CUcontext ctx;
static CUmodule module;
static CUfunction twice;

/* A callback that holds its stream until it is opened. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool open;
    CUresult inside;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};

static void hold(void *data)
{
    int n;

    (void)data;
    gate.inside = cuDeviceGetCount(&n);
    pthread_mutex_lock(&gate.lock);
    while (!gate.open)
        pthread_cond_wait(&gate.moved, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

static void set_gate(bool open)
{
    pthread_mutex_lock(&gate.lock);
    gate.open = open;
    pthread_cond_broadcast(&gate.moved);
    pthread_mutex_unlock(&gate.lock);
}

static CUresult launch(CUdeviceptr x, CUdeviceptr y, unsigned n, CUstream s)
{
    void *params[] = {&x, &y, &n};

    return cuLaunchKernel(twice, (n + 63) / 64, 1, 1, 64, 1, 1, 0, s, params,
                          NULL);
}

static bool refused(CUresult e, CUresult expected, const char *what)
{
    char why[512];

    fakecuda_refused(why, sizeof(why));
    return tap_ok(e == expected, "%s is refused with %d, was %d: %s", what,
                  expected, e, why);
}

static void open_device(void)
{
    CUdevice device;
    char name[128];
    CUfunction other;

    tap_ok(cuDeviceGetCount(&(int){0}) == CUDA_ERROR_NOT_INITIALIZED,
           "before cuInit nothing works");
    tap_ok(cuInit(0) == CUDA_SUCCESS && cuDeviceGet(&device, 0) == 0,
           "cuInit, cuDeviceGet");
    tap_ok(cuDeviceGet(&device, 1) == CUDA_ERROR_INVALID_DEVICE,
           "there is no second device");
    cuDeviceGetName(name, sizeof(name), 0);
    tap_ok(strstr(name, "NOT A GPU") != NULL, "the name says it: %s", name);
    refused(cuMemAlloc_v2(&(CUdeviceptr){0}, 4), CUDA_ERROR_INVALID_CONTEXT,
            "memory without a context");
    tap_ok(cuDevicePrimaryCtxRetain(&ctx, 0) == 0 &&
               cuCtxPushCurrent_v2(ctx) == 0,
           "the primary context is current");
    tap_ok(cuModuleLoadDataEx(&module, text, 0, NULL, NULL) == 0 &&
               cuModuleGetFunction(&twice, module, "twice") == 0,
           "a module is loaded and has its function");
    tap_ok(cuModuleGetFunction(&other, module, "thrice") ==
               CUDA_ERROR_NOT_FOUND,
           "and no other");
}

static void test_modules(void)
{
    static const struct {
        const char *text;
        CUresult result;
        const char *what;
    } bad[] = {{".version 9.9\n.target sm_70\n",
                CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "PTX of a newer driver"},
               {".version 6.0\n.target sm_90\n", CUDA_ERROR_NO_BINARY_FOR_GPU,
                "PTX of a newer device"},
               {"\177ELF", CUDA_ERROR_NO_BINARY_FOR_GPU, "a cubin"},
               {".version 6.0\n.target sm_70\n.address_size 64\n"
                ".visible .entry e()\n{\n.reg .f32 %f<4>;\n"
                "add.f32 %f1, %f2, %f3;\nret;\n}\n",
                CUDA_ERROR_INVALID_PTX, "add.f32 without .rn"}};
    char log[256] = "";
    int options[] = {CU_JIT_ERROR_LOG_BUFFER,
                     CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof(log)};
    CUmodule m;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        refused(cuModuleLoadDataEx(&m, bad[i].text, 2, options, values),
                bad[i].result, bad[i].what);
    tap_ok(strstr(log, "line 7 \"add.f32 %f1, %f2, %f3;\"") != NULL,
           "the log names line and instruction: %s", log);
}

static void test_launch(void)
{
    float *host, back[100];
    CUdeviceptr x, y;
    CUstream s;
    bool same = true;

    cuMemHostAlloc((void **)&host, sizeof(back), 0);
    cuMemAlloc_v2(&x, sizeof(back));
    cuMemAlloc_v2(&y, sizeof(back));
    cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
    set_gate(false);
    cuLaunchHostFunc(s, hold, NULL);
    cuMemcpyHtoDAsync_v2(x, host, sizeof(back), s);
    tap_ok(launch(x, y, 100, s) == CUDA_SUCCESS, "a launch");
    tap_ok(cuStreamQuery(s) == CUDA_ERROR_NOT_READY,
           "the stream waits for its callback");
    for (int i = 0; i < 100; i++)
        host[i] = (float)i; /* read when its turn has come */
    refused(cuMemFreeHost(host), CUDA_ERROR_INVALID_VALUE,
            "freeing what a copy will read");
    refused(cuModuleUnload(module), CUDA_ERROR_INVALID_VALUE,
            "unloading what runs");
    set_gate(true);
    tap_ok(cuMemcpyDtoHAsync_v2(back, y, sizeof(back), s) == CUDA_SUCCESS,
           "a copy to pageable memory waits");
    for (int i = 0; i < 100; i++)
        same = same && back[i] == 2 * (float)i;
    tap_ok(same, "every item did its work");
    tap_ok(gate.inside == CUDA_ERROR_NOT_PERMITTED,
           "a callback may not call the driver");
    cuStreamSynchronize(s);
    tap_ok(cuMemFree_v2(x) == 0 && cuMemFree_v2(y) == 0 &&
               cuMemFreeHost(host) == 0 && cuStreamDestroy_v2(s) == 0,
           "all is given back");
    refused(cuMemFree_v2(x), CUDA_ERROR_INVALID_VALUE, "a double free");
    refused(cuStreamSynchronize(s), CUDA_ERROR_INVALID_HANDLE,
            "a destroyed stream");
}

static void test_arguments(void)
{
    CUdeviceptr x;
    unsigned n = 1;
    void *params[] = {&x, NULL, &n};

    cuMemAlloc_v2(&x, 256);
    refused(cuLaunchKernel(twice, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL),
            CUDA_ERROR_INVALID_VALUE, "a parameter that is NULL");
    params[1] = &x;
    refused(cuLaunchKernel(twice, 1, 1, 1, 128, 1, 1, 0, NULL, params, NULL),
            CUDA_ERROR_INVALID_VALUE, "more items than .maxntid");
    refused(cuLaunchKernel(twice, 0, 1, 1, 64, 1, 1, 0, NULL, params, NULL),
            CUDA_ERROR_INVALID_VALUE, "no groups");
    refused(cuLaunchKernel(twice, 1, 2, 1, 64, 1, 1, 0, NULL, params, NULL),
            CUDA_ERROR_INVALID_VALUE, "a second dimension");
    refused(cuMemcpyDtoHAsync_v2(&n, x + 254, 4, NULL),
            CUDA_ERROR_INVALID_VALUE, "a copy of more than there is");
    cuMemFree_v2(x);
}

static void test_events(void)
{
    CUstream a, b;
    CUevent begin, end;
    CUdeviceptr x;
    float ms = -1;

    cuStreamCreate(&a, CU_STREAM_NON_BLOCKING);
    cuStreamCreate(&b, CU_STREAM_NON_BLOCKING);
    cuEventCreate(&begin, 0);
    cuEventCreate(&end, 0);
    tap_ok(cuEventQuery(begin) == CUDA_SUCCESS,
           "an event that was never recorded is done");
    cuMemAllocAsync(&x, 256, a);
    set_gate(false);
    cuLaunchHostFunc(a, hold, NULL);
    cuMemsetD8Async(x, 0, 256, a);
    cuEventRecord(begin, a);
    cuStreamWaitEvent(b, begin, 0);
    tap_ok(launch(x, x, 64, b) == 0 && cuEventRecord(end, b) == 0 &&
               cuEventQuery(end) == CUDA_ERROR_NOT_READY,
           "a stream waits for another's event");
    tap_ok(cuEventElapsedTime(&ms, begin, end) == CUDA_ERROR_NOT_READY,
           "there is no time between them yet");
    set_gate(true);
    tap_ok(cuEventSynchronize(end) == 0 &&
               cuEventElapsedTime(&ms, begin, end) == 0 && ms >= 0,
           "then there is");
    tap_ok(cuMemFreeAsync(x, b) == 0, "memory is freed in a stream's order");
    refused(cuMemFreeAsync(x, b), CUDA_ERROR_INVALID_VALUE, "a second time");
    cuStreamSynchronize(a);
    cuStreamSynchronize(b);
    cuEventDestroy_v2(begin);
    refused(cuEventQuery(begin), CUDA_ERROR_INVALID_HANDLE,
            "a destroyed event");
    cuEventDestroy_v2(end);
    cuStreamDestroy_v2(a);
    cuStreamDestroy_v2(b);
}

static void test_graph(void)
{
    CUstream s;
    CUgraph g = NULL;
    CUgraphExec x;
    CUdeviceptr p;
    unsigned char back[256];
    int status = -1;

    cuMemAlloc_v2(&p, sizeof(back));
    cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
    tap_ok(cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) ==
               CUDA_SUCCESS,
           "a capture");
    tap_ok(cuMemsetD8Async(p, 7, 256, s) == 0 &&
               cuStreamIsCapturing(s, &status) == 0 &&
               status == CU_STREAM_CAPTURE_STATUS_ACTIVE,
           "of a fill, which does not run");
    tap_ok(cuStreamEndCapture(s, &g) == 0 &&
               cuGraphInstantiateWithFlags(&x, g, 0) == 0 &&
               cuGraphDestroy(g) == 0,
           "becomes a graph");
    cuMemcpyDtoHAsync_v2(back, p, sizeof(back), s);
    tap_ok(back[0] == 0xff, "fresh memory is full of ones");
    tap_ok(cuGraphLaunch(x, s) == 0 &&
               cuMemcpyDtoHAsync_v2(back, p, sizeof(back), s) == 0 &&
               back[0] == 7 && back[255] == 7,
           "that does it when it is launched");
    tap_ok(cuGraphExecDestroy(x) == 0, "and goes");
    refused(cuGraphLaunch(x, s), CUDA_ERROR_INVALID_HANDLE,
            "a destroyed graph");
    cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    refused(cuMemFree_v2(p), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
            "freeing in a capture");
    tap_ok(cuStreamEndCapture(s, &g) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
           "which spoils it");
    cuMemFree_v2(p);
    cuStreamDestroy_v2(s);
}

static void test_faults(void)
{
    CUdeviceptr p = 0;

    fakecuda_fail("cuMemAlloc_v2", 2, CUDA_ERROR_OUT_OF_MEMORY);
    tap_ok(cuMemAlloc_v2(&p, 16) == 0 && cuMemFree_v2(p) == 0,
           "the first of two calls goes");
    tap_ok(cuMemAlloc_v2(&p, 16) == CUDA_ERROR_OUT_OF_MEMORY,
           "the second fails as it was told to");
    fakecuda_fail("*", 1, CUDA_ERROR_UNKNOWN);
    tap_ok(cuCtxSynchronize() == CUDA_ERROR_UNKNOWN &&
               cuCtxSynchronize() == CUDA_SUCCESS,
           "any call can be the one that fails");
    tap_ok(cuMemAlloc_v2(&p, (size_t)1 << 40) == CUDA_ERROR_OUT_OF_MEMORY,
           "memory has an end");
}

/* The last: the context is lost. */
static void test_sticky(void)
{
    struct ssq_standin_range r[2];
    CUdeviceptr x, y;
    CUcontext again;
    char why[512];

    cuMemAlloc_v2(&x, 256);
    cuMemAlloc_v2(&y, 256);
    r[0] = (struct ssq_standin_range){x, 256, 0};
    r[1] = (struct ssq_standin_range){y, 252, 1};
    ssq_standin_bindings(r, 2);
    tap_ok(launch(x, y, 63, NULL) == 0 && cuCtxSynchronize() == 0,
           "a launch within its bindings");
    ssq_standin_bindings(r, 2);
    tap_ok(launch(x, y, 64, NULL) == CUDA_SUCCESS,
           "one that will leave them is accepted");
    tap_ok(cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS, "and fails later");
    fakecuda_refused(why, sizeof(why));
    tap_ok(strstr(why, "st.global.f32") != NULL && strstr(why, "item 63"),
           "the text says where: %s", why);
    tap_ok(cuMemFree_v2(x) == CUDA_ERROR_ILLEGAL_ADDRESS,
           "the error stays for all that follows");
    cuCtxPopCurrent_v2(NULL);
    tap_ok(cuDevicePrimaryCtxRelease_v2(0) == 0 && fakecuda_live() == 0,
           "what is left goes with the context");
    refused(cuCtxPushCurrent_v2(ctx), CUDA_ERROR_INVALID_CONTEXT,
            "a context that was destroyed");
    tap_ok(cuDevicePrimaryCtxRetain(&again, 0) == 0 &&
               cuCtxPushCurrent_v2(again) == 0 && cuCtxSynchronize() == 0,
           "a new one works");
    fakecuda_break(0, CUDA_ERROR_ECC_UNCORRECTABLE);
    tap_ok(cuCtxSynchronize() == CUDA_ERROR_ECC_UNCORRECTABLE,
           "until its memory breaks");
    cuCtxPopCurrent_v2(NULL);
    cuDevicePrimaryCtxRelease_v2(0);
}

int main(void)
{
    void *fn;
    int status;

    setenv("FAKECUDA_QUIET", "1", 1);
    setenv("FAKECUDA_HIDE", "cuMemAllocAsync", 1);
    open_device();
    tap_ok(cuGetProcAddress_v2("cuMemAlloc", &fn, 12000, 0, &status) == 0,
           "a call is found by its name");
    tap_ok(cuGetProcAddress_v2("cuMemAllocAsync", &fn, 12000, 0, &status) ==
               CUDA_ERROR_NOT_FOUND,
           "a hidden one is not");
    test_modules();
    test_launch();
    test_arguments();
    test_events();
    test_graph();
    test_faults();
    test_sticky();
    return tap_done(50);
}
