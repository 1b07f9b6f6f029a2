/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - a parser for the strict subset of JSON that headers of safetensors
 * files need.
 *
 * It reads objects, arrays, strings and whole numbers in the order in which the
 * caller expects them. Other values can only be skipped. */
#ifndef LIB_CHECKPOINT_JSON_H
#define LIB_CHECKPOINT_JSON_H

#include "lib/core/base/error.h"

#include <stdint.h>

struct json {
    unsigned char *begin, *at, *end; /* strings are unescaped in place */
    const char *what;                /* begins error texts, with path */
    const char *path;
};

/** Skip white space, and return whether c follows. c is not consumed. */
bool json_is(struct json *j, char c);
/** Consume c, or report that it was expected. */
ssq_status json_take(struct json *j, char c);
/** Consume a UTF-8 string that contains no 0. *s is valid as long as the
 *  parser's bytes are. */
ssq_status json_string(struct json *j, char **s);
/** Consume a whole number from 0 to UINT64_MAX, without sign, fraction,
 *  exponent or leading zeros. */
ssq_status json_number(struct json *j, uint64_t *x);
/** After an element, consume a comma (*more is true) or `close` (*more is
 *  false). */
ssq_status json_more(struct json *j, char close, bool *more);
/** Skip one value of any kind. */
ssq_status json_skip(struct json *j);
/** Check that only white space follows. */
ssq_status json_done(struct json *j);

/** Return the length in bytes of the UTF-8 character at p, where n bytes are
 *  available. Returns 0 if it is not well-formed. */
size_t utf8_length(const unsigned char *p, size_t n);

#endif
