/* SPDX-License-Identifier: Apache-2.0 */
/* floats.h - bind the operands of kernels/operands/floats.h. */
#ifndef LIB_PLAN_FLOATS_H
#define LIB_PLAN_FLOATS_H

#include "lib/core/queue/plan.h"

/** Return the key D of the present operands: their dtype, or 0 if they
 *  differ. */
static inline uint8_t floats_key(const struct view *const *v, int n)
{
    uint32_t dtype = 0;
    for (int i = 0; i < n; i++) {
        if (v[i]->buffer == NULL)
            continue;
        if (dtype != 0 && dtype != (uint32_t)v[i]->dtype)
            return 0;
        dtype = (uint32_t)v[i]->dtype;
    }
    return (uint8_t)dtype;
}
#define FLOATS_KEY(...)                                                        \
    floats_key((const struct view *const[]){__VA_ARGS__},                      \
               (int)(sizeof((const struct view *const[]){__VA_ARGS__}) /       \
                     sizeof(const struct view *)))

/* Bind v as a kernel with this key expects it: as elements, or, if dtypes
 * differ, as 2-byte words. A float32 is then two words. */
static inline void floats_bind(struct plan *p, const struct view *v,
                               uint8_t key, enum access access)
{
    plan_bind_as(p, v, key == 0 ? 2u : (uint32_t)dtype_bytes(v->dtype), access);
}

#endif
