/* SPDX-License-Identifier: Apache-2.0 */
/* norm.c - normalization layers. */
#include "lib/nn/layer.h"

#include "lib/tape/tape.h"

#include <string.h>

static const struct view *norm_view_of(const ssq_tape *t, ssq_var x)
{
    return &value_of(t, x.id)->is.tensor.view;
}

/* Return the size of x along an axis. -1: no such axis; the error is
 * latched. */
static int64_t norm_along(const struct layer *l, ssq_var x, int axis)
{
    const struct view *v = norm_view_of(l->tape, x);
    if (axis >= -v->rank && axis < v->rank)
        return v->shape[axis < 0 ? axis + v->rank : axis];
    latch(l->tape,
          error_set(SSQ_ERR_INVALID, "axis %d of rank %d", axis, v->rank),
          l->where, l->kind);
    return -1;
}

/* Return the last ndim sizes of x. NULL: invalid ndim; the error is latched. */
static const int64_t *last_sizes(const struct layer *l, ssq_var x, int ndim)
{
    const struct view *v = norm_view_of(l->tape, x);
    if (ndim >= 1 && ndim <= v->rank)
        return v->shape + v->rank - ndim;
    latch(
        l->tape,
        error_set(SSQ_ERR_INVALID, "ndim is %d, expected 1..%d", ndim, v->rank),
        l->where, l->kind);
    return NULL;
}

/* Return the tensor of a state that an op updates or reads. It outlives the
 * pass. */
static const ssq_tensor *state(const struct layer *l, const char *part,
                               int64_t c, double value)
{
    return ssq_var_tensor(layer_full(l, part, 1, &c, value, true));
}

ssq_var ssq_nn_batch_norm_at(const char *where, ssq_tape *tape,
                             const char *name, ssq_var x,
                             const ssq_batch_norm_args *options)
{
    const struct layer l = {where, name, "nn_batch_norm", tape};
    ssq_batch_norm_args o = SSQ_BATCH_NORM_INIT;
    if (!layer_begin(&l, x, options, sizeof(o)))
        return var_inert(tape);
    if (options != NULL)
        o = *options;
    int64_t c = norm_along(&l, x, o.axis);
    if (c < 0)
        return var_inert(tape);
    ssq_var gamma = layer_full(&l, "weight", 1, &c, 1.0, false);
    ssq_var beta = layer_full(&l, "bias", 1, &c, 0.0, false);
    o.running_mean = state(&l, "running_mean", c, 0.0);
    o.running_var = state(&l, "running_var", c, 1.0);
    o.training = o.training && tape->training;
    return ssq_batch_norm_var_at(where, x, gamma, beta, &o);
}

ssq_var ssq_nn_layer_norm_at(const char *where, ssq_tape *tape,
                             const char *name, ssq_var x,
                             const ssq_layer_norm_args *options)
{
    const struct layer l = {where, name, "nn_layer_norm", tape};
    ssq_layer_norm_args o = SSQ_LAYER_NORM_INIT;
    if (!layer_begin(&l, x, options, sizeof(o)))
        return var_inert(tape);
    if (options != NULL)
        o = *options;
    const int64_t *sizes = last_sizes(&l, x, o.ndim);
    if (sizes == NULL)
        return var_inert(tape);
    ssq_var gamma = layer_full(&l, "weight", o.ndim, sizes, 1.0, false);
    ssq_var beta = layer_full(&l, "bias", o.ndim, sizes, 0.0, false);
    return ssq_layer_norm_var_at(where, x, gamma, beta, &o);
}

ssq_var ssq_nn_rms_norm_at(const char *where, ssq_tape *tape, const char *name,
                           ssq_var x, const ssq_rms_norm_args *options)
{
    const struct layer l = {where, name, "nn_rms_norm", tape};
    ssq_rms_norm_args o = SSQ_RMS_NORM_INIT;
    if (!layer_begin(&l, x, options, sizeof(o)))
        return var_inert(tape);
    if (options != NULL)
        o = *options;
    const int64_t *sizes = last_sizes(&l, x, o.ndim);
    if (sizes == NULL)
        return var_inert(tape);
    ssq_var gamma = layer_full(&l, "weight", o.ndim, sizes, 1.0, false);
    return ssq_rms_norm_var_at(where, x, gamma, &o);
}

ssq_var ssq_nn_group_norm_at(const char *where, ssq_tape *tape,
                             const char *name, ssq_var x,
                             const ssq_group_norm_args *options)
{
    const struct layer l = {where, name, "nn_group_norm", tape};
    ssq_group_norm_args o = SSQ_GROUP_NORM_INIT;
    if (!layer_begin(&l, x, options, sizeof(o)))
        return var_inert(tape);
    if (options != NULL)
        o = *options;
    int64_t c = norm_along(&l, x, o.axis);
    if (c < 0)
        return var_inert(tape);
    ssq_var gamma = layer_full(&l, "weight", 1, &c, 1.0, false);
    ssq_var beta = layer_full(&l, "bias", 1, &c, 0.0, false);
    return ssq_group_norm_var_at(where, x, gamma, beta, &o);
}
