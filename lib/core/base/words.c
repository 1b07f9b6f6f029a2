/* SPDX-License-Identifier: Apache-2.0 */
/* words.c - the numbers in texts of options.
 *
 * A decimal of up to 15 digits and a power of ten up to 10^22 are both exact
 * doubles. One multiplication or division of them rounds only once, to the
 * nearest. */
#include "lib/core/base/words.h"

#include "lib/core/base/fpenv.h"

#include <math.h>
#include <stdint.h>

/* The rest of a word that was not read yet. */
struct words_cursor {
    const char *at, *end;
};

static bool cursor_take(struct words_cursor *c, const char *any)
{
    if (c->at == c->end || strchr(any, *c->at) == NULL)
        return false;
    c->at++;
    return true;
}

/* Append decimal digits to *value, at most 18 of them. Returns how many digits
 * there were. */
static int cursor_digits(struct words_cursor *c, uint64_t *value)
{
    int n = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++, n++)
        if (n < 18)
            *value = *value * 10 + (uint64_t)(*c->at - '0');
    return n;
}

/* Read a whole number with an optional sign. */
static bool cursor_exponent(struct words_cursor *c, int *exponent)
{
    bool minus = c->at < c->end && *c->at == '-';
    uint64_t n = 0;
    (void)cursor_take(c, "+-");
    int digits = cursor_digits(c, &n);
    if (digits < 1 || digits > 4)
        return false;
    *exponent = minus ? -(int)n : (int)n;
    return true;
}

static bool words_power_of_two(struct words_cursor c, double *value)
{
    int exponent;
    if (!cursor_exponent(&c, &exponent) || c.at != c.end || exponent < -1022 ||
        exponent > 1023)
        return false;
    *value = ldexp(1.0, exponent);
    return true;
}

static double scaled(uint64_t digits, int exponent)
{
    static const double tens[] = {
        1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    struct fpenv env = fpenv_enter();
    volatile double x = (double)digits;
    x = exponent < 0 ? x / tens[-exponent] : x * tens[exponent];
    fpenv_leave(env);
    return x;
}

bool word_number(struct word w, double *value)
{
    struct words_cursor c = {w.at, w.at + w.n};
    uint64_t digits = 0;
    int exponent = 0;
    if (w.n > 2 && memcmp(w.at, "2^", 2) == 0)
        return words_power_of_two((struct words_cursor){w.at + 2, c.end},
                                  value);
    int whole = cursor_digits(&c, &digits), part = 0;
    if (cursor_take(&c, "."))
        part = cursor_digits(&c, &digits);
    if (whole + part < 1 || whole + part > 15)
        return false;
    if (cursor_take(&c, "eE") && !cursor_exponent(&c, &exponent))
        return false;
    exponent -= part;
    if (c.at != c.end || exponent < -22 || exponent > 22)
        return false;
    *value = scaled(digits, exponent);
    return true;
}
