/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c - the implementations of gemm that OpenCL has beside the plan. */
#include "backends/opencl/opencl.h"

#include <string.h>

const struct gemm_impl opencl_gemms[] = {{.name = "mma",
                                          .check = opencl_mma_check,
                                          .run = opencl_mma_run,
                                          .last = opencl_mma_last},
#ifdef HAVE_CLBLAST
                                         {.name = "clblast",
                                          .check = opencl_clblast_check,
                                          .run = opencl_clblast_run,
                                          .last = opencl_clblast_last},
#endif
                                         {.name = NULL}};

bool opencl_is_mma(unsigned impl)
{
    return strcmp(opencl_gemms[impl].name, "mma") == 0;
}
