/* SPDX-License-Identifier: Apache-2.0 */
/* size.h - arithmetic on sizes that answers false where it would overflow, and
 * some that cannot. */
#ifndef LIB_CORE_SIZE_H
#define LIB_CORE_SIZE_H

#include <stdbool.h>
#include <stdint.h>

/** *r = a * b; false on overflow, *r untouched. */
static inline bool size_mul(uint64_t a, uint64_t b, uint64_t *r)
{
    if (b != 0 && a > UINT64_MAX / b)
        return false;
    *r = a * b;
    return true;
}

/** *r = a + b; false on overflow, *r untouched. */
static inline bool size_add(uint64_t a, uint64_t b, uint64_t *r)
{
    if (a > UINT64_MAX - b)
        return false;
    *r = a + b;
    return true;
}

/** a rounded up to a multiple of b, a power of two; false on overflow. */
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

/** a / b rounded up; b > 0. Written so that no sum overflows, and right for a
 *  negative a, which C divides toward zero. */
static inline int64_t size_div_up(int64_t a, int64_t b)
{
    return a <= 0 ? -(-a / b) : (a - 1) / b + 1;
}

#endif
