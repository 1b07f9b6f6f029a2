/* SPDX-License-Identifier: Apache-2.0 */
/* fpenv.h - default floating-point modes for arithmetic on the host.
 *
 * FTZ and DAZ (MXCSR, FPCR) change bits of results, so every host op runs
 * between fpenv_enter() and fpenv_leave(). A compiler does not know that
 * arithmetic depends on modes: it may move values in registers across both
 * calls. It does not move accesses to memory that other code can see. For a
 * local variable or a parameter use FPENV_KEEP: for an input after
 * fpenv_enter(), for a result before fpenv_leave(). */
#ifndef LIB_CORE_BASE_FPENV_H
#define LIB_CORE_BASE_FPENV_H

#include <stdint.h>

#ifdef __FAST_MATH__
#error "libsesqui needs IEEE arithmetic: do not use -ffast-math"
#endif

/** The modes of the thread before fpenv_enter(), which fpenv_leave() restores.
 */
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
#else /* <fenv.h> has roundings but no FTZ, which stays unchanged */
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
