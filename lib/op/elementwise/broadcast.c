/* SPDX-License-Identifier: Apache-2.0 */
/* broadcast.c - checks for ops with several inputs of one shape. */
#include "lib/op/elementwise/elementwise.h"

#include <stdio.h>
#include <string.h>

/* Set *to to the shape that n inputs broadcast to, as a view without a buffer.
 * Returns false if they do not broadcast. Shapes are aligned at their last
 * dimension, as in NumPy. Sizes must be equal or 1; so 1 and 0 give 0. */
static bool broadcast_shape(const struct broadcast_input *in, int n,
                            struct view *to)
{
    *to = (struct view){0};
    for (int k = 0; k < n; k++)
        if (in[k].tensor->view.rank > to->rank)
            to->rank = in[k].tensor->view.rank;
    for (int i = 0; i < to->rank; i++)
        to->shape[i] = 1;
    for (int k = 0; k < n; k++) {
        const struct view *v = &in[k].tensor->view;
        int64_t *shape = to->shape + (to->rank - v->rank);
        for (int i = 0; i < v->rank; i++) {
            if (v->shape[i] == 1 || v->shape[i] == shape[i])
                continue;
            if (shape[i] != 1)
                return false;
            shape[i] = v->shape[i];
        }
    }
    return true;
}

/* Write the inputs' names and shapes for an error into buf, for example "a is
 * [2,3], b is [3]". The text is cut at the end of buf. */
static char *inputs_text(const struct broadcast_input *in, int n, char *buf,
                         size_t bytes)
{
    size_t at = 0;
    for (int k = 0; k < n && at < bytes; k++) {
        char t[160];
        at += (size_t)snprintf(buf + at, bytes - at, "%s%s is %s",
                               k == 0 ? "" : ", ", in[k].what,
                               view_text(&in[k].tensor->view, t, sizeof(t)));
    }
    return buf;
}

ssq_status broadcast_inputs(const struct broadcast_input *in, int n,
                            const ssq_tensor *y, const char *what,
                            const char *op)
{
    struct view shape;
    char ti[640], ty[160], ts[160];
    if (!broadcast_shape(in, n, &shape))
        return error_set(SSQ_ERR_INVALID, "%s: %s: they do not broadcast", op,
                         inputs_text(in, n, ti, sizeof(ti)));
    if (!view_same_shape(&shape, &y->view))
        return error_set(SSQ_ERR_INVALID, "%s: %s, %s is %s, expected %s", op,
                         inputs_text(in, n, ti, sizeof(ti)), what,
                         view_text(&y->view, ty, sizeof(ty)),
                         view_text(&shape, ts, sizeof(ts)));
    /* The views are set only now that nothing can fail any more. */
    for (int k = 0; k < n; k++) {
        *in[k].view = tensor_view(in[k].tensor, ACCESS_READ);
        (void)view_broadcast(in[k].view, shape.rank, shape.shape);
    }
    return SSQ_OK;
}

/* The first input decides whether floats or integers are expected of the
 * others. Floats of different dtypes mix freely, because all are computed in
 * float32. */
ssq_status check_mix(const struct broadcast_input *in, int n,
                     const ssq_tensor *y, bool integers, const char *op)
{
    bool floats = dtype_is_float(in[0].tensor->view.dtype);
    unsigned one = floats ? DTYPES_FLOAT : DTYPES_ALL & ~DTYPES_FLOAT;
    ssq_status st = SSQ_OK;
    if (!integers)
        one = DTYPES_FLOAT;
    bool bytes = true;
    for (int k = 0; k < n && st == SSQ_OK; k++) {
        st = check_dtype(in[k].tensor, one, op, in[k].what);
        bytes = bytes && in[k].tensor->view.dtype == SSQ_U8;
    }
    if (!floats && !bytes)
        one &= ~DTYPE_BIT(SSQ_U8); /* u8 cannot hold an i32 */
    return st == SSQ_OK ? check_dtype(y, one, op, "y") : st;
}
