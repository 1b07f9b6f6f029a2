/* SPDX-License-Identifier: Apache-2.0 */
/* conv.h - windows of convolutions, and convolution by GEMM. */
#ifndef LIB_PLAN_CONV_CONV_H
#define LIB_PLAN_CONV_CONV_H

#include "lib/op/conv/conv.h"
#include "lib/plan/windows.h"

/** How an op is cut: between images. */
extern const struct window_cut conv_images;

/** Call each for windows of images, if the result is images or maps. For the
 *  gradient of a filter, a sum over all images, call it once. */
void conv_windows(struct plan *p, const struct conv_op *op,
                  void (*each)(struct plan *p, const struct conv_op *op));

bool conv_gemm_check(const struct backend_limits *l, const struct conv_op *op,
                     struct why *why);
void conv_gemm_build(struct plan *p, const struct conv_op *op);

#endif
