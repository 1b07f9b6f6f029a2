/* SPDX-License-Identifier: Apache-2.0 */
/* ptx.c - the PTX of all kernels, which is part of this file: one module for
 * each variant, so that the driver compiles what is used and no more. */
#include "backends/cuda/cuda.h"

#include "backends/pack/pack.h"
#include "kernel_table.h"
#include "kernels/ptx_table.h"

PACK_INCLUDE("ssq_ptx_pack", "kernels/ptx.pack");

extern const unsigned char ssq_ptx_pack[], ssq_ptx_pack_end[];

const char cuda_ptx_sum[] = MODULES_SUM;

ssq_status cuda_ptx(const struct services *core, const struct kernel *kernel,
                    const uint8_t key[LAUNCH_KEYS], const char *name,
                    char **text)
{
    const struct pack pack = {.backend = "cuda",
                              .begin = ssq_ptx_pack,
                              .end = ssq_ptx_pack_end,
                              .modules = modules,
                              .first = first_module};
    void *module;
    size_t size;
    ssq_status st = pack_module(core, &pack, kernel, key, name, &module, &size);
    if (st == SSQ_OK)
        *text = module;
    return st;
}
