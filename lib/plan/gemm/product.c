/* SPDX-License-Identifier: Apache-2.0 */
/* product.c - what the kernels of a matrix product bind. */
#include "lib/plan/gemm/product.h"

/* The variants would be too many with a key for each operand's dtype: so each
 * is bound twice, and `types` says which binding is read. */
void product_bind(struct plan *p, const struct view *v, enum access access)
{
    plan_bind_as(p, v, 2, access);
    plan_bind_as(p, v, 4, access);
}

/* In the order of GEMM_EPILOGUE_BUFFERS, which is that of every kernel of a
 * gemm. d is first, since absent operands are bound to the first one's
 * memory. */
void product_bind_epilogue(struct plan *p, const struct product *g)
{
    product_bind(p, &g->d, ACCESS_WRITE);
    product_bind(p, &g->c, ACCESS_READ);
    product_bind(p, &g->bias, ACCESS_READ);
}
