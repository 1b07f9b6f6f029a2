/* SPDX-License-Identifier: Apache-2.0 */
/* scaler_check.c - check and unscale lists of gradients. */
#include "lib/amp/common/check.h"
#include "lib/amp/scaler/scaler_object.h"

/* Refuse to divide an unscaled gradient again. Refuse to overwrite a part of
 * one, because its region in the set would then be unscaled only in part. It
 * may be overwritten as a whole. */
static ssq_status check_scaled(const ssq_scaler *scaler, size_t n,
                               const ssq_tensor *const *grads,
                               const ssq_tensor *const *outs)
{
    for (size_t i = 0; i < n; i++) {
        enum coverage c = scaler_unscaled(scaler, &grads[i]->view);
        if (c != COVER_NONE)
            return error_set(SSQ_ERR_INVALID,
                             "scaler_unscale: %sgrads[%zu] was unscaled "
                             "already since the last update",
                             c == COVER_PART ? "a part of " : "", i);
        if (scaler_unscaled(scaler, &outs[i]->view) == COVER_PART)
            return error_set(SSQ_ERR_INVALID,
                             "scaler_unscale: a part of outs[%zu] was "
                             "unscaled since the last update",
                             i);
    }
    return SSQ_OK;
}

/* Enqueue a check into the scaler's own record. The factor is 1. It only
 * affects the norm, which is not measured without an optimizer's control block.
 */
static ssq_status enqueue_grads(ssq_queue *queue, ssq_scaler *scaler, size_t n,
                                const ssq_tensor *const *grads,
                                const char *what)
{
    struct view_list *list = grads_list(n, grads, what);
    if (list == NULL)
        return SSQ_ERR_NOMEM;
    ssq_status st = enqueue_check(queue, list, 1.0f, scaler->record,
                                  scaler->block, NULL, NULL);
    object_put(&list->object);
    return st;
}

/* Check the gradients, and join the overflow flag. A capture keeps no check
 * without its join, for example if the rank hook fails. */
static ssq_status scaler_check_look(ssq_queue *queue, ssq_scaler *scaler,
                                    size_t n, const ssq_tensor *const *grads,
                                    const char *what)
{
    const size_t before = capture_length(queue);
    ssq_status st = enqueue_grads(queue, scaler, n, grads, what);
    if (st == SSQ_OK)
        st = scaler_checked(queue, scaler, scaler->record);
    if (st != SSQ_OK)
        (void)capture_cut(queue, before);
    return st;
}

ssq_status ssq_scaler_check(ssq_queue *queue, ssq_scaler *scaler, size_t n,
                            const ssq_tensor *const *grads)
{
    ssq_status st = scaler_ready(queue, scaler, "scaler_check");
    if (st == SSQ_OK)
        st = grads_check(queue, n, grads, "scaler_check");
    return st == SSQ_OK
               ? scaler_check_look(queue, scaler, n, grads, "scaler_check")
               : st;
}

ssq_status ssq_scaler_unscale(ssq_queue *queue, ssq_scaler *scaler, size_t n,
                              const ssq_tensor *const *grads,
                              const ssq_tensor *const *outs)
{
    ssq_status st = scaler_ready(queue, scaler, "scaler_unscale");
    if (st == SSQ_OK)
        st = grads_check(queue, n, grads, "scaler_unscale");
    if (st == SSQ_OK)
        st = grads_check_outs(queue, n, grads, outs,
                              DTYPE_BIT(SSQ_F32) | DTYPE_BIT(SSQ_BF16),
                              "scaler_unscale");
    if (st == SSQ_OK)
        st = check_scaled(scaler, n, grads, outs);
    if (st == SSQ_OK)
        st = scaler_unscale_begin(queue, scaler, n, "scaler_unscale");
    if (st != SSQ_OK)
        return st;
    /* before the check is enqueued: without memory the call does nothing */
    struct view_list *list = grads_pairs(n, grads, outs, "scaler_unscale");
    if (list == NULL)
        return SSQ_ERR_NOMEM;
    /* the check comes first: outs may be the gradients that it reads */
    const struct scaler_stages before = scaler->at;
    const size_t length = capture_length(queue);
    st = scaler_check_look(queue, scaler, n, grads, "scaler_unscale");
    if (st == SSQ_OK && n > 0)
        st = enqueue_unscale(queue, list, 1.0f, scaler->block);
    if (st != SSQ_OK) {
        scaler->at = before; /* for the update, nothing was checked */
        (void)capture_cut(queue, length);
    }
    object_put(&list->object);
    for (size_t i = 0; i < n && st == SSQ_OK; i++)
        scaler_unscale_note(scaler, &outs[i]->view);
    return st;
}
