/* SPDX-License-Identifier: Apache-2.0 */
/* spirv.c - tests of modules made ready for a device: float controls are put
 * where they belong, and a damaged module is an error. */

#include "backends/vulkan/vulkan.h"
#include "tests/tap.h"

static char text[512];

static ssq_status set_error(ssq_status status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return status;
}

static void *lend(size_t bytes)
{
    return calloc(1, bytes);
}

static const struct services core = {
    .error_set = set_error, .mem_alloc = lend, .mem_free = free};

ssq_status vulkan_no_memory(const struct services *lent, size_t bytes)
{
    (void)lent;
    return set_error(SSQ_ERR_NOMEM, "%zu bytes", bytes);
}

#define OP(LENGTH, CODE) ((uint32_t)(LENGTH) << 16 | (CODE))

/* An empty main of groups of one, with 16-bit storage. */
static const uint32_t module[] = {
    0x07230203, 0x00010300, 0,          5,          0, /* header */
    OP(2, 17),  1,                                     /* Shader */
    OP(2, 17),  4433,                                  /* 16-bit storage */
    OP(3, 14),  0,          1,                         /* OpMemoryModel */
    OP(5, 15),  5,          1,          0x6e69616d, 0, /* OpEntryPoint "main" */
    OP(6, 16),  1,          17,         1,          1, 1, /* LocalSize */
    OP(2, 19),  2,                                        /* OpTypeVoid */
    OP(3, 33),  3,          2,                            /* OpTypeFunction */
    OP(5, 54),  2,          1,          0,          3,    /* OpFunction */
    OP(2, 248), 4,          OP(1, 253), OP(1, 56)};       /* its body */
#define WORDS (sizeof(module) / sizeof(module[0]))

static const struct vulkan_caps plain = {.storage16 = true};
static const struct vulkan_caps rich = {.storage16 = true,
                                        .denorm_preserve = true,
                                        .nan_preserve = true,
                                        .round_even = true};

/* Where an instruction with this second word begins; 0: nowhere. */
static size_t find(const uint32_t *words, size_t n, uint32_t op, uint32_t i,
                   uint32_t value)
{
    for (size_t at = 5; at < n; at += words[at] >> 16)
        if ((words[at] & 0xffff) == op && words[at + i] == value)
            return at;
    return 0;
}

static void controls(void)
{
    static const uint32_t pairs[][2] = {
        {4464, 4459}, {4466, 4461}, {4467, 4462}};
    uint32_t *made = NULL;
    size_t bytes = 0;

    ssq_status st =
        vulkan_spirv(&core, &plain, "k", module, WORDS, &made, &bytes);
    tap_ok(st == SSQ_OK && bytes == sizeof(module) &&
               memcmp(made, module, bytes) == 0,
           "without float controls a module stays as it is");
    free(made);
    made = NULL;
    st = vulkan_spirv(&core, &rich, "k", module, WORDS, &made, &bytes);
    size_t n = bytes / 4;
    tap_ok(st == SSQ_OK && n == WORDS + 7 + 3 * 6,
           "three float controls are 25 words more");
    size_t extension = find(made, n, 10, 1, 0x5f565053);
    size_t model = find(made, n, 14, 2, 1), entry = find(made, n, 15, 2, 1);
    tap_ok(extension != 0 && extension < model && made[extension + 6] == 0x736c,
           "their extension comes before the memory model");
    for (size_t i = 0; i < 3; i++) {
        size_t capability = find(made, n, 17, 1, pairs[i][0]);
        size_t mode = find(made, n, 16, 2, pairs[i][1]);
        tap_ok(capability != 0 && capability < extension && mode > entry &&
                   mode < find(made, n, 19, 1, 2) && made[mode + 1] == 1 &&
                   made[mode + 3] == 32,
               "mode %u is there, and its capability", (unsigned)pairs[i][1]);
    }
    free(made);
}

static void refusals(void)
{
    static const struct vulkan_caps none;
    uint32_t words[WORDS], *made = NULL;
    size_t bytes;

    ssq_status st =
        vulkan_spirv(&core, &none, "cast FROM=2", module, WORDS, &made, &bytes);
    tap_ok(st == SSQ_ERR_UNSUPPORTED && strstr(text, "cast FROM=2") &&
               strstr(text, "storageBuffer16BitAccess"),
           "a capability that the device lacks is named: %s", text);
    memcpy(words, module, sizeof(words));
    words[8] = 10; /* Float64 */
    st = vulkan_spirv(&core, &rich, "k", words, WORDS, &made, &bytes);
    tap_ok(st == SSQ_ERR_UNSUPPORTED && strstr(text, "10"),
           "a capability that is not known is named: %s", text);
    tap_ok(made == NULL, "a refusal gives nothing");
}

/* Damaged modules on the heap, so that tools see what is read after them. */
static bool survives(const uint32_t *words, size_t n, ssq_status *status)
{
    uint32_t *copy = malloc(n * sizeof(*copy) + 1), *made = NULL;
    size_t bytes = 0;

    memcpy(copy, words, n * sizeof(*copy));
    *status = vulkan_spirv(&core, &rich, "k", copy, n, &made, &bytes);
    bool ok = (*status == SSQ_OK) == (made != NULL) &&
              (made == NULL || bytes == (n + 25) * sizeof(*made));
    free(made);
    free(copy);
    return ok;
}

static void damage(void)
{
    static const uint32_t values[] = {0,         0xffffffff, 0xffff0000,
                                      OP(1, 15), OP(1, 17),  OP(9999, 17),
                                      OP(2, 17), OP(3, 15),  OP(5, 15)};
    uint32_t words[WORDS];
    ssq_status st;
    long odd = 0, unseen = 0;

    /* up to the end of the entry point a cut is seen; then it may fall between
     * two instructions */
    for (size_t n = 0; n < WORDS; n++) {
        odd += !survives(module, n, &st);
        unseen += n < 17 && st == SSQ_OK;
    }
    tap_ok(odd == 0 && unseen == 0, "%zu modules that end too soon", WORDS);
    odd = 0;
    for (size_t at = 0; at < WORDS; at++)
        for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
            memcpy(words, module, sizeof(words));
            words[at] = values[i];
            odd += !survives(words, WORDS, &st);
        }
    tap_ok(odd == 0, "%zu modules with a wrong word",
           WORDS * sizeof(values) / sizeof(values[0]));
    memcpy(words, module, sizeof(words));
    words[0] = 0x03022307;
    survives(words, WORDS, &st);
    tap_ok(st == SSQ_ERR_DEVICE && strstr(text, "order"),
           "bytes in another order: %s", text);
}

int main(void)
{
    controls();
    refusals();
    damage();
    return tap_done(12);
}
