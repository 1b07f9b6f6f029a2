/* SPDX-License-Identifier: Apache-2.0 */
/* turns.c - which driver runs which cases of a table. */
#include "conformance/turns.h"

#include <string.h>

#define DTYPES 3 /* of a case that count */
#define PARTS  8 /* a driver gets one part of the mixes in eight */

/* The size of a dtype as a digit: 1, 2 or 3 for 1, 2 or 4 bytes; 0 for any
 * other word. */
static unsigned size_digit(const char *word, size_t length)
{
    static const struct {
        const char *name;
        unsigned digit;
    } dtypes[] = {{"u8", 1}, {"f16", 2}, {"bf16", 2}, {"f32", 3}, {"i32", 3}};
    for (size_t k = 0; k < sizeof(dtypes) / sizeof(dtypes[0]); k++)
        if (strlen(dtypes[k].name) == length &&
            memcmp(dtypes[k].name, word, length) == 0)
            return dtypes[k].digit;
    return 0;
}

/* The sizes of the first dtypes that the description of case i names, a digit
 * to the base 4 for each; 0 if it names none. */
static unsigned mix_of(const struct suite *suite, size_t i)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    char text[256];
    unsigned mix = 0;
    suite->describe(i, text, sizeof(text));
    const char *at = text;
    for (int n = 0; n < DTYPES && *at != '\0';) {
        size_t length = strspn(at, letters);
        unsigned digit = size_digit(at, length);
        mix = digit != 0 ? 4 * mix + digit : mix;
        n += digit != 0;
        at += length > 0 ? length : 1;
    }
    return mix;
}

struct turns turns_of(const struct suite *suite)
{
    struct turns t = {.suite = suite};
    for (size_t i = 0; i < suite->n && suite->turn == NULL; i++)
        t.mixes |= UINT64_C(1) << mix_of(suite, i);
    t.mixes &= ~UINT64_C(1);
    return t;
}

static unsigned turns_count(uint64_t bits)
{
    unsigned n = 0;
    for (; bits != 0; bits &= bits - 1)
        n++;
    return n;
}

bool turns_has(const struct turns *t, size_t i, size_t driver)
{
    const unsigned mixes = turns_count(t->mixes);
    if (t->suite->turn != NULL) {
        int turn = t->suite->turn(i);
        return turn == SUITE_ALL || (size_t)turn % PARTS == driver % 2;
    }
    const unsigned mix = mix_of(t->suite, i);
    if (mix == 0 || mixes < 2)
        return (size_t)suite_half(i) == driver % 2;
    /* each driver has a mix, and not the same one in all tables */
    const unsigned parts = mixes < PARTS ? mixes : PARTS;
    unsigned rank = turns_count(t->mixes & ((UINT64_C(1) << mix) - 1));
    rank += (unsigned)suite_turn(t->suite->name);
    return rank % parts == driver % 2;
}
