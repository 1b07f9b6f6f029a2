/* SPDX-License-Identifier: Apache-2.0 */
/* special.h - inputs whose results are known bit by bit. */

#ifndef SSQ_TESTS_SCALAR_SPECIAL_H
#define SSQ_TESTS_SCALAR_SPECIAL_H

#include "kernels/scalar/scalar.h"

#define P0  0x00000000u /* +0 */
#define N0  0x80000000u
#define PI_ 0x7f800000u /* +infinity */
#define NI  0xff800000u
#define NN  0x7fc00000u /* a NaN that was made */
#define P1  0x3f800000u /* +1 */
#define N1  0xbf800000u
#define P2  0x40000000u /* +2 */
#define N2  0xc0000000u
#define PH  0x3f000000u /* +1/2 */
#define NH  0xbf000000u
#define MX  0x7f7fffffu /* largest finite */
#define NX  0xff7fffffu
#define MN  0x00000001u /* smallest subnormal */
#define NM  0x80000001u

struct unary_special {
    const char *name;
    float (*fn)(float x);
    u32 x, y;
};

struct binary_special {
    const char *name;
    float (*fn)(float a, float b);
    u32 a, b, y;
};

static const struct unary_special unary_specials[] = {
    {"exp", s_exp, P0, P1},
    {"exp", s_exp, N0, P1},
    {"exp", s_exp, PI_, PI_},
    {"exp", s_exp, NI, P0},
    {"exp", s_exp, MX, PI_},
    {"exp", s_exp, NX, P0},
    {"exp", s_exp, MN, P1},
    {"exp", s_exp, 0x42b17218u, PI_},         /* 88.7228394 */
    {"exp", s_exp, 0x42b17217u, 0x7f7fff84u}, /* 88.7228317 */
    {"exp", s_exp, 0xc2cff1b5u, P0},          /* -103.972084, under 2^-150 */
    {"exp", s_exp, 0xc2cff1b4u, MN},
    {"exp2", s_exp2, P0, P1},
    {"exp2", s_exp2, PI_, PI_},
    {"exp2", s_exp2, NI, P0},
    {"exp2", s_exp2, 0x43000000u, PI_},         /* 128 */
    {"exp2", s_exp2, 0x42fe0000u, 0x7f000000u}, /* 127 */
    {"exp2", s_exp2, 0xc3150000u, MN},          /* -149 */
    {"exp2", s_exp2, 0xc3160000u, P0},          /* -150, a tie */
    {"exp2", s_exp2, 0xc2fc0000u, 0x00800000u}, /* -126 */
    {"expm1", s_expm1, P0, P0},
    {"expm1", s_expm1, N0, N0},
    {"expm1", s_expm1, MN, MN},
    {"expm1", s_expm1, NM, NM},
    {"expm1", s_expm1, PI_, PI_},
    {"expm1", s_expm1, NI, N1},
    {"log", s_log, P1, P0},
    {"log", s_log, P0, NI},
    {"log", s_log, N0, NI},
    {"log", s_log, PI_, PI_},
    {"log", s_log, N1, NN},
    {"log", s_log, NI, NN},
    {"log", s_log, NM, NN},
    {"log2", s_log2, P1, P0},
    {"log2", s_log2, MN, 0xc3150000u}, /* -149 */
    {"log2", s_log2, 0x7f000000u, 0x42fe0000u},
    {"log2", s_log2, P0, NI},
    {"log2", s_log2, N1, NN},
    {"log2", s_log2, PI_, PI_},
    {"log1p", s_log1p, P0, P0},
    {"log1p", s_log1p, N0, N0},
    {"log1p", s_log1p, MN, MN},
    {"log1p", s_log1p, N1, NI},
    {"log1p", s_log1p, N2, NN},
    {"log1p", s_log1p, NI, NN},
    {"log1p", s_log1p, PI_, PI_},
    {"sin", s_sin, P0, P0},
    {"sin", s_sin, N0, N0},
    {"sin", s_sin, MN, MN},
    {"sin", s_sin, PI_, NN},
    {"sin", s_sin, NI, NN},
    {"cos", s_cos, P0, P1},
    {"cos", s_cos, N0, P1},
    {"cos", s_cos, PI_, NN},
    {"cos", s_cos, NI, NN},
    {"tanh", s_tanh, P0, P0},
    {"tanh", s_tanh, N0, N0},
    {"tanh", s_tanh, MN, MN},
    {"tanh", s_tanh, PI_, P1},
    {"tanh", s_tanh, NI, N1},
    {"erf", s_erf, P0, P0},
    {"erf", s_erf, N0, N0},
    {"erf", s_erf, MN, MN},
    {"erf", s_erf, PI_, P1},
    {"erf", s_erf, NI, N1},
    {"erfc", s_erfc, P0, P1},
    {"erfc", s_erfc, PI_, P0},
    {"erfc", s_erfc, NI, P2},
    {"sqrt", s_sqrt, P0, P0},
    {"sqrt", s_sqrt, N0, N0},
    {"sqrt", s_sqrt, PI_, PI_},
    {"sqrt", s_sqrt, NI, NN},
    {"sqrt", s_sqrt, N1, NN},
    {"rsqrt", s_rsqrt, P0, PI_},
    {"rsqrt", s_rsqrt, N0, NI},
    {"rsqrt", s_rsqrt, PI_, P0},
    {"rsqrt", s_rsqrt, N1, NN},
    {"rsqrt", s_rsqrt, 0x40800000u, PH}, /* 4 */
    {"rcp", s_rcp, P0, PI_},
    {"rcp", s_rcp, N0, NI},
    {"rcp", s_rcp, PI_, P0},
    {"rcp", s_rcp, NI, N0},
    {"sigmoid", s_sigmoid, P0, PH},
    {"sigmoid", s_sigmoid, PI_, P1},
    {"sigmoid", s_sigmoid, NI, P0},
    {"silu", s_silu, P0, P0},
    {"silu", s_silu, N0, N0},
    {"silu", s_silu, PI_, PI_},
    {"silu", s_silu, NI, N0},
    {"silu", s_silu, MX, MX},
    {"silu_grad", s_silu_grad, P0, PH},
    {"silu_grad", s_silu_grad, PI_, P1},
    {"silu_grad", s_silu_grad, NI, N0},
    {"gelu", s_gelu, P0, P0},
    {"gelu", s_gelu, N0, N0},
    {"gelu", s_gelu, PI_, PI_},
    {"gelu", s_gelu, NI, N0},
    {"gelu", s_gelu, MX, MX},
    {"gelu_grad", s_gelu_grad, P0, PH},
    {"gelu_grad", s_gelu_grad, PI_, P1},
    {"gelu_grad", s_gelu_grad, NI, P0},
    {"gelu_tanh", s_gelu_tanh, P0, P0},
    {"gelu_tanh", s_gelu_tanh, N0, N0},
    {"gelu_tanh", s_gelu_tanh, PI_, PI_},
    {"gelu_tanh", s_gelu_tanh, NI, N0},
    {"gelu_tanh_grad", s_gelu_tanh_grad, P0, PH},
    {"gelu_tanh_grad", s_gelu_tanh_grad, PI_, P1},
    {"gelu_tanh_grad", s_gelu_tanh_grad, NI, P0},
    {"softplus", s_softplus, P0, 0x3f317218u},
    {"softplus", s_softplus, PI_, PI_},
    {"softplus", s_softplus, NI, P0},
    {"log_sigmoid", s_log_sigmoid, P0, 0xbf317218u},
    {"log_sigmoid", s_log_sigmoid, NI, NI},
};
#define UNARY_SPECIALS (sizeof(unary_specials) / sizeof(unary_specials[0]))

/* pow: every line of C11 F.10.4.4. */
static const struct binary_special binary_specials[] = {
    {"pow", s_pow, P0, 0xc0400000u, PI_}, /* odd integer -3 */
    {"pow", s_pow, N0, 0xc0400000u, NI},
    {"pow", s_pow, N0, N2, PI_},
    {"pow", s_pow, N0, NH, PI_},
    {"pow", s_pow, P0, NI, PI_},
    {"pow", s_pow, N0, NI, PI_},
    {"pow", s_pow, P0, 0x40400000u, P0},
    {"pow", s_pow, N0, 0x40400000u, N0},
    {"pow", s_pow, N0, P2, P0},
    {"pow", s_pow, N0, PH, P0},
    {"pow", s_pow, N1, PI_, P1},
    {"pow", s_pow, N1, NI, P1},
    {"pow", s_pow, P1, NN, P1},
    {"pow", s_pow, NN, P0, P1},
    {"pow", s_pow, NN, N0, P1},
    {"pow", s_pow, PI_, P0, P1},
    {"pow", s_pow, N2, PH, NN},
    {"pow", s_pow, PH, NI, PI_},
    {"pow", s_pow, NH, NI, PI_},
    {"pow", s_pow, P2, NI, P0},
    {"pow", s_pow, N2, NI, P0},
    {"pow", s_pow, PH, PI_, P0},
    {"pow", s_pow, P2, PI_, PI_},
    {"pow", s_pow, NI, 0xc0400000u, N0},
    {"pow", s_pow, NI, N2, P0},
    {"pow", s_pow, NI, NH, P0},
    {"pow", s_pow, NI, 0x40400000u, NI},
    {"pow", s_pow, NI, P2, PI_},
    {"pow", s_pow, NI, PH, PI_},
    {"pow", s_pow, PI_, N1, P0},
    {"pow", s_pow, PI_, P1, PI_},
    {"pow", s_pow, 0x40400000u, P2, 0x41100000u},          /* 3^2 = 9 */
    {"pow", s_pow, 0xc0400000u, 0x40400000u, 0xc1d80000u}, /* -27 */
    {"pow", s_pow, P2, 0xc3150000u, MN},                   /* 2^-149 */
    {"pow", s_pow, N2, 0x4b800001u, PI_},         /* 2^24 + 2 is even */
    {"pow", s_pow, N1, 0x4b7fffffu, N1},          /* 2^24 - 1 is odd */
    {"pow", s_pow, N1, 0x4b800000u, P1},          /* 2^24 is even */
    {"pow", s_pow, 0x3f7fffffu, 0x7f000000u, P0}, /* (1 - 2^-24)^2^127 */
    {"pow", s_pow, MX, MX, PI_},
    {"pow", s_pow, MX, NX, P0},
    {"pow", s_pow, MX, MN, P1},
    {"pow", s_pow, NN, P1, NN},
    {"pow", s_pow, P2, 0xff800001u, 0xffc00001u},
    {"div", s_div, P0, P0, NN},
    {"div", s_div, PI_, NI, NN},
    {"div", s_div, P1, N0, NI},
    {"div", s_div, N1, PI_, N0},
    {"div", s_div, N0, P2, N0},
    {"div", s_div, 0x7f800001u, P1, 0x7fc00001u},
    {"div", s_div, P1, 0xff800001u, 0xffc00001u},
    {"div", s_div, MX, PH, PI_},
    {"div", s_div, MN, P2, P0},          /* a tie, to even */
    {"div", s_div, 0x00000003u, P2, 2u}, /* a tie, to even */
};
#define BINARY_SPECIALS (sizeof(binary_specials) / sizeof(binary_specials[0]))

#endif
