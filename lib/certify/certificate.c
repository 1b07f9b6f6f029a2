/* SPDX-License-Identifier: Apache-2.0 */
/* certificate.c - certificates of devices: remembered, on disk, or found now.
 *
 * On disk they are what lib/core/disk_cache.h makes of them: a file that
 * is damaged, or of another driver or library, is as if it were not there, and
 * so is one whose words nobody can have written. */
#include "lib/certify/certificate.h"

#include "lib/core/disk_cache.h"
#include "kernels_sum.h"
#include "lib/core/error.h"
#include "lib/core/fork_lock.h"
#include "lib/core/services.h"

#include <stdio.h>
#include <string.h>

/** Of so many kinds of device this process remembers what was found. What is
 *  beyond is tested, or read from disk, each time it is opened. */
#define REMEMBERED 8

/** What a file has; flags are 0 or 1. The disk cache guards the bytes with a
 *  checksum, so that only a change of this layout needs another version. */
struct kept {
    uint32_t version, subnormals, half_load, half_store, verdict_bad;
    char failed[sizeof(((struct certificate *)0)->failed)];
    char verdict[sizeof(((struct certificate *)0)->verdict)];
};
#define KEPT_VERSION 1u

/* Guards all below, and is held while a device is tested. */
static struct fork_lock lock = FORK_LOCK_INIT;
static struct {
    char key[sizeof(((struct certificate_key *)0)->text)];
    struct certificate certificate;
} memory[REMEMBERED];
static unsigned remembered;

/* In a child of fork, an entry that the parent was writing is forgotten. */
static void lock_memory(void)
{
    if (fork_lock(&lock))
        remembered = 0;
}

void certificate_key_for(const char *kind, unsigned version,
                         const struct backend *b,
                         const struct backend_device *d,
                         struct certificate_key *key)
{
    /* 128: room for what is appended below, so that identify cannot crowd out
     * the version */
    int n = snprintf(key->text, sizeof(key->text), "sesqui %s %u %s\n", kind,
                     version, b->name);
    if (b->identify != NULL)
        b->identify(d, key->text + n, sizeof(key->text) - (size_t)n - 128);
    snprintf(key->name, sizeof(key->name), "%s-%s-%016llx", kind, b->name,
             (unsigned long long)disk_cache_hash(DISK_CACHE_HASH, key->text,
                                                 strlen(key->text)));
    size_t at = strlen(key->text);
    snprintf(key->text + at, sizeof(key->text) - at, "\nsesqui %s\n%s\n",
             ssq_version(), KERNELS_SUM);
}

void certificate_key(const struct backend *b, const struct backend_device *d,
                     struct certificate_key *key)
{
    certificate_key_for("certificate", KEPT_VERSION, b, d, key);
}

/* ---- this process ---- */

/* What was found about the same driver earlier, with the lock. */
static bool recall(const struct certificate_key *key, struct certificate *c)
{
    for (unsigned i = 0; i < remembered; i++)
        if (strcmp(memory[i].key, key->text) == 0) {
            *c = memory[i].certificate;
            return true;
        }
    return false;
}

/* Replace what is remembered, or add it where there is room; with the lock. */
static void remember(const struct certificate_key *key,
                     const struct certificate *c)
{
    unsigned i = 0;
    while (i < remembered && strcmp(memory[i].key, key->text) != 0)
        i++;
    if (i == REMEMBERED)
        return; /* it is found again the next time */
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

bool certificate_text(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '\0')
            return true;
        if ((text[i] < ' ' || text[i] > '~') && text[i] != '\n')
            return false;
    }
    return false;
}

/* Could store have written this? A checksum only says that somebody did. */
static bool plausible(const struct kept *k)
{
    return k->version == KEPT_VERSION && k->subnormals <= 1 &&
           k->half_load <= 1 && k->half_store <= 1 && k->verdict_bad <= 1 &&
           certificate_text(k->failed, sizeof(k->failed)) &&
           certificate_text(k->verdict, sizeof(k->verdict));
}

/* What a file says; false, with *c as it was, if there is none that may be
 * believed. */
static bool load(const struct certificate_key *key, struct certificate *c)
{
    struct kept k;
    size_t bytes;
    unsigned char *file =
        disk_cache_load(&core_services, key->name, key->text, &bytes);
    if (file == NULL)
        return false;
    bool whole = bytes == sizeof(k);
    if (whole)
        memcpy(&k, file, sizeof(k));
    mem_free(file);
    if (!whole || !plausible(&k))
        return false;
    *c = (struct certificate){.found = {.subnormals = k.subnormals != 0,
                                        .half_load = k.half_load != 0,
                                        .half_store = k.half_store != 0},
                              .verdict_bad = k.verdict_bad != 0};
    memcpy(c->failed, k.failed, sizeof(c->failed));
    memcpy(c->verdict, k.verdict, sizeof(c->verdict));
    return true;
}

/* Zeros first: unused bytes of the texts are part of the file's checksum. */
static void store(const struct certificate_key *key,
                  const struct certificate *c)
{
    struct kept k;
    memset(&k, 0, sizeof(k));
    k.version = KEPT_VERSION;
    k.subnormals = c->found.subnormals;
    k.half_load = c->found.half_load;
    k.half_store = c->found.half_store;
    k.verdict_bad = c->verdict_bad;
    snprintf(k.failed, sizeof(k.failed), "%s", c->failed);
    snprintf(k.verdict, sizeof(k.verdict), "%s", c->verdict);
    disk_cache_store(&core_services, key->name, key->text,
                     (const unsigned char *)&k, sizeof(k));
}

/* ---- both ---- */

/* Run the self-test, and store what it says if it will say so again. */
static ssq_status find(const struct backend *b, struct backend_device *d,
                       const struct certificate_key *key, struct certificate *c)
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
        store(key, c);
    return SSQ_OK;
}

ssq_status certificate_get(const struct backend *b, struct backend_device *d,
                           struct certificate *c)
{
    struct certificate_key key;
    ssq_status st = SSQ_OK;
    certificate_key(b, d, &key);
    lock_memory();
    if (!recall(&key, c)) {
        if (!load(&key, c))
            st = find(b, d, &key, c);
        if (st == SSQ_OK)
            remember(&key, c);
    }
    fork_unlock(&lock);
    return st;
}

bool certificate_keep(const struct backend *b, const struct backend_device *d,
                      const struct certificate *c)
{
    struct certificate_key key;
    struct certificate again;
    certificate_key(b, d, &key);
    lock_memory();
    remember(&key, c);
    store(&key, c);
    /* read back: the disk cache does not say whether it could write */
    bool kept = load(&key, &again) && strcmp(again.verdict, c->verdict) == 0;
    fork_unlock(&lock);
    return kept;
}
