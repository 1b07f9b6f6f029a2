/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - conversion between dtypes in host memory.
 *
 * Dtypes of tensors are converted by kernels/scalar/convert.h, as on devices.
 * All other pairs are converted through an int64 or a double; every element is
 * exact in one of them. A float result is rounded once, from that number, with
 * integer arithmetic. */
#include "lib/core/base/host.h"

#include "kernels/scalar/convert.h"
#include "lib/core/base/error.h"
#include "lib/core/base/fpenv.h"
#include "lib/core/base/size.h"
#include "lib/core/base/view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The value of an element: each is exact in one of the members. */
struct number {
    bool real;
    double f;  /* if real */
    int64_t i; /* else */
};

/* The least and the greatest value of an integer dtype. */
struct host_range {
    int64_t min, max;
};

bool dtype_on_device(ssq_dtype d)
{
    return d >= SSQ_F32 && d <= SSQ_U8;
}

/* The eight-bit floats have names and sizes, but no conversion yet. */
bool dtype_on_host(ssq_dtype d)
{
    return ssq_dtype_bits(d) != 0 && d != SSQ_F8E4M3 && d != SSQ_F8E5M2;
}

static bool is_real(ssq_dtype d)
{
    return dtype_is_float(d) || d == SSQ_F64;
}

/* Return the range of an integer dtype. */
static struct host_range host_range_of(ssq_dtype d)
{
    switch (d) {
    case SSQ_I32:
        return (struct host_range){INT32_MIN, INT32_MAX};
    case SSQ_U8:
        return (struct host_range){0, UINT8_MAX};
    case SSQ_BOOL:
        return (struct host_range){0, 1};
    case SSQ_I8:
        return (struct host_range){INT8_MIN, INT8_MAX};
    case SSQ_U32:
        return (struct host_range){0, UINT32_MAX};
    case SSQ_I16:
        return (struct host_range){INT16_MIN, INT16_MAX};
    case SSQ_U16:
        return (struct host_range){0, UINT16_MAX};
    default:
        return (struct host_range){INT64_MIN, INT64_MAX};
    }
}

bool host_may_misfit(ssq_dtype from, ssq_dtype to)
{
    if (is_real(to))
        return false;
    if (is_real(from))
        return true;
    struct host_range a = host_range_of(from), b = host_range_of(to);
    return a.min < b.min || a.max > b.max;
}

/* Load the bits of element i, zero-extended. Uses memcpy, because the elements
 * have a type that the caller chose. */
static uint64_t host_load(const void *p, size_t size, size_t i)
{
    const unsigned char *at = (const unsigned char *)p + size * i;
    uint64_t word;
    uint32_t half;
    uint16_t quarter;
    switch (size) {
    case 8:
        memcpy(&word, at, 8);
        return word;
    case 4:
        memcpy(&half, at, 4);
        return half;
    case 2:
        memcpy(&quarter, at, 2);
        return quarter;
    default:
        return *at;
    }
}

/* The reverse of host_load(): store the lowest bytes of bits in any byte order.
 */
static void host_store(void *p, size_t size, size_t i, uint64_t bits)
{
    unsigned char *at = (unsigned char *)p + size * i;
    uint32_t half = (uint32_t)bits;
    uint16_t quarter = (uint16_t)bits;
    switch (size) {
    case 8:
        memcpy(at, &bits, 8);
        break;
    case 4:
        memcpy(at, &half, 4);
        break;
    case 2:
        memcpy(at, &quarter, 2);
        break;
    default:
        *at = (unsigned char)bits;
    }
}

/* Return the exact value of an element's bits: a double holds every float. */
static struct number host_number_of(uint64_t bits, ssq_dtype d)
{
    struct number x = {.real = is_real(d)};
    if (d == SSQ_F64)
        memcpy(&x.f, &bits, sizeof(x.f));
    else if (x.real)
        x.f = (double)bits_to_f32((uint32_t)bits, d);
    else if (d == SSQ_I64)
        memcpy(&x.i, &bits, sizeof(x.i));
    else
        x.i = (int64_t)bits;
    /* host_load() zero-extends values that may be negative: restore the sign. A
     * bool is not signed, even if it is larger than 1. */
    if (!x.real && d != SSQ_I64 && x.i > host_range_of(d).max && d != SSQ_BOOL)
        x.i -= INT64_C(1) << ssq_dtype_bits(d);
    return x;
}

/* A float format. p: bits of the significand, with the leading one, which is
 * not stored. emin: the least exponent of normal numbers. width: bits in all.
 */
struct format {
    int p, emin, width;
};

static struct format format_of(ssq_dtype d)
{
    switch (d) {
    case SSQ_F16:
        return (struct format){11, -14, 16};
    case SSQ_BF16:
        return (struct format){8, -126, 16};
    case SSQ_F64:
        return (struct format){53, -1022, 64};
    default:
        return (struct format){24, -126, 32};
    }
}

/* Return the bits of +infinity: an exponent of ones. The value before it is the
 * largest number. */
static uint64_t infinity_of(struct format f)
{
    return ((UINT64_C(1) << (f.width - f.p)) - 1) << (f.p - 1);
}

/* Return m 2^-drop, rounded to an integer; a negative drop shifts to the left.
 * C does not define shifts by 64 or more, so they are separate cases. If drop
 * is above 64, all of m is less than half of the last place. */
static uint64_t round_off(uint64_t m, int drop, ssq_rounding rounding,
                          uint32_t random)
{
    if (drop <= 0)
        return m << -drop;
    if (rounding == SSQ_ROUND_STOCHASTIC) {
        if (drop <= 32)
            return (m + (random & ((UINT64_C(1) << drop) - 1))) >> drop;
        /* at most 32 random bits: lower bits are cut off */
        return drop >= 96 ? 0 : ((m >> (drop - 32)) + random) >> 32;
    }
    uint64_t q = drop > 63 ? 0 : m >> drop;
    if (rounding == SSQ_ROUND_TOWARD_ZERO || drop > 64)
        return q;
    uint64_t half = UINT64_C(1) << (drop - 1);
    uint64_t rest = drop == 64 ? m : m & (2 * half - 1);
    return q + (rest > half || (rest == half && (q & 1) != 0));
}

/* Return the bits of m 2^x, without a sign, rounded once. Overflow gives
 * infinity when rounding to nearest, and the largest number when rounding
 * toward zero. Stochastic rounding gives infinity only if rounding to nearest
 * does, so that a value in range never becomes infinite by chance. */
static uint64_t host_pack(uint64_t m, int x, struct format f,
                          ssq_rounding rounding, uint32_t random)
{
    if (m == 0)
        return 0;
    int e = 0; /* the position of the highest bit */
    for (int step = 32; step > 0; step /= 2)
        if (m >> (e + step) != 0)
            e += step;
    int least = e + x > f.emin ? e + x : f.emin;
    uint64_t q = round_off(m, least - (f.p - 1) - x, rounding, random);
    /* the leading bit of a normal number adds 1 to the exponent's field */
    uint64_t bits = ((uint64_t)(least - f.emin) << (f.p - 1)) + q;
    if (bits < infinity_of(f))
        return bits;
    if (rounding == SSQ_ROUND_NEAREST ||
        (rounding == SSQ_ROUND_STOCHASTIC &&
         host_pack(m, x, f, SSQ_ROUND_NEAREST, 0) == infinity_of(f)))
        return infinity_of(f);
    return infinity_of(f) - 1;
}

/* Return the bits of a double in format f. Its significand and exponent go
 * through host_pack(); infinities and NaN are translated. 1075 is the bias 1023
 * plus the 52 bits that make the significand an integer. Subnormals have the
 * exponent of a field of 1. */
static uint64_t real_bits(double value, struct format f, ssq_rounding rounding,
                          uint32_t random)
{
    uint64_t u;
    memcpy(&u, &value, sizeof(u));
    uint64_t sign = (u >> 63) << (f.width - 1),
             m = u & ((UINT64_C(1) << 52) - 1);
    int e = (int)(u >> 52 & 0x7ff);
    if (e == 0x7ff && m != 0) /* quiet, with the upper bits of the payload */
        return sign | infinity_of(f) | UINT64_C(1) << (f.p - 2) |
               m >> (53 - f.p);
    if (e == 0x7ff)
        return sign | infinity_of(f);
    if (e == 0)
        return sign | host_pack(m, -1074, f, rounding, random);
    return sign |
           host_pack(m | UINT64_C(1) << 52, e - 1075, f, rounding, random);
}

/* Return the bits of a number as a float, rounded once. Integers are always
 * rounded to nearest. */
static uint64_t float_bits(struct number x, ssq_dtype to, ssq_rounding rounding,
                           uint32_t random)
{
    struct format f = format_of(to);
    if (x.real)
        return real_bits(x.f, f, rounding, random);
    uint64_t m = x.i < 0 ? 0 - (uint64_t)x.i : (uint64_t)x.i;
    uint64_t sign = (uint64_t)(x.i < 0) << (f.width - 1);
    return sign | host_pack(m, 0, f, SSQ_ROUND_NEAREST, 0);
}

/* Convert a number to an integer dtype: round toward zero, saturate, and
 * convert NaN to 0. A bool is 1 for NaN and for every number except 0. */
static int64_t integer_of(struct number x, ssq_dtype to)
{
    struct host_range r = host_range_of(to);
    if (to == SSQ_BOOL)
        return x.real ? x.f != 0.0 : x.i != 0;
    if (!x.real)
        return x.i < r.min ? r.min : x.i > r.max ? r.max : x.i;
    if (isnan(x.f))
        return 0;
    if (x.f < (double)r.min)
        return r.min;
    /* max + 1 is a power of two; max itself may not be a double, as in i64. */
    return x.f >= (double)r.max + 1.0 ? r.max : (int64_t)x.f;
}

/* True if the dtype can represent this value; an integer dtype must do so
 * exactly. Floats accept every value. NaN fails every comparison, so it fits no
 * integer. */
static bool host_fits(struct number x, ssq_dtype to)
{
    if (is_real(to))
        return true;
    struct host_range r = host_range_of(to);
    if (!x.real)
        return x.i >= r.min && x.i <= r.max;
    return x.f >= (double)r.min && x.f < (double)r.max + 1.0 &&
           trunc(x.f) == x.f;
}

size_t host_misfit(const void *src, ssq_dtype from, ssq_dtype to, size_t n)
{
    size_t size = dtype_bytes(from);
    if (from != SSQ_BOOL && !host_may_misfit(from, to))
        return n;
    struct fpenv env = fpenv_enter();
    size_t i = 0;
    while (i < n) {
        struct number x = host_number_of(host_load(src, size, i), from);
        if ((from == SSQ_BOOL && x.i > 1) || !host_fits(x, to))
            break;
        i++;
    }
    fpenv_leave(env);
    return i;
}

const char *host_value(const void *src, ssq_dtype d, size_t i, char *buf,
                       size_t bytes)
{
    struct number x = host_number_of(host_load(src, dtype_bytes(d), i), d);
    if (x.real)
        snprintf(buf, bytes, "%.15g", x.f);
    else
        snprintf(buf, bytes, "%lld", (long long)x.i);
    return buf;
}

/* Pairs of tensor dtypes use the code of the devices, so that host and device
 * agree to the bit. Equal dtypes copy bits, but a bool becomes 0 or 1. */
static uint64_t convert_one(uint64_t bits, ssq_dtype from, ssq_dtype to,
                            ssq_rounding rounding, uint32_t random)
{
    if (dtype_on_device(from) && dtype_on_device(to))
        return convert_bits((uint32_t)bits, from, to, rounding, random);
    if (from == to && from != SSQ_BOOL)
        return bits;
    struct number x = host_number_of(bits, from);
    if (from == SSQ_BOOL)
        x.i = x.i != 0;
    return is_real(to) ? float_bits(x, to, rounding, random)
                       : (uint64_t)integer_of(x, to);
}

/* Random bits depend on the seed and the element's index alone, not on earlier
 * conversions. */
void host_convert(void *dst, ssq_dtype to, const void *src, ssq_dtype from,
                  size_t n, ssq_rounding rounding, uint64_t seed)
{
    size_t to_bytes = dtype_bytes(to), from_bytes = dtype_bytes(from);
    struct fpenv env = fpenv_enter();
    for (size_t i = 0; i < n; i++) {
        uint32_t random = 0;
        if (rounding == SSQ_ROUND_STOCHASTIC)
            random = random_u32((uint32_t)seed, (uint32_t)(seed >> 32), 0, 0,
                                (uint32_t)i, (uint32_t)((uint64_t)i >> 32));
        host_store(dst, to_bytes, i,
                   convert_one(host_load(src, from_bytes, i), from, to,
                               rounding, random));
    }
    fpenv_leave(env);
}
