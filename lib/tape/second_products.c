/* SPDX-License-Identifier: Apache-2.0 */
/* second_products.c - rules of matmuls: each gradient is a matmul. */
#include "lib/tape/second.h"

static ssq_var second_products_product(const struct chain *c, ssq_var a,
                                       bool trans_a, ssq_var b, bool trans_b)
{
    const ssq_gemm_args *args = c->args;
    const ssq_gemm_args *as =
        SSQ_GEMM(.trans_a = trans_a, .trans_b = trans_b, .alpha = args->alpha);
    return c->n.op->nvars > 0 &&
                   value_of(c->t, c->n.out[0])->is.tensor.view.rank == 2
               ? ssq_gemm_var_at(c->n.where, a, b, SSQ_VAR_NONE, as)
               : ssq_gemm_batched_var_at(c->n.where, a, b, SSQ_VAR_NONE, as);
}

/* For d = alpha op(a) op(b) + bias: da = alpha dd op(b)^T and db = alpha
 * op(a)^T dd, or their transposes. A batched gradient has the whole batch.
 * chain_give() sums it if the operand was broadcast. */
static void second_products_factors(struct chain *c)
{
    const ssq_gemm_args *args = c->args;
    const bool ta = args->trans_a, tb = args->trans_b;
    ssq_var dd = c->dy;
    chain_give(c, 2, dd);
    if (chain_wants(c, 0) || chain_wants(c, 1))
        dd = chain_dense(c, dd);
    if (chain_wants(c, 0)) {
        ssq_var b = chain_var(c, 1);
        chain_give(c, 0,
                   ta ? second_products_product(c, b, tb, dd, true)
                      : second_products_product(c, dd, false, b, !tb));
    }
    if (chain_wants(c, 1)) {
        ssq_var a = chain_var(c, 0);
        chain_give(c, 1,
                   tb ? second_products_product(c, dd, true, a, ta)
                      : second_products_product(c, a, !ta, dd, false));
    }
}

void second_gemm(struct chain *c)
{
    second_products_factors(c);
}

void second_gemm_batched(struct chain *c)
{
    second_products_factors(c);
}
