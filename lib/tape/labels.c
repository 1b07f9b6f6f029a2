/* SPDX-License-Identifier: Apache-2.0 */
/* labels.c - pass the labels of losses to a callback of the tape's owner. */
#include <sesqui/ops/loss.h>

#include "lib/tape/tape.h"

#include <string.h>

ssq_status tape_tell_labels(const ssq_tape *t, const struct tape_op *op,
                            const void *args)
{
    if (strcmp(op->name, "cross_entropy") == 0) {
        const ssq_cross_entropy_args *a = args;
        return a->target == NULL ? SSQ_OK
                                 : t->labels(t->labels_user, a->logits,
                                             a->target, a->ignore_index);
    }
    if (strcmp(op->name, "nll_loss") == 0) {
        const ssq_nll_loss_args *a = args;
        return t->labels(t->labels_user, a->x, a->target, a->ignore_index);
    }
    return SSQ_OK;
}
