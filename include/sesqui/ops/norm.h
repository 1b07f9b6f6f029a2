/* SPDX-License-Identifier: Apache-2.0 */
/* norm.h - ops of the norm family. */
#ifndef SESQUI_OPS_NORM_H
#define SESQUI_OPS_NORM_H

#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __cplusplus
}
#endif

#endif
