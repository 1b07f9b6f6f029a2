/* SPDX-License-Identifier: Apache-2.0 */
/* loss.h - cases of the elementwise losses that are not drawn. */
#ifndef CONFORMANCE_LOSS_LOSS_H
#define CONFORMANCE_LOSS_LOSS_H

#include "conformance/suite.h"

bool loss_torch(struct harness *b);
bool loss_refusals(struct harness *b);

#endif
