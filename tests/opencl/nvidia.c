/* SPDX-License-Identifier: Apache-2.0 */
/* nvidia.c - an OpenCL driver that says it is NVIDIA's, for LD_PRELOAD: PoCL,
 * but that gemm_mma is compiled to PTX by clang, as OpenCL C for nvptx64, and
 * that the interpreter runs it.
 *
 * It proves the text, the backend's calls and the self-test; nothing of
 * NVIDIA's compiler or hardware. NVIDIA_CAPABILITY is the compute capability
 * (80), NVIDIA_LOCAL the bytes of local memory (49152); NVIDIA_LACKS=query is
 * a driver without that extension, NVIDIA_LACKS=asm one whose compiler does not
 * know the instructions. FAKECUDA_MMA=half and its like are wrong tensor
 * cores, and NVIDIA_SAY has a line written for each launch. */
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
/* these declarations are visible outside in every build */
#pragma GCC visibility push(default)
#include <CL/cl.h>
#include <CL/cl_ext.h>
#pragma GCC visibility pop

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fakecuda/ptx/ptx.h"

#define BUFFERS 8
#define ITEMS   256

/* The loader's own function. */
static void *real(const char *name)
{
    void *loader = dlopen("libOpenCL.so.1", RTLD_NOW);
    void *f = loader == NULL ? NULL : dlsym(loader, name);

    if (f == NULL) {
        fprintf(stderr, "nvidia: no %s: %s\n", name, dlerror());
        abort();
    }
    return f;
}
#define REAL(NAME) ((__typeof__(&NAME))(uintptr_t)real(#NAME))

/* The stand-in for a program and its kernel, which is not PoCL's object. */
struct nvidia_program {
    char *source, *ptx, log[2048];
    struct ptx_module *module;
};
struct nvidia_kernel {
    struct nvidia_program *program;
    struct ptx_entry *entry;
    cl_mem buffer[BUFFERS];
    unsigned char param[256];
    size_t param_bytes;
};

/* Objects that are ours: PoCL's may not be looked into. */
static struct {
    pthread_mutex_t lock;
    const void *object[256];
} ours = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void replace(const void *from, const void *to)
{
    pthread_mutex_lock(&ours.lock);
    for (size_t i = 0; i < 256; i++)
        if (ours.object[i] == from) {
            ours.object[i] = to;
            break;
        }
    pthread_mutex_unlock(&ours.lock);
}

static bool is_ours(const void *object)
{
    bool found = false;

    pthread_mutex_lock(&ours.lock);
    for (size_t i = 0; i < 256; i++)
        found = found || (object != NULL && ours.object[i] == object);
    pthread_mutex_unlock(&ours.lock);
    return found;
}

static unsigned setting(const char *name, unsigned otherwise)
{
    const char *said = getenv(name);

    return said == NULL ? otherwise : (unsigned)strtoul(said, NULL, 10);
}

static bool lacks(const char *what)
{
    const char *said = getenv("NVIDIA_LACKS");

    return said != NULL && strcmp(said, what) == 0;
}

/* ---- the device ---- */

static cl_int answer(const void *what, size_t n, size_t bytes, void *value,
                     size_t *written)
{
    if (value != NULL && bytes < n)
        return CL_INVALID_VALUE;
    if (value != NULL)
        memcpy(value, what, n);
    if (written != NULL)
        *written = n;
    return CL_SUCCESS;
}

static cl_int extensions(cl_device_id d, size_t bytes, void *value,
                         size_t *written)
{
    char list[4096];
    size_t n = 0;
    cl_int e = REAL(clGetDeviceInfo)(d, CL_DEVICE_EXTENSIONS,
                                     sizeof(list) - 100, list, &n);

    if (e != CL_SUCCESS)
        return e;
    snprintf(list + strlen(list), 100, " cl_nv_compiler_options%s",
             lacks("query") ? "" : " cl_nv_device_attribute_query");
    return answer(list, strlen(list) + 1, bytes, value, written);
}

cl_int clGetDeviceInfo(cl_device_id d, cl_device_info what, size_t bytes,
                       void *value, size_t *written)
{
    cl_uint capability = setting("NVIDIA_CAPABILITY", 80), n = 0;
    cl_device_type type = CL_DEVICE_TYPE_GPU;
    cl_ulong local = setting("NVIDIA_LOCAL", 49152);

    switch (what) {
    case CL_DEVICE_TYPE:
        return answer(&type, sizeof(type), bytes, value, written);
    case CL_DEVICE_LOCAL_MEM_SIZE:
        return answer(&local, sizeof(local), bytes, value, written);
    case CL_DEVICE_EXTENSIONS:
        return extensions(d, bytes, value, written);
    case CL_DEVICE_VENDOR_ID:
        n = 0x10de;
        break;
    case CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV:
        n = capability / 10;
        break;
    case CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV:
        n = capability % 10;
        break;
    default:
        return REAL(clGetDeviceInfo)(d, what, bytes, value, written);
    }
    return answer(&n, sizeof(n), bytes, value, written);
}

/* Command buffers are PoCL's, and would not know our kernels. */
void *clGetExtensionFunctionAddressForPlatform(cl_platform_id p,
                                               const char *name)
{
    return strstr(name, "CommandBuffer") != NULL
               ? NULL
               : REAL(clGetExtensionFunctionAddressForPlatform)(p, name);
}

/* ---- programs ---- */

static cl_program program_of(char *source, char *ptx)
{
    struct nvidia_program *p = calloc(1, sizeof(*p));

    p->source = source;
    p->ptx = ptx;
    replace(NULL, p);
    return (cl_program)p;
}

cl_program clCreateProgramWithSource(cl_context c, cl_uint n, const char **text,
                                     const size_t *lengths, cl_int *error)
{
    size_t bytes = 1;
    char *source;

    if (strstr(text[n - 1], "MMA_KERNEL(gemm_mma,") == NULL)
        return REAL(clCreateProgramWithSource)(c, n, text, lengths, error);
    for (cl_uint i = 0; i < n; i++)
        bytes += strlen(text[i]);
    source = calloc(1, bytes);
    for (cl_uint i = 0; i < n; i++)
        strcat(source, text[i]);
    *error = CL_SUCCESS;
    return program_of(source, NULL);
}

cl_program clCreateProgramWithBinary(cl_context c, cl_uint n,
                                     const cl_device_id *d, const size_t *bytes,
                                     const unsigned char **binary,
                                     cl_int *status, cl_int *error)
{
    char *ptx;

    if (bytes[0] < 2 || memcmp(binary[0], "//", 2) != 0)
        return REAL(clCreateProgramWithBinary)(c, n, d, bytes, binary, status,
                                               error);
    ptx = calloc(1, bytes[0] + 1);
    memcpy(ptx, binary[0], bytes[0]);
    *error = CL_SUCCESS;
    return program_of(NULL, ptx);
}

/* A file's text, which the caller frees. */
static char *text_of(const char *path)
{
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1u << 20);
    size_t n = f == NULL ? 0 : fread(text, 1, (1u << 20) - 1, f);

    if (f != NULL)
        fclose(f);
    text[n] = '\0';
    return text;
}

/* The options that clang knows; the others are NVIDIA's own, or ask for
 * functions of halves, which no compiler has that brings no library. */
static void options_of(const char *options, char *text, size_t bytes)
{
    char all[1024], *rest = NULL;
    size_t n = 0;

    snprintf(all, sizeof(all), "%s", options);
    for (char *w = strtok_r(all, " ", &rest); w != NULL;
         w = strtok_r(NULL, " ", &rest))
        if (strncmp(w, "-cl-nv-", 7) != 0 &&
            strncmp(w, "-DNATIVE_HALF_", 14) != 0)
            n += (size_t)snprintf(text + n, bytes - n, " %s", w);
}

/* What tests/opencl/nvidia.cl says NVIDIA's compiler has, and clang has not. */
static bool compile(struct nvidia_program *p, const char *options)
{
    char dir[] = "/tmp/nvidia-XXXXXX", command[2048], known[1024], path[64];
    bool old = setting("NVIDIA_CAPABILITY", 80) < 80;
    const char *clang = getenv("NVIDIA_CLANG"), *header = getenv("NVIDIA_H");
    FILE *f;
    int failed;

    if (clang == NULL || header == NULL || mkdtemp(dir) == NULL)
        return false;
    snprintf(path, sizeof(path), "%s/x.cl", dir);
    f = fopen(path, "w");
    fputs(p->source, f);
    fclose(f);
    options_of(options, known, sizeof(known));
    snprintf(command, sizeof(command),
             "cd %s && %s -x cl -target nvptx64-nvidia-nvcl -Xclang "
             "-target-cpu -Xclang sm_%s -Xclang -target-feature -Xclang "
             "+ptx%s -Xclang -fdeclare-opencl-builtins -include %s -O3 "
             "-ffp-contract=off %s -S -o x.ptx%s x.cl >log 2>&1",
             dir, clang, old ? "75" : "80", old ? "65" : "70", header,
             lacks("asm") ? "-D__asm__=missing" : "", known);
    failed = system(command);
    snprintf(path, sizeof(path), "%s/log", dir);
    char *log = text_of(path);
    snprintf(p->log, sizeof(p->log), "%s", log);
    free(log);
    snprintf(path, sizeof(path), "%s/x.ptx", dir);
    p->ptx = text_of(path);
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    return system(command) == 0 && failed == 0;
}

cl_int clBuildProgram(cl_program program, cl_uint n, const cl_device_id *d,
                      const char *options,
                      void(CL_CALLBACK *notify)(cl_program, void *), void *user)
{
    struct nvidia_program *p = (struct nvidia_program *)program;

    if (!is_ours(program)) {
        char quick[1024];

        /* PoCL takes a minute over groups of 256 where it optimises */
        snprintf(quick, sizeof(quick), "%s -cl-opt-disable", options);
        return REAL(clBuildProgram)(program, n, d, quick, notify, user);
    }
    if (strstr(options, " -cl-nv-maxrregcount=") == NULL)
        snprintf(p->log, sizeof(p->log), "no bound of registers");
    else if (p->ptx != NULL || compile(p, options))
        p->module = ptx_load(p->ptx, p->log, sizeof(p->log));
    return p->module != NULL ? CL_SUCCESS : CL_BUILD_PROGRAM_FAILURE;
}

cl_int clGetProgramBuildInfo(cl_program program, cl_device_id d,
                             cl_program_build_info what, size_t bytes,
                             void *value, size_t *written)
{
    const struct nvidia_program *p = (const struct nvidia_program *)program;

    if (!is_ours(program))
        return REAL(clGetProgramBuildInfo)(program, d, what, bytes, value,
                                           written);
    return answer(p->log, strlen(p->log) + 1, bytes, value, written);
}

cl_int clGetProgramInfo(cl_program program, cl_program_info what, size_t bytes,
                        void *value, size_t *written)
{
    const struct nvidia_program *p = (const struct nvidia_program *)program;
    size_t n;

    if (!is_ours(program))
        return REAL(clGetProgramInfo)(program, what, bytes, value, written);
    n = strlen(p->ptx);
    if (what == CL_PROGRAM_BINARY_SIZES)
        return answer(&n, sizeof(n), bytes, value, written);
    memcpy(*(unsigned char **)value, p->ptx, n);
    return CL_SUCCESS;
}

cl_int clReleaseProgram(cl_program program)
{
    struct nvidia_program *p = (struct nvidia_program *)program;

    if (!is_ours(program))
        return REAL(clReleaseProgram)(program);
    replace(p, NULL);
    ptx_unload(p->module);
    free(p->source);
    free(p->ptx);
    free(p);
    return CL_SUCCESS;
}

/* ---- kernels ---- */

cl_kernel clCreateKernel(cl_program program, const char *name, cl_int *error)
{
    struct nvidia_program *p = (struct nvidia_program *)program;
    struct nvidia_kernel *k;
    char why[512] = "";

    if (!is_ours(program))
        return REAL(clCreateKernel)(program, name, error);
    k = calloc(1, sizeof(*k));
    k->program = p;
    k->entry = ptx_find(p->module, name, why, sizeof(why));
    if (k->entry == NULL) {
        fprintf(stderr, "nvidia: %s: %s\n", name, why);
        free(k);
        *error = CL_INVALID_KERNEL_NAME;
        return NULL;
    }
    replace(NULL, k);
    *error = CL_SUCCESS;
    return (cl_kernel)k;
}

cl_int clReleaseKernel(cl_kernel kernel)
{
    if (!is_ours(kernel))
        return REAL(clReleaseKernel)(kernel);
    replace(kernel, NULL);
    free(kernel);
    return CL_SUCCESS;
}

cl_int clGetKernelWorkGroupInfo(cl_kernel kernel, cl_device_id d,
                                cl_kernel_work_group_info what, size_t bytes,
                                void *value, size_t *written)
{
    size_t most = ITEMS;

    if (!is_ours(kernel))
        return REAL(clGetKernelWorkGroupInfo)(kernel, d, what, bytes, value,
                                              written);
    return answer(&most, sizeof(most), bytes, value, written);
}

cl_int clSetKernelArg(cl_kernel kernel, cl_uint i, size_t bytes,
                      const void *value)
{
    struct nvidia_kernel *k = (struct nvidia_kernel *)kernel;

    if (!is_ours(kernel))
        return REAL(clSetKernelArg)(kernel, i, bytes, value);
    if (i < BUFFERS && bytes == sizeof(cl_mem)) {
        memcpy(&k->buffer[i], value, sizeof(cl_mem));
    } else if (i == BUFFERS && bytes <= sizeof(k->param)) {
        memcpy(k->param, value, bytes);
        k->param_bytes = bytes;
    } else {
        return CL_INVALID_ARG_INDEX;
    }
    return CL_SUCCESS;
}

/* ---- launches ---- */

static void set_fault(void)
{
    const char *said = getenv("FAKECUDA_MMA");

    ptx_mma_wrong = said == NULL                  ? PTX_MMA_RIGHT
                    : strcmp(said, "half") == 0   ? PTX_MMA_HALF
                    : strcmp(said, "turned") == 0 ? PTX_MMA_TURNED
                                                  : PTX_MMA_TAIL;
}

/* Run the kernel over PoCL's memory, which is the host's. */
static bool interpret(const struct nvidia_kernel *k, void *const *host,
                      size_t groups)
{
    const struct ptx_shape *shape = ptx_entry_shape(k->entry);
    struct ptx_range range[BUFFERS];
    unsigned char param[1024] = {0};
    char why[512] = "";
    struct ptx_launch l = {.groups = (uint32_t)groups,
                           .items = ITEMS,
                           .param = param,
                           .param_bytes = shape->param_bytes,
                           .range = range,
                           .nrange = BUFFERS};

    if (shape->nparams != BUFFERS + 1 || shape->param_bytes > sizeof(param) ||
        shape->param[BUFFERS].bytes != k->param_bytes)
        return false;
    for (int i = 0; i < BUFFERS; i++) {
        uint64_t address = (uintptr_t)host[i];
        size_t bytes = 0;

        REAL(clGetMemObjectInfo)
        (k->buffer[i], CL_MEM_SIZE, sizeof(bytes), &bytes, NULL);
        /* of memory that is bound twice the first range holds: d's */
        range[i] = (struct ptx_range){address, bytes, i < 2, NULL};
        memcpy(param + shape->param[i].at, &address, sizeof(address));
    }
    memcpy(param + shape->param[BUFFERS].at, k->param, k->param_bytes);
    set_fault();
    if (getenv("NVIDIA_SAY") != NULL)
        fprintf(stderr, "nvidia: gemm_mma, %zu groups\n", groups);
    if (ptx_run(k->entry, &l, why, sizeof(why)))
        return true;
    fprintf(stderr, "nvidia: %s\n", why);
    return false;
}

static pthread_mutex_t running = PTHREAD_MUTEX_INITIALIZER;

cl_int clEnqueueNDRangeKernel(cl_command_queue q, cl_kernel kernel, cl_uint n,
                              const size_t *offset, const size_t *global,
                              const size_t *local, cl_uint nwait,
                              const cl_event *wait, cl_event *event)
{
    const struct nvidia_kernel *k = (const struct nvidia_kernel *)kernel;
    void *host[BUFFERS] = {NULL};
    bool ok = true;
    cl_int e;

    if (!is_ours(kernel))
        return REAL(clEnqueueNDRangeKernel)(q, kernel, n, offset, global, local,
                                            nwait, wait, event);
    if (n != 1 || offset != NULL || nwait != 0 || local == NULL ||
        local[0] != ITEMS || global[0] % ITEMS != 0)
        return CL_INVALID_WORK_GROUP_SIZE;
    for (int i = 0; i < BUFFERS && ok; i++) {
        size_t bytes = 0;

        REAL(clGetMemObjectInfo)
        (k->buffer[i], CL_MEM_SIZE, sizeof(bytes), &bytes, NULL);
        host[i] = REAL(clEnqueueMapBuffer)(q, k->buffer[i], CL_TRUE,
                                           CL_MAP_READ | CL_MAP_WRITE, 0, bytes,
                                           0, NULL, NULL, &e);
        ok = e == CL_SUCCESS;
    }
    pthread_mutex_lock(&running);
    ok = ok && interpret(k, host, global[0] / ITEMS);
    pthread_mutex_unlock(&running);
    for (int i = 0; i < BUFFERS; i++)
        if (host[i] != NULL)
            REAL(clEnqueueUnmapMemObject)
    (q, k->buffer[i], host[i], 0, NULL, NULL);
    e = REAL(clEnqueueMarkerWithWaitList)(q, 0, NULL, event);
    return ok ? e : CL_OUT_OF_RESOURCES;
}
