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
 * One function reads and writes a body: blob_u32 and its like move a number
 * into the blob, or out of it. */
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
    unsigned char *bytes; /* NULL: they are only counted */
    size_t n, at;
    bool reading;
    bool short_of; /* read past its end */
};

/** Begin to write, or with NULL to count. */
void blob_write(struct blob *b, void *bytes, size_t n);
/** The bytes that the blob takes, its checksum included. */
size_t blob_size(const struct blob *b);
/** *needed, if not NULL, becomes size.
 *  @return INVALID when the caller's blob is smaller; a NULL of 0 bytes only
 *          asks; what begins the text */
ssq_status blob_room(const void *blob, size_t bytes, size_t size,
                     size_t *needed, const char *what);
/** Write the header and the checksum. */
void blob_seal(struct blob *b, uint32_t kind);
/** Begin to read.
 *  @return INVALID unless it is whole, of this kind, and nothing in it has
 *          changed; what begins the text */
ssq_status blob_read(struct blob *b, const void *bytes, size_t n, uint32_t kind,
                     const char *what);
/** INVALID unless the body was read to its end, and not beyond. */
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
