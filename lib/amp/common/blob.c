/* SPDX-License-Identifier: Apache-2.0 */
/* blob.c - saved state as bytes: header, body, checksum. Nothing here
 * allocates. The caller owns the bytes, which may have any alignment and are
 * copied by memcpy. */
#include "lib/amp/common/blob.h"

#include "lib/core/base/crc64.h"

#include <string.h>

static const unsigned char magic[8] = {'s', 's', 'q', 's', 't', 'a', 't', 'e'};

/* The bytes of this word show the byte order of the body. */
#define ORDER         UINT32_C(0x01020304)
#define ORDER_SWAPPED UINT32_C(0x04030201)

/* As in blob.h: 32 bytes without padding, copied as they are. */
struct blob_header {
    unsigned char magic[8];
    uint32_t order, version, kind, zero;
    uint64_t bytes;
};

#define CHECKSUM sizeof(uint64_t)

static bool big_endian(void)
{
    const uint32_t word = 1;
    unsigned char first;
    memcpy(&first, &word, sizeof(first));
    return first == 0;
}

static void turn(void *number, size_t n)
{
    unsigned char *p = number;
    for (size_t i = 0; i < n / 2; i++) {
        unsigned char x = p[i];
        p[i] = p[n - 1 - i];
        p[n - 1 - i] = x;
    }
}

/* Convert all of a header but `order` from this machine's byte order to
 * little-endian, or back. */
static void header_little(struct blob_header *h)
{
    if (!big_endian())
        return;
    turn(&h->version, sizeof(h->version));
    turn(&h->kind, sizeof(h->kind));
    turn(&h->zero, sizeof(h->zero));
    turn(&h->bytes, sizeof(h->bytes));
}

static bool kind_turned(uint32_t kind)
{
    return kind == BLOB_SCALER && big_endian();
}

/* Return the checksum as the blob contains it: its bytes are little-endian. */
static uint64_t blob_checksum(const unsigned char *p, size_t n)
{
    struct crc64 c;
    crc64_begin(&c);
    uint64_t sum = crc64_add(&c, 0, p, n);
    if (big_endian())
        turn(&sum, sizeof(sum));
    return sum;
}

/* Writing and counting both begin after the header. blob_seal() writes the
 * header when the size is known. */
void blob_write(struct blob *b, void *bytes, size_t n, uint32_t kind)
{
    *b = (struct blob){.bytes = bytes,
                       .n = n,
                       .at = sizeof(struct blob_header),
                       .turned = kind_turned(kind)};
}

/* The body is padded to a multiple of 8 bytes, so that the checksum begins at a
 * multiple of 8 from the start of the blob. */
size_t blob_size(const struct blob *b)
{
    return (b->at + 7) / 8 * 8 + CHECKSUM;
}

/* A NULL with bytes is a mistake of the caller. The text then says 0 bytes. */
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

/* The checksum covers the padding, which is zeros, so that equal states have
 * equal bytes. */
void blob_seal(struct blob *b, uint32_t kind)
{
    size_t size = blob_size(b);
    struct blob_header h = {.order = kind_turned(kind) ? ORDER_SWAPPED : ORDER,
                            .version = BLOB_VERSION,
                            .kind = kind,
                            .bytes = size};
    memcpy(h.magic, magic, sizeof(magic));
    header_little(&h);
    memcpy(b->bytes, &h, sizeof(h));
    memset(b->bytes + b->at, 0, size - CHECKSUM - b->at);
    uint64_t sum = blob_checksum(b->bytes, size - CHECKSUM);
    memcpy(b->bytes + size - CHECKSUM, &sum, sizeof(sum));
}

/* Check the header first: it contains the size, and so the place of the
 * checksum. A swapped byte order has its own text, because the caller can act
 * on it. The order that is right depends on the kind. */
static ssq_status check_header(const struct blob_header *h, size_t n,
                               uint32_t kind, const char *what)
{
    if (memcmp(h->magic, magic, sizeof(magic)) != 0)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the blob does not begin as a saved state", what);
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
    const uint32_t order = kind_turned(kind) ? ORDER_SWAPPED : ORDER;
    if (h->order == (order == ORDER ? ORDER_SWAPPED : ORDER))
        return error_set(SSQ_ERR_INVALID,
                         "%s: the blob was written on a machine of the other "
                         "byte order",
                         what);
    if (h->order != order || h->zero != 0)
        return error_set(SSQ_ERR_INVALID, "%s: the blob's header is damaged",
                         what);
    if (h->bytes != n)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the blob has %zu bytes, its header says %llu",
                         what, n, (unsigned long long)h->bytes);
    return SSQ_OK;
}

ssq_status blob_read(struct blob *b, const void *bytes, size_t n, uint32_t kind,
                     const char *what)
{
    struct blob_header h;
    uint64_t sum;
    if (bytes == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: blob is NULL", what);
    if (n < sizeof(h) + CHECKSUM)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the blob has %zu bytes, expected at least %zu",
                         what, n, sizeof(h) + CHECKSUM);
    memcpy(&h, bytes, sizeof(h));
    header_little(&h);
    ssq_status st = check_header(&h, n, kind, what);
    if (st != SSQ_OK)
        return st;
    memcpy(&sum, (const unsigned char *)bytes + n - CHECKSUM, sizeof(sum));
    uint64_t found = blob_checksum(bytes, n - CHECKSUM);
    if (sum != found)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the blob's checksum is %016llx, its bytes have "
                         "%016llx",
                         what, (unsigned long long)sum,
                         (unsigned long long)found);
    /* The struct's pointer is not const, although the bytes are. blob_move()
     * and the callers of blob_bytes() only read them. The pointer is copied as
     * bytes, because a cast must not remove const. */
    *b = (struct blob){.n = n - CHECKSUM,
                       .at = sizeof(h),
                       .reading = true,
                       .turned = kind_turned(kind)};
    memcpy(&b->bytes, &bytes, sizeof(b->bytes));
    return SSQ_OK;
}

/* If a body was read beyond its end, or not to its end, its layout is not the
 * reader's, although the checksum is right. */
ssq_status blob_done(const struct blob *b, const char *what)
{
    size_t end = (b->at + 7) / 8 * 8;
    if (b->short_of || end != b->n)
        return error_set(SSQ_ERR_INVALID,
                         "%s: the blob's body has %zu bytes, expected %zu%s",
                         what, b->n - sizeof(struct blob_header),
                         end - sizeof(struct blob_header),
                         b->short_of ? " and more" : "");
    return SSQ_OK;
}

/* Return the next n bytes, at any alignment. NULL if there are fewer, or if
 * bytes are only counted. short_of stays set, because values that are read
 * later mean nothing: blob_done() refuses all of them. */
static unsigned char *blob_next(struct blob *b, size_t n)
{
    if (b->reading && n > b->n - b->at) {
        b->short_of = true;
        return NULL;
    }
    unsigned char *p = b->bytes == NULL ? NULL : b->bytes + b->at;
    b->at += n;
    return p;
}

/* Copy a number of n bytes between x and the blob, in the blob's direction. A
 * missing number is read as 0, so that callers need only one check, by
 * blob_done(). */
static void blob_move(struct blob *b, void *x, size_t n)
{
    unsigned char *p = blob_next(b, n);
    if (b->reading && p == NULL)
        memset(x, 0, n);
    else if (b->reading)
        memcpy(x, p, n);
    else if (p != NULL)
        memcpy(p, x, n);
    if (b->turned && p != NULL)
        turn(b->reading ? x : p, n);
}

/* The gap before the bytes is counted from the start of the blob, not from its
 * address, so that it does not depend on where the blob is. It is written as
 * zeros. */
void *blob_bytes(struct blob *b, size_t n)
{
    unsigned char *gap = blob_next(b, (8 - b->at % 8) % 8);
    if (gap != NULL && !b->reading)
        memset(gap, 0, (size_t)(b->bytes + b->at - gap));
    return blob_next(b, n);
}

void blob_u32(struct blob *b, uint32_t *x)
{
    blob_move(b, x, sizeof(*x));
}

void blob_u64(struct blob *b, uint64_t *x)
{
    blob_move(b, x, sizeof(*x));
}

void blob_i32(struct blob *b, int32_t *x)
{
    blob_move(b, x, sizeof(*x));
}

void blob_f64(struct blob *b, double *x)
{
    blob_move(b, x, sizeof(*x));
}

/* Copy a bool as a u32, because the size and bytes of a bool depend on the
 * compiler. */
void blob_bool(struct blob *b, bool *x, bool *wrong)
{
    uint32_t word = *x;
    blob_u32(b, &word);
    if (!b->reading)
        return;
    *x = word == 1;
    *wrong = *wrong || word > 1;
}
