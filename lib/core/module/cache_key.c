/* SPDX-License-Identifier: Apache-2.0 */
/* cache_key.c - which file of the disk cache belongs to a device. */
#include "lib/core/module/cache_key.h"

#include "kernels_sum.h"
#include "lib/core/module/disk_cache.h"

#include <stdio.h>
#include <string.h>

void cache_key_for(const char *kind, unsigned version, const struct backend *b,
                   const struct backend_device *d, struct cache_key *key)
{
    /* 128: reserved for the text that is appended below, so that identify()
     * leaves room for the version. */
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

bool cache_text(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '\0')
            return true;
        if ((text[i] < ' ' || text[i] > '~') && text[i] != '\n')
            return false;
    }
    return false;
}
