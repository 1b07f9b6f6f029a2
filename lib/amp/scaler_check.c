/* SPDX-License-Identifier: Apache-2.0 */
/* scaler_check.c - check and unscale lists of gradients. */
#include "lib/amp/check.h"
#include "lib/amp/scaler_object.h"

#include <stdio.h>

/* "grads[3]", for messages. */
static const char *item(char *text, size_t bytes, const char *list, size_t i)
{
    snprintf(text, bytes, "%s[%zu]", list, i);
    return text;
}

static ssq_status check_grads(const ssq_queue *queue, size_t n,
                              const ssq_tensor *const *grads, const char *what)
{
    char text[32];
    if (grads == NULL && n > 0)
        return error_set(SSQ_ERR_INVALID, "%s: grads is NULL, n is %zu", what,
                         n);
    for (size_t i = 0; i < n; i++) {
        const char *name = item(text, sizeof(text), "grads", i);
        ssq_status st = check_operand(queue, grads[i], what, name);
        if (st == SSQ_OK)
            st = check_dtype(grads[i], DTYPES_FLOAT, what, name);
        if (st != SSQ_OK)
            return st;
    }
    return SSQ_OK;
}

/* One out against the gradients: it may be its own gradient, no other. */
static ssq_status check_out(const ssq_queue *queue, size_t n,
                            const ssq_tensor *const *grads,
                            const ssq_tensor *const *outs, size_t i)
{
    const char *what = "scaler_unscale";
    char text[32], other[32];
    const char *name = item(text, sizeof(text), "outs", i);
    ssq_status st = check_output(queue, outs[i], what, name);
    if (st == SSQ_OK)
        st = check_dtype(outs[i], DTYPE_BIT(SSQ_F32) | DTYPE_BIT(SSQ_BF16),
                         what, name);
    if (st == SSQ_OK && !view_same_shape(&outs[i]->view, &grads[i]->view))
        return check_same_shape(grads[i],
                                item(other, sizeof(other), "grads", i), outs[i],
                                name, what);
    for (size_t k = 0; k < n && st == SSQ_OK; k++) {
        st = check_alias(outs[i], name, grads[k],
                         item(other, sizeof(other), "grads", k), k == i, what);
        if (st == SSQ_OK && k < i)
            st =
                check_alias(outs[i], name, outs[k],
                            item(other, sizeof(other), "outs", k), false, what);
    }
    return st;
}

static ssq_status check_outs(const ssq_queue *queue, size_t n,
                             const ssq_tensor *const *grads,
                             const ssq_tensor *const *outs)
{
    if (outs == NULL && n > 0)
        return error_set(SSQ_ERR_INVALID,
                         "scaler_unscale: outs is NULL, n is %zu", n);
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < n && st == SSQ_OK; i++)
        st = check_out(queue, n, grads, outs, i);
    return st;
}

/* A true gradient is not divided again, nor half overwritten. */
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

/* Gradients of any strides stand in lists whole; contiguous ones, whose out is
 * too, in pieces where they are too long for a launch. */
static struct cut cut_grad(const ssq_tensor *grad, const ssq_tensor *out)
{
    const struct view *g = &grad->view;
    struct cut cut = cut_of(ssq_tensor_device(grad), g);
    if (!view_contiguous(g) || (out != NULL && !view_contiguous(&out->view)))
        cut.pieces = 1;
    return cut;
}

/* outs: NULL, or of the gradients. */
static size_t count_pieces(size_t n, const ssq_tensor *const *grads,
                           const ssq_tensor *const *outs)
{
    size_t pieces = 0;
    for (size_t i = 0; i < n; i++)
        pieces += cut_grad(grads[i], outs == NULL ? NULL : outs[i]).pieces;
    return pieces;
}

/* The pieces of all gradients, or, to be written, of all outs. */
static void set_pieces(struct view_list *list, size_t at, size_t n,
                       const ssq_tensor *const *grads,
                       const ssq_tensor *const *outs, enum access access)
{
    for (size_t i = 0; i < n; i++) {
        const ssq_tensor *out = outs == NULL ? NULL : outs[i];
        const ssq_tensor *t = access == ACCESS_WRITE ? out : grads[i];
        struct cut cut = cut_grad(grads[i], out);
        for (size_t k = 0; k < cut.pieces; k++) {
            struct view piece = cut_piece(&cut, &t->view, k);
            list_set(list, at++, &piece, access);
        }
    }
}

static ssq_status enqueue_grads(ssq_queue *queue, ssq_scaler *scaler, size_t n,
                                const ssq_tensor *const *grads,
                                const char *what)
{
    struct view_list *list = list_create(count_pieces(n, grads, NULL), what);
    if (list == NULL)
        return SSQ_ERR_NOMEM;
    set_pieces(list, 0, n, grads, NULL, ACCESS_READ);
    ssq_status st = enqueue_check(queue, list, 1.0f, scaler->record,
                                  scaler->block, NULL, NULL);
    object_put(&list->object);
    return st;
}

/* Look at the gradients and let the verdict join. */
static ssq_status look(ssq_queue *queue, ssq_scaler *scaler, size_t n,
                       const ssq_tensor *const *grads, const char *what)
{
    ssq_status st = enqueue_grads(queue, scaler, n, grads, what);
    return st == SSQ_OK ? scaler_checked(queue, scaler, scaler->record) : st;
}

ssq_status ssq_scaler_check(ssq_queue *queue, ssq_scaler *scaler, size_t n,
                            const ssq_tensor *const *grads)
{
    ssq_status st = scaler_ready(queue, scaler, "scaler_check");
    if (st == SSQ_OK)
        st = check_grads(queue, n, grads, "scaler_check");
    return st == SSQ_OK ? look(queue, scaler, n, grads, "scaler_check") : st;
}

/* The list of an unscale: gradients, then outs. */
static struct view_list *pair_list(size_t n, const ssq_tensor *const *grads,
                                   const ssq_tensor *const *outs)
{
    size_t pieces = count_pieces(n, grads, outs);
    struct view_list *list = list_create(2 * pieces, "scaler_unscale");
    if (list == NULL)
        return NULL;
    set_pieces(list, 0, n, grads, outs, ACCESS_READ);
    set_pieces(list, pieces, n, grads, outs, ACCESS_WRITE);
    return list;
}

ssq_status ssq_scaler_unscale(ssq_queue *queue, ssq_scaler *scaler, size_t n,
                              const ssq_tensor *const *grads,
                              const ssq_tensor *const *outs)
{
    ssq_status st = scaler_ready(queue, scaler, "scaler_unscale");
    if (st == SSQ_OK)
        st = check_grads(queue, n, grads, "scaler_unscale");
    if (st == SSQ_OK)
        st = check_outs(queue, n, grads, outs);
    if (st == SSQ_OK)
        st = check_scaled(scaler, n, grads, outs);
    if (st == SSQ_OK)
        st = scaler_unscale_begin(queue, scaler, n, "scaler_unscale");
    if (st != SSQ_OK)
        return st;
    struct view_list *list = pair_list(n, grads, outs);
    if (list == NULL)
        return SSQ_ERR_NOMEM;
    st = look(queue, scaler, n, grads, "scaler_unscale");
    if (st == SSQ_OK && n > 0)
        st = enqueue_unscale(queue, list, 1.0f, scaler->block);
    object_put(&list->object);
    for (size_t i = 0; i < n && st == SSQ_OK; i++)
        scaler_unscale_note(scaler, &outs[i]->view);
    return st;
}
