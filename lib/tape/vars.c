/* SPDX-License-Identifier: Apache-2.0 */
/* vars.c - the functions of sesqui/vars.h and their table. vars.awk generates
 * them from the manifest and from the headers of the ops. */
#include <sesqui/vars.h>

#include "lib/tape/own.h"
#include "lib/tape/rules.h"

#define ITEMS(A) (sizeof(A) / sizeof((A)[0]))

/* The op that follows an op whose activation is not fused on a tape. */
static const struct tape_op *const activations[SSQ_ACTIVATION_TANH + 1];

#include "tape_table.h"

static const struct tape_op *const activations[] = {
    [SSQ_ACTIVATION_RELU] = &op_relu,
    [SSQ_ACTIVATION_GELU] = &op_gelu,
    [SSQ_ACTIVATION_GELU_TANH] = &op_gelu_tanh,
    [SSQ_ACTIVATION_SILU] = &op_silu,
    [SSQ_ACTIVATION_SIGMOID] = &op_sigmoid,
    [SSQ_ACTIVATION_TANH] = &op_tanh,
};
