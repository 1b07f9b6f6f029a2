/* SPDX-License-Identifier: Apache-2.0 */
/* grads.c - check lists of gradients that callers pass, and make operands of
 * them. A text names a gradient by its index in the caller's array. */
#include "lib/op/list.h"

#include <stdio.h>

/* Write "grads[3]", for messages. */
static const char *item(char *text, size_t bytes, const char *list, size_t i)
{
    snprintf(text, bytes, "%s[%zu]", list, i);
    return text;
}

/* n may be 0, and the array may then be NULL. */
ssq_status grads_check(const ssq_queue *queue, size_t n,
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

/* Compare one out with the gradients. It may be exactly its own gradient, but
 * must not overlap another one. It must not overlap outs that were checked
 * before either, because all are written in any order. */
static ssq_status check_out(const ssq_queue *queue, size_t n,
                            const ssq_tensor *const *grads,
                            const ssq_tensor *const *outs, size_t i,
                            unsigned dtypes, const char *what)
{
    char text[32], other[32];
    /* the message names the list that the caller gave */
    const char *list = outs == grads ? "grads" : "outs";
    const char *name = item(text, sizeof(text), list, i);
    ssq_status st = check_output(queue, outs[i], what, name);
    if (st == SSQ_OK)
        st = check_dtype(outs[i], dtypes, what, name);
    if (st == SSQ_OK && !view_same_shape(&outs[i]->view, &grads[i]->view))
        return check_same_shape(grads[i],
                                item(other, sizeof(other), "grads", i), outs[i],
                                name, what);
    for (size_t k = 0; k < n && st == SSQ_OK; k++) {
        st = check_alias(outs[i], name, grads[k],
                         item(other, sizeof(other), "grads", k), k == i, what);
        if (st == SSQ_OK && k < i)
            st = check_alias(outs[i], name, outs[k],
                             item(other, sizeof(other), list, k), false, what);
    }
    return st;
}

/* Compare each out with all gradients: n^2 comparisons of a few numbers each.
 * The gradients have been checked before. */
ssq_status grads_check_outs(const ssq_queue *queue, size_t n,
                            const ssq_tensor *const *grads,
                            const ssq_tensor *const *outs, unsigned dtypes,
                            const char *what)
{
    if (outs == NULL && n > 0)
        return error_set(SSQ_ERR_INVALID, "%s: outs is NULL, n is %zu", what,
                         n);
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < n && st == SSQ_OK; i++)
        st = check_out(queue, n, grads, outs, i, dtypes, what);
    return st;
}

/* Gradients that are not contiguous are in the list as a whole. If a gradient
 * and its out are contiguous, they are cut into pieces if they are too long for
 * a launch. */
static struct cut cut_grad(const ssq_tensor *grad, const ssq_tensor *out)
{
    const struct view *g = &grad->view;
    struct cut cut = cut_of(ssq_tensor_device(grad), g);
    if (!view_contiguous(g) || (out != NULL && !view_contiguous(&out->view)))
        cut.pieces = 1;
    return cut;
}

/* Count the views of a list over these gradients. outs: NULL, or the out of
 * each gradient, which decides whether both are cut. */
static size_t count_pieces(size_t n, const ssq_tensor *const *grads,
                           const ssq_tensor *const *outs)
{
    size_t pieces = 0;
    for (size_t i = 0; i < n; i++)
        pieces += cut_grad(grads[i], outs == NULL ? NULL : outs[i]).pieces;
    return pieces;
}

/* Set the pieces of all gradients, or, for writing, of all outs. */
static void grads_set_pieces(struct view_list *list, size_t at, size_t n,
                             const ssq_tensor *const *grads,
                             const ssq_tensor *const *outs, enum access access)
{
    for (size_t i = 0; i < n; i++) {
        const ssq_tensor *out = outs == NULL ? NULL : outs[i];
        /* an out is cut like its gradient, so that they stay pairs */
        const ssq_tensor *t = access == ACCESS_WRITE ? out : grads[i];
        struct cut cut = cut_grad(grads[i], out);
        for (size_t k = 0; k < cut.pieces; k++) {
            struct view piece = cut_piece(&cut, &t->view, k);
            list_set(list, at++, &piece, access);
        }
    }
}

/* There are no outs: a contiguous gradient is cut if it is too long for a
 * launch. */
struct view_list *grads_list(size_t n, const ssq_tensor *const *grads,
                             const char *what)
{
    struct view_list *list = list_create(count_pieces(n, grads, NULL), what);
    if (list != NULL)
        grads_set_pieces(list, 0, n, grads, NULL, ACCESS_READ);
    return list;
}

/* All gradients, then all outs, each cut like its gradient: view i and view
 * i + pieces are a pair. */
struct view_list *grads_pairs(size_t n, const ssq_tensor *const *grads,
                              const ssq_tensor *const *outs, const char *what)
{
    size_t pieces = count_pieces(n, grads, outs);
    struct view_list *list = list_create(2 * pieces, what);
    if (list == NULL)
        return NULL;
    grads_set_pieces(list, 0, n, grads, outs, ACCESS_READ);
    grads_set_pieces(list, pieces, n, grads, outs, ACCESS_WRITE);
    return list;
}
