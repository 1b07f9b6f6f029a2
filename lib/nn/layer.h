/* SPDX-License-Identifier: Apache-2.0 */
/* layer.h - what layers share: their parameters. */
#ifndef LIB_NN_LAYER_H
#define LIB_NN_LAYER_H

#include <sesqui/nn.h>

/** A layer under construction. */
struct layer {
    const char *where, *name, *kind;
    ssq_tape *tape;
};

/** False after latching that x is no var of the tape, or that options has
 *  another size than it should; x is looked at first. */
bool layer_begin(const struct layer *l, ssq_var x, const void *options,
                 size_t size);
/** "name.part" of a shape: as given, or else as it begins by default. */
ssq_var layer_param(const struct layer *l, const char *part, int rank,
                    const int64_t *shape, const ssq_begin *given,
                    const ssq_begin *begin);
/** A float32 vector or block that begins as a constant; a state has no
 *  gradient. */
ssq_var layer_full(const struct layer *l, const char *part, int rank,
                   const int64_t *shape, double value, bool state);

/** torch's: uniform in +-1 / sqrt(fan_in), for weights of rank 2 and more. */
ssq_begin init_weight(void);
/** The same for a bias behind fan_in factors. */
ssq_begin init_bias(int64_t fan_in);

#endif
