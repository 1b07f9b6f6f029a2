/* SPDX-License-Identifier: Apache-2.0 */
/* digest.h - digests of tensors and of the header, stored in "__metadata__". */
#ifndef LIB_CHECKPOINT_DIGEST_H
#define LIB_CHECKPOINT_DIGEST_H

#include "lib/checkpoint/safetensors.h"
#include "lib/core/base/crc64.h"

/** The key of a tensor's digest is DIGEST_KEY followed by the tensor's name.
 *  The text has DIGEST_DIGITS hexadecimal digits. */
#define DIGEST_KEY    "crc64/"
#define DIGEST_DIGITS 16

/** Return the CRC of a tensor's name, dtype and shape. The caller adds the
 *  tensor's bytes to it. */
uint64_t digest_begin(const struct crc64 *c, const struct safetensors_entry *e);
void digest_text(uint64_t sum, char text[DIGEST_DIGITS + 1]);
/** Return the digest that the file has for a tensor, or NULL. */
const char *digest_of(const struct safetensors_entry *e);
/** Return SSQ_ERR_INVALID if the bytes of a tensor do not match its digest. A
 *  tensor without a digest passes. */
ssq_status digest_check(const ssq_safetensors *file, const struct crc64 *c,
                        const struct safetensors_entry *e);

/** The beginning of headers that this library writes. The digits of the
 *  header's digest follow. The digest is computed with zeros in place of these
 *  digits. */
#define HEADER_BEGIN "{\"__metadata__\":{\"crc64\":\""
/** Return SSQ_ERR_INVALID unless a header begins so and matches its digest. */
ssq_status header_digest_check(const ssq_safetensors *file,
                               const struct crc64 *c);

/** Maximum number of bytes in one buffer of host memory. */
#define CHUNK ((size_t)4 << 20)

#endif
