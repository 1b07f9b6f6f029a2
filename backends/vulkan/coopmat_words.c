/* SPDX-License-Identifier: Apache-2.0 */
/* coopmat_words.c - the SPIR-V of kernels/gemm/coopmat.comp, for f16 and bf16.
 *
 * The compilers that know cooperative matrices mostly do not know bf16 yet. In
 * the module float16 is the type of the matrices and of nothing else: giving
 * that type the other encoding, and asking for the capabilities of the other,
 * makes the module for bf16 (SPV_KHR_bfloat16). */
#include "backends/vulkan/coopmat.h"

#include <string.h>

/* The module as it was compiled; {0} where no compiler knew the extension at
 * build time. */
static const uint32_t words_f16[] =
#include "kernels/coopmat_spv.h"
    ;

#define COUNT(A) (sizeof(A) / sizeof((A)[0]))

/* Numbers of SPIR-V's specification. The first word of an instruction is its
 * length in words << 16 | its code. */
#define HEADER_WORDS    5u
#define OP_EXTENSION    10u
#define OP_CAPABILITY   17u
#define OP_TYPE_FLOAT   22u
#define FLOAT16         9u
#define BFLOAT16_TYPE   5116u
#define BFLOAT16_MATRIX 5118u
#define BFLOAT16_CODING 0u

#define INSTRUCTION(WORDS, CODE) ((uint32_t)(WORDS) << 16 | (CODE))

/* Requirements of the module for bf16 beyond the other one, in the order of a
 * module: a capability here, an extension by put_extension(). */
static const uint32_t more_capabilities[] = {INSTRUCTION(2, OP_CAPABILITY),
                                             BFLOAT16_MATRIX};

/* OpExtension "SPV_KHR_bfloat16": letters in words, the first in the lowest
 * byte in any byte order of the host. Returns its words. */
static size_t put_extension(uint32_t *to)
{
    static const char name[20] = "SPV_KHR_bfloat16"; /* and zeros */
    to[0] = INSTRUCTION(1 + sizeof(name) / 4, OP_EXTENSION);
    for (size_t i = 0; i < sizeof(name); i += 4)
        to[1 + i / 4] = (uint32_t)name[i] | (uint32_t)name[i + 1] << 8 |
                        (uint32_t)name[i + 2] << 16 |
                        (uint32_t)name[i + 3] << 24;
    return 1 + sizeof(name) / 4;
}

/* Words that the module for bf16 may have more: 2 of a capability, 6 of an
 * extension, 1 for each of the types of 16 bits. */
#define MORE_WORDS 16u

/* Copy the module and make it bf16's: another capability in the place of
 * Float16, two instructions behind the capabilities, and the encoding as a
 * further word of the type of 16-bit floats. Returns its words. */
static size_t make_bf16(uint32_t *to)
{
    const uint32_t *from = words_f16;
    size_t n = HEADER_WORDS, step;
    bool extended = false;
    memcpy(to, from, HEADER_WORDS * sizeof(*to));
    for (size_t i = HEADER_WORDS; i < COUNT(words_f16); i += step) {
        uint32_t code = from[i] & 0xffffu;
        step = from[i] >> 16;
        /* the first word that is not a capability: the place for one more, and
         * for the extension, which come in this order */
        if (!extended && code != OP_CAPABILITY) {
            memcpy(to + n, more_capabilities, sizeof(more_capabilities));
            n += COUNT(more_capabilities);
            n += put_extension(to + n);
            extended = true;
        }
        memcpy(to + n, from + i, step * sizeof(*to));
        if (code == OP_CAPABILITY && from[i + 1] == FLOAT16)
            to[n + 1] = BFLOAT16_TYPE;
        n += step;
        if (code == OP_TYPE_FLOAT && step == 3 && from[i + 2] == 16) {
            to[n - 3] = INSTRUCTION(4, OP_TYPE_FLOAT);
            to[n++] = BFLOAT16_CODING;
        }
    }
    return n;
}

ssq_status coopmat_words(const struct services *core, ssq_dtype dtype,
                         uint32_t **words, size_t *n)
{
    size_t bytes = sizeof(words_f16) + MORE_WORDS * sizeof(**words);
    *words = NULL;
    *n = 0;
    if (COUNT(words_f16) <= HEADER_WORDS)
        return SSQ_OK;
    uint32_t *w = core->mem_alloc(bytes);
    if (w == NULL)
        return vulkan_no_memory(core, bytes);
    if (dtype == SSQ_BF16) {
        *n = make_bf16(w);
    } else {
        memcpy(w, words_f16, sizeof(words_f16));
        *n = COUNT(words_f16);
    }
    *words = w;
    return SSQ_OK;
}
