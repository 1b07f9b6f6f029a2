/* SPDX-License-Identifier: Apache-2.0 */
/* halves.c - what the tile kernels rest on: f16 cut into two bf16s, for all of
 * them; where its error bound holds; the model of the instructions; and whether
 * the system gives tiles, which a filter in a child refuses. */
#define _GNU_SOURCE
#include "backends/cpu/gemm/gemm_tiles.h"
#include "backends/cpu/isa/gemm/tile_model.h"
#include "tests/core/core.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define LINES 32
#define DEEP  32
#define TILE  256

ISA_TABLE(struct gemm_tiles, gemm_model)

static uint16_t half_of(const float *panel, size_t word, size_t odd)
{
    uint16_t h;
    memcpy(&h, (const char *)(panel + word) + 2 * odd, sizeof(h));
    return h;
}

/* Where element k of a line is in a tile's words. */
static size_t word_of(bool a, size_t line, size_t k)
{
    size_t tile = line / 16 * TILE, row = line % 16, word = k / 2;
    return tile + (a ? row * 16 + word : word * 16 + row);
}

/* Is what was packed of f16 bits x its two halves? */
static bool is_split(uint16_t x, uint16_t high, uint16_t low)
{
    float f = f16_load(x), h = bf16_load(high), l = bf16_load(low);
    if ((x & 0x7c00u) == 0x7c00u)
        return true; /* it has none */
    return high == bf16_store(f) && (double)h + (double)l == (double)f &&
           fabs((double)l) <= 0x1p-8 * fabs((double)f) &&
           (l == 0.0f || fabsf(l) >= 0x1p-24f);
}

/* 1024 values from `first` on, as a square of lines by k that is one way or
 * the other. */
static bool splits(const struct gemm_kernels *kernels, bool a, bool along,
                   uint32_t first)
{
    uint16_t x[LINES * DEEP];
    _Alignas(64) float panel[4 * TILE + GEMM_SLACK];
    atomic_bool not_finite = false;
    bool finite = true;
    for (uint32_t i = 0; i < LINES * DEEP; i++) {
        x[i] = (uint16_t)(first + i);
        finite = finite && (x[i] & 0x7c00u) != 0x7c00u;
    }
    struct gemm_source from = {x, SSQ_F16, along ? DEEP : 1, along ? 1 : LINES};
    struct gemm_panels to = {panel, LINES, 4 * TILE, &not_finite};
    (a ? kernels->pack_a : kernels->pack)(&from, 0, LINES, 0, DEEP, &to);
    bool good = atomic_load(&not_finite) == !finite;
    for (size_t i = 0; i < LINES && good; i++)
        for (size_t k = 0; k < DEEP && good; k++) {
            size_t at = word_of(a, i, k);
            good = is_split(along ? x[i * DEEP + k] : x[k * LINES + i],
                            half_of(panel, at, k % 2),
                            half_of(panel, 2 * TILE + at, k % 2));
        }
    return good;
}

static void test_split(const char *isa, const struct gemm_tiles *tiles)
{
    for (int form = 0; form < 4; form++) {
        bool a = form / 2 == 0, along = form % 2 == 0, good = true;
        for (uint32_t first = 0; first < 0x10000 && good; first += 1024)
            good = splits(tiles->four, a, along, first);
        tap_ok(good, "%s: all f16 are the sum of their halves: %s, k %s", isa,
               a ? "a" : "b", along ? "contiguous" : "across");
    }
}

/* 13 lines of 21 elements: missing elements of a panel are 0. */
static void test_edges(const char *isa, const struct gemm_tiles *tiles)
{
    enum { SOME = 13, DEPTH = 21 };
    uint16_t x[SOME * DEPTH];
    _Alignas(64) float panel[2 * TILE + GEMM_SLACK];
    for (int form = 0; form < 4; form++) {
        bool a = form / 2 == 0, along = form % 2 == 0, good = true;
        struct gemm_source from = {x, SSQ_BF16, along ? DEPTH : 1,
                                   along ? 1 : SOME};
        struct gemm_panels to = {panel, LINES, 2 * TILE, NULL};
        for (size_t i = 0; i < SOME * DEPTH; i++)
            x[i] = (uint16_t)(i + 1);
        memset(panel, 0x55, sizeof(panel));
        (a ? tiles->bf16->pack_a : tiles->bf16->pack)(&from, 0, SOME, 0, DEPTH,
                                                      &to);
        for (size_t i = 0; i < LINES; i++)
            for (size_t k = 0; k < DEEP; k++) {
                uint16_t want = along ? x[i % SOME * DEPTH + k % DEPTH]
                                      : x[k % DEPTH * SOME + i % SOME];
                if (i >= SOME || k >= DEPTH)
                    want = 0;
                good = good && half_of(panel, word_of(a, i, k), k % 2) == want;
            }
        tap_ok(good, "%s: 13 lines of 21 and zeros: %s, k %s", isa,
               a ? "a" : "b", along ? "contiguous" : "across");
    }
}

static void test_isas(void)
{
    struct cpu_features f;
    cpu_features_find(&f);
    const bool has[] = {true, f.avx2, f.avx512};
    static const char *const names[] = {"plain", "avx2", "avx512"};
    for (size_t i = 0; i < 3; i++)
        if (has[i] && gemm_model_of[i] != NULL) {
            test_split(names[i], gemm_model_of[i]);
            test_edges(names[i], gemm_model_of[i]);
        }
}

/* The least k from which on the bound holds up to 100,000. */
static int64_t least(uint32_t products)
{
    int64_t k = 100000;
    while (k > 0 && tiles_bounded(k, products))
        k--;
    return k + 1;
}

static void test_bound(void)
{
    tap_ok(least(4) == 8, "four products are within the bound from k %lld on",
           (long long)least(4));
    tap_ok(least(3) == 302 && !tiles_bounded(301, 3),
           "three products from k %lld on", (long long)least(3));
    tap_ok(tiles_bounded(INT64_C(1) << 40, 3), "and for a k of 2^40");
}

/* ---- the model ---- */

static void test_model(void)
{
    static const float least_normal = 0x1p-126f;
    tap_ok(model_add(least_normal, -0x1p-127) == 0.0f &&
               signbit(model_add(-least_normal, 0x1p-127)),
           "a subnormal sum is 0 of its sign");
    tap_ok(model_add(0.0f, 0x1p-126) == least_normal &&
               model_add(0.0f, 0x1p-126 - 0x1p-151) == least_normal &&
               model_add(0.0f, 0x1p-126 - 0x1p-150) == 0.0f,
           "what rounds to the least normal is that");
    tap_ok(model_add(1.0f, 0x1p-24 + 0x1p-70) == 1.0f + 0x1p-23f &&
               model_add(1.0f, 0x1p-24) == 1.0f &&
               model_add(1.0f, -0x1p-25 - 0x1p-70) == 1.0f - 0x1p-24f,
           "a sum is rounded once");
    tap_ok(isinf(model_add(0x1.fffffep127f, 0x1p126)) &&
               isnan(model_add(INFINITY, (double)-INFINITY)),
           "infinities and NaN are as usual");
    uint64_t state = 1;
    bool good = true;
    for (int i = 0; i < 1000000 && good; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        float x = bf16_load((uint32_t)(state >> 48 & 0xbfffu) | 0x2000u);
        float y = bf16_load((uint32_t)(state >> 32 & 0xbfffu) | 0x2000u);
        uint32_t bits = (uint32_t)(state >> 8 & 0xbfffffffu) | 0x20000000u;
        float sum;
        memcpy(&sum, &bits, sizeof(sum));
        float got = model_add(sum, (double)x * (double)y);
        float want = fmaf(x, y, sum);
        good = got == want || fabsf(want) <= least_normal ||
               (isnan(got) && isnan(want));
    }
    tap_ok(good, "the model rounds as fmaf does");
}

/* Even and odd products apart: 2^24 + 1 + .. in one chain loses all ones. */
static void test_order(void)
{
    static struct tile_model m;
    model_configure(&m);
    for (uint32_t i = 0; i < 16; i++) {
        m.tile[4][0][i] =
            i == 0 ? 0x3f804b80u : 0x3f803f80u; /* 2^24, 1; 1, 1 */
        m.tile[6][i][0] = 0x3f803f80u;
    }
    model_multiply(&m, 0, 4, 6, false);
    float got;
    memcpy(&got, &m.tile[0][0][0], sizeof(got));
    tap_ok(got == 0x1p24f + 16.0f, "even and odd products are summed apart");
    model_release(&m);
}

/* ---- permission ---- */

#if CPU_AVX512 /* tiles are compiled with it */
/* From now on this process may not ask for tiles. */
static bool forbid(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                 offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x1023, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog all = {sizeof(code) / sizeof(code[0]), code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all, 0, 0) == 0;
}

/* In a child, which has not asked yet: 0, or 2 without filters. */
static int refused(void)
{
    struct cpu_features f = {.avx2 = true, .avx512 = true, .amx_bf16 = true};
    struct tiles t;
    if (!forbid())
        return 2;
    unsetenv("SSQ_CPU_TILES");
    return tiles_choose(&t, &f, isa_choose(&f, "")) == SSQ_OK &&
                   t.kernels == NULL && t.refused &&
                   core_has(t.why, "Linux refuses tiles: Operation not perm")
               ? 0
               : 1;
}

static void test_refused(void)
{
    const char *name = "what the system refuses is said";
    int status = -1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(refused());
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
        tap_skip("no filter of system calls can be set here", "%s", name);
    else
        tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s", name);
}
#endif

static void test_permission(void)
{
#if CPU_AVX512
    test_refused();
#endif
    const char *first = tiles_permission();
    tap_ok(tiles_permission() == first, "asked once: %s",
           first == NULL ? "granted" : first);
}

static void test_choice(void)
{
    struct cpu_features none = {.avx2 = false}, f;
    cpu_features_find(&f);
    const struct isa *best = isa_choose(&f, "");
    struct tiles t;
    unsetenv("SSQ_CPU_TILES");
    tap_ok(tiles_choose(&t, &none, best) == SSQ_OK && t.kernels == NULL &&
               !t.refused && core_has(t.why, "no amx_bf16"),
           "a processor without tiles: %s", t.why);
    setenv("SSQ_CPU_TILES", "none", 1);
    tap_ok(tiles_choose(&t, &none, best) == SSQ_OK && t.kernels == NULL,
           "none are wanted: %s", t.why);
    setenv("SSQ_CPU_TILES", "model_fp16", 1);
    tap_ok(tiles_choose(&t, &none, best) == SSQ_OK && t.model && t.f16 &&
               t.kernels == gemm_model_of[best->number],
           "a model of them that multiplies f16");
    setenv("SSQ_CPU_TILES", "models", 1);
    core_status(tiles_choose(&t, &none, best), SSQ_ERR_INVALID,
                "SSQ_CPU_TILES|models|none", "refused: another value");
    unsetenv("SSQ_CPU_TILES");
}

int main(void)
{
#ifdef __x86_64__
    test_permission();
#else
    tap_skip("tiles are of x86", "permission");
#endif
    test_choice();
    test_isas();
    test_bound();
    test_model();
    test_order();
    return tap_done(20);
}
