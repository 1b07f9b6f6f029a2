/* SPDX-License-Identifier: Apache-2.0 */
/* ptx.c - the PTX of all kernels, which is part of this object file. There is
 * one module for each variant, so that the driver compiles only those in use.
 * If configure was asked for machine code, that is included, too. */
#include "backends/cuda/mma.h"

#include "backends/cuda/sass.h"
#include "backends/pack/pack.h"
#include "kernels/ptx_table.h"
#include "kernels/sass_table.h"

PACK_INCLUDE("ssq_ptx_pack", "kernels/ptx.pack");

PACK_INCLUDE("ssq_sass_pack", "kernels/sass.pack");

extern const unsigned char ssq_ptx_pack[], ssq_ptx_pack_end[];
extern const unsigned char ssq_sass_pack[], ssq_sass_pack_end[];

/** Number of modules in PTX, and for each architecture of machine code. */
#define MODULES (sizeof(modules) / sizeof(modules[0]))

const char cuda_ptx_sum[] = MODULES_SUM;

const char *cuda_sass_sum(int capability)
{
    return sass_for(sass_archs, capability) < 0 ? "none" : SASS_SUM;
}

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

ssq_status cuda_sass(const struct services *core, int capability,
                     const struct kernel *kernel,
                     const uint8_t key[LAUNCH_KEYS], const char *name,
                     void **code)
{
    int i = sass_for(sass_archs, capability);
    const struct pack pack = {.backend = "cuda",
                              .begin = ssq_sass_pack,
                              .end = ssq_sass_pack_end,
                              .modules =
                                  sass_modules + (i < 0 ? 0 : i) * MODULES,
                              .first = first_module};
    size_t size;
    *code = NULL;
    if (i < 0)
        return SSQ_OK;
    return pack_module(core, &pack, kernel, key, name, code, &size);
}
