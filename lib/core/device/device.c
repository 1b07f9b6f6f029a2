/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - listing, choosing and opening devices. */
#include "lib/core/module/disk_cache.h"
#include "lib/core/base/env.h"
#include "lib/core/device/fork_hold.h"
#include "lib/core/memory/pool.h"
#include "lib/core/queue/fallback.h"
#include "lib/core/module/registry.h"
#include "lib/core/module/services.h"
#include "lib/core/device/native.h"
#include "lib/core/device/tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "cuda:0", or "cpu" for a backend of one device. */
static void core_device_name(const struct backend *b, unsigned i, char *name,
                             size_t bytes)
{
    if (b->single)
        snprintf(name, bytes, "%s", b->name);
    else
        snprintf(name, bytes, "%s:%u", b->name, i);
}

/* Count entries, not devices: a backend without a device also has one entry,
 * which contains the reason. */
size_t ssq_device_count(void)
{
    const struct registry_entry *const *e;
    size_t n = registry_entries(&e), count = 0;
    for (size_t i = 0; i < n; i++)
        count += e[i]->devices == 0 ? 1 : e[i]->devices;
    return count;
}

/* `at` counts down over the entries of one backend after the other. It is then
 * the number of the device within its backend. *entry is written only when all
 * its members are known. */
ssq_status ssq_device_list(size_t index, ssq_device_entry *entry)
{
    if (entry == NULL || entry->struct_size != sizeof(*entry))
        return error_set(SSQ_ERR_INVALID,
                         "device_list: entry is NULL or its struct_size wrong");
    const struct registry_entry *const *e;
    size_t n = registry_entries(&e), at = index;
    for (size_t i = 0; i < n; i++) {
        unsigned lines = e[i]->devices == 0 ? 1 : e[i]->devices;
        if (at >= lines) {
            at -= lines;
            continue;
        }
        ssq_device_entry r = {.struct_size = sizeof(r)};
        snprintf(r.backend, sizeof(r.backend), "%s", e[i]->name);
        snprintf(r.name, sizeof(r.name), "%s", e[i]->name);
        snprintf(r.reason, sizeof(r.reason), "%s", e[i]->reason.text);
        r.available = e[i]->devices > 0;
        if (r.available) {
            core_device_name(e[i]->backend, (unsigned)at, r.name,
                             sizeof(r.name));
            e[i]->backend->describe(e[i]->instance, (unsigned)at, r.description,
                                    sizeof(r.description));
            if (at != 0) /* list the backend's skipped devices only once */
                r.reason[0] = '\0';
        }
        *entry = r;
        return SSQ_OK;
    }
    return error_set(SSQ_ERR_NOT_FOUND, "device_list: no entry %zu", index);
}

/* Append a, b and c to text; cut characters that do not fit. */
static void device_append(char *text, size_t bytes, const char *a,
                          const char *b, const char *c)
{
    size_t at = strlen(text);
    snprintf(text + at, bytes - at, "%s%s%s", a, b, c);
}

/* Find the backend and the index of a device's name; NULL if the name is
 * unknown. Loads no other backend. */
static const struct registry_entry *device_find(const char *name,
                                                unsigned *index)
{
    const struct registry_entry *e = registry_find(name, strcspn(name, ":"));
    for (unsigned d = 0; e != NULL && d < e->devices; d++) {
        char full[32];
        core_device_name(e->backend, d, full, sizeof(full));
        if (strcmp(full, name) == 0 || (d == 0 && strcmp(e->name, name) == 0)) {
            *index = d;
            return e;
        }
    }
    return NULL;
}

/* Return the preference of device i of a backend for "auto". Greater is better;
 * a device with 0 or less is never chosen. */
static int preference(const struct registry_entry *e, unsigned i)
{
    const struct backend *b = e->backend;
    return b->preference_of != NULL ? b->preference_of(e->instance, i)
                                    : b->preference;
}

/* Why a backend's best device was not chosen. */
static const char *why_not(const struct registry_entry *e)
{
    if (e->devices == 0)
        return e->reason.text;
    return e->backend->preference <= 0 ? "for tests" : "slower";
}

/* Devices that "auto" has tried and rejected. */
#define MAX_REJECTED 16
struct rejected_devices {
    unsigned n;
    struct {
        const struct registry_entry *entry;
        unsigned index;
    } device[MAX_REJECTED];
    char why[384]; /* "; not opencl:0: .." for each */
};

void device_peer(const ssq_device *device, unsigned n, char *name, size_t bytes)
{
    const char *backend = device->backend->name;
    const struct registry_entry *e = registry_find(backend, strlen(backend));
    const char *colon = strchr(device->props.name, ':');
    unsigned own = colon == NULL ? 0 : (unsigned)strtoul(colon + 1, NULL, 10);
    unsigned peers = 0, at = own;
    for (unsigned i = 0; i < e->devices; i++)
        peers += preference(e, i) == preference(e, own);
    for (unsigned i = 0, left = peers == 0 ? 0 : n % peers; i < e->devices; i++)
        if (preference(e, i) == preference(e, own) && left-- == 0)
            at = i;
    core_device_name(device->backend, at, name, bytes);
}

/* True if "auto" has tried and rejected this device. */
static bool is_rejected(const struct rejected_devices *p,
                        const struct registry_entry *e, unsigned index)
{
    for (unsigned i = 0; i < p->n; i++)
        if (p->device[i].entry == e && p->device[i].index == index)
            return true;
    return false;
}

/* Record a device that was tried and why it was rejected, so that
 * device_choose() skips it. False if the table is full: the search must end. */
static bool rejected_add(struct rejected_devices *p,
                         const struct registry_entry *e, unsigned index,
                         const char *why)
{
    char name[32];
    if (p->n == MAX_REJECTED)
        return false;
    p->device[p->n].entry = e;
    p->device[p->n++].index = index;
    core_device_name(e->backend, index, name, sizeof(name));
    device_append(p->why, sizeof(p->why), "; not ", name, ": ");
    device_append(p->why, sizeof(p->why), "", why, "");
    log_line(SSQ_LOG_WARNING, "device", "auto passes %s over: %s", name, why);
    return true;
}

/* Find the best device for training that was not rejected, and set why to the
 * text of props.choice. In a tie the first backend in the registry wins. */
static const struct registry_entry *
device_choose(const struct rejected_devices *p, unsigned *index, char *why,
              size_t bytes)
{
    const struct registry_entry *const *e;
    size_t n = registry_entries(&e);
    const struct registry_entry *best = NULL;
    int most = 0;
    for (size_t i = 0; i < n; i++)
        for (unsigned d = 0; d < e[i]->devices; d++) {
            int better = preference(e[i], d);
            if (better <= most || is_rejected(p, e[i], d))
                continue;
            most = better;
            best = e[i];
            *index = d;
        }
    if (best == NULL)
        return NULL;
    char name[32];
    core_device_name(best->backend, *index, name, sizeof(name));
    snprintf(why, bytes, "auto chose %s%s", name, p->why);
    for (size_t i = 0; i < n; i++)
        if (e[i] != best && !is_rejected(p, e[i], 0)) {
            device_append(why, bytes, "; not ", e[i]->name, ": ");
            device_append(why, bytes, "", why_not(e[i]), "");
        }
    return best;
}

/* Called by the last object_put(), also for a device whose opening failed: its
 * missing parts are NULL. The device first leaves the list of watched devices,
 * so that a fork never sees a device that is being freed. */
static void device_free(struct object *o)
{
    ssq_device *d = (ssq_device *)o;
    if (device_lost(d)) { /* its parts may be half changed */
        mem_free(d);
        return;
    }
    if (d->backend->fork_hold != NULL)
        fork_unwatch(d);
    pool_destroy(d->pool);
    fallback_free_reasons(d);
    tunings_close(d);
    d->backend->close(d->impl);
    pthread_mutex_destroy(&d->queues_lock);
    mem_free(d);
}

/* Apply one entry of SSQ_IMPL, which has n characters: "op:impl" for every
 * backend, or "backend/op:impl", which devices of other backends skip. */
static ssq_status pin_entry(ssq_device *d, const char *s, size_t n)
{
    char backend[32] = "", op[32] = "", impl[32] = "";
    size_t slash = strcspn(s, "/,"), at = 0;
    if (slash < n) {
        snprintf(backend, sizeof(backend), "%.*s", (int)slash, s);
        at = slash + 1;
    }
    if (slash < n && strcmp(backend, d->backend->name) != 0)
        return SSQ_OK;
    size_t colon = at + strcspn(s + at, ":,");
    if (colon >= n)
        return error_set(SSQ_ERR_NOT_FOUND,
                         "SSQ_IMPL: \"%.*s\" is no op:implementation", (int)n,
                         s);
    snprintf(op, sizeof(op), "%.*s", (int)(colon - at), s + at);
    snprintf(impl, sizeof(impl), "%.*s", (int)(n - colon - 1), s + colon + 1);
    ssq_status st = ssq_implementation_pin(d, op, impl);
    if (st == SSQ_OK)
        return st;
    return error_set(st, "SSQ_IMPL: %s; BACKEND/%.*s pins it on one backend",
                     ssq_last_error(), (int)(n - at), s + at);
}

/* Pin implementations: SSQ_IMPL=opencl/gemm:tiled,cast:reference */
static ssq_status pin_from_environment(ssq_device *d)
{
    const char *s = env_text("SSQ_IMPL");
    ssq_status st = SSQ_OK;
    while (s != NULL && *s != '\0' && st == SSQ_OK) {
        size_t n = strcspn(s, ",");
        st = pin_entry(d, s, n);
        s += n + (s[n] == ',');
    }
    return st;
}

/* Get the device's certificate and decide whether its arithmetic is acceptable.
 * A device that fails its self-test is refused unless the caller insists. A bad
 * certification result of `sesqui certify` only makes "auto" reject the device:
 * a caller that names the device may know better. If opening->refused is set,
 * open_best() tries the next device. */
static ssq_status admit_by_certificate(ssq_device *d, struct opening *opening)
{
    struct certificate *c = &d->certificate;
    if (d->backend->identify == NULL)
        return SSQ_OK; /* it computes as the reference does */
    bool insists = d->options.uncertified;
    ssq_status st = disk_cache_settings(&core_services);
    if (st == SSQ_OK)
        st = env_flag("SSQ_UNCERTIFIED", &insists);
    insists = insists || d->options.uncertified;
    if (st == SSQ_OK)
        st = certificate_get(d->backend, d->impl, c);
    if (st != SSQ_OK)
        return st;
    if (d->backend->certified != NULL)
        d->backend->certified(d->impl, &c->found);
    snprintf(d->props.failed, sizeof(d->props.failed), "%s", c->failed);
    if (insists)
        return SSQ_OK;
    opening->refused =
        c->failed[0] != '\0' || (opening->automatic && c->certification_failed);
    if (opening->automatic && opening->refused)
        return error_set(SSQ_ERR_UNSUPPORTED, "%s%s",
                         c->failed[0] != '\0' ? "fails its self-test: "
                                              : "certify found it at fault",
                         c->failed);
    return !opening->refused
               ? SSQ_OK
               : error_set(SSQ_ERR_UNSUPPORTED,
                           "%s fails its self-test: wrong are: %s; to open it "
                           "all the same, set options.uncertified or "
                           "SSQ_UNCERTIFIED=1",
                           d->props.name, c->failed);
}

/* Fill in a device that has its backend_device. admit_by_certificate() comes
 * before props, because the props of a backend depend on the results of the
 * self-test. */
static ssq_status device_init(ssq_device *d, const struct registry_entry *e,
                              unsigned index, struct opening *opening)
{
    d->props.struct_size = sizeof(d->props);
    snprintf(d->props.backend, sizeof(d->props.backend), "%s",
             d->backend->name);
    core_device_name(d->backend, index, d->props.name, sizeof(d->props.name));
    d->backend->describe(e->instance, index, d->props.description,
                         sizeof(d->props.description));
    ssq_status st = admit_by_certificate(d, opening);
    if (st != SSQ_OK)
        return st;
    d->backend->props(d->impl, &d->props);
    st = pool_create(d, device_retire, &d->pool);
    if (st == SSQ_OK)
        d->props.binding_bytes = pool_binding_bytes(d->pool);
    if (st == SSQ_OK)
        st = tunings_open(d);
    return st == SSQ_OK ? pin_from_environment(d) : st;
}

/* This function always takes over impl: it closes impl if memory is missing;
 * otherwise device_free() closes it. */
ssq_status device_create(const struct registry_entry *e, unsigned index,
                         struct backend_device *impl,
                         const ssq_device_options *options,
                         struct opening *opening, ssq_device **out)
{
    ssq_device *d = mem_alloc(sizeof(*d));
    if (d == NULL) {
        e->backend->close(impl);
        return error_nomem("device_open", sizeof(*d));
    }
    fork_hold_devices();
    object_init(&d->object, device_free);
    pthread_mutex_init(&d->queues_lock, NULL);
    d->backend = e->backend;
    d->impl = impl;
    d->forks = fork_count();
    if (options != NULL)
        d->options = *options;
    ssq_status st = device_init(d, e, index, opening);
    if (st != SSQ_OK) {
        object_put(&d->object);
        return st;
    }
    if (d->backend->fork_hold != NULL)
        fork_watch(d);
    snprintf(d->props.choice, sizeof(d->props.choice), "%s", opening->why);
    log_line(SSQ_LOG_INFO, "device", "opened %s (%s)", d->props.name,
             opening->why);
    if (d->props.failed[0] != '\0')
        log_line(SSQ_LOG_WARNING, "device",
                 "%s is opened although its self-test fails: wrong are: %s",
                 d->props.name, d->props.failed);
    *out = d;
    return SSQ_OK;
}

/* Find a backend that a fork took away: the backend that name means or, for
 * "auto", one that is preferred to best. NULL if none exists. */
static const struct registry_entry *find_lost(const char *name,
                                              const struct registry_entry *best)
{
    if (strcmp(name, "auto") != 0) {
        const struct registry_entry *named =
            registry_find(name, strcspn(name, ":"));
        return named != NULL && named->lost > 0 ? named : NULL;
    }
    const struct registry_entry *const *e;
    size_t n = registry_entries(&e);
    for (size_t i = 0; i < n; i++)
        if (e[i]->lost > 0 && e[i]->backend != NULL &&
            (best == NULL ||
             e[i]->backend->preference > best->backend->preference))
            return e[i];
    return NULL;
}

/* "backend cpu has no such device: ..", or the names of all backends. Loads
 * nothing: a name that is mistyped must not start drivers. */
static void explain_name(const char *wanted, char *text, size_t bytes)
{
    const struct registry_entry *e =
        registry_find(wanted, strcspn(wanted, ":"));
    text[0] = '\0';
    if (e != NULL && e->devices == 0)
        device_append(text, bytes, e->name, ": ", e->reason.text);
    for (unsigned d = 0; e != NULL && d < e->devices; d++) {
        char full[32];
        core_device_name(e->backend, d, full, sizeof(full));
        device_append(text, bytes, d == 0 ? "there are " : ", ", full, "");
    }
    for (size_t i = 0; e == NULL && registry_name(i) != NULL; i++)
        device_append(text, bytes, i == 0 ? "backends are " : ", ",
                      registry_name(i), "");
}

/* Return the error for a name that no device has. */
static ssq_status not_found_error(const char *wanted)
{
    char text[ERROR_TEXT - 128];
    explain_name(wanted, text, sizeof(text));
    return error_set(SSQ_ERR_NOT_FOUND, "device_open: no device \"%.64s\"; %s",
                     wanted, text);
}

/* Open device index of a backend, in default floating-point modes. */
static ssq_status open_backend(const struct registry_entry *e, unsigned index,
                               const ssq_device_options *options,
                               struct opening *opening, ssq_device **out)
{
    struct backend_device *impl = NULL;
    struct fpenv env = fpenv_enter(); /* a driver's threads inherit it */
    ssq_status st = e->backend->open(e->instance, index, &impl);
    fpenv_leave(env);
    return st == SSQ_OK ? device_create(e, index, impl, options, opening, out)
                        : st;
}

/* Return an error if the name has no entry, or if a fork took away a better
 * entry. */
static ssq_status check_found(const char *wanted,
                              const struct registry_entry *e)
{
    const struct registry_entry *lost = find_lost(wanted, e);
    if (lost != NULL)
        return error_set(SSQ_ERR_DEVICE, "device_open: \"%.64s\": %s: %s",
                         wanted, lost->name, lost->reason.text);
    return e == NULL ? not_found_error(wanted) : SSQ_OK;
}

/* "auto": try devices, best first, until the certificate of one does not refuse
 * it. Any other failure ends the search, so that a machine with a broken GPU
 * does not quietly compute on a slower device. */
static ssq_status open_best(const ssq_device_options *options,
                            ssq_device **device)
{
    struct rejected_devices rejected = {0};
    for (;;) {
        char why[512];
        struct opening opening = {.why = why, .automatic = true};
        unsigned index = 0;
        const struct registry_entry *e =
            device_choose(&rejected, &index, why, sizeof(why));
        ssq_status st = check_found("auto", e);
        if (st != SSQ_OK)
            return st;
        st = open_backend(e, index, options, &opening, device);
        if (!opening.refused ||
            !rejected_add(&rejected, e, index, ssq_last_error()))
            return st;
    }
}

static ssq_status open_named(const char *wanted, const char *why,
                             const ssq_device_options *options,
                             ssq_device **device)
{
    struct opening opening = {.why = why};
    unsigned index = 0;
    const struct registry_entry *e = device_find(wanted, &index);
    ssq_status st = check_found(wanted, e);
    return st == SSQ_OK ? open_backend(e, index, options, &opening, device)
                        : st;
}

/* SSQ_DEVICE only replaces "auto": a program that names a device gets that
 * device. A device from the variable is opened as if the program had named it,
 * without the stricter certificate check of "auto". */
ssq_status ssq_device_open(const char *name, const ssq_device_options *options,
                           ssq_device **device)
{
    if (name == NULL || device == NULL)
        return error_set(SSQ_ERR_INVALID, "device_open: %s is NULL",
                         name == NULL ? "name" : "device");
    if (options != NULL && options->struct_size != sizeof(*options))
        return error_set(SSQ_ERR_INVALID,
                         "device_open: struct_size is %zu, expected %zu",
                         options->struct_size, sizeof(*options));
    const char *env = env_text("SSQ_DEVICE");
    if (strcmp(name, "auto") != 0)
        return open_named(name, "asked for by name", options, device);
    if (env == NULL || env[0] == '\0' || strcmp(env, "auto") == 0)
        return open_best(options, device);
    char why[512];
    snprintf(why, sizeof(why), "auto: SSQ_DEVICE is %.64s", env);
    return open_named(env, why, options, device);
}

void ssq_device_close(ssq_device **device)
{
    if (device == NULL || *device == NULL)
        return;
    object_put(&(*device)->object);
    *device = NULL;
}

ssq_status ssq_device_props_get(const ssq_device *device,
                                ssq_device_props *props)
{
    if (device == NULL || props == NULL || props->struct_size != sizeof(*props))
        return error_set(
            SSQ_ERR_INVALID,
            "device_props_get: an argument is NULL or has a wrong struct_size");
    *props = device->props;
    return SSQ_OK;
}

ssq_status ssq_device_memory(const ssq_device *device, ssq_memory_info *info)
{
    if (device == NULL || info == NULL || info->struct_size != sizeof(*info))
        return error_set(
            SSQ_ERR_INVALID,
            "device_memory: an argument is NULL or has a wrong struct_size");
    ssq_status st = device_check(device, "device_memory");
    if (st != SSQ_OK)
        return st;
    pool_info(device->pool, info);
    info->fallbacks = atomic_load(&device->fallbacks);
    return SSQ_OK;
}

/* Retire finished work first, because its scratch keeps slabs in use. */
void ssq_device_trim(ssq_device *device)
{
    if (device == NULL || device_lost(device))
        return;
    device_retire(device, false);
    pool_trim(device->pool);
}
