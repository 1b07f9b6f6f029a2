/* SPDX-License-Identifier: Apache-2.0 */
/* modules.c - the SPIR-V modules of all kernels, which are part of this file.
 *
 * kernels/spirv.sh made them: gzip members in a row, and a table of where each
 * is. The assembler includes the 5 MB as they are; as an array in C they would
 * cost every build gigabytes of a compiler's memory. */
#include "backends/vulkan/vulkan.h"

#include <string.h>

#include <zlib.h>

#include "kernel_table.h"

struct spirv_module {
    /* bytes of the gzip member: where it begins in the pack, and how many */
    uint32_t at, bytes;
    uint32_t words; /* of the module */
};

#include "kernels/spirv_table.h"

__asm__(".section .rodata\n"
        ".globl ssq_spirv_pack\n"
        ".globl ssq_spirv_end\n"
        ".hidden ssq_spirv_pack\n"
        ".hidden ssq_spirv_end\n"
        "ssq_spirv_pack:\n"
        ".incbin \"kernels/spirv.pack\"\n"
        "ssq_spirv_end:\n"
        ".byte 0\n"
        ".previous\n");

extern const unsigned char ssq_spirv_pack[], ssq_spirv_end[];

const char vulkan_modules_sum[] = SPIRV_SUM;

/* zlib's allocations, from the core: a test of failing allocations reaches
 * them, too. opaque is the services. */
static voidpf lend(voidpf core, uInt n, uInt size)
{
    return ((const struct services *)core)->mem_alloc((size_t)n * size);
}

static void take_back(voidpf core, voidpf p)
{
    ((const struct services *)core)->mem_free(p);
}

static ssq_status broken(const struct services *core, const char *name)
{
    return core->error_set(
        SSQ_ERR_DEVICE, "vulkan: kernel %s: its module does not unpack", name);
}

/* Unpack a member into as many words as its module has: not one more or less,
 * and nothing behind it. */
static ssq_status unpack(const struct services *core,
                         const struct spirv_module *m, const char *name,
                         uint32_t *words)
{
    if ((size_t)m->at + m->bytes > (size_t)(ssq_spirv_end - ssq_spirv_pack))
        return broken(core, name);

    z_stream z = {.zalloc = lend,
                  .zfree = take_back,
                  /* lend only reads */ .opaque = (void *)(uintptr_t)core};
    /* zlib writes nothing there; its older headers do not say so */
    z.next_in = (unsigned char *)(uintptr_t)(ssq_spirv_pack + m->at);
    z.avail_in = m->bytes;
    z.next_out = (unsigned char *)words;
    z.avail_out = m->words * (uInt)sizeof(*words);
    int e = inflateInit2(&z, 16 + MAX_WBITS); /* 16: of gzip */
    if (e == Z_OK) {
        e = inflate(&z, Z_FINISH);
        (void)inflateEnd(&z);
    }
    if (e == Z_MEM_ERROR)
        return core->error_set(
            SSQ_ERR_NOMEM, "vulkan: kernel %s: no memory to unpack its module",
            name);
    return e == Z_STREAM_END && z.avail_in == 0 && z.avail_out == 0
               ? SSQ_OK
               : broken(core, name);
}

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

/* The number of a variant among the kernel's; nvariants: it has no such. A
 * kernel without keys has one, number 0. */
static uint32_t variant_of(const struct kernel *kernel,
                           const uint8_t key[LAUNCH_KEYS])
{
    uint32_t i = 0;
    if (kernel->nkeys > 0)
        while (i < kernel->nvariants &&
               memcmp(kernel->variants[i], key, LAUNCH_KEYS) != 0)
            i++;
    return i;
}

ssq_status vulkan_module(const struct services *core,
                         const struct kernel *kernel,
                         const uint8_t key[LAUNCH_KEYS], const char *name,
                         uint32_t **words, size_t *n)
{
    uint32_t variant = variant_of(kernel, key);
    if (kernel->nkeys > 0 && variant == kernel->nvariants)
        return core->error_set(SSQ_ERR_UNSUPPORTED,
                               "vulkan: there is no kernel %s", name);
    const struct spirv_module *m = &modules[first_module[kernel->id] + variant];
    size_t bytes = (size_t)m->words * sizeof(**words);
    uint32_t *made = core->mem_alloc(bytes);
    if (made == NULL)
        return vulkan_no_memory(core, bytes);
    ssq_status st = unpack(core, m, name, made);
    if (st != SSQ_OK) {
        core->mem_free(made);
        return st;
    }
    to_host(made, m->words);
    *words = made;
    *n = m->words;
    return SSQ_OK;
}
