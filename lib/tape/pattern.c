/* SPDX-License-Identifier: Apache-2.0 */
/* pattern.c - match names, and make names from other names. */
#include "lib/tape/pattern.h"

size_t pattern_cards(const char *pattern)
{
    size_t n = 0;
    for (; *pattern != '\0'; pattern++)
        n += *pattern == '*' || *pattern == '?';
    return n;
}

static void pattern_put(struct captured *c, size_t i, const char *at, size_t n)
{
    if (c == NULL || i >= PATTERN_MOST)
        return;
    c->piece[i].at = at;
    c->piece[i].n = n;
}

/* Each star matches as few characters as possible. If the text after it does
 * not match, only the last star is extended by a character. Earlier stars need
 * not be extended. */
bool pattern_matches(const char *pattern, const char *name, struct captured *c)
{
    const char *star = NULL, *begin = NULL, *from = NULL;
    size_t n = 0, before = 0;
    for (;;) {
        if (*pattern == '*') {
            star = pattern++;
            begin = from = name;
            before = n;
            pattern_put(c, n++, name, 0);
        } else if (*name == '\0') {
            return *pattern == '\0';
        } else if (*pattern == '?' || *pattern == *name) {
            if (*pattern++ == '?')
                pattern_put(c, n++, name, 1);
            name++;
        } else if (star != NULL) {
            name = ++from;
            pattern_put(c, before, begin, (size_t)(from - begin));
            n = before + 1;
            pattern = star + 1;
        } else
            return false;
    }
}

size_t pattern_fill(const char *pattern, const struct captured *c, char *name,
                    size_t bytes)
{
    size_t n = 0, card = 0;
    for (; *pattern != '\0'; pattern++) {
        const bool wild = *pattern == '*' || *pattern == '?';
        const char *at = wild ? c->piece[card].at : pattern;
        const size_t k = wild ? c->piece[card].n : 1;
        card += wild;
        for (size_t i = 0; i < k; i++, n++)
            if (n + 1 < bytes)
                name[n] = at[i];
    }
    name[n < bytes ? n : bytes - 1] = '\0';
    return n;
}
