/* SPDX-License-Identifier: Apache-2.0 */
/* blob.h - saved state as bytes.
 *
 *     magic    8 bytes  "ssqstate"
 *     order    u32      0x01020304, in the order of the machine that wrote it
 *     version  u32
 *     kind     u32      BLOB_*
 *     0        u32
 *     bytes    u64      of all of it
 *     body
 *     checksum u64      CRC-64 of everything before
 *
 * One function of its owner reads, writes and measures a body, so that the
 * three cannot disagree: blob_u32 and its like move a number into the blob, or
 * out of it, or only count its bytes. Numbers are in the writer's byte order; a
 * machine of the other order refuses the blob by the word `order`. */
#ifndef LIB_AMP_BLOB_H
#define LIB_AMP_BLOB_H

#include "lib/core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOB_VERSION   1u
#define BLOB_SCALER    1u
#define BLOB_OPTIMIZER 2u

struct blob {
    unsigned char *bytes; /* the caller's; NULL: bytes are only counted */
    /* to read: bytes before the checksum; the next byte, from the begin */
    size_t n, at;
    bool reading;
    bool short_of; /* a read wanted more bytes than there are */
};

/** Begin to write behind a header's room, or with NULL to count. Nothing checks
 *  n while numbers are written: give at least what blob_size said. */
void blob_write(struct blob *b, void *bytes, size_t n);
/** The bytes that the blob takes as far as it has been written or counted, its
 *  header and checksum included; the body is padded to a multiple of 8. */
size_t blob_size(const struct blob *b);
/** Is there room for a blob of size bytes? *needed, if not NULL, becomes size.
 *  @return INVALID when the caller's blob is smaller; a NULL of 0 bytes only
 *          asks; what begins the text */
ssq_status blob_room(const void *blob, size_t bytes, size_t size,
                     size_t *needed, const char *what);
/** End a blob that was written: header, padding and checksum. kind: BLOB_*. */
void blob_seal(struct blob *b, uint32_t kind);
/** Begin to read: the bytes stay the caller's, and live until the last read.
 *  @return INVALID unless it is whole, of this kind, and nothing in it has
 *          changed; what begins the text */
ssq_status blob_read(struct blob *b, const void *bytes, size_t n, uint32_t kind,
                     const char *what);
/** INVALID unless the body was read to its end, and not beyond. Nothing that
 *  was read is to be believed before: a number that is not there reads as 0. */
ssq_status blob_done(const struct blob *b, const char *what);

/** The next n bytes, which begin at a multiple of 8 from the blob's begin; NULL
 *  when they are only counted, or not there. */
void *blob_bytes(struct blob *b, size_t n);
void blob_u32(struct blob *b, uint32_t *x);
void blob_u64(struct blob *b, uint64_t *x);
void blob_i32(struct blob *b, int32_t *x);
void blob_f64(struct blob *b, double *x);
/** A bool as a u32; *wrong is set where it is neither 0 nor 1. */
void blob_bool(struct blob *b, bool *x, bool *wrong);

#endif
