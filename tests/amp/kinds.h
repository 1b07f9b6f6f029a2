/* SPDX-License-Identifier: Apache-2.0 */
/* kinds.h - the names of all kinds of optimizers, for tests that try each. */
#ifndef TESTS_AMP_KINDS_H
#define TESTS_AMP_KINDS_H

#include "kernels/amp/kinds.h"

/** "sgd", "adam", and so on, each with a comma; OPT_KINDS is their number. */
#define KIND_NAMES              OPTIMIZER_KINDS(KIND_NAME, KIND_NAME)
#define KIND_NAME(N, NAME, ...) #NAME,

#endif
