/* SPDX-License-Identifier: Apache-2.0 */
/* loss.h - ops of the loss family. */
#ifndef SESQUI_OPS_LOSS_H
#define SESQUI_OPS_LOSS_H

#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif

#endif
