/* SPDX-License-Identifier: Apache-2.0 */
/* case.h - what tables of exact ops share: shapes, names, strict compares. */
#ifndef CONFORMANCE_CASE_H
#define CONFORMANCE_CASE_H

#include "conformance/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(A) (sizeof(A) / sizeof((A)[0]))

/** A shape in a table of cases: {2, {3, 5}}; {0} is a scalar's. */
struct shape {
    int rank;
    int64_t d[SSQ_MAX_RANK];
};

static inline int64_t shape_elements(const struct shape *s)
{
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++)
        n *= s->d[i];
    return n;
}

/** "3x5x1", "scalar"; returns text. */
static inline char *shape_text(const struct shape *s, char *text, size_t bytes)
{
    size_t at = 0;
    snprintf(text, bytes, "scalar");
    for (int i = 0; i < s->rank && at < bytes; i++)
        at += (size_t)snprintf(text + at, bytes - at, "%s%lld",
                               i == 0 ? "" : "x", (long long)s->d[i]);
    return text;
}

static inline const char *layout_text(enum layout layout)
{
    static const char *const names[] = {"dense", "padded", "transposed",
                                        "broadcast"};
    return names[layout];
}

static inline const char *fill_text(enum fill fill)
{
    static const char *const names[] = {
        "normal", "uniform", "positive", "integer", "tiny",
        "huge",   "special", "zero",     "nan",     "ones"};
    return names[fill];
}

/** Take a factor of a product of cases: the next digit of *i in base n. */
static inline size_t pick(size_t *i, size_t n)
{
    size_t digit = *i % n;
    *i /= n;
    return digit;
}

/** True if the case needs no comparison: nothing ran or it failed. */
static inline bool harness_over(const struct harness *b)
{
    return b->failed || b->skipped || b->bench || b->admit;
}

/** Values are equal, zeros have equal signs, NaNs are NaNs. */
static inline bool harness_exact(struct harness *b, const struct operand *y,
                                 const double *want)
{
    for (int64_t i = 0; i < y->n && !harness_over(b); i++) {
        double w = want[i], g = y->value[i], lost = harness_flushed_error(b, w);
        bool same = isnan(w) ? isnan(g) : w == g && !signbit(w) == !signbit(g);
        same = same || (lost > 0.0 && fabs(g - w) <= lost);
        if (!same)
            return harness_fail(b,
                                "element %lld of %lld is %.9g (0x%x), expected "
                                "exactly %.9g",
                                (long long)i, (long long)y->n, g,
                                (unsigned)y->bits[i], w);
    }
    return !b->failed;
}

/** Raw elements are equal, NaN payloads too. */
static inline bool harness_raw_equal(struct harness *b, const struct operand *y,
                                     const uint32_t *want)
{
    for (int64_t i = 0; i < y->n && !harness_over(b); i++)
        if (y->bits[i] != want[i])
            return harness_fail(
                b,
                "element %lld of %lld is 0x%x, expected exactly "
                "0x%x",
                (long long)i, (long long)y->n, (unsigned)y->bits[i],
                (unsigned)want[i]);
    return !b->failed;
}

/** Read x again: it must hold what it held. */
static inline bool harness_unchanged(struct harness *b, struct operand *x)
{
    size_t bytes = (size_t)x->n * sizeof(uint32_t);
    uint32_t *before = harness_alloc(b, bytes);
    memcpy(before, x->bits, bytes);
    harness_read(b, x);
    return harness_raw_equal(b, x, before);
}

/** A call that must be refused, with a text that has these words. */
static inline bool harness_refused_as(struct harness *b, ssq_status want,
                                      ssq_status got, const char *words)
{
    if (!harness_refused(b, want, got))
        return false;
    if (!harness_over(b) && strstr(ssq_last_error(), words) == NULL)
        return harness_fail(b, "refused as \"%s\", expected \"%s\"",
                            ssq_last_error(), words);
    return true;
}

#endif
