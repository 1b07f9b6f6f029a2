/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.h - match names of parameters. In a pattern, * matches any number of
 * characters and ? matches one. */
#ifndef LIB_TAPE_PATTERN_H
#define LIB_TAPE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/** The parts of a name that the wild cards of a pattern match, in order. */
#define PATTERN_MOST 8
struct captured {
    struct {
        const char *at;
        size_t n;
    } piece[PATTERN_MOST];
};

/** Return the number of wild cards in a pattern. */
size_t pattern_cards(const char *pattern);
/** Return whether a name matches. captured may be NULL. Only the first
 *  PATTERN_MOST parts are captured. */
bool pattern_matches(const char *pattern, const char *name,
                     struct captured *captured);
/** Replace the wild cards of a pattern by captured parts. Returns the length of
 *  the name. If this is `bytes` or more, the name is cut. */
size_t pattern_fill(const char *pattern, const struct captured *captured,
                    char *name, size_t bytes);

#endif
