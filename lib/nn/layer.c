/* SPDX-License-Identifier: Apache-2.0 */
/* layer.c - functions that all layers share. */
#include "lib/nn/layer.h"

#include "lib/tape/tape.h"

#include <math.h>
#include <string.h>

bool layer_begin(const struct layer *l, ssq_var x, const void *options,
                 size_t size)
{
    ssq_tape *t = l->tape;
    if (t == NULL || t->status != SSQ_OK ||
        var_value(t, x, l->where, l->kind, "x") == NULL)
        return false;
    size_t has = size;
    if (options != NULL)
        memcpy(&has, options, sizeof(has)); /* struct_size comes first */
    if (has == size)
        return true;
    latch(t,
          error_set(SSQ_ERR_INVALID, "struct_size is %zu, expected %zu", has,
                    size),
          l->where, l->kind);
    return false;
}

static ssq_var param(const struct layer *l, const char *part,
                     const ssq_param_args *args)
{
    tape_push(l->tape, l->name, l->where);
    ssq_var v = ssq_var_param_at(l->where, l->tape, part, args);
    ssq_tape_pop(l->tape);
    return v;
}

ssq_var layer_param(const struct layer *l, const char *part, int rank,
                    const int64_t *shape, const ssq_begin *given,
                    const ssq_begin *begin)
{
    const ssq_begin *b = given->kind == SSQ_INIT_LAYER ? begin : given;
    ssq_param_args args = SSQ_PARAM_INIT;
    args.rank = rank;
    memcpy(args.shape, shape, (size_t)rank * sizeof(*shape));
    args.init = b->kind;
    args.fan = b->fan;
    args.value = b->value;
    args.gain = b->gain;
    args.nonlinearity = b->nonlinearity;
    args.slope = b->slope;
    return param(l, part, &args);
}

ssq_var layer_full(const struct layer *l, const char *part, int rank,
                   const int64_t *shape, double value, bool state)
{
    ssq_param_args args = SSQ_PARAM_INIT;
    args.rank = rank;
    memcpy(args.shape, shape, (size_t)rank * sizeof(*shape));
    args.init = SSQ_INIT_CONSTANT;
    args.value = value;
    args.full = true;
    args.state = state;
    return param(l, part, &args);
}

/* PyTorch initializes linear and convolution layers like this. The Kaiming gain
 * of a leaky ReLU with slope sqrt(5) is sqrt(1/3). The bound is therefore gain
 * * sqrt(3 / fan_in) = 1 / sqrt(fan_in). */
ssq_begin init_weight(void)
{
    return (ssq_begin){.kind = SSQ_INIT_KAIMING_UNIFORM, .slope = sqrt(5.0)};
}

ssq_begin init_bias(double fan_in)
{
    if (fan_in <= 0.0)
        return (ssq_begin){.kind = SSQ_INIT_ZEROS};
    return (ssq_begin){.kind = SSQ_INIT_UNIFORM, .value = 1.0 / sqrt(fan_in)};
}
