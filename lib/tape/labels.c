/* SPDX-License-Identifier: Apache-2.0 */
/* labels.c - the labels of losses, for an owner of the tape that checks them. */
#include <sesqui/ops/loss.h>

#include "lib/tape/tape.h"

#include <string.h>

/* Classes are dimension 1, as in lib/op/loss/cross_entropy.c. */
static int64_t classes_of(const ssq_tensor *x)
{
    return x->view.shape[x->view.rank == 1 ? 0 : 1];
}

ssq_status tape_tell_labels(const ssq_tape *t, const struct tape_op *op,
                            const void *args)
{
    if (strcmp(op->name, "cross_entropy") == 0) {
        const ssq_cross_entropy_args *a = args;
        return a->target == NULL
                   ? SSQ_OK
                   : t->labels(t->labels_user, a->target, classes_of(a->logits),
                               a->ignore_index);
    }
    if (strcmp(op->name, "nll_loss") == 0) {
        const ssq_nll_loss_args *a = args;
        return t->labels(t->labels_user, a->target, classes_of(a->x),
                         a->ignore_index);
    }
    return SSQ_OK;
}
