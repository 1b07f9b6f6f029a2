/* SPDX-License-Identifier: Apache-2.0 */
/* product.c - the bindings of the kernels of a matrix product. */
#include "lib/plan/gemm/product.h"

/* Bind v twice, as 2-byte and as 4-byte elements. `types` says which binding
 * the kernel reads. A key for each operand's dtype would need too many
 * variants. */
void product_bind(struct plan *p, const struct view *v, enum access access)
{
    plan_bind_as(p, v, 2, access);
    plan_bind_as(p, v, 4, access);
}

/* Bind in the order of GEMM_EPILOGUE_BUFFERS, which all kernels of a GEMM use.
 * d is first: absent operands are bound to the memory of the first one. */
void product_bind_epilogue(struct plan *p, const struct product *g)
{
    product_bind(p, &g->d, ACCESS_WRITE);
    product_bind(p, &g->c, ACCESS_READ);
    product_bind(p, &g->bias, ACCESS_READ);
}
