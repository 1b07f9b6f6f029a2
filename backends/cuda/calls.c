/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c - find the driver's library and its symbols. */
#define _GNU_SOURCE /* dladdr */
#include "backends/cuda/calls.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/** The library's name since CUDA 1. libcuda.so is for linkers: it may be the
 *  stub of a toolkit, whose calls all return an error. */
#define LIBRARY "libcuda.so.1"

struct calls_symbol {
    const char *name;
    size_t at; /* offset in struct cuda_calls */
};

#define X(NAME, SYMBOL, ARGS) {#SYMBOL, offsetof(struct cuda_calls, NAME)},
static const struct calls_symbol base[] = {CUDA_BASE_CALLS(X){NULL, 0}};
static const struct calls_symbol pools[] = {CUDA_POOL_CALLS(X){NULL, 0}};
static const struct calls_symbol graphs[] = {CUDA_GRAPH_CALLS(X){NULL, 0}};
static const struct calls_symbol native[] = {CUDA_NATIVE_CALLS(X){NULL, 0}};
static const struct calls_symbol external[] = {CUDA_EXTERNAL_CALLS(X){NULL, 0}};
#undef X

static const struct {
    const struct calls_symbol *symbols;
    const char *since; /* for messages: a CUDA version that has them all */
} groups[CUDA_GROUPS] = {
    [CUDA_BASE] = {base, "11.8"},         [CUDA_POOLS] = {pools, "11.2"},
    [CUDA_GRAPHS] = {graphs, "11.4"},     [CUDA_NATIVE] = {native, "11.2"},
    [CUDA_EXTERNAL] = {external, "11.2"},
};

/* Look up a symbol, and store its address at offset `at`. ISO C cannot convert
 * an object pointer to a function pointer; POSIX guarantees that their
 * representations are equal. */
static bool cuda_calls_find(struct cuda_calls *c, const char *name, size_t at)
{
    void *p = dlsym(c->library, name);
    memcpy((char *)c + at, &p, sizeof(p));
    return p != NULL;
}

/* Look up a group, up to the first symbol that is missing. The caller must hold
 * c->lock. */
static void cuda_calls_look_up(struct cuda_calls *c, enum cuda_group group)
{
    const struct calls_symbol *s = groups[group].symbols;
    while (s->name != NULL && cuda_calls_find(c, s->name, s->at))
        s++;
    c->missing[group] = s->name;
    c->state[group] = s->name == NULL ? 1 : 2;
}

bool cuda_calls_have(struct cuda_calls *c, enum cuda_group group,
                     struct why *why)
{
    pthread_mutex_lock(&c->lock);
    if (c->state[group] == 0)
        cuda_calls_look_up(c, group);
    bool there = c->state[group] == 1;
    pthread_mutex_unlock(&c->lock);
    return there
               ? true
               : cuda_refuse(
                     why, "%.160s has no %s: a driver of CUDA %s or later has",
                     c->path, c->missing[group], groups[group].since);
}

/* Store the path from which the loader took the library. `sesqui devices --why`
 * shows it, because a process may load an unexpected driver. */
static void note_path(struct cuda_calls *c)
{
    Dl_info info;
    union {
        CUresult (*call)(unsigned);
        void *address;
    } init = {c->Init};
    bool known = dladdr(init.address, &info) != 0 && info.dli_fname != NULL;
    snprintf(c->path, sizeof(c->path), "%s", known ? info.dli_fname : LIBRARY);
}

bool cuda_calls_open(struct cuda_calls *c, struct why *why)
{
    if (pthread_mutex_init(&c->lock, NULL) != 0)
        return cuda_refuse(why, "no memory for a lock");
    /* never unloaded: that would unmap code that the driver's threads run */
    c->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (c->library == NULL)
        return cuda_refuse(why, "no NVIDIA driver: %.200s", dlerror());
    snprintf(c->path, sizeof(c->path), "%s", LIBRARY);
    if (!cuda_calls_have(c, CUDA_BASE, why))
        return false;
    note_path(c);
    (void)cuda_calls_find(c, "ssq_standin_bindings",
                          offsetof(struct cuda_calls, standin_bindings));
    return true;
}
