/* SPDX-License-Identifier: Apache-2.0 */
/* args.h - macros that write the arguments of a call in the call itself.
 *
 * Each op has a macro with its name in capitals. It takes fields by name, and
 * returns a pointer to the op's arguments:
 *
 *     ssq_gemm(q, SSQ_GEMM(.a = x, .b = w, .trans_b = true, .d = y));
 *
 * Fields that are not named have the op's defaults, as in a variable that is
 * initialized with SSQ_GEMM_INIT. For example, alpha is 1. In C, do not write a
 * plain literal of the struct: its unnamed fields are 0. For example, its
 * struct_size is 0, and the call returns SSQ_ERR_INVALID.
 *
 * Lifetime. In C the arguments live until the end of the enclosing block. Use
 * the macro in functions, not at file scope. In C++ they live until the end of
 * the full expression, which contains the call. For example, do not keep the
 * pointer in a variable.
 *
 * Lists. Short lists, such as axes and steps, are arrays in the struct: .axes =
 * {0, 2}. Longer ones, such as a list of tensors, may be compound literals
 * inside the parentheses (in C++: temporaries). They live as long as the
 * arguments.
 *
 * In C++ the macros need C++20, and fields must be named in the order of their
 * declaration. The headers themselves need C11 or C++17. */
#ifndef SESQUI_ARGS_H
#define SESQUI_ARGS_H

#define SSQ_PRAGMA(...) _Pragma(#__VA_ARGS__)

/* Two expressions with the value 0. Between them the compiler does not warn of
 * OPTION. A pragma must be among statements, so both are statement expressions.
 * The arguments are between them and not inside: objects that are made in a
 * statement expression end with it. */
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

/** The default of a field in C++. In C, SSQ_<OP>_DEFAULTS has the defaults. */
#define SSQ_DEFAULT(...) = __VA_ARGS__

/** Return the address of a temporary, valid until the end of the full
 *  expression. */
template <class T> inline const T *ssq_args_of(int, const T &args, int)
{
    return &args;
}

/* Fields that are not named have defaults, so no initializer is missing. */
#define SSQ_ARGS(TYPE, DEFAULTS, ...)                                          \
    ssq_args_of(SSQ_ARGS_QUIET("-Wmissing-field-initializers"),                \
                TYPE{__VA_ARGS__}, SSQ_ARGS_LOUD)

#else

#define SSQ_DEFAULT(...)

/* DEFAULTS sets all fields. A field that is named later overrides its default
 * (C11 6.7.9p19); compilers can warn about that. */
#if defined(__GNUC__)
#define SSQ_ARGS(TYPE, DEFAULTS, ...)                                          \
    (SSQ_ARGS_QUIET("-Woverride-init") +                                       \
     &(const TYPE[1]){{DEFAULTS, __VA_ARGS__}}[SSQ_ARGS_LOUD])
#else
#define SSQ_ARGS(TYPE, DEFAULTS, ...) (&(const TYPE){DEFAULTS, __VA_ARGS__})
#endif

#endif

#endif
