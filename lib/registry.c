/* SPDX-License-Identifier: Apache-2.0 */
/* registry.c - the backends of this process: linked in, or modules.
 *
 * The table is written by configure. Modules are looked for in SSQ_MODULE_PATH
 * (a colon list; ignored in setuid processes), then where they were installed.
 * A module that does not load is kept with its reason. */
#include "lib/registry.h"

#include "lib/error.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SSQ_BACKEND(NAME) extern const struct backend NAME##_backend;
#include "lib/backend_table.h"

static struct registry_entry table[] = {
#define SSQ_BACKEND(NAME)     {#NAME, &NAME##_backend, 0, {""}},
#define SSQ_MODULE(NAME, WHY) {#NAME, NULL, 0, {WHY}},
#include "lib/backend_table.h"
};

#define ENTRIES (sizeof(table) / sizeof(table[0]))

static pthread_once_t once = PTHREAD_ONCE_INIT;

bool refuse(struct why *why, const char *format, ...)
{
    if (why == NULL)
        return false;
    va_list args;
    va_start(args, format);
    vsnprintf(why->text, sizeof(why->text), format, args);
    va_end(args);
    return false;
}

static const struct services services = {
    .abi = SSQ_BACKEND_ABI,
    .error_set = error_set,
    .error_text = ssq_last_error,
    .log_line = log_line,
    .mem_alloc = mem_alloc,
    .mem_free = mem_free,
};

/* Ask a backend that is in memory for its devices. */
static void probe(struct registry_entry *e)
{
    if (e->backend->init != NULL && e->backend->init(&services) != SSQ_OK) {
        refuse(&e->reason, "%s", ssq_last_error());
        return;
    }
    e->devices = e->backend->count(&e->reason);
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
    e->backend = b; /* stays loaded: its code may be on any stack */
    probe(e);
}

/* The first existing <dir>/<name>.so of a colon list. */
static bool find_module(const char *dirs, const char *name, char *path,
                        size_t bytes)
{
    while (dirs != NULL && *dirs != '\0') {
        int n = (int)strcspn(dirs, ":");
        snprintf(path, bytes, "%.*s/%s.so", n, dirs, name);
        if (n > 0 && access(path, F_OK) == 0)
            return true;
        dirs += n + (dirs[n] == ':');
    }
    return false;
}

static void load_all(void)
{
    char path[4096];
    for (size_t i = 0; i < ENTRIES; i++) {
        struct registry_entry *e = &table[i];
        if (e->backend != NULL)
            probe(e);
        else if (find_module(env_path("SSQ_MODULE_PATH"), e->name, path,
                             sizeof(path)) ||
                 find_module(SSQ_MODULE_DIR, e->name, path, sizeof(path)))
            registry_load(path, e);
        else if (e->reason.text[0] == '\0')
            refuse(&e->reason, "no module %s.so in %s", e->name,
                   SSQ_MODULE_DIR);
        if (e->devices == 0)
            log_line(SSQ_LOG_INFO, "device", "%s: %s", e->name, e->reason.text);
    }
}

size_t registry_entries(const struct registry_entry **entries)
{
    pthread_once(&once, load_all);
    *entries = table;
    return ENTRIES;
}
