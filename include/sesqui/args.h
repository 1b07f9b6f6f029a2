/* SPDX-License-Identifier: Apache-2.0 */
/* args.h - arguments of an op in the call itself, with their defaults.
 *
 * Every op has a macro of its own name in capitals, that takes fields by name
 * and gives a pointer to the op's arguments:
 *
 *     ssq_gemm(q, SSQ_GEMM(.a = x, .b = w, .trans_b = true, .d = y));
 *
 * Fields that are not named have the op's defaults (alpha is 1, a stride {1,
 * 1}), the same as of a variable that begins as SSQ_GEMM_INIT. A literal of the
 * struct's type without either has 0 there, which for a factor is seldom meant.
 *
 * In C what the pointer points to lives until the end of the enclosing block;
 * the macro is for functions, not for file scope. In C++ it needs C++20, takes
 * the fields in the order of their declaration, and the arguments live until
 * the end of the full expression: for the call that they stand in. The headers
 * themselves are C11 and C++17.
 *
 * Small lists, such as axes and steps, are arrays in the struct: .axes = {0,
 * 2}. What a field points to may be written between the parentheses as well:
 * in C a compound literal there, such as a list of tensors, lives until the end
 * of the enclosing block, in C++ a temporary until the end of the full
 * expression; either as long as the arguments themselves. */
#ifndef SESQUI_ARGS_H
#define SESQUI_ARGS_H

#define SSQ_PRAGMA(...) _Pragma(#__VA_ARGS__)

/* Two expressions that are 0: from SSQ_ARGS_QUIET to SSQ_ARGS_LOUD the compiler
 * does not warn of OPTION. A pragma can only stand among statements, hence the
 * statement expressions; the arguments are between the two and in neither, for
 * what is written in a statement expression is gone at its end. */
#define SSQ_ARGS_QUIET(OPTION)                                                 \
    __extension__({                                                            \
        SSQ_PRAGMA(GCC diagnostic push)                                        \
        SSQ_PRAGMA(GCC diagnostic ignored OPTION)                              \
        0;                                                                     \
    })
#define SSQ_ARGS_LOUD                                                          \
    __extension__({                                                            \
        SSQ_PRAGMA(GCC diagnostic pop)                                         \
        0;                                                                     \
    })

#if defined(__cplusplus)

/** A field's default in C++; in C they are in SSQ_<OP>_DEFAULTS. */
#define SSQ_DEFAULT(...) = __VA_ARGS__

/** The address of a temporary, for the full expression that it is in. */
template <class T> inline const T *ssq_args_of(int, const T &args, int)
{
    return &args;
}

/* Fields that are not named have their defaults: nothing is missing. */
#define SSQ_ARGS(TYPE, DEFAULTS, ...)                                          \
    ssq_args_of(SSQ_ARGS_QUIET("-Wmissing-field-initializers"),                \
                TYPE{__VA_ARGS__}, SSQ_ARGS_LOUD)

#else

#define SSQ_DEFAULT(...)

/* DEFAULTS are the values of all fields; a named one comes later and wins
 * (C11 6.7.9p19), which compilers warn of where it is not meant. */
#if defined(__GNUC__)
#define SSQ_ARGS(TYPE, DEFAULTS, ...)                                          \
    (SSQ_ARGS_QUIET("-Woverride-init") +                                       \
     &(const TYPE[1]){{DEFAULTS, __VA_ARGS__}}[SSQ_ARGS_LOUD])
#else
#define SSQ_ARGS(TYPE, DEFAULTS, ...) (&(const TYPE){DEFAULTS, __VA_ARGS__})
#endif

#endif

#endif
