/* SPDX-License-Identifier: Apache-2.0 */
/* mlp.h - a multi-layer perceptron, backward written by hand. */
#ifndef EXAMPLES_DIGITS_MLP_H
#define EXAMPLES_DIGITS_MLP_H

#include "examples/common/train.h"

extern const struct model_kind mlp_kind;

#endif
