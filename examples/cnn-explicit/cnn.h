/* SPDX-License-Identifier: Apache-2.0 */
/* cnn.h - a two-layer convolutional network, backward written by hand. */
#ifndef EXAMPLES_CNN_EXPLICIT_CNN_H
#define EXAMPLES_CNN_EXPLICIT_CNN_H

#include "examples/common/train.h"

extern const struct model_kind cnn_kind;

#endif
