/* SPDX-License-Identifier: Apache-2.0 */
/* size.h - arithmetic on sizes that returns false on overflow, or cannot
 * overflow. */
#ifndef LIB_CORE_BASE_SIZE_H
#define LIB_CORE_BASE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/** Set *r = a * b; false on overflow, *r unchanged. */
static inline bool size_mul(uint64_t a, uint64_t b, uint64_t *r)
{
    if (b != 0 && a > UINT64_MAX / b)
        return false;
    *r = a * b;
    return true;
}

/** Set *r = a + b; false on overflow, *r unchanged. */
static inline bool size_add(uint64_t a, uint64_t b, uint64_t *r)
{
    if (a > UINT64_MAX - b)
        return false;
    *r = a + b;
    return true;
}

/** Round a up to a multiple of b, a power of two; false on overflow. */
static inline bool size_align(uint64_t a, uint64_t b, uint64_t *r)
{
    uint64_t sum;
    if (!size_add(a, b - 1, &sum))
        return false;
    *r = sum & ~(b - 1);
    return true;
}

static inline int64_t size_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t size_most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/** Return a / b rounded up; b > 0. No sum in it can overflow. A negative a, for
 *  which C rounds toward zero, is handled, too. */
static inline int64_t size_div_up(int64_t a, int64_t b)
{
    return a <= 0 ? -(-a / b) : (a - 1) / b + 1;
}

#endif
