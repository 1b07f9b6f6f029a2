/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c - finds NCCL, its version and its symbols.
 *
 * If the process has already loaded an NCCL, that one is used: two copies would
 * not know each other's communicators. The version is checked first, because it
 * determines the ABI of all other symbols. */
#define _GNU_SOURCE /* dladdr */
#include "comms/nccl/calls.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "libnccl.so.2"
#define DRIVER  "libcuda.so.1"
#define MODE    (RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)

/** 2.14: the first version with non-blocking communicators. It has all calls
 *  that are used here. */
#define LEAST 21400

typedef ncclResult_t (*version_fn)(int *version);

struct nccl_calls_symbol {
    const char *name;
    size_t at; /* in struct nccl_calls */
};

#define X(NAME, ANSWER, ARGS) {#NAME, offsetof(struct nccl_calls, NAME)},
static const struct nccl_calls_symbol nccl[] = {NCCL_CALLS(X){NULL, 0}};
#undef X
#define X(NAME, SYMBOL, ARGS) {#SYMBOL, offsetof(struct nccl_calls, NAME)},
static const struct nccl_calls_symbol driver[] = {
    NCCL_DRIVER_CALLS(X){NULL, 0}};
#undef X

/* Look up symbols and store them in calls. Returns the first missing name, or
 * NULL. ISO C cannot convert an object pointer to a function pointer; POSIX
 * guarantees the same representation. */
static const char *calls_look_up(void *library,
                                 const struct nccl_calls_symbol *s,
                                 struct nccl_calls *calls)
{
    for (; s->name != NULL; s++) {
        void *p = dlsym(library, s->name);
        if (p == NULL)
            return s->name;
        memcpy((char *)calls + s->at, &p, sizeof(p));
    }
    return NULL;
}

/* 2804 is 2.8.4, and 20906 is 2.9.6: the encoding changed with 2.9. */
static const char *version_words(int version, char *text, size_t bytes)
{
    int scale = version < 10000 ? 1000 : 10000;
    (void)snprintf(text, bytes, "%d.%d.%d", version / scale,
                   version % scale / 100, version % 100);
    return text;
}

static ssq_status check_version(const struct services *services, void *library,
                                const char *path, int *version)
{
    version_fn get;
    char text[48];
    void *p = dlsym(library, "ncclGetVersion");
    if (p == NULL)
        return services->error_set(SSQ_ERR_UNSUPPORTED,
                                   "nccl: %s has no ncclGetVersion", path);
    memcpy(&get, &p, sizeof(get));
    if (get(version) != ncclSuccess)
        return services->error_set(
            SSQ_ERR_UNSUPPORTED, "nccl: %s does not report its version", path);
    if (*version >= LEAST && *version < 30000)
        return SSQ_OK;
    return services->error_set(
        SSQ_ERR_UNSUPPORTED, "nccl: %s is NCCL %s: 2.14 or later of 2.x is %s",
        path, version_words(*version, text, sizeof(text)),
        *version < LEAST ? "needed" : "known");
}

static void *open_nccl(void)
{
    void *p = dlopen(LIBRARY, MODE | RTLD_NOLOAD);
    return p != NULL ? p : dlopen(LIBRARY, MODE);
}

/* Set path to the file from which NCCL was loaded, or to LIBRARY if it is
 * unknown. */
static void calls_path_of(void *library, char *path, size_t bytes)
{
    Dl_info info;
    void *p = dlsym(library, "ncclGetVersion");
    bool known = p != NULL && dladdr(p, &info) != 0 && info.dli_fname != NULL;
    (void)snprintf(path, bytes, "%.200s", known ? info.dli_fname : LIBRARY);
}

ssq_status nccl_calls_open(const struct services *services,
                           struct nccl_calls *calls)
{
    char path[256];
    void *library = open_nccl();
    if (library == NULL)
        return services->error_set(SSQ_ERR_UNSUPPORTED, "nccl: no NCCL: %s",
                                   dlerror());
    calls_path_of(library, path, sizeof(path));
    ssq_status st = check_version(services, library, path, &calls->version);
    if (st != SSQ_OK)
        return st;
    const char *missing = calls_look_up(library, nccl, calls);
    if (missing != NULL)
        return services->error_set(SSQ_ERR_UNSUPPORTED, "nccl: %s has no %s",
                                   path, missing);
    library = dlopen(DRIVER, MODE);
    if (library == NULL)
        return services->error_set(SSQ_ERR_UNSUPPORTED,
                                   "nccl: no NVIDIA driver: %s", dlerror());
    missing = calls_look_up(library, driver, calls);
    return missing == NULL
               ? SSQ_OK
               : services->error_set(SSQ_ERR_UNSUPPORTED,
                                     "nccl: the driver has no %s", missing);
}
