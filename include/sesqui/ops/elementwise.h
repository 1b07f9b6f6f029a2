/* SPDX-License-Identifier: Apache-2.0 */
/* elementwise.h - ops of the elementwise family. */
#ifndef SESQUI_OPS_ELEMENTWISE_H
#define SESQUI_OPS_ELEMENTWISE_H

#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif

#endif
