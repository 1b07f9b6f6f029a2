/* SPDX-License-Identifier: Apache-2.0 */
/* registry.c - the backends of this process: linked in, or modules.
 *
 * The table is written by configure. Modules are looked for in SSQ_MODULE_PATH
 * (a colon list; ignored in setuid processes), then beside the library, then
 * where they were installed. One that does not load is passed over, and its
 * reason is shown where no other does. */
#include "lib/core/registry.h"

#include "lib/core/env.h"
#include "lib/core/error.h"
#include "lib/core/fork.h"
#include "lib/core/fpenv.h"
#include "lib/core/module_file.h"
#include "lib/core/services.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SSQ_BACKEND(NAME) extern const struct backend NAME##_backend;
#include "lib/backend_table.h"

static const struct registry_entry known[] = {
#define SSQ_BACKEND(NAME)     {.name = #NAME, .backend = &NAME##_backend},
#define SSQ_MODULE(NAME, WHY) {.name = #NAME, .why_not = WHY},
#include "lib/backend_table.h"
};

#define ENTRIES (sizeof(known) / sizeof(known[0]))

/* The backends as they were found, best first: written by load_all, under once,
 * and in a child of fork. Nobody else can be reading at either time. */
static struct registry_entry table[ENTRIES];

/* How far load_all has come; INTERRUPTED: in a parent, when it was forked. */
static enum { NOTHING, LOADING, LOADED, INTERRUPTED } stage;

/* The reason of a backend that is lost to a child; shorter than a struct
 * why. */
static const char forked_text[] =
    "its driver was loaded before this process was forked: use it in the "
    "parent, or fork before the first call that looks for devices, or exec";

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* An instance stays as long as the module does, so it is no block of the
 * caller's allocator, which may change when everything is closed. */
static bool make_instance(struct registry_entry *e)
{
    size_t bytes = e->backend->instance_bytes;
    e->instance = bytes == 0 ? NULL : mem_keep(bytes);
    return bytes == 0 || e->instance != NULL;
}

/* Ask a backend that is in memory for its devices. Whatever goes wrong, the
 * entry has a reason in the end, which is what a user sees of it. */
static void probe(struct registry_entry *e)
{
    if (!make_instance(e))
        refuse(&e->reason, "no host memory for %zu bytes",
               e->backend->instance_bytes);
    else if (e->backend->init != NULL &&
             e->backend->init(e->instance, &core_services) != SSQ_OK)
        refuse(&e->reason, "%s", ssq_last_error());
    else
        e->devices = e->backend->count(e->instance, &e->reason);
    if (e->devices == 0 && e->reason.text[0] == '\0')
        refuse(&e->reason, "no devices");
}

void registry_load(const char *path, struct registry_entry *e)
{
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module == NULL) {
        refuse(&e->reason, "%s", dlerror());
        return;
    }
    /* ISO C has no conversion from an object pointer to a function's: a
     * module exports a variable that holds the function. */
    const backend_module_fn *entry = dlsym(module, "ssq_backend_module");
    if (entry == NULL) {
        refuse(&e->reason, "%s: no symbol ssq_backend_module", path);
        dlclose(module);
        return;
    }
    const struct backend *b = (*entry)(SSQ_BACKEND_ABI);
    if (b == NULL || b->abi != SSQ_BACKEND_ABI) {
        refuse(&e->reason, "%s: module ABI %u, library ABI %u", path,
               b == NULL ? 0 : b->abi, SSQ_BACKEND_ABI);
        dlclose(module);
        return;
    }
    if (strcmp(b->name, e->name) != 0) {
        refuse(&e->reason, "%s: a module of %s, not of %s", path, b->name,
               e->name);
        dlclose(module);
        return;
    }
    e->backend = b; /* stays loaded: its code may be on any stack */
    probe(e);
}

/* Add text to what *why says; what does not fit is cut off. */
static void refuse_too(struct why *why, const char *text)
{
    struct why first = *why;
    refuse(why, "%s%s%s", first.text, first.text[0] == '\0' ? "" : "; ", text);
}

/* Load <dir>/<name>.so if there is one, of the n characters of dir; false: go
 * on to the next. What was wrong with one is added to the reason. */
static bool try_dir(struct registry_entry *e, const char *dir, size_t n)
{
    char path[PATH_MAX];
    struct registry_entry found = {.name = e->name};
    int length =
        snprintf(path, sizeof(path), "%.*s/%s.so", (int)n, dir, e->name);
    if (n == 0)
        return false;
    if (dir[0] != '/')
        refuse(&found.reason, "%.*s: a relative path of modules: not used",
               (int)n, dir);
    else if ((size_t)length >= sizeof(path) || access(path, F_OK) != 0)
        return false;
    else if (module_file_safe(path, &found.reason) &&
             module_file_whole(path, &found.reason))
        registry_load(path, &found);
    if (found.reason.text[0] != '\0')
        refuse_too(&e->reason, found.reason.text);
    if (found.backend == NULL) {
        log_line(SSQ_LOG_WARNING, "device", "%s: %s", e->name,
                 found.reason.text);
        return false;
    }
    *e = found;
    return true;
}

/* The same of each part of a colon list. */
static bool try_list(struct registry_entry *e, const char *dirs)
{
    while (dirs != NULL && *dirs != '\0') {
        size_t n = strcspn(dirs, ":");
        if (try_dir(e, dirs, n))
            return true;
        dirs += n + (dirs[n] == ':');
    }
    return false;
}

/* Beside the library: as installed, or in the directory that libtool builds
 * in, where modules are not in one of their own. */
static bool try_beside(struct registry_entry *e)
{
    static const char installed[] = "/sesqui/0", build[] = "/.libs";
    char dir[PATH_MAX];
    if (!library_directory(dir, sizeof(dir) - sizeof(installed)))
        return false;
    size_t n = strlen(dir), tail = sizeof(build) - 1;
    if (n > tail && strcmp(dir + n - tail, build) == 0)
        return try_dir(e, dir, n);
    memcpy(dir + n, installed, sizeof(installed));
    return try_dir(e, dir, n + sizeof(installed) - 1);
}

/* Find a backend: linked in, or as a module in the places that the head of this
 * file lists, in that order. An empty SSQ_MODULE_PATH means no modules at all,
 * an unset one the usual places. */
static void load(struct registry_entry *e)
{
    const char *wanted = env_text("SSQ_MODULE_PATH");
    bool none = wanted != NULL && wanted[0] == '\0';
    if (e->backend != NULL)
        probe(e);
    else if (!none && (try_list(e, wanted) || try_beside(e) ||
                       try_list(e, SSQ_MODULE_DIR)))
        ; /* it says itself what it has */
    else if (e->why_not != NULL && e->reason.text[0] == '\0')
        refuse(&e->reason, "%s", e->why_not);
    else if (none)
        refuse(&e->reason, "SSQ_MODULE_PATH is empty: no modules");
    else if (e->reason.text[0] == '\0')
        refuse(&e->reason, "no module %s.so beside the library, nor in %s",
               e->name, SSQ_MODULE_DIR);
    if (e->devices == 0)
        log_line(SSQ_LOG_INFO, "device", "%s: %s", e->name, e->reason.text);
}

/* True if a comes before b: it has devices and b has none, or its backend is
 * preferred. */
static bool better(const struct registry_entry *a,
                   const struct registry_entry *b)
{
    if (a->devices == 0 || b->devices == 0)
        return a->devices > 0 && b->devices == 0;
    return a->backend->preference > b->backend->preference;
}

/* Put e where it belongs among the n best of the table. */
static void insert(size_t n, struct registry_entry e)
{
    for (; n > 0 && better(&e, &table[n - 1]); n--)
        table[n] = table[n - 1];
    table[n] = e;
}

/* Turn an entry into one that a fork took away. A module that was still to be
 * loaded counts as one device: lost must not be 0. */
static void lose(struct registry_entry *e)
{
    e->lost = e->devices == 0 ? 1 : e->devices;
    e->devices = 0;
    memcpy(e->reason.text, forked_text, sizeof(forked_text));
}

/* In a child of fork, which has one thread: modules with devices are lost to
 * it, and the table is sorted again, since they are no longer better than
 * others. */
static void forked(void)
{
    if (stage == LOADING)
        stage = INTERRUPTED; /* pthread_once begins anew in a child */
    for (size_t i = 0; stage == LOADED && i < ENTRIES; i++) {
        struct registry_entry e = table[i];
        if (e.devices > 0 && e.backend->fork_hold == NULL)
            lose(&e);
        insert(i, e);
    }
}

/* Load all, best first; equals stay in the order of the table. Where a fork
 * came in the middle of a parent's loading, modules are lost to the child:
 * their libraries may be half initialised. Without fork handlers none is loaded
 * at all, because a child could not be told. */
static void load_all(void)
{
    bool interrupted = stage == INTERRUPTED;
    /* A thread inherits floating-point modes from the one that starts it, and
     * drivers start threads when they are loaded. */
    struct fpenv env = fpenv_enter();
    stage = LOADING;
    bool ready = fork_ready(forked);
    for (size_t i = 0; i < ENTRIES; i++) {
        struct registry_entry e = known[i];
        if (interrupted && e.backend == NULL && e.why_not == NULL)
            lose(&e);
        else if (!ready && e.backend == NULL && e.why_not == NULL)
            refuse(&e.reason, "no memory for the handlers of forks");
        else
            load(&e);
        insert(i, e);
    }
    stage = LOADED;
    fpenv_leave(env);
}

size_t registry_entries(const struct registry_entry **entries)
{
    pthread_once(&once, load_all);
    *entries = table;
    return ENTRIES;
}
