/* SPDX-License-Identifier: Apache-2.0 */
/* module.c - finds and loads transports that are modules. */
#include "lib/comm/comm.h"

#include "lib/core/module/module_find.h"
#include "lib/core/module/services.h"

#include <sesqui/mpi.h>

#include <dlfcn.h>
#include <string.h>

/* For each transport: the reason why it was not built, or NULL. */
#define SSQ_TRANSPORT(NAME, WHY) {#NAME, WHY},
static const struct {
    const char *name, *why_not;
} built[] = {
#include "lib/backend_table.h"
};

static const char *why_not_built(const char *name)
{
    for (size_t i = 0; i < sizeof(built) / sizeof(built[0]); i++)
        if (strcmp(built[i].name, name) == 0)
            return built[i].why_not;
    return NULL;
}

/* Load a module. Once accepted it stays loaded, because a thread may still run
 * its code. */
static bool module_load(void *user, const char *path, struct why *why)
{
    const struct comm_module **found = user;
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (module == NULL)
        return refuse(why, "%s", dlerror());
    const comm_module_fn *entry = dlsym(module, "ssq_comm_module");
    const struct comm_module *m = entry == NULL ? NULL : (*entry)(SSQ_COMM_ABI);
    if (m != NULL && m->abi == SSQ_COMM_ABI && m->backend == SSQ_BACKEND_ABI) {
        *found = m;
        return true;
    }
    if (m == NULL)
        refuse(why, "%s: no transport", path);
    else
        refuse(why, "%s: module ABI %u of %u, library ABI %d of %d", path,
               m->abi, m->backend, SSQ_COMM_ABI, SSQ_BACKEND_ABI);
    dlclose(module);
    return false;
}

/* Each call searches again: a program calls this about once, and dlopen
 * counts references. */
ssq_status comm_module_find(const char *name, const struct comm_module **module)
{
    const char *why_not = why_not_built(name);
    struct why reason = {""};
    if (module_find(name, module_load, (void *)module, &reason))
        return SSQ_OK;
    if (reason.text[0] != '\0')
        return error_set(SSQ_ERR_UNSUPPORTED, "%s: %s", name, reason.text);
    if (module_none())
        return error_set(SSQ_ERR_UNSUPPORTED,
                         "%s: SSQ_MODULE_PATH is empty: no modules", name);
    return error_set(SSQ_ERR_UNSUPPORTED, "%s: %s", name,
                     why_not != NULL ? why_not
                                     : "no module beside the library");
}

ssq_status comm_over(ssq_device *device, const struct comm_module *m,
                     struct comm_link *link, unsigned rank, unsigned size,
                     const ssq_comm_options *options, const char *what,
                     ssq_comm **comm)
{
    if (size <= SSQ_COMM_MAX_SIZE)
        return comm_create(device, rank, size, &m->transport, link, options,
                           comm);
    m->transport.leave(link);
    m->transport.close(link);
    return error_set(SSQ_ERR_INVALID, "%s: %u ranks, expected at most %d", what,
                     size, SSQ_COMM_MAX_SIZE);
}

static ssq_status module_check(ssq_device *device, const char *library,
                               const void *mpi_comm, ssq_comm **comm)
{
    static const char what[] = "comm_mpi_open";
    const char *missing = device == NULL     ? "device"
                          : library == NULL  ? "library"
                          : mpi_comm == NULL ? "mpi_comm"
                          : comm == NULL     ? "comm"
                                             : NULL;
    if (missing != NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what, missing);
    return device_check(device, what);
}

ssq_status ssq_comm_mpi_open(ssq_device *device, const char *library,
                             const void *mpi_comm, size_t bytes,
                             const ssq_comm_options *options, ssq_comm **comm)
{
    static const char what[] = "comm_mpi_open";
    const struct comm_module *m = NULL;
    struct comm_link *link = NULL;
    unsigned rank = 0, size = 0;
    ssq_comm_options chosen;
    ssq_status st = module_check(device, library, mpi_comm, comm);
    if (st == SSQ_OK)
        st = comm_options(options, what, &chosen);
    if (st == SSQ_OK)
        st = comm_module_find("mpi", &m);
    if (st != SSQ_OK)
        return st;
    if (strcmp(m->library, library) != 0)
        return error_set(SSQ_ERR_UNSUPPORTED,
                         "%s: the module was built for %s, the program with %s",
                         what, m->library, library);
    const struct comm_place place = {
        .handle = mpi_comm, .bytes = bytes, .timeout = chosen.timeout};
    st = m->connect(&core_services, &place, &link, &rank, &size);
    return st == SSQ_OK
               ? comm_over(device, m, link, rank, size, &chosen, what, comm)
               : st;
}
