/* SPDX-License-Identifier: Apache-2.0 */
/* clblast.c - products of float32 by CLBlast, on the first device of the first
 * OpenCL platform that has one; operands stay there. It has no bf16, and its
 * f16 sums in f16. */
#include "bench/peers/peer.h"

#include <dlfcn.h>
#include <stdlib.h>

/* The declarations of cl.h and clblast_c.h. */
#define ALL_DEVICES 0xffffffffu
#define READ_WRITE  1u
#define COPY_HOST   32u
#define ROW_MAJOR   101
#define NO_TRANS    111
#define PLATFORMS   8

static int (*platforms)(unsigned n, void **platform, unsigned *found);
static int (*devices)(void *platform, uint64_t type, unsigned n, void **device,
                      unsigned *found);
static void *(*context_create)(const intptr_t *properties, unsigned n,
                               void *const *device, void *notify, void *user,
                               int *status);
static void *(*queue_create)(void *context, void *device, uint64_t properties,
                             int *status);
static void *(*buffer_create)(void *context, uint64_t flags, size_t bytes,
                              void *host, int *status);
static int (*buffer_release)(void *buffer);
static int (*finish)(void *queue);
static int (*sgemm)(int layout, int trans_a, int trans_b, size_t m, size_t n,
                    size_t k, float alpha, void *a, size_t a_off, size_t lda,
                    void *b, size_t b_off, size_t ldb, float beta, void *d,
                    size_t d_off, size_t ldd, void **queue, void **event);

static const struct {
    const char *name;
    void *place;
} functions[] = {
    {"clGetPlatformIDs", &platforms},
    {"clGetDeviceIDs", &devices},
    {"clCreateContext", &context_create},
    {"clCreateCommandQueue", &queue_create},
    {"clCreateBuffer", &buffer_create},
    {"clReleaseMemObject", &buffer_release},
    {"clFinish", &finish},
    {"CLBlastSgemm", &sgemm},
};

static void *context, *queue;

/* Platforms without devices exist. */
static const char *open_device(void)
{
    void *platform[PLATFORMS], *device = NULL;
    unsigned n = 0, found = 0;
    int status = -1;
    if (platforms(PLATFORMS, platform, &n) != 0)
        return "no OpenCL platform";
    for (unsigned i = 0; i < n && i < PLATFORMS && device == NULL; i++)
        if (devices(platform[i], ALL_DEVICES, 1, &device, &found) != 0 ||
            found == 0)
            device = NULL;
    if (device == NULL)
        return "no OpenCL device";
    context = context_create(NULL, 1, &device, NULL, NULL, &status);
    if (status == 0)
        queue = queue_create(context, device, 0, &status);
    return status == 0 ? NULL : "no queue";
}

static const char *load(int threads)
{
    static const char *const blas[] = {"libclblast.so.1", NULL};
    static const char *const opencl[] = {"libOpenCL.so.1", NULL};
    (void)threads; /* the driver's own matter */
    void *cl = peer_load("PEER_OPENCL", opencl);
    void *library = peer_load("PEER_CLBLAST", blas);
    if (cl == NULL || library == NULL)
        return "no libclblast.so.1, or no OpenCL";
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *f = dlsym(cl, functions[i].name);
        if (f == NULL)
            f = dlsym(library, functions[i].name);
        if (f == NULL)
            return "a library without its functions";
        *(void **)functions[i].place = f;
    }
    return open_device();
}

static void drop(struct peer_gemm *g)
{
    void **buffer = g->state;
    for (int i = 0; buffer != NULL && i < 3; i++)
        if (buffer[i] != NULL)
            buffer_release(buffer[i]);
    free(buffer);
}

static const char *make(struct peer_gemm *g)
{
    void *const host[3] = {g->a, g->b, g->d};
    const int64_t n[3] = {g->m * g->k, g->k * g->n, g->m * g->n};
    void **buffer = calloc(3, sizeof(*buffer));
    int status = 0;
    g->state = buffer;
    if (buffer == NULL)
        return "no memory";
    if (g->dtype != PEER_F32)
        return "float32 alone";
    for (int i = 0; i < 3 && status == 0; i++)
        buffer[i] = buffer_create(context, READ_WRITE | COPY_HOST,
                                  (size_t)(g->batch * n[i]) * sizeof(float),
                                  host[i], &status);
    return status == 0 ? NULL : "no buffers";
}

static bool run(struct peer_gemm *g)
{
    void *const *buffer = g->state;
    const size_t m = (size_t)g->m, n = (size_t)g->n, k = (size_t)g->k;
    int status = 0;
    for (size_t i = 0; i < (size_t)g->batch && status == 0; i++)
        status = sgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, 1.0f, buffer[0],
                       i * m * k, k, buffer[1], i * k * n, n, 0.0f, buffer[2],
                       i * m * n, n, &queue, NULL);
    return status == 0 && finish(queue) == 0;
}

int main(int argc, char **argv)
{
    const struct peer p = {.name = "clblast",
                           .open = load,
                           .make = make,
                           .run = run,
                           .drop = drop};
    return peer_main(argc, argv, &p);
}
