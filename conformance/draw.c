/* SPDX-License-Identifier: Apache-2.0 */
/* draw.c - a case's stream of random numbers, and the inputs drawn from it. */
#include "conformance/draw.h"

#include "conformance/bounds.h"
#include "conformance/element.h"

#include <stdlib.h>
#include <string.h>

#define KEPT_ELEMENTS                                                          \
    262144 /* a longer input is not kept: each run draws it                    \
            */

/* The elements that a state of the stream gives. */
struct drawn {
    struct drawn *next;
    uint64_t before, after; /* states of the stream */
    ssq_dtype dtype;
    enum fill fill;
    size_t n;
    uint32_t bits[];
};

/* splitmix64: the stream depends on the case alone. */
static uint64_t random_word(struct draws *d)
{
    uint64_t z = d->random += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double draw_uniform(struct draws *d)
{
    return (double)(random_word(d) >> 11) * 0x1p-53;
}

/* By Box and Muller, of whose pair one is taken: each number is made of two
 * words of the stream. */
static double normal(struct draws *d)
{
    double u = 1.0 - draw_uniform(d), v = draw_uniform(d);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

/* Where float32 subnormals are flushed, far enough above them that differences
 * and products with ordinary numbers are none. */
static double draw_tiny(const struct draws *d, ssq_dtype dtype)
{
    return d->flushed && dtype != SSQ_F16 ? 0x1p-100
                                          : element_least_normal(dtype);
}

/* And one whose reciprocal is none. */
static double huge(const struct draws *d, ssq_dtype dtype)
{
    return d->flushed && dtype != SSQ_F16 ? 0x1p100 : element_largest(dtype);
}

static double draw_special(struct draws *d, ssq_dtype dtype)
{
    /* up to 2^4; or so that no slope between is subnormal where it is lost */
    unsigned powers = d->flushed ? 6 : 9;
    switch (random_word(d) % 24) {
    case 0:
        return (double)NAN;
    case 1:
        return (double)INFINITY;
    case 2:
        return -(double)INFINITY;
    case 3:
        return 0.0;
    case 4:
        return -0.0;
    case 5:
        return huge(d, dtype);
    case 6:
        return -huge(d, dtype);
    case 7:
        return draw_tiny(d, dtype) * draw_uniform(d);
    case 8:
        return -draw_tiny(d, dtype);
    case 9:
        return 2.0 * bound_eta(dtype); /* the least subnormal */
    default:
        return normal(d) * ldexp(1.0, (int)(random_word(d) % powers) - 4);
    }
}

static double draw_float(struct draws *d, ssq_dtype dtype, enum fill fill)
{
    switch (fill) {
    case FILL_NORMAL:
        return normal(d);
    case FILL_UNIFORM:
        return draw_uniform(d) - 0.5;
    case FILL_POSITIVE:
        return 1.0 - draw_uniform(d);
    case FILL_INTEGERS:
        return (double)(random_word(d) % 17) - 8.0;
    case FILL_TINY:
        return normal(d) * draw_tiny(d, dtype);
    case FILL_HUGE:
        return (draw_uniform(d) < 0.5 ? -1.0 : 1.0) * element_largest(dtype) *
               (0.5 + 0.5 * draw_uniform(d));
    case FILL_SPECIAL:
        return draw_special(d, dtype);
    case FILL_ZERO:
        return 0.0;
    case FILL_NAN:
        return (double)NAN;
    case FILL_ONES:
        return 1.0;
    }
    return 0.0;
}

static double conformance_draw(struct draws *d, ssq_dtype dtype, enum fill fill)
{
    if (dtype == SSQ_U8)
        return fill == FILL_ZERO ? 0.0
               : fill == FILL_ONES
                   ? 1.0
                   : (double)(random_word(d) % (fill == FILL_HUGE ? 256 : 17));
    if (dtype == SSQ_I32 && (fill == FILL_HUGE || fill == FILL_SPECIAL))
        return (double)(int32_t)(uint32_t)random_word(d);
    if (dtype == SSQ_I32)
        return fill == FILL_ZERO   ? 0.0
               : fill == FILL_ONES ? 1.0
                                   : (double)(random_word(d) % 17) - 8.0;
    return harness_round(draw_float(d, dtype, fill), dtype);
}

void draws_begin(struct draws *d, bool flushed)
{
    while (d->kept != NULL) {
        struct drawn *next = d->kept->next;
        free(d->kept);
        d->kept = next;
    }
    d->flushed = flushed;
}

static struct drawn *find_drawn(const struct draws *d, ssq_dtype dtype,
                                enum fill fill, size_t n)
{
    for (struct drawn *k = d->kept; k != NULL; k = k->next)
        if (k->before == d->random && k->dtype == dtype && k->fill == fill &&
            k->n == n)
            return k;
    return NULL;
}

/* Keep them if there is memory: they can be drawn again. */
static void draw_keep(struct draws *d, const struct drawn *head,
                      const uint32_t *bits)
{
    struct drawn *k = malloc(sizeof(*k) + head->n * sizeof(*bits));
    if (k == NULL)
        return;
    *k = *head;
    k->next = d->kept;
    memcpy(k->bits, bits, head->n * sizeof(*bits));
    d->kept = k;
}

void draw_bits(struct draws *d, ssq_dtype dtype, enum fill fill, uint32_t *bits,
               size_t n)
{
    const struct drawn *k = find_drawn(d, dtype, fill, n);
    if (k != NULL) {
        memcpy(bits, k->bits, n * sizeof(*bits));
        d->random = k->after;
        return;
    }
    struct drawn head = {
        .before = d->random, .dtype = dtype, .fill = fill, .n = n};
    for (size_t i = 0; i < n; i++)
        bits[i] = element_bits(conformance_draw(d, dtype, fill), dtype);
    head.after = d->random;
    if (n <= KEPT_ELEMENTS)
        draw_keep(d, &head, bits);
}
