/* SPDX-License-Identifier: Apache-2.0 */
/* tuning.c - the fastest implementations of gemms, in a file of the disk cache.
 *
 * A file is replaced as a whole, by rename. A process that changes it holds the
 * cache's lock from reading to writing. So two processes that tune at the same
 * time do not lose each other's results. */
#include "lib/core/device/tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/core/base/crc64.h"
#include "lib/core/module/cache_key.h"
#include "lib/core/module/cache_lock.h"
#include "lib/core/module/disk_cache.h"
#include "lib/core/queue/dispatch.h"
#include "lib/core/module/services.h"

/** Increase this when struct tuning changes: older files are then ignored. */
#define LAYOUT 1u

/** A tuning that this device has read. */
struct tuning_tuned {
    struct tuning kept;
    uint16_t prefer; /* for struct op; 0: no implementation has this name */
};

struct tunings {
    struct cache_key key; /* the file's name, and what it depends on */
    char path[4096];      /* "": nothing can be kept */
    size_t n;
    struct tuning_tuned *of; /* n entries in ascending order of their keys */
};

static int tuning_by_key(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct tuning_key));
}

/* ---- the file ---- */

/* Return true if tuning_keep() could have written these entries. A matching
 * checksum does not prove that it did. */
static bool tuning_plausible(const struct tuning *t, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!cache_text(t[i].implementation, sizeof(t[i].implementation)) ||
            !(t[i].seconds > 0.0) || !(t[i].rule_seconds > 0.0) ||
            (i > 0 && tuning_by_key(&t[i - 1], &t[i]) >= 0))
            return false;
    return true;
}

/* Read the entries of a file. The caller owns *entries and releases it with
 * mem_free(). *entries is NULL if the file has none. Returns false if memory
 * runs out. */
static bool tuning_load(const struct tunings *file, struct tuning **entries,
                        size_t *n)
{
    unsigned char *body;
    size_t bytes;
    ssq_status st = disk_cache_read(&core_services, file->key.name,
                                    file->key.text, &body, &bytes);
    *entries = (struct tuning *)(void *)body;
    *n = bytes / sizeof(**entries);
    if (st == SSQ_ERR_NOMEM)
        return false;
    if (st == SSQ_OK &&
        (body == NULL || (bytes % sizeof(**entries) == 0 && *n <= TUNINGS &&
                          tuning_plausible(*entries, *n))))
        return true;
    log_line(SSQ_LOG_WARNING, "tune", "%s is damaged, and not used",
             file->path);
    mem_free(body);
    *entries = NULL;
    *n = 0;
    return true;
}

/* Copy old, which is in ascending order, and insert one in its place, or
 * replace the entry that has its key. Returns the new number of entries. */
static size_t tuning_merge(const struct tuning *old, size_t n,
                           const struct tuning *one, struct tuning *to)
{
    size_t i = 0, at;
    while (i < n && tuning_by_key(&old[i], one) < 0)
        i++;
    memcpy(to, old, i * sizeof(*to));
    to[i] = *one;
    at = i + 1;
    i += i < n && tuning_by_key(&old[i], one) == 0;
    memcpy(to + at, old + i, (n - i) * sizeof(*to));
    return at + n - i;
}

/* Store one in the file. The caller holds the lock. Returns true if the file
 * then contains it. */
static bool core_tuning_keep(const struct tunings *file,
                             const struct tuning *one)
{
    size_t n;
    struct tuning none, *old;
    if (!tuning_load(file, &old, &n))
        return false; /* the others would be lost */
    struct tuning *all = mem_alloc_array(n + 1, sizeof(*all));
    if (all != NULL)
        n = tuning_merge(old == NULL ? &none : old, n, one, all);
    bool kept = all != NULL && n <= TUNINGS &&
                disk_cache_store(&core_services, file->key.name, file->key.text,
                                 (const unsigned char *)all, n * sizeof(*all));
    mem_free(all);
    mem_free(old);
    return kept;
}

bool tuning_keep(const ssq_device *d, const struct tuning *one)
{
    const struct tunings *file = d->tunings;
    if (file == NULL || file->path[0] == '\0')
        return false;
    int held = cache_lock();
    bool kept = held != DISK_CACHE_BUSY && core_tuning_keep(file, one);
    cache_unlock(held);
    return kept;
}

/* ---- the tunings of a device ---- */

/* Return the number of an implementation, from 1; 0: none has this name. */
static uint16_t tuning_number_of(const ssq_device *d, const char *name)
{
    struct choice c;
    for (unsigned i = 0; choice_nth(d, OP_gemm, i, &c); i++)
        if (strcmp(c.name, name) == 0)
            return (uint16_t)(i + 1);
    return 0;
}

ssq_status tunings_open(ssq_device *d)
{
    if (d->backend->identify == NULL)
        return SSQ_OK; /* host code: nothing to choose */
    struct tunings *t = mem_alloc(sizeof(*t));
    if (t == NULL)
        return error_nomem("device_open", sizeof(*t));
    d->tunings = t;
    cache_key_for("gemm", LAYOUT, d->backend, d->impl, &t->key);
    if (!disk_cache_path(&core_services, t->key.name, t->path,
                         sizeof(t->path))) {
        t->path[0] = '\0';
        return SSQ_OK;
    }
    size_t n;
    struct tuning *file;
    if (!tuning_load(t, &file, &n))
        return error_set(SSQ_ERR_NOMEM,
                         "device_open: no host memory to read "
                         "%s",
                         t->path);
    if (file == NULL)
        return SSQ_OK;
    t->of = mem_alloc_array(n, sizeof(*t->of));
    if (t->of != NULL)
        t->n = n;
    for (size_t i = 0; i < t->n; i++)
        t->of[i] = (struct tuning_tuned){
            file[i], tuning_number_of(d, file[i].implementation)};
    mem_free(file);
    return t->of != NULL ? SSQ_OK
                         : error_nomem("device_open", n * sizeof(*t->of));
}

void tunings_close(ssq_device *d)
{
    if (d->tunings == NULL)
        return;
    mem_free(d->tunings->of);
    mem_free(d->tunings);
    d->tunings = NULL;
}

const struct tuning *tuning_find(const ssq_device *d,
                                 const struct tuning_key *key, uint16_t *number)
{
    const struct tunings *t = d->tunings;
    if (t == NULL || t->n == 0 || d->pins[OP_gemm][0] != '\0')
        return NULL;
    const struct tuning_tuned *found =
        bsearch(key, t->of, t->n, sizeof(*t->of), tuning_by_key);
    if (found == NULL || found->prefer == 0)
        return NULL;
    *number = found->prefer;
    return &found->kept;
}

/* The times are left out: they choose nothing. */
uint64_t tunings_digest(const ssq_device *d, size_t *n)
{
    struct crc64 c;
    uint64_t sum = 0;
    *n = d->tunings == NULL ? 0 : d->tunings->n;
    if (*n > 0)
        crc64_begin(&c);
    for (size_t i = 0; i < *n; i++) {
        const struct tuning *t = &d->tunings->of[i].kept;
        sum = crc64_add(&c, sum, &t->key, sizeof(t->key));
        sum = crc64_add(&c, sum, t->implementation, sizeof(t->implementation));
        sum = crc64_add(&c, sum, &t->algorithm, sizeof(t->algorithm));
    }
    return sum;
}

/* ---- public ---- */

ssq_gemm_tuning tuning_export(const struct tuning *t)
{
    ssq_gemm_tuning x = SSQ_GEMM_TUNING_INIT;
    x.batch = t->key.batch;
    x.m = t->key.m;
    x.n = t->key.n;
    x.k = t->key.k;
    x.a = (ssq_dtype)t->key.a;
    x.b = (ssq_dtype)t->key.b;
    x.d = (ssq_dtype)t->key.d;
    x.trans_a = (t->key.turned & TURNED_A) != 0;
    x.trans_b = (t->key.turned & TURNED_B) != 0;
    x.trans_d = (t->key.turned & TURNED_D) != 0;
    x.tf32 = t->key.tf32 != 0;
    x.f16_three = t->key.three != 0;
    snprintf(x.implementation, sizeof(x.implementation), "%s",
             t->implementation);
    x.algorithm = t->algorithm;
    x.seconds = t->seconds;
    x.rule_seconds = t->rule_seconds;
    x.kept = true;
    return x;
}

ssq_status ssq_gemm_tuning_get(const ssq_device *d, size_t i,
                               ssq_gemm_tuning *out)
{
    if (d == NULL || out == NULL || out->struct_size != sizeof(*out))
        return error_set(
            SSQ_ERR_INVALID,
            "gemm_tuning_get: an argument is NULL or has a wrong struct_size");
    size_t n = d->tunings == NULL ? 0 : d->tunings->n;
    if (i >= n)
        return error_set(SSQ_ERR_NOT_FOUND,
                         "gemm_tuning_get: no shape %zu of %zu on %s", i, n,
                         d->props.name);
    *out = tuning_export(&d->tunings->of[i].kept);
    return SSQ_OK;
}

const char *ssq_gemm_tuning_path(const ssq_device *d)
{
    return d == NULL || d->tunings == NULL ? "" : d->tunings->path;
}

ssq_status ssq_gemm_tuning_clear(ssq_device *d)
{
    if (d == NULL)
        return error_set(SSQ_ERR_INVALID, "gemm_tuning_clear: device is NULL");
    if (d->tunings == NULL || d->tunings->path[0] == '\0')
        return SSQ_OK;
    int held = cache_lock();
    bool busy = held == DISK_CACHE_BUSY;
    bool gone =
        !busy && disk_cache_remove(&core_services, d->tunings->key.name);
    cache_unlock(held);
    return gone ? SSQ_OK
                : error_set(
                      SSQ_ERR_IO, "gemm_tuning_clear: %s cannot be removed%s",
                      d->tunings->path,
                      busy ? ": another process holds the cache's .lock" : "");
}
