/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - where the channels of images stand among their dimensions. */
#ifndef SESQUI_OPS_LAYOUT_H
#define SESQUI_OPS_LAYOUT_H

#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The order of the dimensions of a batch of images: n images of c channels,
 *  h rows and w columns. Values are fixed for good. Since 0.1. */
typedef enum ssq_layout {
    SSQ_LAYOUT_NCHW = 0, /**< [n,c,h,w]: torch's and ONNX's */
    SSQ_LAYOUT_NHWC = 1  /**< [n,h,w,c]: TensorFlow's, channels last */
} ssq_layout;

#ifdef __cplusplus
}
#endif

#endif
