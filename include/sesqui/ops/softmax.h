/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.h - ops of the softmax family. */
#ifndef SESQUI_OPS_SOFTMAX_H
#define SESQUI_OPS_SOFTMAX_H

#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif

#endif
