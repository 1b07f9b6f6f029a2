/* SPDX-License-Identifier: Apache-2.0 */
/* certify_words.c - the operands of the self-test: special values, and values
 * that are spread over their ranges. */
#include "lib/certify/certify.h"

/* Float32 values: zeros, non-finite values, ties, limits of f16, bf16 and
 * i32. */
static const uint32_t special[] = {
    0x00000000u, 0x80000000u, 0x7f800000u, 0xff800000u, 0x7fc00000u,
    0x7f800001u, 0xffc12345u, 0x3f800000u, 0xbf800000u, 0x3f000000u, /* 1/2 */
    0xbf000000u, 0x3fc00000u, 0xbfc00000u, 0x40200000u, 0xc0200000u, /* 2.5 */
    0x3effffffu, 0x3f000001u, 0x4affffffu, 0x4b000000u, 0x4b000001u, /* 2^23 */
    0x4a800001u, 0x4afffffdu, 0xcafffffdu, 0x4b7fffffu, 0x4b800000u,
    0x477fe000u, 0x477fefffu, 0x477ff000u, 0xc77ff000u, 0x47800000u, /* 65520 */
    0x38800000u, 0x387fe000u, 0x387fffffu, 0x33800000u, 0x33000000u, /* 2^-14 */
    0x33000001u, 0xb3000000u, 0x33c00000u, 0x34200000u, 0x3f808000u,
    0x3f818000u, 0x3f808001u, 0x7f7f8000u, 0x7f7f7fffu, 0x7f7fffffu,
    0x4effffffu, 0x4f000000u, 0xcf000000u, 0xcf000001u, 0x437f0000u, /* 255 */
    0x43800000u, 0x42b17218u, 0xc2aeac50u, 0x00800000u, 0x80800000u};
#define SPECIALS ((uint32_t)(sizeof(special) / sizeof(special[0])))

/* Return pseudo-random word i of stream s (Steele, Lea, Flood, OOPSLA 2014). */
static uint32_t certify_words_word(uint32_t s, uint32_t i)
{
    uint64_t z = (uint64_t)(s * 65536u + i + 1u) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(z >> 32);
}

/* Return a float32 of any sign and significand, with a magnitude from 2^least
 * to 2^most. */
static uint32_t certify_words_spread(uint32_t s, uint32_t i, int least,
                                     int most)
{
    uint32_t r = certify_words_word(s, i);
    uint32_t range = (uint32_t)(most - least + 1);
    uint32_t e =
        (uint32_t)(127 + least) + certify_words_word(s + 100u, i) % range;
    return (r & 0x807fffffu) | e << 23;
}

/* Fill a and b. Most exponents are chosen such that sums, products and
 * conversions round. The first words combine special values with each other and
 * with normal numbers. The last ones are subnormals or produce them. */
static void fill_floats(uint32_t *a, uint32_t *b)
{
    for (uint32_t i = 0; i < CERTIFY_N; i++) {
        a[i] = i % 3 == 0 ? certify_words_spread(1, i, -2, 24)
                          : certify_words_spread(1, i, -30, 30);
        b[i] = certify_words_spread(2, i, -6, i % 4 == 0 ? 6 : 3);
        if (i < SPECIALS) {
            a[i] = special[i];
            b[i] = i % 2 == 0 ? special[(7 * i + 3) % SPECIALS] : b[i];
        } else if (i >= CERTIFY_N - CERTIFY_TINY) {
            /* a subnormal; b may scale it to a normal number */
            a[i] = certify_words_word(1, i) & 0x807fffffu;
            if (i % 4 == 0)
                b[i] = certify_words_spread(2, i, 90, 110);
            if (i % 4 == 1) { /* normal factors, a subnormal product */
                a[i] = certify_words_spread(1, i, -120, -118);
                b[i] = certify_words_spread(2, i, -12, -8);
            }
        }
    }
}

/* Fill c. Every other c is -(a * b), rounded: a fused multiply-add then returns
 * the rounding error, not 0. u and c are two views of the same words. */
static void fill_c(const float *a, const float *b, uint32_t *u, float *c)
{
    for (uint32_t i = 0; i < CERTIFY_N; i++) {
        float product = a[i] * b[i];
        if (i % 2 == 0)
            c[i] = -product;
        else
            u[i] = certify_words_spread(3, i, -20, 20);
    }
}

/* Fill u, v and w. u: floats to convert; the last 32 are any bits. v and w: any
 * bits, some of them small: valid indices of guarded loads, or small
 * divisors. */
static void fill_bits(uint32_t *u, uint32_t *v, uint32_t *w)
{
    for (uint32_t i = 0; i < CERTIFY_N; i++) {
        u[i] = i < SPECIALS ? special[i] : certify_words_spread(4, i, -27, 17);
        if (i >= CERTIFY_N - 32u)
            u[i] = certify_words_word(4, i);
        v[i] = certify_words_word(5, i);
        if (i % 4 == 0)
            v[i] %= CERTIFY_N;
        w[i] = certify_words_word(6, i);
        if (i % 8 == 0)
            w[i] %= 1024u;
    }
    v[1] = w[2] = u[CERTIFY_N - 1u] = 0xffffffffu;
    v[2] = w[3] = 0u;
}

void certify_words_fill(struct certify_words *x)
{
    const uint32_t n = CERTIFY_N;
    fill_floats(x->floats.u, x->floats.u + n);
    fill_c(x->floats.f, x->floats.f + n, x->floats.u + 2 * n,
           x->floats.f + 2 * n);
    fill_bits(x->bits.u4, x->bits.u4 + n, x->bits.u4 + 2 * n);
    for (uint32_t i = 0; i < 3 * n; i++)
        x->groups[i] = certify_words_spread(7, i, -60, 60);
}
