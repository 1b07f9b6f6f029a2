/* SPDX-License-Identifier: Apache-2.0 */
/* certificate.c - the certificates of devices: in memory, on disk, or found by
 * a test.
 *
 * Files are written and read by lib/core/module/disk_cache.h. A file counts as
 * missing if it is damaged or belongs to another driver or library. It also
 * counts as missing if it contains values that certificate_store() never
 * writes. */
#include "lib/certify/certificate.h"

#include "lib/core/module/disk_cache.h"
#include "lib/core/base/error.h"
#include "lib/core/base/fork_lock.h"
#include "lib/core/module/services.h"

#include <stdio.h>
#include <string.h>

/** Most kinds of device whose certificates this process remembers. The
 *  certificate of any other kind is read from disk, or found again, at each
 *  open. */
#define REMEMBERED 8

/** The contents of a file; flags are 0 or 1. The disk cache adds a checksum, so
 *  KEPT_VERSION changes only if this layout changes. */
struct certificate_kept {
    uint32_t version, subnormals, half_load, half_store, certification_failed;
    char failed[sizeof(((struct certificate *)0)->failed)];
    char certification[sizeof(((struct certificate *)0)->certification)];
};
#define KEPT_VERSION 1u

/* Guards `memory` and `remembered`. Held while a device is tested. */
static struct fork_lock lock = FORK_LOCK_INIT;
static struct {
    char key[sizeof(((struct cache_key *)0)->text)];
    struct certificate certificate;
} memory[REMEMBERED];
static unsigned remembered;

/* Lock. In a child of fork, forget everything if the parent held the lock: an
 * entry may be half written. */
static void lock_memory(void)
{
    if (fork_lock(&lock))
        remembered = 0;
}

void certificate_key(const struct backend *b, const struct backend_device *d,
                     struct cache_key *key)
{
    cache_key_for("certificate", KEPT_VERSION, b, d, key);
}

/* ---- this process ---- */

/* Copy the remembered certificate of key to *c. False: there is none. Call it
 * with the lock. */
static bool recall(const struct cache_key *key, struct certificate *c)
{
    for (unsigned i = 0; i < remembered; i++)
        if (strcmp(memory[i].key, key->text) == 0) {
            *c = memory[i].certificate;
            return true;
        }
    return false;
}

/* Remember c: replace the entry of key, or add one if there is room. Call it
 * with the lock. */
static void remember(const struct cache_key *key, const struct certificate *c)
{
    unsigned i = 0;
    while (i < remembered && strcmp(memory[i].key, key->text) != 0)
        i++;
    if (i == REMEMBERED)
        return; /* read or found again the next time */
    memcpy(memory[i].key, key->text, sizeof(key->text));
    memory[i].certificate = *c;
    if (i == remembered)
        remembered++;
}

void certificate_forget(void)
{
    lock_memory();
    remembered = 0;
    fork_unlock(&lock);
}

/* ---- the disk ---- */

/* Return true if certificate_store() could have written k. The checksum only
 * detects damage. */
static bool certificate_plausible(const struct certificate_kept *k)
{
    return k->version == KEPT_VERSION && k->subnormals <= 1 &&
           k->half_load <= 1 && k->half_store <= 1 &&
           k->certification_failed <= 1 &&
           cache_text(k->failed, sizeof(k->failed)) &&
           cache_text(k->certification, sizeof(k->certification));
}

/* Load a certificate. False, with *c unchanged: no valid file exists. */
static bool certificate_load(const struct cache_key *key, struct certificate *c)
{
    struct certificate_kept k;
    size_t bytes;
    unsigned char *file =
        disk_cache_load(&core_services, key->name, key->text, &bytes);
    if (file == NULL)
        return false;
    bool whole = bytes == sizeof(k);
    if (whole)
        memcpy(&k, file, sizeof(k));
    mem_free(file);
    if (!whole || !certificate_plausible(&k))
        return false;
    *c = (struct certificate){.found = {.subnormals = k.subnormals != 0,
                                        .half_load = k.half_load != 0,
                                        .half_store = k.half_store != 0},
                              .certification_failed =
                                  k.certification_failed != 0};
    memcpy(c->failed, k.failed, sizeof(c->failed));
    memcpy(c->certification, k.certification, sizeof(c->certification));
    return true;
}

/* Store c. The struct is zeroed first: the unused bytes of the texts are part
 * of the file's checksum. */
static void certificate_store(const struct cache_key *key,
                              const struct certificate *c)
{
    struct certificate_kept k;
    memset(&k, 0, sizeof(k));
    k.version = KEPT_VERSION;
    k.subnormals = c->found.subnormals;
    k.half_load = c->found.half_load;
    k.half_store = c->found.half_store;
    k.certification_failed = c->certification_failed;
    snprintf(k.failed, sizeof(k.failed), "%s", c->failed);
    snprintf(k.certification, sizeof(k.certification), "%s", c->certification);
    disk_cache_store(&core_services, key->name, key->text,
                     (const unsigned char *)&k, sizeof(k));
}

/* ---- both ---- */

/* Run the self-test. Store the result if another run would repeat it. */
static ssq_status certificate_find(const struct backend *b,
                                   struct backend_device *d,
                                   const struct cache_key *key,
                                   struct certificate *c)
{
    bool sure;
    memset(c, 0, sizeof(*c));
    if (b->kernel_get == NULL)
        return SSQ_OK; /* there is nothing to test */
    ssq_status st = certify_run(b, d, c, &sure);
    if (st != SSQ_OK)
        return st;
    log_line(SSQ_LOG_INFO, "device",
             "%s: self-test: %s%s; float32 subnormals %s, f16 loads %s, f16 "
             "stores %s",
             b->name,
             c->failed[0] == '\0' ? "all is right" : "wrong: ", c->failed,
             c->found.subnormals ? "preserved" : "flushed",
             c->found.half_load ? "native" : "in integers",
             c->found.half_store ? "native" : "in integers");
    if (sure)
        certificate_store(key, c);
    return SSQ_OK;
}

ssq_status certificate_get(const struct backend *b, struct backend_device *d,
                           struct certificate *c)
{
    struct cache_key key;
    ssq_status st = SSQ_OK;
    certificate_key(b, d, &key);
    lock_memory();
    if (!recall(&key, c)) {
        if (!certificate_load(&key, c))
            st = certificate_find(b, d, &key, c);
        if (st == SSQ_OK)
            remember(&key, c);
    }
    fork_unlock(&lock);
    return st;
}

/* Compare two certificates. Bytes of the texts after their NUL do not count. */
static bool certificate_same(const struct certificate *a,
                             const struct certificate *b)
{
    return a->found.subnormals == b->found.subnormals &&
           a->found.half_load == b->found.half_load &&
           a->found.half_store == b->found.half_store &&
           a->certification_failed == b->certification_failed &&
           strcmp(a->failed, b->failed) == 0 &&
           strcmp(a->certification, b->certification) == 0;
}

bool certificate_keep(const struct backend *b, const struct backend_device *d,
                      const struct certificate *c)
{
    struct cache_key key;
    struct certificate again;
    certificate_key(b, d, &key);
    lock_memory();
    remember(&key, c);
    certificate_store(&key, c);
    /* read back: the disk cache does not report if it could write */
    bool kept = certificate_load(&key, &again) && certificate_same(&again, c);
    fork_unlock(&lock);
    return kept;
}
