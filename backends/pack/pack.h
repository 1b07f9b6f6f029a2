/* SPDX-License-Identifier: Apache-2.0 */
/* pack.h - the compiled kernels that are part of a module.
 *
 * kernels/pack.sh made them: gzip members in a row, and a table of where each
 * is. The assembler includes the row as it is; as an array in C its megabytes
 * would cost every build gigabytes of a compiler's memory. */
#ifndef BACKENDS_PACK_PACK_H
#define BACKENDS_PACK_PACK_H

#include "lib/core/module/backend.h"

struct packed_module {
    uint32_t at, bytes; /* of the gzip member */
    uint32_t size;      /* bytes of the unpacked data */
};

/** All modules of one backend. */
struct pack {
    const char *backend; /* begins error texts */
    const unsigned char *begin, *end;
    const struct packed_module *modules;
    const uint32_t *first; /* of a kernel's variants, by enum kernel_id, counted
                              from 1; 0: it is not for this backend */
};

/** The bytes of file FILE, made by the build, as two hidden symbols: NAME and
 *  NAME_end. */
#define PACK_INCLUDE(NAME, FILE)                                               \
    __asm__(".section .rodata\n"                                               \
            ".globl " NAME "\n"                                                \
            ".globl " NAME "_end\n"                                            \
            ".hidden " NAME "\n"                                               \
            ".hidden " NAME "_end\n"                                           \
            ".balign 16\n" NAME ":\n"                                          \
            ".incbin \"" FILE "\"\n" NAME "_end:\n"                            \
            ".byte 0\n"                                                        \
            ".previous\n")

/** Unpack a kernel's module in a variant; the caller frees *module, which has
 *  *size bytes and a 0 after them. name: of both, for error texts.
 *  @return SSQ_ERR_UNSUPPORTED the variant is missing; SSQ_ERR_NOMEM;
 *          SSQ_ERR_DEVICE it does not unpack. */
ssq_status pack_module(const struct services *core, const struct pack *pack,
                       const struct kernel *kernel,
                       const uint8_t key[LAUNCH_KEYS], const char *name,
                       void **module, size_t *size);

#endif
