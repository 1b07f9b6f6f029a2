/* SPDX-License-Identifier: Apache-2.0 */
/* spirv.c - a SPIR-V module as a device wants it.
 *
 * One set of modules serves all devices. The float controls that a device has
 * are asked for here, by instructions put where the order of a module wants
 * them: capabilities | extensions | imports, memory model, entry points |
 * execution modes | the rest. A module that asks for one that the device lacks
 * would be invalid, so that they cannot be compiled in. */
#include "backends/vulkan/vulkan.h"

#include <string.h>

#define MAGIC         0x07230203u
#define MAGIC_SWAPPED 0x03022307u
#define HEADER        5u /* words before the first instruction */
#define COUNT(A)      (sizeof(A) / sizeof((A)[0]))

/* Numbers of SPIR-V's specification. */
enum { OP_ENTRY_POINT = 15, OP_EXECUTION_MODE = 16, OP_CAPABILITY = 17 };
enum { OP_EXTENSION = 10 };
enum { MODEL_COMPUTE = 5 };

/* OpExtension "SPV_KHR_float_controls": 22 letters and a 0, first letter in
 * the lowest byte. */
static const uint32_t float_controls[] = {7u << 16 | OP_EXTENSION,
                                          0x5f565053,
                                          0x5f52484b,
                                          0x616f6c66,
                                          0x6f635f74,
                                          0x6f72746e,
                                          0x0000736c};

/* A float control: its capability, its execution mode, and whether the device
 * has it. */
struct control {
    uint32_t capability, mode;
    bool wanted;
};

/* The sections at the start of a module, as spirv_walk() finds them. */
struct layout {
    size_t extensions; /* word behind the capabilities */
    size_t modes;      /* word behind the entry point */
    uint32_t entry;    /* its id */
};

static ssq_status spirv_bad(const struct services *core, const char *name,
                            const char *what)
{
    return core->error_set(SSQ_ERR_DEVICE,
                           "vulkan: kernel %s: its SPIR-V is damaged: "
                           "%s",
                           name, what);
}

/* Refuse a capability that the device lacks, in words that a user can look up,
 * or one that is not known here: a driver may crash on it instead. The numbers
 * are SPIR-V's. */
static ssq_status check_capability(const struct services *core,
                                   const struct vulkan_caps *caps,
                                   const char *name, uint32_t capability)
{
    const struct {
        uint32_t number;
        bool there;
        const char *what;
    } known[] = {
        {1, true, "shaders"},
        {9, caps->coopmat, "16-bit floats (shaderFloat16)"},
        {22, caps->int16, "16-bit integers (shaderInt16)"},
        {61, true, "subgroups"},
        {39, caps->int8, "8-bit integers (shaderInt8)"},
        {4433, caps->storage16, "16-bit storage (storageBuffer16BitAccess)"},
        {4448, caps->storage8, "8-bit storage (storageBuffer8BitAccess)"},
        {5116, caps->shader_bfloat16, "bf16 (VK_KHR_shader_bfloat16)"},
        {5118, caps->shader_bfloat16, "bf16 (VK_KHR_shader_bfloat16)"},
        {5345, caps->coopmat, "its memory model (vulkanMemoryModel)"},
        {6022, caps->coopmat, "matrices (VK_KHR_cooperative_matrix)"},
    };
    for (size_t i = 0; i < COUNT(known); i++)
        if (known[i].number == capability)
            return known[i].there
                       ? SSQ_OK
                       : core->error_set(
                             SSQ_ERR_UNSUPPORTED,
                             "vulkan: kernel %s needs %s, which the device "
                             "does not have",
                             name, known[i].what);
    return core->error_set(
        SSQ_ERR_UNSUPPORTED,
        "vulkan: kernel %s needs SPIR-V's capability %u, which is not known",
        name, (unsigned)capability);
}

/* Look at an instruction: check a capability, and note the places behind the
 * capabilities and behind the entry point. */
static ssq_status spirv_see(const struct services *core,
                            const struct vulkan_caps *caps, const char *name,
                            const uint32_t *words, size_t at, uint32_t length,
                            struct layout *l)
{
    switch (words[at] & 0xffffu) {
    case OP_CAPABILITY:
        if (length != 2)
            return spirv_bad(core, name, "the length of a capability");
        l->extensions = at + length;
        return check_capability(core, caps, name, words[at + 1]);
    case OP_ENTRY_POINT:
        if (length < 4 || words[at + 1] != MODEL_COMPUTE || l->modes != 0)
            return spirv_bad(core, name, "not one entry point that computes");
        l->entry = words[at + 2];
        l->modes = at + length;
        return SSQ_OK;
    default:
        return SSQ_OK;
    }
}

/* See all instructions, each of which must end within the module. */
static ssq_status spirv_walk(const struct services *core,
                             const struct vulkan_caps *caps, const char *name,
                             const uint32_t *words, size_t n, struct layout *l)
{
    memset(l, 0, sizeof(*l));
    for (size_t at = HEADER; at < n;) {
        uint32_t length = words[at] >> 16;
        if (length == 0 || length > n - at)
            return spirv_bad(core, name, "an instruction's length");
        ssq_status st = spirv_see(core, caps, name, words, at, length, l);
        if (st != SSQ_OK)
            return st;
        at += length;
    }
    if (l->extensions == 0 || l->modes <= l->extensions)
        return spirv_bad(core, name, "no capability or no entry point");
    return SSQ_OK;
}

/* Append words; returns where the next ones go. */
static uint32_t *spirv_put(uint32_t *to, const uint32_t *words, size_t n)
{
    memcpy(to, words, n * sizeof(*words));
    return to + n;
}

/* Copy the module with the controls in their places; returns where it ends. 32
 * is the width of the floats that a mode is for. */
static uint32_t *assemble(uint32_t *to, const uint32_t *words, size_t n,
                          const struct layout *l, const struct control *c,
                          size_t count, size_t wanted)
{
    to = spirv_put(to, words, l->extensions);
    for (size_t i = 0; i < count; i++)
        if (c[i].wanted) {
            const uint32_t op[] = {2u << 16 | OP_CAPABILITY, c[i].capability};
            to = spirv_put(to, op, COUNT(op));
        }
    if (wanted > 0)
        to = spirv_put(to, float_controls, COUNT(float_controls));
    to = spirv_put(to, words + l->extensions, l->modes - l->extensions);
    for (size_t i = 0; i < count; i++)
        if (c[i].wanted) {
            const uint32_t op[] = {4u << 16 | OP_EXECUTION_MODE, l->entry,
                                   c[i].mode, 32};
            to = spirv_put(to, op, COUNT(op));
        }
    return spirv_put(to, words + l->modes, n - l->modes);
}

ssq_status vulkan_spirv(const struct services *core,
                        const struct vulkan_caps *caps, const char *name,
                        const uint32_t *words, size_t n, uint32_t **module,
                        size_t *bytes)
{
    const struct control controls[] = {
        {4464, 4459, caps->denorm_preserve}, /* DenormPreserve */
        {4466, 4461, caps->nan_preserve},    /* SignedZeroInfNanPreserve */
        {4467, 4462, caps->round_even},      /* RoundingModeRTE */
    };
    struct layout l;
    size_t wanted = 0;
    if (n < HEADER || words[0] != MAGIC)
        return spirv_bad(core, name,
                         n > 0 && words[0] == MAGIC_SWAPPED
                             ? "its bytes are in another machine's order"
                             : "no magic number");
    ssq_status st = spirv_walk(core, caps, name, words, n, &l);
    if (st != SSQ_OK)
        return st;
    for (size_t i = 0; i < COUNT(controls); i++)
        wanted += controls[i].wanted;
    /* 2 words of a capability and 4 of an execution mode for each control */
    size_t room = n + COUNT(float_controls) + wanted * (2u + 4u);
    uint32_t *made = core->mem_alloc(room * sizeof(*made));
    if (made == NULL)
        return vulkan_no_memory(core, room * sizeof(*made));
    uint32_t *end =
        assemble(made, words, n, &l, controls, COUNT(controls), wanted);
    *module = made;
    *bytes = (size_t)(end - made) * sizeof(*made);
    return SSQ_OK;
}
