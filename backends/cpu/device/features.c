/* SPDX-License-Identifier: Apache-2.0 */
/* features.c - the processor, by CPUID, and its caches, by the C library.
 *
 * Registers wider than 128 bits are usable only if the system saves them for
 * threads, which XGETBV reports (Intel SDM vol. 1, 13.3). */
#include "backends/cpu/device/features.h"

#include <string.h>
#include <stdio.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>

/* Bits of XCR0: the registers that the system saves. */
#define SAVES_YMM   0x6u
#define SAVES_ZMM   0xe6u
#define SAVES_TILES 0x60000u

static uint64_t saved_registers(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static void find_name(struct cpu_features *f)
{
    uint32_t word[12], a, b, c, d;
    __cpuid(0x80000000u, a, b, c, d);
    if (a < 0x80000004u)
        return;
    for (uint32_t i = 0; i < 3; i++)
        __cpuid(0x80000002u + i, word[4 * i], word[4 * i + 1], word[4 * i + 2],
                word[4 * i + 3]);
    memcpy(f->model, word, sizeof(word));
}

static void find_instructions(struct cpu_features *f)
{
    uint32_t a, b, c, d, most, c1, b7 = 0, d7 = 0, a71 = 0;
    __cpuid(0, most, b, c, d);
    /* the last third of AuthenticAMD and of HygonGenuine */
    f->amd = c == 0x444d4163u || c == 0x656e6975u;
    __cpuid(1, a, b, c1, d);
    bool osxsave = (c1 & bit_OSXSAVE) != 0;
    uint64_t saved = osxsave ? saved_registers() : 0;
    if (most >= 7) {
        __cpuid_count(7, 0, a, b7, c, d7);
        if (a >= 1)
            __cpuid_count(7, 1, a71, b, c, d);
    }
    const uint32_t wide =
        bit_AVX512F | bit_AVX512BW | bit_AVX512CD | bit_AVX512DQ | bit_AVX512VL;
    f->avx2 = (saved & SAVES_YMM) == SAVES_YMM && (c1 & bit_FMA) != 0 &&
              (c1 & bit_F16C) != 0 && (b7 & bit_AVX2) != 0;
    f->avx512 =
        f->avx2 && (saved & SAVES_ZMM) == SAVES_ZMM && (b7 & wide) == wide;
    f->avx512_bf16 = f->avx512 && (a71 & (1u << 5)) != 0;
    bool tiles = f->avx512 && (saved & SAVES_TILES) == SAVES_TILES &&
                 (d7 & (1u << 24)) != 0;
    f->amx_bf16 = tiles && (d7 & (1u << 22)) != 0;
    f->amx_fp16 = tiles && (a71 & (1u << 21)) != 0;
}
#else
static void find_name(struct cpu_features *f)
{
    (void)f;
}
static void find_instructions(struct cpu_features *f)
{
    (void)f;
}
#endif

/* Bytes of a cache of the first processor as Linux says; 0: it does not. */
static long cache_file(int index)
{
    char path[64];
    long kib = 0;
    snprintf(path, sizeof(path),
             "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%ldK", &kib) != 1 || kib < 0 || kib > INT32_MAX / 1024)
        kib = 0;
    fclose(file);
    return kib * 1024;
}

/* glibc knows the sizes of x86-64's caches, musl none. */
#ifdef _SC_LEVEL1_DCACHE_SIZE
static const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                            _SC_LEVEL3_CACHE_SIZE};
static long cache_known(int level)
{
    return sysconf(names[level - 1]);
}
#else
static long cache_known(int level)
{
    (void)level;
    return 0;
}
#endif

/* Linux numbers the caches of a processor: 0 and 1 are of level 1. */
static uint32_t cache_bytes(int level, uint32_t least)
{
    long bytes = cache_known(level);
    if (bytes <= 0)
        bytes = cache_file(level == 1 ? 0 : level);
    return bytes >= (long)least && bytes <= INT32_MAX ? (uint32_t)bytes : least;
}

void cpu_features_find(struct cpu_features *f)
{
    *f = (struct cpu_features){
        .l1 = cache_bytes(1, 32u << 10),
        .l2 = cache_bytes(2, 256u << 10),
        .l3 = cache_bytes(3, 2u << 20),
    };
    find_name(f);
    find_instructions(f);
}
