/* SPDX-License-Identifier: Apache-2.0 */
/* digest.h - what is kept of a tensor in "__metadata__", to know it again. */
#ifndef LIB_CHECKPOINT_DIGEST_H
#define LIB_CHECKPOINT_DIGEST_H

#include "lib/checkpoint/safetensors.h"
#include "lib/core/crc64.h"

/** The key of a tensor's digest is this and its name; its text 16 digits. */
#define DIGEST_KEY    "crc64/"
#define DIGEST_DIGITS 16

/** The sum of a tensor's name, dtype and shape, before its bytes. */
uint64_t digest_begin(const struct crc64 *c, const struct entry *e);
void digest_text(uint64_t sum, char text[DIGEST_DIGITS + 1]);
/** The text that the file has for a tensor; NULL none. */
const char *digest_of(const struct entry *e);
/** INVALID unless the bytes of a tensor are those that were saved; a tensor
 *  without a digest passes. */
ssq_status digest_check(const ssq_safetensors *file, const struct crc64 *c,
                        const struct entry *e);

/** What our headers begin with: behind it are the digits of the header's own
 *  sum, which is made with zeros for them. */
#define HEADER_BEGIN "{\"__metadata__\":{\"crc64\":\""
/** INVALID unless a header begins so, and is what it was. */
ssq_status header_check(const ssq_safetensors *file, const struct crc64 *c);

/** Bytes that go through host memory at once. */
#define CHUNK ((size_t)4 << 20)

#endif
