/* SPDX-License-Identifier: Apache-2.0 */
/* target.h - functions that use more instructions than their file is compiled
 * for: the functions between TARGET_BEGIN("avx512bf16") and TARGET_END. Callers
 * ask the processor first. */
#ifndef BACKENDS_CPU_ISA_TARGET_H
#define BACKENDS_CPU_ISA_TARGET_H

#define TARGET_PRAGMA(TEXT) _Pragma(#TEXT)
#ifdef __clang__
#define TARGET_BEGIN(NAMES)                                                    \
    TARGET_PRAGMA(clang attribute push(__attribute__((target(NAMES))),         \
                                       apply_to = function))
#define TARGET_END TARGET_PRAGMA(clang attribute pop)
#else /* to the end of the file */
#define TARGET_BEGIN(NAMES) TARGET_PRAGMA(GCC target(NAMES))
#define TARGET_END
#endif

#endif
