/* SPDX-License-Identifier: Apache-2.0 */
/* certify_reference.c - the kernels of the self-test, compiled as C.
 *
 * The dialect turns a kernel's source into a C function. Here KERNEL makes it
 * static, to be called below. The sources share names of macros, so these are
 * undefined in between. */
#include "lib/certify/certify.h"

#include "kernels/dialect/dialect.h"

#undef KERNEL
#define KERNEL(N) static void N(

#include "kernels/certify/certify_float.k"
#undef A
#undef B
#undef C
#undef POINTS

#include "kernels/certify/certify_bits.k"
#undef U
#undef V
#undef W
#undef POINT

#include "kernels/certify/certify_group.k"

void certify_reference(const struct certify_words *x, struct certify_answers *y)
{
    certify_float(x->floats.f, y->floats,
                  (struct certify_float_args){.n = CERTIFY_N});
    certify_bits(x->bits.u4, x->bits.u2, x->bits.u1, y->bits, y->narrow2,
                 y->narrow1, y->native,
                 (struct certify_bits_args){.n = CERTIFY_N});
    certify_group(x->groups, y->groups,
                  (struct certify_group_args){.n = CERTIFY_N});
}
