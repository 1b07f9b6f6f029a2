/* SPDX-License-Identifier: Apache-2.0 */
/* blas.c - find and load cuBLASLt.
 *
 * The order of the search:
 *
 * - a library that the process has already loaded. Two copies would each
 *   allocate device memory.
 * - the loader's search path
 * - the wheel "nvidia-cublas" of the active Python environment, which no loader
 *   searches
 *
 * A release that is newer than the driver is not used.
 *
 * A stand-in for the driver has its own library, in the same directory. It is
 * used instead of the loader's: NVIDIA's library would not find a GPU. */
#define _GNU_SOURCE /* dladdr */
#include "backends/cuda/blas.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "backends/cuda/cuda.h"

/** Releases that have the calls in blas_api.h. libcublasLt.so without a number
 *  is for linkers. */
static const int releases[] = {13, 12, 11};
#define RELEASES (sizeof(releases) / sizeof(releases[0]))

#define MODE (RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)

/** Directories of the library in the wheels, below an environment's prefix: of
 *  CUDA 13, and of earlier releases. */
static const char *const wheels[] = {
    "lib/python3*/site-packages/nvidia/cu13/lib",
    "lib/python3*/site-packages/nvidia/cublas/lib"};
#define WHEELS (sizeof(wheels) / sizeof(wheels[0]))

/** Variables that name the prefix of an active environment. */
static const char *const prefixes[] = {"VIRTUAL_ENV", "CONDA_PREFIX"};
#define PREFIXES (sizeof(prefixes) / sizeof(prefixes[0]))

struct blas_search {
    struct cuda_blas *blas;
    const struct services *core;
    int driver;
};

static void *blas_load(int release, int mode)
{
    char name[32];
    snprintf(name, sizeof(name), "libcublasLt.so.%d", release);
    return dlopen(name, mode);
}

/* Load the newest release that the driver supports, by its name. With
 * RTLD_NOLOAD in mode, return only a library that the process has already
 * loaded. */
static void *blas_by_name(const struct blas_search *s, int mode)
{
    void *p = NULL;
    for (size_t i = 0; p == NULL && i < RELEASES; i++)
        if (releases[i] <= s->driver / 1000)
            p = blas_load(releases[i], mode);
    return p;
}

/* Load a file, unless every user may replace it. */
static void *by_path(const struct blas_search *s, const char *path)
{
    struct why why;
    if (s->core->file_safe(path, &why))
        return dlopen(path, MODE);
    s->core->log_line(SSQ_LOG_WARNING, "cuda", "%s", why.text);
    return NULL;
}

/* Load the library from a wheel of an environment. If there are several
 * Pythons, the last in alphabetical order is tried first. */
static void *in_wheel(const struct blas_search *s, const char *prefix,
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

static void *in_environment(const struct blas_search *s, const char *prefix)
{
    void *p = NULL;
    for (size_t i = 0; p == NULL && i < RELEASES; i++)
        for (size_t j = 0; p == NULL && j < WHEELS; j++)
            if (releases[i] <= s->driver / 1000)
                p = in_wheel(s, prefix, wheels[j], releases[i]);
    return p;
}

/* Search the wheels of the active environments. A prefix that is not absolute
 * is ignored. */
static void *in_wheels(const struct blas_search *s)
{
    void *p = NULL;
    for (size_t i = 0; p == NULL && i < PREFIXES; i++) {
        const char *prefix = s->core->env_text(prefixes[i]);
        if (prefix != NULL && prefix[0] == '/')
            p = in_environment(s, prefix);
    }
    return p;
}

/* Load the library of a stand-in, from the directory of its driver. */
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

/* Look up all calls of the library. ISO C cannot convert an object pointer to a
 * function pointer; POSIX guarantees that their representations are equal. */
static bool blas_look_up(struct cuda_blas *b)
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

static void blas_find(const struct blas_search *s,
                      const struct cuda_calls *driver)
{
    struct cuda_blas *b = s->blas;
    if (driver->standin_bindings != NULL)
        b->library = beside(driver->path);
    else
        b->library = blas_by_name(s, MODE | RTLD_NOLOAD);
    if (b->library == NULL && driver->standin_bindings == NULL)
        b->library = blas_by_name(s, MODE);
    if (b->library == NULL)
        b->library = in_wheels(s);
    if (b->library == NULL)
        (void)cuda_refuse(&b->why,
                          "no libcublasLt.so of CUDA %d or before was found",
                          s->driver / 1000);
    else if (!blas_look_up(b))
        b->library = NULL;
}

bool cuda_blas_have(struct cuda_blas *b, const struct services *core,
                    const struct cuda_calls *driver_calls, int driver)
{
    const struct blas_search s = {b, core, driver};
    pthread_mutex_lock(&b->lock);
    if (!b->sought) {
        blas_find(&s, driver_calls);
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
