/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.h - names of parameters by patterns: * stands for any characters, ?
 * for one. */
#ifndef LIB_TAPE_PATTERN_H
#define LIB_TAPE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/** What the wild cards of a pattern stand for in a name, in their order. */
#define PATTERN_MOST 8
struct captured {
    struct {
        const char *at;
        size_t n;
    } piece[PATTERN_MOST];
};

/** Wild cards in a pattern. */
size_t pattern_cards(const char *pattern);
/** captured may be NULL; a pattern whose pieces are wanted has at most
 *  PATTERN_MOST. */
bool pattern_matches(const char *pattern, const char *name,
                     struct captured *captured);
/** A pattern whose wild cards are these pieces, as a name; its length, which
 *  may be bytes or more: then it is cut. */
size_t pattern_fill(const char *pattern, const struct captured *captured,
                    char *name, size_t bytes);

#endif
