/* SPDX-License-Identifier: Apache-2.0 */
/* words.h - texts of options: words between commas, and the numbers in them.
 *
 *     mixed_float16,gelu=float32,loss_scale=512
 *     sesqui,init_scale=2^10 */
#ifndef LIB_CORE_BASE_WORDS_H
#define LIB_CORE_BASE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/** A part of a text, not terminated by '\0'. */
struct word {
    const char *at;
    size_t n;
};

/** For "%.*s" in an error's text: the word, shortened if it is long. */
#define WORD_TEXT(W) (int)((W).n < 48 ? (W).n : 48), (W).at

/** True if the word equals this name. */
static inline bool word_is(struct word w, const char *name)
{
    return strlen(name) == w.n && memcmp(name, w.at, w.n) == 0;
}

/** Return the first word of a text, up to a comma or the text's end. */
static inline struct word word_first(const char *text)
{
    return (struct word){text, strcspn(text, ",")};
}

/** Move to the word following a comma; false if w is the last one. */
static inline bool word_next(struct word *w)
{
    if (w->at[w->n] != ',')
        return false;
    *w = word_first(w->at + w->n + 1);
    return true;
}

/** Split "key=value" at its first equals sign; false if it has none. */
static inline bool word_split(struct word w, struct word *key,
                              struct word *value)
{
    const char *equals = memchr(w.at, '=', w.n);
    if (equals == NULL)
        return false;
    *key = (struct word){w.at, (size_t)(equals - w.at)};
    *value = (struct word){equals + 1, w.n - key->n - 1};
    return true;
}

/** The form of numbers that word_number reads, for error texts. */
#define WORD_NUMBER "a number of up to 15 digits, or 2^N"

/** Read a number that is not negative: "512", "0.5", "1e-4", "2^16". The
 *  decimal point is a point in every locale. The value is the double nearest to
 *  the text, in every floating-point mode.
 *  @return false: the text is not such a number, has more than 15 digits, or
 *          its exponent is out of range (10^-22 to 10^22, 2^-1022 to 2^1023) */
bool word_number(struct word w, double *value);

#endif
