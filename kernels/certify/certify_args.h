/* SPDX-License-Identifier: Apache-2.0 */
/* certify_args.h - the primitives of a device's certificate, for the sources
 * that run them and for the host that compares: see lib/certify/certificate.h.
 *
 * A list has X(INDEX, NAME, TRAIT, VALUE) for each primitive: its n words of y
 * begin at INDEX * n, and VALUE is one of them, made of word i of the operands:
 * A, B, C as float32s, or U, V, W as bits. A word is tiny where an operand or
 * the expected result is a float32 subnormal. TRAIT says what then holds:
 *
 *     MEASURES  a wrong one says that the device flushes subnormals
 *     FLOATS    it counts unless the device flushes
 *     BITS      it counts on every device
 *
 * A name's underscores are printed as spaces. */
#ifndef KERNELS_CERTIFY_CERTIFY_ARGS_H
#define KERNELS_CERTIFY_CERTIFY_ARGS_H

#include "kernels/dialect/dialect.h"

/* x: A, then B, then C, n of each. */
struct certify_float_args {
    u32 x_at;
    u32 y_at;
    u32 n;
};

#define CERTIFY_FLOAT_LIST(X)                                                  \
    X(0u, sum, MEASURES, A + B)                                                \
    X(1u, difference, MEASURES, A - B)                                         \
    X(2u, product, MEASURES, A * B)                                            \
    X(3u, product_and_sum_apart, MEASURES, MAD(A, B, C))                       \
    X(4u, two_sum, FLOATS, certify_two_sum(A, B))                              \
    X(5u, fast_two_sum, FLOATS, certify_fast_two_sum(A, B))                    \
    X(6u, two_product, FLOATS, certify_two_product(A, B))                      \
    X(7u, division, FLOATS, s_div(A, B))                                       \
    X(8u, reciprocal, FLOATS, s_rcp(B))                                        \
    X(9u, square_root, FLOATS, s_sqrt(s_abs(A)))                               \
    X(10u, reciprocal_root, FLOATS, s_rsqrt(s_abs(A)))                         \
    X(11u, floor, FLOATS, s_floor(A))                                          \
    X(12u, ceil, FLOATS, s_ceil(A))                                            \
    X(13u, round, FLOATS, s_round(A))                                          \
    X(14u, order, FLOATS, f32_maximum(A, f32_minimum(B, C)))                   \
    X(15u, comparison, FLOATS, certify_compare(A, B, C))                       \
    X(16u, sign, FLOATS, s_sign(A) * s_gate_end(B))                            \
    X(17u, exp, FLOATS, s_exp(B))                                              \
    X(18u, log, FLOATS, s_log(A))                                              \
    X(19u, pow, FLOATS, binary_value(BINARY_POW, A, B, 0.0f, 0.0f))            \
    X(20u, sine, FLOATS, s_sin(B))                                             \
    X(21u, tanh, FLOATS, s_tanh(B))                                            \
    X(22u, sigmoid, FLOATS, s_sigmoid(B))                                      \
    X(23u, erf, FLOATS, s_erf(B))                                              \
    X(24u, power_of_decay, FLOATS, certify_decay(A, B))
#define CERTIFY_FLOATS 25u

/* x4: U, then V, then W, n of each; x2 and x1: the same memory in narrower
 * words. y4, y2, y1: parts of one memory, n words of each for a primitive.
 * native: 512 counts, of f16s that the device's own load has wrong, of each 256
 * that begin with the same digits, and of floats from its own store. */
struct certify_bits_args {
    u32 x4_at;
    u32 x2_at;
    u32 x1_at;
    u32 y4_at;
    u32 y2_at;
    u32 y1_at;
    u32 native_at;
    u32 n;
};

#define CERTIFY_BITS_LIST(X)                                                   \
    X(0u, f16_store, BITS, f16_store(AS_F32(U)))                               \
    X(1u, f16_load, BITS, AS_U32(f16_load(U >> 16u)))                          \
    X(2u, f16_store_toward_zero, BITS, f16_store_rtz(AS_F32(U)))               \
    X(3u, f16_store_stochastic, BITS, f16_store_sr(AS_F32(U), V))              \
    X(4u, bf16_store, BITS, bf16_store(AS_F32(U)))                             \
    X(5u, bf16_load, BITS, AS_U32(bf16_load(U >> 16u)))                        \
    X(6u, bf16_store_toward_zero, BITS, bf16_store_rtz(AS_F32(U)))             \
    X(7u, bf16_store_stochastic, BITS, bf16_store_sr(AS_F32(U), V))            \
    X(8u, integer_of_float, BITS, f32_to_i32(AS_F32(U)))                       \
    X(9u, float_of_integer, BITS, AS_U32(i32_to_f32(V)))                       \
    X(10u, u8_of_float, BITS, i32_to_u8(f32_to_i32(AS_F32(U))))                \
    X(11u, high_product, BITS, u32_mul_high(U, V))                             \
    X(12u, low_product, BITS, U *V + W)                                        \
    X(13u, shifts, BITS, (U << (V & 31u)) ^ (V >> (W & 31u)))                  \
    X(14u, carry, BITS, U + V < U ? W : ~W)                                    \
    X(15u, leading_zeros, BITS, u32_leading_zeros(V | 1u))                     \
    X(16u, integer_division, BITS, U / (W | 1u) + V % (W | 1u))                \
    X(17u, philox, BITS, random_u32(U, V, W, U ^ V, i, W ^ V))                 \
    X(18u, uniform, BITS, AS_U32(random_uniform(V)))                           \
    X(19u, normal, BITS, AS_U32(random_normal(V)))                             \
    X(20u, wide_product, BITS,                                                 \
      wide_times(V & 0x7fffffffu, (W & 0x000fffffu) | 0x3ff00000u, U))         \
    X(21u, order_of_bits, BITS, f32_key(U) < f32_key(V) ? U : V)               \
    X(22u, guarded_load, BITS, V < pc.n ? AT(x4, V) : W)                       \
    X(23u, clamped_load, BITS, AT(x4, V < pc.n ? V : pc.n - 1u))               \
    X(24u, load_of_16_bits, BITS, U32(AT(x2, V & (pc.n - 1u))))                \
    X(25u, load_of_8_bits, BITS, U32(AT(x1, W & (pc.n - 1u))))
#define CERTIFY_BITS 26u

/* x: 3 n words, y: CERTIFY_GROUPS times n words. n is FOLD_LANES. */
struct certify_group_args {
    u32 x_at;
    u32 y_at;
    u32 n;
};

/* VALUE: see certify_group.k. */
#define CERTIFY_GROUP_LIST(X)                                                  \
    X(0u, exchange_across_a_barrier, BITS, -)                                  \
    X(1u, fold_of_a_group, BITS, -)                                            \
    X(2u, ordered_fold, FLOATS, -)                                             \
    X(3u, loops, BITS, -)                                                      \
    X(4u, tile_of_a_product, FLOATS, -)                                        \
    X(5u, subnormals_in_a_tile, MEASURES, -)
#define CERTIFY_GROUPS 6u

#endif
