/* SPDX-License-Identifier: Apache-2.0 */
/* second_binary.c - rules of ops with two operands. chain_give() sums over
 * broadcast dimensions. */
#include "lib/tape/second.h"

static ssq_var second_binary_over(const struct chain *c, ssq_var a, ssq_var b)
{
    return ssq_div_var_at(c->n.where, a, b);
}

static ssq_var second_binary_negative(const struct chain *c, ssq_var x)
{
    return ssq_neg_var_at(c->n.where, x);
}

void second_add(struct chain *c)
{
    chain_give(c, 0, c->dy);
    chain_give(c, 1, c->dy);
}

void second_sub(struct chain *c)
{
    chain_give(c, 0, c->dy);
    if (chain_wants(c, 1))
        chain_give(c, 1, second_binary_negative(c, c->dy));
}

void second_mul(struct chain *c)
{
    ssq_var dy = chain_slope(c);
    if (chain_wants(c, 0))
        chain_give(c, 0, chain_mul(c, dy, chain_wide(c, 1)));
    if (chain_wants(c, 1))
        chain_give(c, 1, chain_mul(c, dy, chain_wide(c, 0)));
}

/* da = dy / b, db = -dy (a / b) / b */
void second_div(struct chain *c)
{
    ssq_var b = chain_wide(c, 1), dy = chain_slope(c);
    chain_give(c, 0, second_binary_over(c, dy, b));
    if (!chain_wants(c, 1))
        return;
    ssq_var share =
        second_binary_over(c, second_binary_over(c, chain_wide(c, 0), b), b);
    chain_give(c, 1, second_binary_negative(c, chain_mul(c, dy, share)));
}

/* ---- choices ---- */

/* Broadcast an operand to the shape of the result. */
static ssq_var second_binary_spread(struct chain *c, unsigned i)
{
    ssq_var x = chain_var(c, i);
    if (c->t->status != SSQ_OK)
        return x;
    const struct view y = value_of(c->t, c->n.out[0])->is.tensor.view;
    return ssq_var_broadcast_at(c->n.where, x, y.rank, y.shape);
}

/* Give dy to the operand that was selected. If both are equal, each gets half
 * of it. If one is NaN, both get all of it.
 * @param loses  the comparison of a with b that is true if b was selected
 * @param wins   the comparison of a with b that is true if a was selected */
static void contest(struct chain *c, chain_compare *loses, chain_compare *wins)
{
    ssq_var a = second_binary_spread(c, 0), b = second_binary_spread(c, 1),
            none = chain_zero(c);
    ssq_var dy = chain_choose(c, chain_where(c, ssq_eq, a, b),
                              chain_times(c, c->dy, 0.5), c->dy);
    chain_give(c, 0, chain_choose(c, chain_where(c, loses, a, b), none, dy));
    chain_give(c, 1, chain_choose(c, chain_where(c, wins, a, b), none, dy));
}

void second_maximum(struct chain *c)
{
    contest(c, ssq_lt, ssq_gt);
}

void second_minimum(struct chain *c)
{
    contest(c, ssq_gt, ssq_lt);
}

void second_where(struct chain *c)
{
    const ssq_where_args *args = c->args;
    if (!chain_unwritten(c, offsetof(ssq_where_args, cond)))
        return;
    ssq_var none = chain_zero(c);
    if (chain_wants(c, 0))
        chain_give(c, 0, chain_choose(c, args->cond, c->dy, none));
    if (chain_wants(c, 1))
        chain_give(c, 1, chain_choose(c, args->cond, none, c->dy));
}

/* ---- powers ---- */

/* da = dy b a^(b - 1), db = dy a^b log(a). If a is 0, log(a) is replaced by 0.
 * If both are 0, a^(b - 1) is replaced by 1. Both gradients are then 0. */
void second_pow(struct chain *c)
{
    ssq_var a = chain_wide(c, 0), b = chain_wide(c, 1), dy = chain_slope(c);
    ssq_var none = chain_number(c, 0.0, SSQ_F32);
    ssq_var safe = chain_choose(c, chain_where(c, ssq_eq, a, none),
                                chain_number(c, 1.0, SSQ_F32), a);
    if (chain_wants(c, 0)) {
        const ssq_tensor *flat = chain_where(c, ssq_eq, b, none);
        ssq_var slope = ssq_pow_var_at(
            c->n.where, chain_choose(c, flat, safe, a), chain_plus(c, b, -1.0));
        chain_give(c, 0, chain_mul(c, dy, chain_mul(c, b, slope)));
    }
    if (chain_wants(c, 1)) {
        ssq_var log = ssq_log_var_at(c->n.where, safe);
        ssq_var slope = chain_mul(c, ssq_pow_var_at(c->n.where, a, b), log);
        chain_give(c, 1, chain_mul(c, dy, slope));
    }
}
