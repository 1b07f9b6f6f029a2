/* SPDX-License-Identifier: Apache-2.0 */
/* nearest.h - find the known name that is nearest to a misspelt one. */
#ifndef LIB_CORE_BASE_NEAREST_H
#define LIB_CORE_BASE_NEAREST_H

#include <stddef.h>

/** Size of the longest name that is compared, with its terminator. */
#define NEAREST_NAME 128

/** A search for the known name that is nearest to another. */
struct nearest {
    const char *name; /* n characters, not terminated */
    size_t n;
    size_t least;      /* the next name must differ in fewer characters */
    const char *found; /* NULL: none differs in fewer than half of them */
};

/** Begin a search for a name of n characters. */
struct nearest nearest_begin(const char *name, size_t n);
/** Compare with a known name, which must outlive the search. */
void nearest_look(struct nearest *s, const char *name);

/** Bytes of the longest question. */
#define NEAREST_QUESTION (NEAREST_NAME + 24)
/** Write "; did you mean "gelu"?", or "" if no name is near. */
void nearest_question(const struct nearest *s, char text[NEAREST_QUESTION]);

#endif
