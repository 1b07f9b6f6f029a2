/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.h - the cpu backend's own GEMM, for backend.c. */
#ifndef BACKENDS_CPU_GEMM_GEMM_H
#define BACKENDS_CPU_GEMM_GEMM_H

#include "lib/core/module/backend.h"

extern const struct gemm_impl cpu_gemm[];

/** op_table.gemm_panels */
bool cpu_gemm_panels(const struct backend_device *device, ssq_dtype dtype,
                     struct gemm_panels_form *form);
/** op_table.gemm_explain */
void cpu_gemm_explain(const struct backend_device *device,
                      const struct gemm_op *op, unsigned impl,
                      struct gemm_explanation *e);

#endif
