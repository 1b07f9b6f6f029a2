/* SPDX-License-Identifier: Apache-2.0 */
/* fpenv.h - host arithmetic in default modes, whatever the caller set.
 *
 * FTZ and DAZ (MXCSR, FPCR) change bits of results, so every host op runs
 * between fpenv_enter and fpenv_leave. A compiler does not know that modes
 * matter to arithmetic: it may move what it holds in registers across either.
 * Memory that others can see stays on its side. For a local variable or a
 * parameter say so: FPENV_KEEP of what goes in, behind fpenv_enter, and of what
 * comes out, before fpenv_leave. */
#ifndef LIB_CORE_FPENV_H
#define LIB_CORE_FPENV_H

#include <stdint.h>

#ifdef __FAST_MATH__
#error "libsesqui needs IEEE arithmetic: do not use -ffast-math"
#endif

/** The modes of the thread as the caller had them, to be given back. */
struct fpenv {
    uint64_t saved; /* MXCSR, FPCR, or a rounding of <fenv.h> */
};

#if defined(__GNUC__) || defined(__clang__)
#define FPENV_KEEP(X)   __asm__ volatile("" : "+m"(X) : : "memory")
#define FPENV_BARRIER() __asm__ volatile("" : : : "memory")
#else
#define FPENV_KEEP(X)   ((void)(X))
#define FPENV_BARRIER() ((void)0)
#endif

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
static inline struct fpenv fpenv_enter(void)
{
    struct fpenv e = {_mm_getcsr()};
    /* 0x1f80: all exceptions masked, round to nearest, no FTZ, no DAZ */
    if (e.saved != 0x1f80)
        _mm_setcsr(0x1f80);
    FPENV_BARRIER();
    return e;
}
static inline void fpenv_leave(struct fpenv e)
{
    FPENV_BARRIER();
    _mm_setcsr((unsigned)e.saved);
}
#elif defined(__aarch64__) /* FPCR 0: to nearest, no FZ, no FZ16, no traps */
static inline struct fpenv fpenv_enter(void)
{
    struct fpenv e;
    __asm__ volatile("mrs %0, fpcr" : "=r"(e.saved));
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0) : "memory");
    return e;
}
static inline void fpenv_leave(struct fpenv e)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(e.saved) : "memory");
}
#else /* <fenv.h> knows roundings but no FTZ, which stays as it is */
#include <fenv.h>
static inline struct fpenv fpenv_enter(void)
{
    struct fpenv e = {(uint64_t)fegetround()};
    fesetround(FE_TONEAREST);
    FPENV_BARRIER();
    return e;
}
static inline void fpenv_leave(struct fpenv e)
{
    FPENV_BARRIER();
    fesetround((int)e.saved);
}
#endif

#endif
