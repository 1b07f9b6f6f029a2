/* SPDX-License-Identifier: Apache-2.0 */
/* fpenv.h - host arithmetic in default modes, whatever the caller set.
 *
 * FTZ and DAZ (MXCSR, FPCR) change bits of results, so every host op runs
 * between fpenv_enter and fpenv_leave. */
#ifndef LIB_FPENV_H
#define LIB_FPENV_H

#include <stdint.h>

#ifdef __FAST_MATH__
#error "libsesqui needs IEEE arithmetic: do not use -ffast-math"
#endif

struct fpenv {
    uint64_t saved;
};

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
static inline struct fpenv fpenv_enter(void)
{
    struct fpenv e = {_mm_getcsr()};
    /* 0x1f80: all exceptions masked, round to nearest, no FTZ, no DAZ */
    if (e.saved != 0x1f80)
        _mm_setcsr(0x1f80);
    return e;
}
static inline void fpenv_leave(struct fpenv e)
{
    _mm_setcsr((unsigned)e.saved);
}
#elif defined(__aarch64__)
static inline struct fpenv fpenv_enter(void)
{
    struct fpenv e;
    __asm__ volatile("mrs %0, fpcr" : "=r"(e.saved));
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0));
    return e;
}
static inline void fpenv_leave(struct fpenv e)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(e.saved));
}
#else
#include <fenv.h>
static inline struct fpenv fpenv_enter(void)
{
    struct fpenv e = {(uint64_t)fegetround()};
    fesetround(FE_TONEAREST);
    return e;
}
static inline void fpenv_leave(struct fpenv e)
{
    fesetround((int)e.saved);
}
#endif

#endif
