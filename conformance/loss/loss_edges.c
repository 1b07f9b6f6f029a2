/* SPDX-License-Identifier: Apache-2.0 */
/* loss_edges.c - elementwise losses: torch's own numbers, and refusals. */
#include "conformance/loss/loss.h"

#include "conformance/bounds_rows.h"

#include <string.h>

/* torch 2.15.0, binary_cross_entropy_with_logits, mean, float64 except for the
 * gradients' float32 print, on x {0, 0.5, 2, -3}, targets {0, 1, 0.25, 0.5},
 * w {2, 1, 0.5, 3}: no weight, weight w, pos_weight w. */
bool loss_torch(struct harness *b)
{
    const int64_t four = 4;
    const double x_value[] = {0, 0.5, 2, -3}, t_value[] = {0, 1, 0.25, 0.5};
    const double w_value[] = {2, 1, 0.5, 3};
    const double want_loss[3] = {1.0856848818391915, 1.8298993513856774,
                                 1.8438652193875342};
    const double want[3][4] = {
        {0.125, -0.09438516719953635, 0.15769926949447058, -0.1131435317056083},
        {0.25, -0.09438516719953635, 0.07884963474723529, -0.3394305951168249},
        {0.125, -0.09438516719953635, 0.16142436080766176,
         -0.3512870634112166}};
    struct operand x, t, w, loss, dx;
    harness_values(b, &x, SSQ_F32, 1, &four, LAYOUT_DENSE, x_value);
    harness_values(b, &t, SSQ_F32, 1, &four, LAYOUT_DENSE, t_value);
    harness_values(b, &w, SSQ_F32, 1, &four, LAYOUT_DENSE, w_value);
    harness_output(b, &loss, SSQ_F32, 0, NULL, LAYOUT_DENSE);
    harness_output(b, &dx, SSQ_F32, 1, &four, LAYOUT_DENSE);
    bool ok = true;
    for (int k = 0; k < 3; k++) {
        ssq_bce_with_logits_args a = SSQ_BCE_WITH_LOGITS_INIT;
        a.x = x.t;
        a.target = t.t;
        a.weight = k == 1 ? w.t : NULL;
        a.pos_weight = k == 2 ? w.t : NULL;
        a.loss = loss.t;
        a.dx = dx.t;
        HARNESS_OP(b, ssq_bce_with_logits(b->queue, &a));
        harness_read(b, &loss);
        harness_read(b, &dx);
        /* terms are below 10 */
        ok = ok &&
             harness_bound1(b, &loss, &want_loss[k],
                            bound_loss_total(4, 10, 0)) &&
             harness_bound1(b, &dx, want[k], bound_loss_slope(10, 0.25, 0));
    }
    return ok;
}

bool loss_refusals(struct harness *b)
{
    const int64_t shape[] = {2, 3};
    struct operand x, t, loss, w;
    harness_input(b, &x, SSQ_F32, 2, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &t, SSQ_F32, 2, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &w, SSQ_F32, 1, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &loss, SSQ_F32, 2, shape, LAYOUT_DENSE);
    ssq_mse_args m = SSQ_MSE_INIT;
    m.x = x.t;
    m.target = t.t;
    m.loss = loss.t;
    harness_refused(b, SSQ_ERR_INVALID, ssq_mse(b->queue, &m));
    if (strcmp(ssq_last_error(), "mse: loss is [2,3], expected one element") !=
        0)
        return harness_fail(b, "the text is: %s", ssq_last_error());
    ssq_huber_args h = SSQ_HUBER_INIT;
    h.delta = 0.0;
    harness_refused(b, SSQ_ERR_INVALID, ssq_huber(b->queue, &h));
    ssq_smooth_l1_args s = SSQ_SMOOTH_L1_INIT;
    s.beta = -1.0;
    harness_refused(b, SSQ_ERR_INVALID, ssq_smooth_l1(b->queue, &s));
    if (strcmp(ssq_last_error(),
               "smooth_l1: beta is -1, expected >= 0, finite in float32") != 0)
        return harness_fail(b, "the text is: %s", ssq_last_error());
    ssq_bce_with_logits_args c = SSQ_BCE_WITH_LOGITS_INIT;
    c.x = x.t;
    c.target = t.t;
    c.loss = loss.t;
    c.reduction = SSQ_REDUCTION_NONE;
    c.weight = w.t;
    harness_refused(b, SSQ_ERR_INVALID, ssq_bce_with_logits(b->queue, &c));
    if (strcmp(ssq_last_error(), "bce_with_logits: weight is [2], which does "
                                 "not broadcast to x, [2,3]") != 0)
        return harness_fail(b, "the text is: %s", ssq_last_error());
    c.weight = NULL;
    c.loss = NULL;
    harness_refused(b, SSQ_ERR_INVALID, ssq_bce_with_logits(b->queue, &c));
    uint32_t before[6];
    memcpy(before, loss.bits, sizeof(before));
    harness_read(b, &loss);
    return harness_bits(b, &loss, before);
}
