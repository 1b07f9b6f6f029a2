/* SPDX-License-Identifier: Apache-2.0 */
/* modules.c - the SPIR-V modules of all kernels, which are part of this file.
 */
#include "backends/vulkan/vulkan.h"

#include "backends/pack/pack.h"
#include "kernel_table.h"
#include "kernels/spirv_table.h"

PACK_INCLUDE("ssq_spirv_pack", "kernels/spirv.pack");

extern const unsigned char ssq_spirv_pack[], ssq_spirv_pack_end[];

const char vulkan_modules_sum[] = MODULES_SUM;

/* Modules are words in the order of the machine that made them: swap them where
 * this one's is the other. */
static void to_host(uint32_t *words, uint32_t n)
{
    if (n == 0 || words[0] != 0x03022307u)
        return;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t w = words[i];
        words[i] =
            w >> 24 | (w >> 8 & 0xff00u) | (w << 8 & 0xff0000u) | w << 24;
    }
}

ssq_status vulkan_module(const struct services *core,
                         const struct kernel *kernel,
                         const uint8_t key[LAUNCH_KEYS], const char *name,
                         uint32_t **words, size_t *n)
{
    const struct pack pack = {.backend = "vulkan",
                              .begin = ssq_spirv_pack,
                              .end = ssq_spirv_pack_end,
                              .modules = modules,
                              .first = first_module};
    void *module;
    size_t size;
    ssq_status st = pack_module(core, &pack, kernel, key, name, &module, &size);
    if (st != SSQ_OK)
        return st;
    *words = module;
    *n = size / sizeof(**words);
    to_host(*words, (uint32_t)*n);
    return SSQ_OK;
}
