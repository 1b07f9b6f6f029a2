/* SPDX-License-Identifier: Apache-2.0 */
/* dropout.c - the dropout layer, which draws random numbers. */
#include "lib/nn/layer.h"

#include "lib/tape/params.h"
#include "lib/tape/tape.h"

ssq_var ssq_nn_dropout_at(const char *where, ssq_tape *tape, ssq_var x,
                          double p)
{
    const struct layer l = {where, NULL, "nn_dropout", tape};
    if (!layer_begin(&l, x, NULL, 0))
        return var_inert(tape);
    if (!(p >= 0.0 && p <= 1.0)) {
        latch(tape, error_set(SSQ_ERR_INVALID, "p is %g, expected 0 to 1", p),
              where, l.kind);
        return var_inert(tape);
    }
    if (!tape->training)
        return x;
    struct drawing d;
    ssq_status st = tape_draw(tape, &d);
    if (st != SSQ_OK) {
        latch(tape, st, where, l.kind);
        return var_inert(tape);
    }
    return ssq_dropout_var_at(
        where, x,
        SSQ_DROPOUT(.seed = d.seed, .id = d.id, .step = d.step, .p = p));
}
