/* SPDX-License-Identifier: Apache-2.0 */
/* blob.c - saved state as bytes: header, body, checksum. Nothing here
 * allocates: the bytes are the caller's, of any alignment, and are moved by
 * memcpy. */
#include "lib/amp/blob.h"

#include "lib/core/crc64.h"

#include <string.h>

static const unsigned char magic[8] = {'s', 's', 'q', 's', 't', 'a', 't', 'e'};

/* A word whose bytes tell the writer's order. */
#define ORDER         UINT32_C(0x01020304)
#define ORDER_SWAPPED UINT32_C(0x04030201)

/* As blob.h draws it: 32 bytes without padding, copied as they lie. */
struct header {
    unsigned char magic[8];
    uint32_t order, version, kind, zero;
    uint64_t bytes;
};

#define CHECKSUM sizeof(uint64_t)

static uint64_t checksum(const unsigned char *p, size_t n)
{
    struct crc64 c;
    crc64_begin(&c);
    return crc64_add(&c, 0, p, n);
}

/* To write and to count begin alike, behind the header, which blob_seal fills
 * in when the size is known. */
void blob_write(struct blob *b, void *bytes, size_t n)
{
    *b = (struct blob){bytes, n, sizeof(struct header), false, false};
}

/* The body is filled up to a multiple of 8, so that the checksum is at one,
 * counted from the blob's begin. */
size_t blob_size(const struct blob *b)
{
    return (b->at + 7) / 8 * 8 + CHECKSUM;
}

/* A NULL with bytes is a mistake of the caller's, and told as a blob of 0
 * bytes. */
ssq_status blob_room(const void *blob, size_t bytes, size_t size,
                     size_t *needed, const char *what)
{
    if (needed != NULL)
        *needed = size;
    if (blob == NULL && bytes == 0)
        return SSQ_OK;
    if (blob != NULL && bytes >= size)
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID, "%s: blob has %zu bytes, %zu are needed",
                     what, blob == NULL ? 0 : bytes, size);
}

/* The padding is part of what the checksum is over: it is written as zeros, so
 * that equal states are equal bytes. */
void blob_seal(struct blob *b, uint32_t kind)
{
    size_t size = blob_size(b);
    struct header h = {
        .order = ORDER, .version = BLOB_VERSION, .kind = kind, .bytes = size};
    memcpy(h.magic, magic, sizeof(magic));
    memcpy(b->bytes, &h, sizeof(h));
    memset(b->bytes + b->at, 0, size - CHECKSUM - b->at);
    uint64_t sum = checksum(b->bytes, size - CHECKSUM);
    memcpy(b->bytes + size - CHECKSUM, &sum, sizeof(sum));
}

/* The header first: it says that the checksum is where we look for it. The
 * swapped order is told apart from damage, because a user can act on it. */
static ssq_status check_header(const struct header *h, size_t n, uint32_t kind,
                               const char *what)
{
    if (memcmp(h->magic, magic, sizeof(magic)) != 0)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the blob does not begin as a saved state", what);
    if (h->order == ORDER_SWAPPED)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the blob was written on a machine of the other "
                         "byte order",
                         what);
    if (h->order != ORDER || h->zero != 0)
        return error_set(SSQ_ERR_INVALID, "%s: the blob's header is damaged",
                         what);
    if (h->version != BLOB_VERSION)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the blob is of version %u, this library reads %u",
                         what, (unsigned)h->version, BLOB_VERSION);
    if (h->kind != kind)
        return error_set(SSQ_ERR_INVALID, "%s: the blob is of kind %u (%s)",
                         what, (unsigned)h->kind,
                         h->kind == BLOB_SCALER      ? "a scaler"
                         : h->kind == BLOB_OPTIMIZER ? "an optimizer"
                                                     : "unknown");
    if (h->bytes != n)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the blob has %zu bytes, its header says %llu",
                         what, n, (unsigned long long)h->bytes);
    return SSQ_OK;
}

ssq_status blob_read(struct blob *b, const void *bytes, size_t n, uint32_t kind,
                     const char *what)
{
    struct header h;
    uint64_t sum;
    if (bytes == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: blob is NULL", what);
    if (n < sizeof(h) + CHECKSUM)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the blob has %zu bytes, expected at least %zu",
                         what, n, sizeof(h) + CHECKSUM);
    memcpy(&h, bytes, sizeof(h));
    ssq_status st = check_header(&h, n, kind, what);
    if (st != SSQ_OK)
        return st;
    memcpy(&sum, (const unsigned char *)bytes + n - CHECKSUM, sizeof(sum));
    uint64_t found = checksum(bytes, n - CHECKSUM);
    if (sum != found)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the blob's checksum is %016llx, its bytes have "
                         "%016llx",
                         what, (unsigned long long)sum,
                         (unsigned long long)found);
    /* A blob that is read has a pointer to const bytes in a field that is not
     * const. move only reads them, and so do the callers of blob_bytes; the
     * pointer is copied as bytes, as no cast may take const away. */
    *b = (struct blob){NULL, n - CHECKSUM, sizeof(h), true, false};
    memcpy(&b->bytes, &bytes, sizeof(b->bytes));
    return SSQ_OK;
}

/* A body that was read short or not to its end is of another layout than its
 * reader takes it for, although the checksum is right. */
ssq_status blob_done(const struct blob *b, const char *what)
{
    size_t end = (b->at + 7) / 8 * 8;
    if (b->short_of || end != b->n)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the blob's body has %zu bytes, expected %zu%s",
                         what, b->n - sizeof(struct header),
                         end - sizeof(struct header),
                         b->short_of ? " and more" : "");
    return SSQ_OK;
}

/* The next n bytes, at whatever alignment; NULL if there are fewer or they are
 * only counted. short_of is never taken back: what is read after it means
 * nothing, and blob_done refuses it all. */
static unsigned char *next(struct blob *b, size_t n)
{
    if (b->reading && n > b->n - b->at) {
        b->short_of = true;
        return NULL;
    }
    unsigned char *p = b->bytes == NULL ? NULL : b->bytes + b->at;
    b->at += n;
    return p;
}

/* n bytes between x and the blob, in its direction. A number that is not there
 * is read as 0, so that callers need look only once, with blob_done. */
static void move(struct blob *b, void *x, size_t n)
{
    unsigned char *p = next(b, n);
    if (b->reading && p == NULL)
        memset(x, 0, n);
    else if (b->reading)
        memcpy(x, p, n);
    else if (p != NULL)
        memcpy(p, x, n);
}

/* The gap before them is counted from the blob's begin and not from its
 * address, so that it is the same wherever the blob lies. It is written as
 * zeros. */
void *blob_bytes(struct blob *b, size_t n)
{
    unsigned char *gap = next(b, (8 - b->at % 8) % 8);
    if (gap != NULL && !b->reading)
        memset(gap, 0, (size_t)(b->bytes + b->at - gap));
    return next(b, n);
}

void blob_u32(struct blob *b, uint32_t *x)
{
    move(b, x, sizeof(*x));
}

void blob_u64(struct blob *b, uint64_t *x)
{
    move(b, x, sizeof(*x));
}

void blob_i32(struct blob *b, int32_t *x)
{
    move(b, x, sizeof(*x));
}

void blob_f64(struct blob *b, double *x)
{
    move(b, x, sizeof(*x));
}

/* The size of a bool, and what its bytes mean, are a compiler's business: it
 * goes through a word. */
void blob_bool(struct blob *b, bool *x, bool *wrong)
{
    uint32_t word = *x;
    blob_u32(b, &word);
    if (!b->reading)
        return;
    *x = word == 1;
    *wrong = *wrong || word > 1;
}
