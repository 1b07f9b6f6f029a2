/* SPDX-License-Identifier: Apache-2.0 */
/* registry.c - the backends of this process: linked in, or modules.
 *
 * configure writes the list. A backend is loaded on first use: loading a driver
 * takes a tenth of a second, and may end the process. A module that does not
 * load is skipped. Its reason is shown if no other module of that name loads.
 */
#include "lib/core/module/registry.h"

#include "lib/core/base/env.h"
#include "lib/core/base/error.h"
#include "lib/core/base/fork.h"
#include "lib/core/base/fpenv.h"
#include "lib/core/module/module_find.h"
#include "lib/core/module/services.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SSQ_BACKEND(NAME) extern const struct backend NAME##_backend;
#include "lib/backend_table.h"

static const struct registry_entry known[] = {
#define SSQ_BACKEND(NAME)     {.name = #NAME, .backend = &NAME##_backend},
#define SSQ_MODULE(NAME, WHY) {.name = #NAME, .why_not = WHY},
#include "lib/backend_table.h"
};

#define ENTRIES (sizeof(known) / sizeof(known[0]))

/* The backends that were found, in the order of known[]. load_one() writes each
 * entry once, under the lock. A child of fork may change entries again, before
 * any other thread can read them. */
static struct registry_entry table[ENTRIES];
static bool loaded[ENTRIES];
static const struct registry_entry *best[ENTRIES]; /* all, best first */
static bool sorted;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool loading;     /* an entry is being loaded */
static bool interrupted; /* in a child: fork came while the parent loaded */

/* The reason of a backend that a child has lost; fits into a struct why. */
static const char forked_text[] =
    "its driver was loaded before this process was forked: use it in the "
    "parent, or fork before the first call that looks for devices, or exec";

/* Create the instance. It lives as long as the module, so it is not from the
 * caller's allocator, which may change when all objects are gone. */
static bool registry_make_instance(struct registry_entry *e)
{
    size_t bytes = e->backend->instance_bytes;
    e->instance = bytes == 0 ? NULL : mem_keep(bytes);
    return bytes == 0 || e->instance != NULL;
}

/* Initialise a loaded backend and count its devices. If it has none, the entry
 * always gets a reason, which the user sees. */
static void probe(struct registry_entry *e)
{
    if (!registry_make_instance(e))
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
    /* ISO C cannot convert an object pointer to a function pointer: a module
     * exports a variable that contains the function. */
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
    e->backend = b; /* stays loaded: any thread may be running its code */
    probe(e);
}

/* For module_find(): accept a module that loads, even one without devices. */
static bool try_backend(void *user, const char *path, struct why *why)
{
    struct registry_entry *e = user, found = {.name = e->name};
    registry_load(path, &found);
    *why = found.reason;
    if (found.backend != NULL)
        *e = found;
    return found.backend != NULL;
}

/* True if SSQ_SKIP_BACKENDS, a comma-separated list, contains the name. */
static bool registry_skipped(const char *name)
{
    const char *list = env_text("SSQ_SKIP_BACKENDS");
    const size_t n = strlen(name);
    while (list != NULL && *list != '\0') {
        const size_t length = strcspn(list, ",");
        if (length == n && strncmp(list, name, n) == 0)
            return true;
        list += length + (list[length] == ',');
    }
    return false;
}

/* Load a backend: linked in, or as a module. If SSQ_MODULE_PATH is empty, no
 * module is loaded. If it is not set, only the usual places are searched. */
static void core_registry_load(struct registry_entry *e)
{
    struct why reason = {""};
    if (e->backend != NULL)
        probe(e);
    else if (registry_skipped(e->name))
        refuse(&e->reason, "SSQ_SKIP_BACKENDS names it");
    else if (module_find(e->name, try_backend, e, &reason))
        ; /* e has its devices, or a reason */
    else if (e->why_not != NULL && reason.text[0] == '\0')
        refuse(&e->reason, "%s", e->why_not);
    else if (module_none())
        refuse(&e->reason, "SSQ_MODULE_PATH is empty: no modules");
    else if (reason.text[0] == '\0')
        refuse(&e->reason, "no module %s.so beside the library, nor in %s",
               e->name, SSQ_MODULE_DIR);
    else
        e->reason = reason;
    if (e->devices == 0)
        log_line(SSQ_LOG_INFO, "device", "%s: %s", e->name, e->reason.text);
}

/* True if a ranks before b: only a has devices, or both have and a's backend
 * has the higher preference. */
static bool better(const struct registry_entry *a,
                   const struct registry_entry *b)
{
    if (a->devices == 0 || b->devices == 0)
        return a->devices > 0 && b->devices == 0;
    return a->backend->preference > b->backend->preference;
}

/* Sort all entries, best first. Entries that are equal keep their order. */
static void sort(void)
{
    for (size_t i = 0; i < ENTRIES; i++) {
        size_t n = i;
        for (; n > 0 && better(&table[i], best[n - 1]); n--)
            best[n] = best[n - 1];
        best[n] = &table[i];
    }
    sorted = true;
}

/* Mark an entry as lost to a fork. A module that was not loaded yet counts as
 * one device, because lost must not be 0. */
static void lose(struct registry_entry *e)
{
    e->lost = e->devices == 0 ? 1 : e->devices;
    e->devices = 0;
    memcpy(e->reason.text, forked_text, sizeof(forked_text));
}

/* Run in a child of fork, which has one thread. A backend with devices but
 * without fork_hold is lost to the child, and then ranks after the others. */
static void registry_forked(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    lock = fresh; /* another thread of the parent may have held it */
    interrupted = interrupted || loading;
    loading = false;
    for (size_t i = 0; i < ENTRIES; i++)
        if (table[i].devices > 0 && table[i].backend->fork_hold == NULL)
            lose(&table[i]);
    if (sorted)
        sort();
}

/* Load one entry. The caller must hold the lock. If a fork interrupted the
 * parent's loading, modules are lost to the child: their libraries may be half
 * initialised. Without fork handlers they are not loaded, because a child could
 * not be told. */
static void load_one(size_t i)
{
    if (loaded[i])
        return;
    struct registry_entry e = known[i];
    const bool module = e.backend == NULL;
    /* A thread inherits floating-point modes from its creator, and drivers
     * start threads when they are loaded. */
    struct fpenv env = fpenv_enter();
    loading = true;
    bool ready = fork_ready(registry_forked);
    if (interrupted && module)
        lose(&e);
    else if (!ready && module)
        refuse(&e.reason, "no memory for the handlers of forks");
    else
        core_registry_load(&e);
    table[i] = e;
    loaded[i] = true;
    loading = false;
    fpenv_leave(env);
}

const char *registry_name(size_t i)
{
    return i < ENTRIES ? known[i].name : NULL;
}

size_t registry_entries(const struct registry_entry *const **entries)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < ENTRIES; i++)
        load_one(i);
    if (!sorted)
        sort();
    pthread_mutex_unlock(&lock);
    *entries = best;
    return ENTRIES;
}

const struct registry_entry *registry_find(const char *name, size_t bytes)
{
    for (size_t i = 0; i < ENTRIES; i++) {
        if (strlen(known[i].name) != bytes ||
            strncmp(known[i].name, name, bytes) != 0)
            continue;
        pthread_mutex_lock(&lock);
        load_one(i);
        pthread_mutex_unlock(&lock);
        return &table[i];
    }
    return NULL;
}
