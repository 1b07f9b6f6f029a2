/* SPDX-License-Identifier: Apache-2.0 */
/* throughput.c - training throughputs of devices, in files of the disk cache.
 * There is one file for each kind of device, driver and version of this
 * library; for cpu also for each number of threads. It measures nothing. */
#include "lib/core/device/throughput.h"

#include <sesqui/cpu.h>
#include <sesqui/tune.h>

#include "lib/core/device/native.h"
#include "lib/core/module/cache_key.h"
#include "lib/core/module/cache_lock.h"
#include "lib/core/module/disk_cache.h"
#include "lib/core/base/fork.h"
#include "lib/core/module/services.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/** Increment this when struct throughput changes: older files are ignored. */
#define LAYOUT 1u

/** The contents of a file, for f32, f16 and bf16; 0: not known. */
struct throughput {
    double of[3];
};

/* Return the index of a dtype in struct throughput; 3 if it has none. */
static size_t throughput_place_of(ssq_dtype dtype)
{
    static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_F16, SSQ_BF16};
    size_t i = 0;
    while (i < 3 && dtypes[i] != dtype)
        i++;
    return i;
}

/* Return the number of threads, which decides the throughput of a processor; 0
 * for any other device. */
static unsigned threads_of(const ssq_device *d)
{
    ssq_cpu_info info = SSQ_CPU_INFO_INIT;
    if (strcmp(d->backend->name, "cpu") != 0 ||
        native_device_info("cpu", d, &info, "training_rate") != SSQ_OK)
        return 0;
    return info.threads;
}

void throughput_command(const ssq_device *d, ssq_dtype dtype, char *text,
                        size_t bytes)
{
    char threads[32] = "";
    unsigned n = threads_of(d);
    if (n > 0)
        (void)snprintf(threads, sizeof(threads), " --threads %u", n);
    (void)snprintf(text, bytes, "sesqui tune --train --device %s%s --types %s",
                   d->props.name, threads, ssq_dtype_name(dtype));
}

/* ---- files ---- */

static void throughput_key_of(const ssq_device *d, struct cache_key *key)
{
    char kind[24] = "rate";
    unsigned threads = threads_of(d);
    if (threads > 0)
        (void)snprintf(kind, sizeof(kind), "rate-%u", threads);
    cache_key_for(kind, LAYOUT, d->backend, d->impl, key);
}

static bool is_throughput(double x)
{
    return isfinite(x) && x > 0.0;
}

/* Read a file into *r: zeros if it is missing or damaged. */
static ssq_status throughput_load(const struct cache_key *key,
                                  struct throughput *r, const char *what)
{
    unsigned char *body;
    size_t bytes;
    ssq_status st =
        disk_cache_read(&core_services, key->name, key->text, &body, &bytes);
    if (st == SSQ_ERR_NOMEM)
        return error_set(st, "%s: no host memory to read %s of the cache", what,
                         key->name);
    bool damaged = st != SSQ_OK;
    *r = (struct throughput){.of = {0.0}};
    if (body != NULL && bytes == sizeof(*r))
        memcpy(r, body, sizeof(*r));
    else
        damaged = damaged || body != NULL;
    for (size_t i = 0; i < 3; i++)
        damaged = damaged || !(r->of[i] == 0.0 || is_throughput(r->of[i]));
    mem_free(body);
    if (!damaged)
        return SSQ_OK;
    log_line(SSQ_LOG_WARNING, "tune",
             "%s of the cache is damaged, and not used", key->name);
    *r = (struct throughput){.of = {0.0}};
    return SSQ_OK;
}

/* Store a throughput. The caller must hold the lock. */
static ssq_status throughput_keep(const struct cache_key *key, size_t place,
                                  double throughput, const char *what)
{
    struct throughput r;
    ssq_status st = throughput_load(key, &r, what);
    if (st != SSQ_OK)
        return st;
    r.of[place] = throughput;
    bool none = r.of[0] == 0.0 && r.of[1] == 0.0 && r.of[2] == 0.0;
    bool kept = none ? disk_cache_remove(&core_services, key->name)
                     : disk_cache_store(&core_services, key->name, key->text,
                                        (const unsigned char *)&r, sizeof(r));
    return kept ? SSQ_OK
                : error_set(SSQ_ERR_IO, "%s: %s of the cache cannot be written",
                            what, key->name);
}

/* ---- public ---- */

static ssq_status throughput_check(const ssq_device *d, ssq_dtype dtype,
                                   const char *what)
{
    if (d == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: device is NULL", what);
    if (throughput_place_of(dtype) == 3)
        return error_set(SSQ_ERR_INVALID,
                         "%s: dtype is %d, expected f32, f16 or bf16", what,
                         (int)dtype);
    return device_check(d, what);
}

ssq_status ssq_training_rate_keep(ssq_device *device, ssq_dtype dtype,
                                  double throughput)
{
    static const char what[] = "training_rate_keep";
    struct cache_key key;
    ssq_status st = throughput_check(device, dtype, what);
    if (st != SSQ_OK)
        return st;
    if (throughput != 0.0 && !is_throughput(throughput))
        return error_set(SSQ_ERR_INVALID,
                         "%s: rate is %g, expected a finite number above 0, or "
                         "0",
                         what, throughput);
    if (!disk_cache_usable(&core_services))
        return error_set(SSQ_ERR_IO, "%s: there is no cache to keep it in",
                         what);
    throughput_key_of(device, &key);
    int held = cache_lock();
    st = held == DISK_CACHE_BUSY
             ? error_set(SSQ_ERR_IO,
                         "%s: %s of the cache cannot be written: another "
                         "process holds the cache's .lock",
                         what, key.name)
             : throughput_keep(&key, throughput_place_of(dtype), throughput,
                               what);
    cache_unlock(held);
    return st;
}

ssq_status ssq_training_rate_get(const ssq_device *device, ssq_dtype dtype,
                                 double *throughput)
{
    static const char what[] = "training_rate_get";
    char command[THROUGHPUT_COMMAND];
    struct cache_key key;
    ssq_status st = throughput_check(device, dtype, what);
    if (st == SSQ_OK && throughput == NULL)
        st = error_set(SSQ_ERR_INVALID, "%s: rate is NULL", what);
    if (st != SSQ_OK)
        return st;
    struct throughput r;
    throughput_key_of(device, &key);
    st = throughput_load(&key, &r, what);
    if (st != SSQ_OK)
        return st;
    const double found = r.of[throughput_place_of(dtype)];
    if (found == 0.0) {
        throughput_command(device, dtype, command, sizeof(command));
        return error_set(SSQ_ERR_NOT_FOUND,
                         "%s: no rate in %s is kept of %s; `%s` measures it",
                         what, ssq_dtype_name(dtype), device->props.name,
                         command);
    }
    *throughput = found;
    return SSQ_OK;
}
