/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_ops.h - the operations: one line each, the bits of d from a, b and c.
 *
 * X(NAME, VALUE): the name is the instruction's with _ for each dot. An
 * instruction that is not listed is refused when it is decoded. So none with
 * unspecified rounding (.ftz, .approx, add.f32 without .rn) is in the list. */
#ifndef TESTS_FAKECUDA_PTX_PTX_OPS_H
#define TESTS_FAKECUDA_PTX_PTX_OPS_H

#include "tests/fakecuda/ptx/ptx_bits.h"

/* Generic addresses of memory that is not global: no host pointer is in this
 * range. */
#define PTX_IN_SHARED (UINT64_C(1) << 56)
#define PTX_IN_LOCAL  (UINT64_C(2) << 56)

/* clang-format off */
/* T is the type, U the unsigned type that a result is cut to. */
#define PTX_COMPARE(X, T)                                                      \
    X(setp_eq_##T, T(a) == T(b))                                               \
    X(setp_ne_##T, T(a) != T(b))                                               \
    X(setp_lt_##T, T(a) < T(b))                                                \
    X(setp_le_##T, T(a) <= T(b))                                               \
    X(setp_gt_##T, T(a) > T(b))                                                \
    X(setp_ge_##T, T(a) >= T(b))

#define PTX_INTEGER(X, T, U)                                                   \
    X(add_##T, U(a + b))                                                       \
    X(sub_##T, U(a - b))                                                       \
    X(mul_lo_##T, U(a * b))                                                    \
    X(mad_lo_##T, U(a * b + c))                                                \
    X(min_##T, U(T(a) < T(b) ? a : b))                                         \
    X(max_##T, U(T(a) > T(b) ? a : b))                                         \
    X(selp_##T, U((c & 1) != 0 ? a : b))                                       \
    X(mov_##T, U(a))                                                           \
    PTX_COMPARE(X, T)

#define PTX_DIVIDE(X, N)                                                       \
    X(div_s##N, u##N(div_s(s##N(a), s##N(b))))                                 \
    X(rem_s##N, u##N(rem_s(s##N(a), s##N(b))))                                 \
    X(div_u##N, u##N(div_u(u##N(a), u##N(b))))                                 \
    X(rem_u##N, u##N(rem_u(u##N(a), u##N(b))))

#define PTX_BITWISE(X, N)                                                      \
    X(and_b##N, u##N(a & b))                                                   \
    X(or_b##N, u##N(a | b))                                                    \
    X(xor_b##N, u##N(a ^ b))                                                   \
    X(not_b##N, u##N(~a))                                                      \
    X(mov_b##N, u##N(a))                                                       \
    X(selp_b##N, u##N((c & 1) != 0 ? a : b))                                   \
    X(setp_eq_b##N, u##N(a) == u##N(b))                                        \
    X(setp_ne_b##N, u##N(a) != u##N(b))                                        \
    X(shl_b##N, u##N(shl(a, u32(b), N)))                                       \
    X(shr_b##N, shr(u##N(a), u32(b), N))                                       \
    X(shr_u##N, shr(u##N(a), u32(b), N))                                       \
    X(shr_s##N, u##N(sar(s##N(a), u32(b), N)))                                 \
    X(neg_s##N, u##N(0 - a))                                                   \
    X(abs_s##N, u##N(s##N(a) < 0 ? 0 - a : a))

#define PTX_PREDICATE(X)                                                       \
    X(and_pred, a & b & 1)                                                     \
    X(or_pred, (a | b) & 1)                                                    \
    X(xor_pred, (a ^ b) & 1)                                                   \
    X(not_pred, ~a & 1)                                                        \
    X(mov_pred, a & 1)

#define PTX_WIDE(X)                                                            \
    X(mul_wide_u16, u16(a) * u32(u16(b)))                                      \
    X(mul_wide_s16, u32((uint64_t)(s16(a) * s16(b))))                          \
    X(mul_wide_u32, u64(u32(a)) * u32(b))                                      \
    X(mul_wide_s32, u64((uint64_t)((int64_t)s32(a) * s32(b))))                 \
    X(mad_wide_u16, u32(u16(a) * u32(u16(b)) + c))                             \
    X(mad_wide_u32, u64(u32(a)) * u32(b) + c)                                  \
    X(mad_wide_s32, (uint64_t)((int64_t)s32(a) * s32(b)) + c)                  \
    X(mul_hi_u32, u64(u32(a)) * u32(b) >> 32)                                  \
    X(mul_hi_s32, u32((uint64_t)((int64_t)s32(a) * s32(b)) >> 32))             \
    X(mad_hi_u32, u32((u64(u32(a)) * u32(b) >> 32) + c))                       \
    X(mul_hi_u64, mul_hi_u64(a, b))

#define PTX_FIELDS(X)                                                          \
    X(bfe_u32, bit_extract(u32(a), u32(b), u32(c)))                            \
    X(bfi_b32, bit_insert(u32(a), u32(b), u8(c), u8(c >> 8)))                  \
    X(prmt_b32, permute(u32(a), u32(b), u32(c)))                               \
    X(clz_b32, count_zeros(u32(a)))                                            \
    X(popc_b32, count_ones(u32(a)))                                            \
    X(shf_l_wrap_b32, u32((b << 32 | u32(a)) << (c & 31) >> 32))               \
    X(shf_r_wrap_b32, u32((b << 32 | u32(a)) >> (c & 31)))

/* cvt.T.F between integers; to U. */
#define PTX_CVT(X, T, F, U) X(cvt_##T##_##F, U((uint64_t)F(a)))
#define PTX_CONVERT(X)                                                         \
    PTX_CVT(X, u8, u16, u8) PTX_CVT(X, u8, u32, u8)                            \
    PTX_CVT(X, s16, s8, u16)                                                   \
    PTX_CVT(X, u16, u8, u16) PTX_CVT(X, u16, u16, u16)                         \
    PTX_CVT(X, u16, u32, u16) PTX_CVT(X, u16, u64, u16)                        \
    PTX_CVT(X, s32, s8, u32) PTX_CVT(X, s32, s16, u32)                         \
    PTX_CVT(X, s32, u16, u32) PTX_CVT(X, s32, s64, u32)                        \
    PTX_CVT(X, u32, u8, u32) PTX_CVT(X, u32, u16, u32)                         \
    PTX_CVT(X, u32, u32, u32) PTX_CVT(X, u32, u64, u32)                        \
    PTX_CVT(X, s64, s16, u64) PTX_CVT(X, s64, s32, u64)                        \
    PTX_CVT(X, u64, u8, u64) PTX_CVT(X, u64, u16, u64)                         \
    PTX_CVT(X, u64, u32, u64)                                                  \
    X(cvt_rn_f32_u8, bits((float)u8(a)))                                       \
    X(cvt_rn_f32_s16, bits((float)s16(a)))                                     \
    X(cvt_rn_f32_u16, bits((float)u16(a)))                                     \
    X(cvt_rn_f32_s32, bits((float)s32(a)))                                     \
    X(cvt_rn_f32_u32, bits((float)u32(a)))                                     \
    X(cvt_rn_f32_s64, bits((float)s64(a)))                                     \
    X(cvt_rn_f32_u64, bits((float)a))                                          \
    X(cvt_f32_f16, bits(of_f16(u16(a))))                                       \
    X(cvt_rn_f16_f32, to_f16(f32(a)))                                          \
    X(cvt_rzi_u8_f32, to_u(f32(a), UINT8_MAX))                                 \
    X(cvt_rzi_u16_f32, to_u(f32(a), UINT16_MAX))                               \
    X(cvt_rzi_u32_f32, to_u(f32(a), UINT32_MAX))                               \
    X(cvt_rzi_s32_f32, to_s32(f32(a)))

/* "or unordered" is the other comparison denied. */
#define PTX_FLOAT(X)                                                           \
    X(mov_f32, u32(a))                                                         \
    X(selp_f32, u32((c & 1) != 0 ? a : b))                                     \
    X(add_rn_f32, bits(f32(a) + f32(b)))                                       \
    X(sub_rn_f32, bits(f32(a) - f32(b)))                                       \
    X(mul_rn_f32, bits(f32(a) * f32(b)))                                       \
    X(div_rn_f32, bits(f32(a) / f32(b)))                                       \
    X(fma_rn_f32, bits(fmaf(f32(a), f32(b), f32(c))))                          \
    X(sqrt_rn_f32, bits(sqrtf(f32(a))))                                        \
    X(rcp_rn_f32, bits(1.0f / f32(a)))                                         \
    X(neg_f32, u32(a ^ 0x80000000u))                                           \
    X(abs_f32, a & 0x7fffffffu)                                                \
    X(min_f32, bits(least(f32(a), f32(b))))                                    \
    X(max_f32, bits(most(f32(a), f32(b))))                                     \
    X(max_NaN_f32,                                                             \
      bits(isunordered(f32(a), f32(b)) ? NAN : most(f32(a), f32(b))))          \
    X(setp_eq_f32, f32(a) == f32(b))                                           \
    X(setp_ne_f32, f32(a) < f32(b) || f32(a) > f32(b))                         \
    X(setp_lt_f32, f32(a) < f32(b))                                            \
    X(setp_le_f32, f32(a) <= f32(b))                                           \
    X(setp_gt_f32, f32(a) > f32(b))                                            \
    X(setp_ge_f32, f32(a) >= f32(b))                                           \
    X(setp_equ_f32, !(f32(a) < f32(b) || f32(a) > f32(b)))                     \
    X(setp_neu_f32, f32(a) != f32(b))                                          \
    X(setp_ltu_f32, !(f32(a) >= f32(b)))                                       \
    X(setp_leu_f32, !(f32(a) > f32(b)))                                        \
    X(setp_gtu_f32, !(f32(a) <= f32(b)))                                       \
    X(setp_geu_f32, !(f32(a) < f32(b)))                                        \
    X(setp_nan_f32, isnan(f32(a)) || isnan(f32(b)))                            \
    X(setp_num_f32, !isnan(f32(a)) && !isnan(f32(b)))

/* pack: mov of two halves into one register, which PTX spells mov too. */
#define PTX_ADDRESS(X)                                                         \
    X(pack_16, u32(u16(a) | b << 16))                                          \
    X(pack_32, u32(a) | b << 32)                                               \
    X(cvta_global_u64, a)                                                      \
    X(cvta_to_global_u64, a)                                                   \
    X(cvta_shared_u64, a | PTX_IN_SHARED)                                      \
    X(cvta_to_shared_u64, a & ~PTX_IN_SHARED)                                  \
    X(cvta_local_u64, a | PTX_IN_LOCAL)                                        \
    X(cvta_to_local_u64, a & ~PTX_IN_LOCAL)

#define PTX_OPS(X)                                                             \
    PTX_INTEGER(X, s16, u16) PTX_INTEGER(X, u16, u16)                          \
    PTX_INTEGER(X, s32, u32) PTX_INTEGER(X, u32, u32)                          \
    PTX_INTEGER(X, s64, u64) PTX_INTEGER(X, u64, u64)                          \
    PTX_DIVIDE(X, 16) PTX_DIVIDE(X, 32) PTX_DIVIDE(X, 64)                      \
    PTX_BITWISE(X, 16) PTX_BITWISE(X, 32) PTX_BITWISE(X, 64)                   \
    PTX_PREDICATE(X) PTX_WIDE(X) PTX_FIELDS(X) PTX_CONVERT(X) PTX_FLOAT(X)     \
    PTX_ADDRESS(X)

/* The data of an access: X(NAME, C TYPE, BYTES); a load extends to 32 bits. */
#define PTX_TYPES(X)                                                           \
    X(u8, uint8_t, 1) X(s8, int8_t, 1) X(u16, uint16_t, 2)                     \
    X(s16, int16_t, 2) X(u32, uint32_t, 4) X(u64, uint64_t, 8)

/* Where: X(NAME, letter); nc is global memory through the read-only cache. */
#define PTX_SPACES(X)                                                          \
    X(global) X(nc) X(shared) X(local) X(param) X(generic)
/* clang-format on */

#define PTX_LD(S)                                                              \
    LD_##S##_u8, LD_##S##_s8, LD_##S##_u16, LD_##S##_s16, LD_##S##_u32,        \
        LD_##S##_u64,
#define PTX_ST(S)                                                              \
    ST_##S##_u8, ST_##S##_s8, ST_##S##_u16, ST_##S##_s16, ST_##S##_u32,        \
        ST_##S##_u64,

enum ptx_op {
#define X(NAME, VALUE) OP_##NAME,
    PTX_OPS(X)
#undef X
        PTX_SPACES(PTX_LD) PTX_SPACES(PTX_ST)
            OP_ALIGN, /* a vector's address must be a multiple of b */
    OP_MMA,           /* of a warp, as the next two */
    OP_LDMATRIX,
    OP_CP_ASYNC,
    OP_CP_COMMIT, /* the item's copies so far become a group of copies */
    OP_CP_WAIT,   /* until no more than imm groups are in flight */
    OP_BRA,       /* to imm */
    OP_BRT,       /* to imm if a */
    OP_BRF,       /* to imm unless a */
    OP_BAR,       /* of the whole group */
    OP_EXIT,
    PTX_OP_COUNT
};

#define PTX_OPS_END  LD_global_u8 /* behind what the list computes */
#define PTX_LD_FIRST LD_global_u8
#define PTX_ST_FIRST ST_global_u8
#define PTX_NTYPES   6 /* lines of PTX_TYPES */

#endif
