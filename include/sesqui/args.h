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
 * themselves are C11 and C++17. */
#ifndef SESQUI_ARGS_H
#define SESQUI_ARGS_H

#define SSQ_PRAGMA(...) _Pragma(#__VA_ARGS__)

#if defined(__cplusplus)

/** A field's default in C++; in C they are in SSQ_<OP>_DEFAULTS. */
#define SSQ_DEFAULT(...) = __VA_ARGS__

/** The address of a temporary, for the full expression that it is in. */
template <class T> inline const T *ssq_args_of(const T &args)
{
    return &args;
}

/* Fields that are not named have their defaults: nothing is missing. */
#define SSQ_ARGS(TYPE, DEFAULTS, ...)                                          \
    ssq_args_of([&]() -> TYPE {                                                \
        SSQ_PRAGMA(GCC diagnostic push)                                        \
        SSQ_PRAGMA(GCC diagnostic ignored "-Wmissing-field-initializers")      \
        return TYPE{__VA_ARGS__};                                              \
        SSQ_PRAGMA(GCC diagnostic pop)                                         \
    }())

#else

#define SSQ_DEFAULT(...)

/* DEFAULTS are the values of all fields; a named one comes later and wins
 * (C11 6.7.9p19), which compilers warn of where it is not meant. */
#if defined(__GNUC__)
#define SSQ_ARGS(TYPE, DEFAULTS, ...)                                          \
    (&(const TYPE[1]){__extension__({                                          \
        SSQ_PRAGMA(GCC diagnostic push)                                        \
        SSQ_PRAGMA(GCC diagnostic ignored "-Woverride-init")                   \
        SSQ_PRAGMA(GCC diagnostic ignored "-Wshadow") /* one in another */     \
        const TYPE ssq_args_ = {DEFAULTS, __VA_ARGS__};                        \
        SSQ_PRAGMA(GCC diagnostic pop)                                         \
        ssq_args_;                                                             \
    })}[0])
#else
#define SSQ_ARGS(TYPE, DEFAULTS, ...) (&(const TYPE){DEFAULTS, __VA_ARGS__})
#endif

#endif

#endif
