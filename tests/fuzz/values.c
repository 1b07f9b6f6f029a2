/* SPDX-License-Identifier: Apache-2.0 */
/* values.c - bytes that mean something as elements of some dtype. */

#include "tests/fuzz/values.h"

#include <string.h>

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    uint32_t x = *state;
    return (x >> ((x >> 28) + 4) ^ x) * 277803737u;
}

static uint32_t tame_f32(uint32_t r)
{
    float f = (float)(int32_t)(r >> 20) / 1024.0f - 2.0f;
    uint32_t bits;
    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

/* 11 or 8 bits of a fraction between 1/4 and 2, with a sign. */
static uint32_t tame_half(uint32_t r, uint32_t exponent, unsigned fraction)
{
    uint32_t e = exponent - r % 3;
    return (r >> 31) << 15 | e << fraction | (r >> 8 & ((1u << fraction) - 1));
}

static uint32_t special_f32(uint32_t r)
{
    static const uint32_t list[] = {
        0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345,
        0x7f7fffff, 0xff7fffff, 0x00800000, 0x00000001, 0x807fffff, 0x3f800000,
        0xbf800000, 0x477fe000, 0x477ff000, 0x33800000};
    return list[r >> 28];
}

void values_make(uint8_t *to, size_t bytes, unsigned kind, uint32_t seed)
{
    uint32_t state = seed * 2654435761u + 12345u;
    for (size_t i = 0; i + 4 <= bytes; i += 4) {
        uint32_t r = next(&state), w = r;
        switch (kind % VALUE_KINDS) {
        case 0:
            w = tame_f32(r);
            break;
        case 1:
            w = tame_half(r, 15, 10) | tame_half(next(&state), 15, 10) << 16;
            break;
        case 2:
            w = tame_half(r, 127, 7) | tame_half(next(&state), 127, 7) << 16;
            break;
        case 3:
            w = special_f32(r);
            break;
        case 4:
            w = (r >> 16) % 11 - 1;
            break;
        case 5:
            w = r & 0x01010101;
            break;
        case 6:
            w = r & 0x80000000;
            break;
        default:
            break;
        }
        memcpy(to + i, &w, 4);
    }
}
