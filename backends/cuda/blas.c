/* SPDX-License-Identifier: Apache-2.0 */
/* blas.c - finding cuBLASLt.
 *
 * A library that is in the process already comes first, whoever brought it: two
 * of them side by side would each take its own memory of the device. Then what
 * the loader finds, then the wheel "nvidia-cublas" of the Python environment
 * that is active, which no loader knows of. No release is taken that is newer
 * than the driver.
 *
 * A driver that is a stand-in has its own library beside it instead of the
 * loader's: NVIDIA's would find no GPU behind it. */
#define _GNU_SOURCE /* dladdr */
#include "backends/cuda/blas.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "backends/cuda/cuda.h"

/** The releases whose calls are those of blas_api.h. libcublasLt.so without a
 *  number is for linkers. */
static const int releases[] = {13, 12, 11};
#define RELEASES (sizeof(releases) / sizeof(releases[0]))

#define MODE (RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)

/** Where the wheels have it, below an environment's prefix: that of CUDA 13,
 *  and those before. */
static const char *const wheels[] = {
    "lib/python3*/site-packages/nvidia/cu13/lib",
    "lib/python3*/site-packages/nvidia/cublas/lib"};
#define WHEELS (sizeof(wheels) / sizeof(wheels[0]))

/** Variables that name the prefix of an active environment. */
static const char *const prefixes[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
#define PREFIXES (sizeof(prefixes) / sizeof(prefixes[0]))

struct search {
    struct cuda_blas *blas;
    const struct services *core;
    int driver;
};

static void *load(int release, int mode)
{
    char name[32];
    snprintf(name, sizeof(name), "libcublasLt.so.%d", release);
    return dlopen(name, mode);
}

/* In the process already, or by the loader's own ways. */
static void *by_name(const struct search *s, int mode)
{
    void *p = NULL;
    for (size_t i = 0; p == NULL && i < RELEASES; i++)
        if (releases[i] <= s->driver / 1000)
            p = load(releases[i], mode);
    return p;
}

/* A file, if nobody else may write there. */
static void *by_path(const struct search *s, const char *path)
{
    struct why why;
    if (s->core->file_safe(path, &why))
        return dlopen(path, MODE);
    s->core->log_line(SSQ_LOG_WARNING, "cuda", "%s", why.text);
    return NULL;
}

/* In one of the wheels of an environment; the last of several Pythons. */
static void *in_wheel(const struct search *s, const char *prefix,
                      const char *wheel, int release)
{
    char pattern[512];
    glob_t found;
    void *p = NULL;
    int n = snprintf(pattern, sizeof(pattern), "%s/%s/libcublasLt.so.%d",
                     prefix, wheel, release);
    if (n < 0 || (size_t)n >= sizeof(pattern) ||
        glob(pattern, 0, NULL, &found) != 0)
        return NULL;
    for (size_t i = found.gl_pathc; p == NULL && i > 0; i--)
        p = by_path(s, found.gl_pathv[i - 1]);
    globfree(&found);
    return p;
}

static void *in_environment(const struct search *s, const char *prefix)
{
    void *p = NULL;
    for (size_t i = 0; p == NULL && i < RELEASES; i++)
        for (size_t j = 0; p == NULL && j < WHEELS; j++)
            if (releases[i] <= s->driver / 1000)
                p = in_wheel(s, prefix, wheels[j], releases[i]);
    return p;
}

/* The wheels of the environments that are active; a relative prefix is none. */
static void *in_wheels(const struct search *s)
{
    void *p = NULL;
    for (size_t i = 0; p == NULL && i < PREFIXES; i++) {
        const char *prefix = s->core->env_text(prefixes[i]);
        if (prefix != NULL && prefix[0] == '/')
            p = in_environment(s, prefix);
    }
    return p;
}

/* The library of a stand-in, in the directory of its driver. */
static void *beside(const char *driver)
{
    char path[300];
    const char *end = strrchr(driver, '/');
    if (end == NULL)
        return NULL;
    snprintf(path, sizeof(path), "%.*s/libcublasLt.so.13", (int)(end - driver),
             driver);
    return dlopen(path, MODE);
}

/* ISO C has no conversion from an object pointer to a function's; POSIX
 * promises the same representation. */
static bool look_up(struct cuda_blas *b)
{
    static const struct {
        const char *name;
        size_t at;
    } symbols[] = {
#define X(NAME, SYMBOL, ARGS) {#SYMBOL, offsetof(struct cuda_blas, NAME)},
        BLAS_CALLS(X)
#undef X
    };
    Dl_info info;
    void *p = NULL;
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        p = dlsym(b->library, symbols[i].name);
        if (p == NULL)
            return cuda_refuse(&b->why, "libcublasLt has no %s",
                               symbols[i].name);
        memcpy((char *)b + symbols[i].at, &p, sizeof(p));
    }
    bool known = dladdr(p, &info) != 0 && info.dli_fname != NULL;
    snprintf(b->path, sizeof(b->path), "%s",
             known ? info.dli_fname : "libcublasLt");
    return true;
}

static void find(const struct search *s, const struct cuda_calls *driver)
{
    struct cuda_blas *b = s->blas;
    if (driver->standin_bindings != NULL)
        b->library = beside(driver->path);
    else
        b->library = by_name(s, MODE | RTLD_NOLOAD);
    if (b->library == NULL && driver->standin_bindings == NULL)
        b->library = by_name(s, MODE);
    if (b->library == NULL)
        b->library = in_wheels(s);
    if (b->library == NULL)
        (void)cuda_refuse(&b->why,
                          "no libcublasLt.so of CUDA %d or before was found",
                          s->driver / 1000);
    else if (!look_up(b))
        b->library = NULL;
}

bool cuda_blas_have(struct cuda_blas *b, const struct services *core,
                    const struct cuda_calls *driver_calls, int driver)
{
    const struct search s = {b, core, driver};
    pthread_mutex_lock(&b->lock);
    if (!b->sought) {
        find(&s, driver_calls);
        b->sought = true;
    }
    pthread_mutex_unlock(&b->lock);
    return b->library != NULL;
}

const char *cuda_blas_status(cublasStatus_t status)
{
    switch (status) {
    case CUBLAS_STATUS_SUCCESS:
        return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
        return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
        return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
        return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
        return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_EXECUTION_FAILED:
        return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
        return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
        return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
        return "an error of cuBLAS without a name here";
    }
}
