/* SPDX-License-Identifier: Apache-2.0 */
/* nearest.h - which of several names was meant by one that is not among them.
 */
#ifndef LIB_CORE_NEAREST_H
#define LIB_CORE_NEAREST_H

#include <stddef.h>

/** Longest name that is compared, its end included. */
#define NEAREST_NAME 128

/** The search for the name that is most like another. */
struct nearest {
    const char *name; /* n characters, without an end */
    size_t n;
    size_t least;      /* the next name must differ in less characters */
    const char *found; /* NULL: none differs in less than half of them */
};

/** Begin a search for a name of n characters. */
struct nearest nearest_begin(const char *name, size_t n);
/** Compare with a name that exists, which must outlive the search. */
void nearest_look(struct nearest *s, const char *name);

/** Bytes of the longest question. */
#define NEAREST_QUESTION (NEAREST_NAME + 24)
/** Write "; did you mean "gelu"?", or nothing if no name was near. */
void nearest_question(const struct nearest *s, char text[NEAREST_QUESTION]);

#endif
