/* SPDX-License-Identifier: Apache-2.0 */
/* blob.h - saved state as bytes.
 *
 *     magic    8 bytes  "ssqstate"
 *     order    u32      0x01020304, in the byte order of the body
 *     version  u32
 *     kind     u32      BLOB_*
 *     0        u32
 *     bytes    u64      of the whole blob
 *     body
 *     checksum u64      CRC-64 of everything before
 *
 * The owner of a body has one function that reads, writes and measures it, so
 * that the three cannot disagree. blob_u32() and similar functions copy a
 * number into the blob or out of it, or only count its bytes.
 *
 * Header and checksum are little-endian. So is the body of a scaler, because
 * checkpoints contain it. The body of an optimizer has the writer's byte order:
 * its tensors are copied as they are. A machine with the other order refuses it
 * by the word `order`. */
#ifndef LIB_AMP_COMMON_BLOB_H
#define LIB_AMP_COMMON_BLOB_H

#include "lib/core/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BLOB_VERSION   1u
#define BLOB_SCALER    1u
#define BLOB_OPTIMIZER 2u

struct blob {
    unsigned char *bytes; /* owned by the caller; NULL: only count */
    /* n: when reading, bytes before the checksum; at: the next byte */
    size_t n, at;
    bool reading;
    bool turned;   /* numbers have the other byte order than this machine */
    bool short_of; /* a read needed more bytes than there are */
};

/** Begin to write, after the space of the header; with NULL, begin to count. n
 * is not checked while numbers are written: it must be at least blob_size().
 * kind: BLOB_*. */
void blob_write(struct blob *b, void *bytes, size_t n, uint32_t kind);
/** Return the bytes of the blob as far as it has been written or counted, with
 *  its header and checksum. The body is padded to a multiple of 8. */
size_t blob_size(const struct blob *b);
/** Check that a blob of size bytes fits into the caller's bytes. Sets *needed
 * to size, unless it is NULL. `what` begins the text.
 *  @return SSQ_ERR_INVALID if it does not fit. A NULL blob of 0 bytes is only a
 *          query: SSQ_OK */
ssq_status blob_room(const void *blob, size_t bytes, size_t size,
                     size_t *needed, const char *what);
/** End a blob that was written: header, padding and checksum. kind: the same
 *  as at its begin. */
void blob_seal(struct blob *b, uint32_t kind);
/** Begin to read. The caller owns the bytes, which must stay until the last
 *  read. `what` begins the text.
 *  @return SSQ_ERR_INVALID unless the blob is whole, unchanged, and of this
 *          kind */
ssq_status blob_read(struct blob *b, const void *bytes, size_t n, uint32_t kind,
                     const char *what);
/** Return SSQ_ERR_INVALID unless the body was read exactly to its end. Use no
 *  value before this call: a missing number was read as 0. */
ssq_status blob_done(const struct blob *b, const char *what);

/** Return the next n bytes, which begin at a multiple of 8 from the start of
 * the blob. NULL if they are only counted, or missing. */
void *blob_bytes(struct blob *b, size_t n);
void blob_u32(struct blob *b, uint32_t *x);
void blob_u64(struct blob *b, uint64_t *x);
void blob_i32(struct blob *b, int32_t *x);
void blob_f64(struct blob *b, double *x);
/** Copy a bool as a u32. Sets *wrong if it is neither 0 nor 1. */
void blob_bool(struct blob *b, bool *x, bool *wrong);

#endif
