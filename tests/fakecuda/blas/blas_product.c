/* SPDX-License-Identifier: Apache-2.0 */
/* blas_product.c - products: of 16-bit factors as tensor cores make them, of
 * float32 factors plain float32 sums. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "tests/fakecuda/blas/blas_state.h"
#include "tests/fakecuda/tensor_core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Bits of a fraction, and the exponents of normal numbers. */
struct blas_product_format {
    int fraction, least, most;
    uint16_t nan;
};

static struct blas_product_format format_of(int type)
{
    const struct blas_product_format f16 = {10, -14, 15, 0x7e00};
    const struct blas_product_format bf16 = {7, -126, 127, 0x7fc0};

    return type == R_16F ? f16 : bf16;
}

static float decode(int type, uint16_t bits)
{
    struct blas_product_format f = format_of(type);
    int one = 1 << f.fraction, field = (bits & 0x7fff) >> f.fraction;
    int part = bits & (one - 1);
    double x;

    if (field == f.most - f.least + 2)
        x = part != 0 ? (double)NAN : (double)INFINITY;
    else if (field == 0)
        x = ldexp(part, f.least - f.fraction);
    else
        x = ldexp(part + one, field - 1 + f.least - f.fraction);
    return (float)((bits & 0x8000) != 0 ? -x : x);
}

/* To nearest, ties to even: the carry of a fraction raises the exponent. */
static uint16_t encode(int type, float x)
{
    struct blas_product_format f = format_of(type);
    uint32_t sign = signbit(x) ? 0x8000u : 0, most, bits;
    int e;

    if (isnan(x))
        return (uint16_t)(sign | f.nan);
    most = (uint32_t)(f.most - f.least + 2) << f.fraction;
    if (isinf(x) || fabsf(x) >= ldexpf(1.0f, f.most) * 2.0f)
        return (uint16_t)(sign | most);
    e = x == 0.0f ? f.least : ilogbf(x);
    if (e < f.least)
        e = f.least;
    bits = ((uint32_t)(e - f.least) << f.fraction) +
           (uint32_t)rint(ldexp(fabs((double)x), f.fraction - e));
    return (uint16_t)(sign | (bits > most ? most : bits));
}

static float load(int type, const void *p, uint64_t i)
{
    return type == R_32F ? ((const float *)p)[i]
                         : decode(type, ((const uint16_t *)p)[i]);
}

static void store(int type, void *p, uint64_t i, float x)
{
    if (type == R_32F)
        ((float *)p)[i] = x;
    else
        ((uint16_t *)p)[i] = encode(type, x);
}

static float round_half(float x)
{
    return decode(R_16F, encode(R_16F, x));
}

/* One element: a's row and b's column, both as neighbours. */
static float sum_of(const struct blas_product *p, const float *a,
                    const float *b)
{
    float sum = 0.0f;

    if (p->wrong == HALF_SUMS || (p->wrong == TF32_SUMS && p->tf32)) {
        for (uint64_t q = 0; q < p->k; q++)
            sum = round_half(sum + a[q] * b[q]);
    } else if (p->a_is.type == R_32F && !p->tf32) {
        for (uint64_t q = 0; q < p->k; q++)
            sum += a[q] * b[q];
    } else {
        uint64_t block = p->tf32 ? p->block / 2 : p->block;

        for (uint64_t q = 0; q < p->k; q += block) {
            uint64_t n = p->k - q < block ? p->k - q : block;

            sum = tensor_add(sum, a + q, b + q, (unsigned)n);
        }
    }
    return sum;
}

/* Toward 0, to TF32's 11 bits, as tensor cores read a float32. */
static float cut_tf32(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof(bits));
    bits &= 0xffffe000u;
    memcpy(&x, &bits, sizeof(x));
    return x;
}

/* A factor as lines of k neighbours, in float32. */
static float *lines(const struct fake_layout *x, const void *p, uint64_t at,
                    uint64_t n, uint64_t k, bool k_down)
{
    float *f = malloc((size_t)(n * k) * sizeof(*f) + 1);

    for (uint64_t i = 0; f != NULL && i < n; i++)
        for (uint64_t q = 0; q < k; q++)
            f[i * k + q] = load(x->type, p,
                                at + (k_down ? i * (uint64_t)x->leading + q
                                             : q * (uint64_t)x->leading + i));
    return f;
}

static void put(const struct blas_product *p, uint64_t z, uint64_t i,
                uint64_t j, float sum)
{
    const struct fake_layout *c = &p->c_is, *d = &p->d_is;
    float x = p->alpha * sum;
    uint64_t to;

    if (p->beta != 0.0f && p->wrong != NO_BETA)
        x += p->beta *
             load(c->type, p->c,
                  z * (uint64_t)c->step + j * (uint64_t)c->leading + i);
    if (p->bias != NULL && p->wrong != NO_BIAS)
        x += load(d->type, p->bias, i);
    to = j * (uint64_t)d->leading + i;
    if (p->wrong == TRANSPOSED) {
        uint64_t at = i * p->n + j;

        to = at / p->m * (uint64_t)d->leading + at % p->m;
    }
    store(d->type, p->d, z * (uint64_t)d->step + to, x);
}

static void multiply(const struct blas_product *p, uint64_t z)
{
    float *a = lines(&p->a_is, p->a, z * (uint64_t)p->a_is.step, p->m, p->k,
                     p->turn_a);
    float *b = lines(&p->b_is, p->b, z * (uint64_t)p->b_is.step, p->n, p->k,
                     !p->turn_b);

    for (uint64_t i = 0; p->tf32 && a != NULL && i < p->m * p->k; i++)
        a[i] = cut_tf32(a[i]);
    for (uint64_t i = 0; p->tf32 && b != NULL && i < p->n * p->k; i++)
        b[i] = cut_tf32(b[i]);
    for (uint64_t j = 0; a != NULL && b != NULL && j < p->n; j++)
        for (uint64_t i = 0; i < p->m; i++)
            put(p, z, i, j, sum_of(p, a + i * p->k, b + j * p->k));
    free(a);
    free(b);
}

void blas_multiply(void *product)
{
    const struct blas_product *p = product;
    const struct timespec slow = {.tv_nsec = 20 * 1000 * 1000};

    if (p->slow)
        (void)nanosleep(&slow, NULL);
    /* its contents are lost: the algorithm uses it while it runs */
    memset(p->workspace, 0xa5, (size_t)p->workspace_bytes);
    for (int32_t z = 0; z < p->batch; z++)
        multiply(p, (uint64_t)z);
}
