/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - the strict part of JSON that headers of safetensors files need:
 * objects, arrays, strings and whole numbers, read in the order in which they
 * are expected; any other value can only be skipped. */
#ifndef LIB_CHECKPOINT_JSON_H
#define LIB_CHECKPOINT_JSON_H

#include "lib/core/error.h"

#include <stdint.h>

struct json {
    unsigned char *begin, *at, *end; /* strings are unescaped in place */
    const char *what;                /* begins an error's text, with path */
    const char *path;
};

/** Is c what follows, behind white space? It is not taken. */
bool json_is(struct json *j, char c);
/** Take c, or say that it was expected. */
ssq_status json_take(struct json *j, char c);
/** Take a string of UTF-8 without a 0 in it: *s lives as long as the bytes. */
ssq_status json_string(struct json *j, char **s);
/** Take a whole number from 0 to UINT64_MAX, without sign, fraction, exponent
 *  or leading zeros. */
ssq_status json_number(struct json *j, uint64_t *x);
/** Behind an element: true in *more for a comma, false for `close`; both are
 *  taken. */
ssq_status json_more(struct json *j, char close, bool *more);
/** Skip one value of any kind. */
ssq_status json_skip(struct json *j);
/** Nothing but white space may follow. */
ssq_status json_done(struct json *j);

/** Bytes of the UTF-8 character at p, of n bytes; 0: it is none. */
size_t utf8_length(const unsigned char *p, size_t n);

#endif
