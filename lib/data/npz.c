/* SPDX-License-Identifier: Apache-2.0 */
/* npz.c - NumPy's archives: a zip file whose members are NPY files, stored or
 * deflated. https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
 *
 * The directory at the end of the file says where the members are; one of 4 GiB
 * or more has its sizes in a field of the extra data. */
#include "lib/data/array.h"

#include <stdio.h>
#include <string.h>

#define LOCAL     0x04034b50u /* signature of a member's header */
#define ENTRY     0x02014b50u /* of an entry of the directory */
#define END       0x06054b50u /* of the end of the directory */
#define END64     0x06064b50u
#define LOCATOR64 0x07064b50u /* where END64 is: just before END */
#define END_BYTES 22

bool npz_is(const struct contents *c)
{
    return c->n >= 4 && memcmp(c->data, "PK\3\4", 4) == 0;
}

static uint64_t npz_number(const unsigned char *p, int bytes)
{
    uint64_t n = 0;
    for (int i = bytes - 1; i >= 0; i--)
        n = n << 8 | p[i];
    return n;
}

/* The directory. */
struct directory {
    size_t at, end; /* bytes of the file */
};

/* A member. name is not ended. */
struct npz_member {
    const char *name;
    size_t name_bytes;
    unsigned flags, method;
    uint32_t crc;
    uint64_t packed, bytes, local; /* sizes; where its header is */
};

static bool find_end(const struct contents *c, size_t *end)
{
    const size_t comment = 65535;
    if (c->n < END_BYTES)
        return false;
    size_t least = c->n > END_BYTES + comment ? c->n - END_BYTES - comment : 0;
    for (size_t at = c->n - END_BYTES + 1; at-- > least;)
        if (npz_number(c->data + at, 4) == END &&
            at + END_BYTES + npz_number(c->data + at + 20, 2) == c->n) {
            *end = at;
            return true;
        }
    return false;
}

static bool find_directory(const struct contents *c, struct directory *d)
{
    size_t end;
    if (!find_end(c, &end))
        return false;
    uint64_t bytes = npz_number(c->data + end + 12, 4);
    uint64_t at = npz_number(c->data + end + 16, 4);
    if (end >= 20 && npz_number(c->data + end - 20, 4) == LOCATOR64) {
        uint64_t wide = npz_number(c->data + end - 12, 8);
        if (c->n < 56 || wide > c->n - 56 ||
            npz_number(c->data + wide, 4) != END64)
            return false;
        bytes = npz_number(c->data + wide + 40, 8);
        at = npz_number(c->data + wide + 48, 8);
    }
    if (at > c->n || bytes > c->n - at)
        return false;
    *d = (struct directory){(size_t)at, (size_t)(at + bytes)};
    return true;
}

/* Sizes of 32 bits that are all ones are in the extra field 1, in this order.
 */
static bool npz_widen(struct npz_member *m, const unsigned char *extra,
                      size_t n)
{
    uint64_t *const values[] = {&m->bytes, &m->packed, &m->local};
    size_t at = 0;
    while (n - at >= 4 && npz_number(extra + at, 2) != 1) {
        size_t skipped = 4 + (size_t)npz_number(extra + at + 2, 2);
        if (skipped > n - at)
            return false;
        at += skipped;
    }
    size_t end =
        n - at >= 4 ? at + 4 + (size_t)npz_number(extra + at + 2, 2) : n;
    if (end > n)
        return false;
    at += 4;
    for (int i = 0; i < 3; i++) {
        if (*values[i] != UINT32_MAX)
            continue;
        if (at > end || end - at < 8)
            return false;
        *values[i] = npz_number(extra + at, 8);
        at += 8;
    }
    return true;
}

/* Read the entry at d->at, and move d->at to the next one. */
static bool next_member(const struct contents *c, struct directory *d,
                        struct npz_member *m)
{
    const unsigned char *p = c->data + d->at;
    size_t left = d->end - d->at;
    if (left < 46 || npz_number(p, 4) != ENTRY)
        return false;
    *m = (struct npz_member){.name = (const char *)p + 46,
                             .flags = (unsigned)npz_number(p + 8, 2),
                             .method = (unsigned)npz_number(p + 10, 2),
                             .crc = (uint32_t)npz_number(p + 16, 4),
                             .packed = npz_number(p + 20, 4),
                             .bytes = npz_number(p + 24, 4),
                             .local = npz_number(p + 42, 4)};
    m->name_bytes = (size_t)npz_number(p + 28, 2);
    size_t extra = (size_t)npz_number(p + 30, 2);
    size_t all = 46 + m->name_bytes + extra + (size_t)npz_number(p + 32, 2);
    if (all > left)
        return false;
    d->at += all;
    return npz_widen(m, p + 46 + m->name_bytes, extra);
}

/* A member "x.npy" is the array "x". */
static bool is_named(const struct npz_member *m, const char *name)
{
    size_t n = strlen(name);
    return m->name_bytes == n + 4 && memcmp(m->name, name, n) == 0 &&
           memcmp(m->name + n, ".npy", 4) == 0;
}

/* CRC-32 of ISO 3309, which zip uses, four bits at a time. zlib's is not used,
 * because a stored archive must be readable without zlib. */
static uint32_t crc32_of(const unsigned char *p, size_t n)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

static ssq_status npz_broken(const struct contents *c)
{
    return error_set(SSQ_ERR_INVALID,
                     "array_read: %s: it is a damaged zip file", c->path);
}

/* Copy the bytes of a member. */
static ssq_status copy_member(const struct contents *c,
                              const struct npz_member *m, struct contents *part)
{
    if (m->local > c->n || c->n - m->local < 30 ||
        npz_number(c->data + m->local, 4) != LOCAL)
        return npz_broken(c);
    const unsigned char *p = c->data + m->local;
    uint64_t skipped = 30 + npz_number(p + 26, 2) + npz_number(p + 28, 2);
    uint64_t left = c->n - m->local;
    if (skipped > left || m->packed > left - skipped)
        return npz_broken(c);
    part->n = (size_t)m->packed;
    part->data = mem_alloc(part->n + 1);
    if (part->data == NULL)
        return error_nomem("array_read", part->n);
    memcpy(part->data, p + skipped, part->n);
    return SSQ_OK;
}

static ssq_status read_member(const struct contents *c,
                              const struct npz_member *m, ssq_array **array)
{
    char path[512];
    struct contents part = {.path = path};
    snprintf(path, sizeof(path), "%s: %.*s", c->path, (int)m->name_bytes,
             m->name);
    if ((m->flags & 1) != 0 || (m->method != 0 && m->method != 8))
        return error_set(SSQ_ERR_UNSUPPORTED,
                         "array_read: %s: it is encrypted, or compressed by "
                         "method %u, expected 0 or 8",
                         path, m->method);
    ssq_status st = copy_member(c, m, &part);
    if (st == SSQ_OK && m->method == 8)
        st = contents_inflate_raw(&part);
    if (st == SSQ_OK &&
        (part.n != m->bytes || crc32_of(part.data, part.n) != m->crc))
        st = npz_broken(&part);
    if (st == SSQ_OK && !npy_is(&part))
        st = error_set(SSQ_ERR_INVALID, "array_read: %s: it is not a NPY file",
                       path);
    if (st == SSQ_OK)
        st = npy_read(&part, array);
    contents_free(&part);
    return st;
}

/* The names of all arrays, for an error's text. */
static void list_names(const struct contents *c, struct directory d, char *text,
                       size_t bytes)
{
    struct npz_member m;
    size_t at = 0;
    text[0] = '\0';
    while (at + 1 < bytes && next_member(c, &d, &m)) {
        int n = (int)m.name_bytes;
        n = n > 4 && memcmp(m.name + n - 4, ".npy", 4) == 0 ? n - 4 : n;
        int more = snprintf(text + at, bytes - at, "%s%.*s",
                            at == 0 ? "" : ", ", n, m.name);
        at += more > 0 ? (size_t)more : 0;
    }
}

ssq_status npz_read(const struct contents *c, const char *name,
                    ssq_array **array)
{
    struct directory all, d;
    struct npz_member m, found = {NULL};
    char names[256];
    unsigned n = 0, members = 0;
    if (!find_directory(c, &all))
        return npz_broken(c);
    d = all;
    while (d.at < d.end) {
        if (!next_member(c, &d, &m))
            return npz_broken(c);
        members++;
        if (name != NULL && !is_named(&m, name))
            continue;
        found = m;
        n++;
    }
    if (n == 1)
        return read_member(c, &found, array);
    list_names(c, all, names, sizeof(names));
    if (name == NULL)
        return error_set(SSQ_ERR_INVALID,
                         "array_read: %s has %u arrays (%s): set name to one "
                         "of them",
                         c->path, members, names);
    return error_set(n == 0 ? SSQ_ERR_NOT_FOUND : SSQ_ERR_INVALID,
                     "array_read: %s has %u arrays \"%s\" (of %s)", c->path, n,
                     name, names);
}
