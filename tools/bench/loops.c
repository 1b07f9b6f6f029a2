/* SPDX-License-Identifier: Apache-2.0 */
/* loops.c - the highest throughputs of the processor's units, without loads and
 * stores. Each thread runs independent multiply-adds, or dot products of
 * bf16 pairs with vectors or tiles. Only for x86-64; elsewhere the throughputs
 * are unknown. */
#include "tools/bench/bench.h"

#include <pthread.h>

/** Number of independent chains: a multiply-add takes 4 cycles, and two begin
 *  in each cycle. */
#define CHAINS 12
/** Rounds of a loop: a few milliseconds. */
#define ROUNDS 2000000L
#define RUNS   5
#define MOST   256

#if defined(__x86_64__) && defined(__GNUC__)

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* An instruction twelve times. Its operands are registers 2 and 3, filled with
 * 0.5, so multiply-adds converge to 1. */
#define TWELVE(OP, R)                                                          \
    OP " %%" R "2, %%" R "3, %%" R "4\n\t" OP " %%" R "2, %%" R "3, %%" R      \
       "5\n\t" OP " %%" R "2, %%" R "3, %%" R "6\n\t" OP " %%" R "2, %%" R     \
       "3, %%" R "7\n\t" OP " %%" R "2, %%" R "3, %%" R "8\n\t" OP " %%" R     \
       "2, %%" R "3, %%" R "9\n\t" OP " %%" R "2, %%" R "3, %%" R "10\n\t" OP  \
       " %%" R "2, %%" R "3, %%" R "11\n\t" OP " %%" R "2, %%" R "3, %%" R     \
       "12\n\t" OP " %%" R "2, %%" R "3, %%" R "13\n\t" OP " %%" R "2, %%" R   \
       "3, %%" R "14\n\t" OP " %%" R "2, %%" R "3, %%" R "15\n\t"
#define LOOP(OP, R)                                                            \
    __asm__ volatile("vpbroadcastd %1, %%" R "2\n\t"                           \
                     "vpbroadcastd %1, %%" R "3\n\t"                           \
                     "1:\n\t" TWELVE(OP, R) "dec %0\n\t"                       \
                                            "jnz 1b\n\t"                       \
                                            "vzeroupper"                       \
                     : "+r"(n)                                                 \
                     : "m"(*half)                                              \
                     : "cc", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7",   \
                       "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",     \
                       "xmm14", "xmm15")

static void fma_512(long n, const unsigned *half)
{
    LOOP("vfmadd213ps", "zmm");
}

static void fma_256(long n, const unsigned *half)
{
    LOOP("vfmadd213ps", "ymm");
}

static void dot_512(long n, const unsigned *half)
{
    LOOP("vdpbf16ps", "zmm");
}

/* The operand of ldtilecfg: here 8 tiles of 16 rows of 64 bytes. */
struct loops_tile_config {
    uint8_t palette, start, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
};

/* Four sums, from two tiles for each factor. */
static void loops_tiles(long n, const unsigned *half)
{
    struct loops_tile_config c = {.palette = 1};
    unsigned x[256];
    const long step = 64;
    for (int i = 0; i < 8; i++) {
        c.bytes[i] = 64;
        c.rows[i] = 16;
    }
    for (int i = 0; i < 256; i++)
        x[i] = *half;
    __asm__ volatile("ldtilecfg %1\n\t"
                     "tilezero %%tmm0\n\t"
                     "tilezero %%tmm1\n\t"
                     "tilezero %%tmm2\n\t"
                     "tilezero %%tmm3\n\t"
                     "tileloadd (%2,%3,1), %%tmm4\n\t"
                     "tileloadd (%2,%3,1), %%tmm5\n\t"
                     "tileloadd (%2,%3,1), %%tmm6\n\t"
                     "tileloadd (%2,%3,1), %%tmm7\n\t"
                     "1:\n\t"
                     "tdpbf16ps %%tmm6, %%tmm4, %%tmm0\n\t"
                     "tdpbf16ps %%tmm7, %%tmm4, %%tmm1\n\t"
                     "tdpbf16ps %%tmm6, %%tmm5, %%tmm2\n\t"
                     "tdpbf16ps %%tmm7, %%tmm5, %%tmm3\n\t"
                     "dec %0\n\t"
                     "jnz 1b\n\t"
                     "tilerelease"
                     : "+r"(n)
                     : "m"(c), "r"(x), "r"(step)
                     : "cc", "memory");
}

typedef void (*loop_fn)(long n, const unsigned *half);

/* A process must request tiles from Linux once before it uses them. */
static loop_fn tile_loop(double *flops)
{
    unsigned a, b, c, d = 0;
    const bool there = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 &&
                       (d >> 22 & 1u) == 1u && (d >> 24 & 1u) == 1u;
    *flops = 4.0 * 2.0 * 16.0 * 16.0 * 32.0;
    /* ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA */
    return there && syscall(SYS_arch_prctl, 0x1023, 18) == 0 ? loops_tiles
                                                             : NULL;
}

/* Return the widest loop that the processor supports, and set *flops to the
 * operations of a round. */
static loop_fn fma_loop(double *flops)
{
    __builtin_cpu_init();
    const bool wide = __builtin_cpu_supports("avx512f");
    *flops = 2.0 * CHAINS * (wide ? 16.0 : 8.0);
    return wide ? fma_512
           : __builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2")
               ? fma_256
               : NULL;
}

static loop_fn dot_loop(double *flops)
{
    *flops = 4.0 * CHAINS * 16.0;
    return __builtin_cpu_supports("avx512bf16") ? dot_512 : NULL;
}

struct loops_share {
    loop_fn loop;
    unsigned half;
};

static void *run_share(void *user)
{
    const struct loops_share *s = user;
    s->loop(ROUNDS, &s->half);
    return NULL;
}

/* Return the seconds of a loop on all threads; 0 if they cannot be started. */
static double time_loop(struct loops_share *s, int threads)
{
    pthread_t thread[MOST];
    int n = 0;
    double began = now();
    while (n < threads - 1 && n < MOST &&
           pthread_create(&thread[n], NULL, run_share, s) == 0)
        n++;
    run_share(s);
    for (int i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
    return n == threads - 1 ? now() - began : 0.0;
}

static double loop_throughput(loop_fn loop, unsigned half, int threads,
                              double flops)
{
    struct loops_share s = {loop, half};
    double best = 0.0;
    for (int i = 0; i < RUNS && loop != NULL; i++) {
        double seconds = time_loop(&s, threads);
        double reached = seconds > 0.0
                             ? 1e-9 * flops * (double)ROUNDS * threads / seconds
                             : 0.0;
        best = reached > best ? reached : best;
    }
    return best;
}

void loops_measure(int threads, double *fma, double *dot, double *tile)
{
    double flops;
    loop_fn loop = fma_loop(&flops);
    *fma = loop_throughput(loop, 0x3f000000u, threads, flops); /* 0.5f */
    loop = dot_loop(&flops);
    *dot = loop_throughput(loop, 0x3f003f00u, threads, flops); /* two of 0.5 */
    loop = tile_loop(&flops);
    *tile = loop_throughput(loop, 0x3f003f00u, threads, flops);
}

#else

void loops_measure(int threads, double *fma, double *dot, double *tile)
{
    (void)threads;
    *fma = *dot = *tile = 0.0;
}

#endif
