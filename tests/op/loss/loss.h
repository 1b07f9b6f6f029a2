/* SPDX-License-Identifier: Apache-2.0 */
/* loss.h - cases of the elementwise losses that are not drawn. */
#ifndef TESTS_OP_LOSS_LOSS_H
#define TESTS_OP_LOSS_LOSS_H

#include "tests/op/suite.h"

bool loss_torch(struct harness *b);
bool loss_refusals(struct harness *b);

#endif
