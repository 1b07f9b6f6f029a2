/* SPDX-License-Identifier: Apache-2.0 */
/* layer.h - functions that all layers share. */
#ifndef LIB_NN_LAYER_H
#define LIB_NN_LAYER_H

#include <sesqui/nn.h>

/** A layer that is being created. */
struct layer {
    const char *where, *name, *kind;
    ssq_tape *tape;
};

/** Begin a layer. Latch an error and return false if x is not a var of the
 *  tape, or if struct_size of options is not `size`. x is checked first. */
bool layer_begin(const struct layer *l, ssq_var x, const void *options,
                 size_t size);
/** Return parameter "name.part" of this shape. Its initial values are *given,
 *  or *begin if given->kind is SSQ_INIT_LAYER. */
ssq_var layer_param(const struct layer *l, const char *part, int rank,
                    const int64_t *shape, const ssq_begin *given,
                    const ssq_begin *begin);
/** Return a float32 parameter whose elements all begin as value. A state has no
 *  gradient. */
ssq_var layer_full(const struct layer *l, const char *part, int rank,
                   const int64_t *shape, double value, bool state);

/** PyTorch's initial weights: uniform in +-1 / sqrt(fan_in), for rank 2 and
 *  more. */
ssq_begin init_weight(void);
/** The same for the bias of a layer with this fan_in. */
ssq_begin init_bias(double fan_in);

#endif
