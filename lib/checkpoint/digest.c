/* SPDX-License-Identifier: Apache-2.0 */
/* digest.c - digests of tensors in files. */
#include "lib/checkpoint/digest.h"

#include "lib/checkpoint/disk.h"
#include "lib/core/base/object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Strings are added with their terminating 0, and sizes as eight bytes, low
 * byte first. Two different descriptions are therefore never the same bytes. */
uint64_t digest_begin(const struct crc64 *c, const struct safetensors_entry *e)
{
    uint64_t sum = crc64_add(c, 0, e->name, strlen(e->name) + 1);
    sum = crc64_add(c, sum, e->spelling.text, strlen(e->spelling.text) + 1);
    for (int i = 0; i < e->rank && i < SSQ_MAX_RANK; i++) {
        unsigned char size[8];
        for (int k = 0; k < 8; k++)
            size[k] = (unsigned char)((uint64_t)e->shape[i] >> 8 * k);
        sum = crc64_add(c, sum, size, sizeof(size));
    }
    return sum;
}

void digest_text(uint64_t sum, char text[DIGEST_DIGITS + 1])
{
    snprintf(text, DIGEST_DIGITS + 1, "%016llx", (unsigned long long)sum);
}

/* Compare DIGEST_KEY followed by a name with a key, as strcmp() would. */
static int by_digest(const void *name, const void *metadata)
{
    const char *key = ((const struct metadata *)metadata)->key;
    int first = strncmp(DIGEST_KEY, key, sizeof(DIGEST_KEY) - 1);
    return first != 0 ? first : strcmp(name, key + sizeof(DIGEST_KEY) - 1);
}

const char *digest_of(const struct safetensors_entry *e)
{
    const ssq_safetensors *file = e->in;
    if (file->metas == 0)
        return NULL;
    const struct metadata *found = bsearch(e->name, file->meta, file->metas,
                                           sizeof(*file->meta), by_digest);
    return found == NULL ? NULL : found->text;
}

ssq_status digest_check(const ssq_safetensors *f, const struct crc64 *c,
                        const struct safetensors_entry *e)
{
    const char *want = digest_of(e);
    char got[DIGEST_DIGITS + 1];
    if (want == NULL)
        return SSQ_OK;
    size_t room = e->bytes < CHUNK ? (size_t)e->bytes : CHUNK;
    unsigned char *bytes = mem_alloc_array(room, 1);
    if (bytes == NULL)
        return error_nomem(f->what, room);
    uint64_t sum = digest_begin(c, e);
    ssq_status st = SSQ_OK;
    for (uint64_t at = 0; at < e->bytes && st == SSQ_OK; at += room) {
        size_t n = e->bytes - at < room ? (size_t)(e->bytes - at) : room;
        st =
            disk_read(f->what, e->in->path, e->in->fd, e->begin + at, bytes, n);
        sum = crc64_add(c, sum, bytes, n);
    }
    mem_free(bytes);
    digest_text(sum, got);
    if (st == SSQ_OK && strcmp(got, want) != 0)
        return error_set(SSQ_ERR_INVALID,
                         "%s: %.300s: tensor \"%.100s\" is damaged: its digest "
                         "is %s, and was %.20s",
                         f->what, e->in->path, e->name, got, want);
    return st;
}

/* The header is read again, because strings in the copy in memory have been
 * unescaped. */
ssq_status header_digest_check(const ssq_safetensors *f, const struct crc64 *c)
{
    const size_t at = sizeof(HEADER_BEGIN) - 1;
    char want[DIGEST_DIGITS + 1] = "", got[DIGEST_DIGITS + 1] = "";
    char *text = mem_alloc(f->header_bytes);
    if (text == NULL)
        return error_nomem(f->what, f->header_bytes);
    ssq_status st =
        disk_read(f->what, f->path, f->fd, 8, text, f->header_bytes);
    if (st == SSQ_OK && f->header_bytes > at + DIGEST_DIGITS &&
        memcmp(text, HEADER_BEGIN, at) == 0) {
        memcpy(want, text + at, DIGEST_DIGITS);
        memset(text + at, '0', DIGEST_DIGITS);
        digest_text(crc64_add(c, 0, text, f->header_bytes), got);
    }
    mem_free(text);
    if (st == SSQ_OK && (want[0] == '\0' || strcmp(want, got) != 0))
        return error_set(SSQ_ERR_INVALID,
                         "%s: %.300s: its header is damaged, or was written by "
                         "others: its digest is \"%s\", and was \"%.20s\"",
                         f->what, f->path, got, want);
    return st;
}
