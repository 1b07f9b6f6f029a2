/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - position of the channels among the dimensions of images.
 *
 * Used by conv.h, pool.h and nn.h. This header has no functions.
 *
 * @sync host
 * @threads any */
#ifndef SESQUI_OPS_LAYOUT_H
#define SESQUI_OPS_LAYOUT_H

#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Order of the dimensions of a batch of images: n images of c channels, h rows
 *  and w columns. The values never change. Since 0.1. */
typedef enum ssq_layout {
    SSQ_LAYOUT_NCHW = 0, /**< [n,c,h,w], as in torch and ONNX */
    SSQ_LAYOUT_NHWC = 1  /**< [n,h,w,c], channels last, as in TensorFlow */
} ssq_layout;

#ifdef __cplusplus
}
#endif

#endif
