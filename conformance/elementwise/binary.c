/* SPDX-License-Identifier: Apache-2.0 */
/* binary.c - cases of y = f(a, b) with broadcasting, and of axpby. */
#include "conformance/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum kind { ADD, SUB, MUL, DIV, MAXIMUM, MINIMUM, POW, AXPBY, KINDS };

#define ALPHA 0.75
#define BETA  -1.3f /* the float32 nearest to it */

static ssq_status call_axpby(ssq_queue *queue, const ssq_binary_args *p)
{
    ssq_axpby_args args = SSQ_AXPBY_INIT;
    args.a = p->a;
    args.b = p->b;
    args.y = p->y;
    args.alpha = ALPHA;
    args.beta = (double)BETA;
    return ssq_axpby(queue, &args);
}

static const struct {
    const char *name;
    ssq_status (*call)(ssq_queue *, const ssq_binary_args *);
} ops[KINDS] = {
    [ADD] = {"add", ssq_add},
    [SUB] = {"sub", ssq_sub},
    [MUL] = {"mul", ssq_mul},
    [DIV] = {"div", ssq_div},
    [MAXIMUM] = {"maximum", ssq_maximum},
    [MINIMUM] = {"minimum", ssq_minimum},
    [POW] = {"pow", ssq_pow},
    [AXPBY] = {"axpby", call_axpby},
};

struct binary_shape {
    int rank;
    int64_t size[SSQ_MAX_RANK];
};

static const struct variant {
    const char *text;
    ssq_dtype a, b, y;
    struct binary_shape sa, sb, sy;
    enum layout la, lb, ly;
    enum fill fill;
    int in_place; /* 1: y is a; 2: y is b */
} variants[] = {
    {"f32 [43]",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {1, {43}},
     {1, {43}},
     {1, {43}},
     0,
     0,
     0,
     FILL_NORMAL,
     0},
    {"f16 [5,13]",
     SSQ_F16,
     SSQ_F16,
     SSQ_F16,
     {2, {5, 13}},
     {2, {5, 13}},
     {2, {5, 13}},
     0,
     0,
     0,
     FILL_NORMAL,
     0},
    {"bf16 [7,9], all padded",
     SSQ_BF16,
     SSQ_BF16,
     SSQ_BF16,
     {2, {7, 9}},
     {2, {7, 9}},
     {2, {7, 9}},
     LAYOUT_PADDED,
     LAYOUT_PADDED,
     LAYOUT_PADDED,
     FILL_NORMAL,
     0},
    {"f16 [6,5] and f32 [5] to bf16",
     SSQ_F16,
     SSQ_F32,
     SSQ_BF16,
     {2, {6, 5}},
     {1, {5}},
     {2, {6, 5}},
     0,
     0,
     0,
     FILL_NORMAL,
     0},
    {"f32 [4,1] and f16 [1,7] to f32",
     SSQ_F32,
     SSQ_F16,
     SSQ_F32,
     {2, {4, 1}},
     {2, {1, 7}},
     {2, {4, 7}},
     0,
     0,
     0,
     FILL_NORMAL,
     0},
    {"f32 [2,1,3,1] and bf16 [5,1,4] to f32",
     SSQ_F32,
     SSQ_BF16,
     SSQ_F32,
     {4, {2, 1, 3, 1}},
     {3, {5, 1, 4}},
     {4, {2, 5, 3, 4}},
     0,
     0,
     0,
     FILL_NORMAL,
     0},
    {"f32 no dimensions and [11]",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {0, {0}},
     {1, {11}},
     {1, {11}},
     0,
     0,
     0,
     FILL_NORMAL,
     0},
    {"f32 no dimensions",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {0, {0}},
     {0, {0}},
     {0, {0}},
     0,
     0,
     0,
     FILL_NORMAL,
     0},
    {"f32 [3,0] and [1]",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {2, {3, 0}},
     {1, {1}},
     {2, {3, 0}},
     0,
     0,
     0,
     FILL_NORMAL,
     0},
    {"f32 [1] and [0]",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {1, {1}},
     {1, {0}},
     {1, {0}},
     0,
     0,
     0,
     FILL_NORMAL,
     0},
    {"f32 [5,7,3], a transposed, y padded",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {3, {5, 7, 3}},
     {3, {5, 7, 3}},
     {3, {5, 7, 3}},
     LAYOUT_TRANSPOSED,
     0,
     LAYOUT_PADDED,
     FILL_NORMAL,
     0},
    {"f16 [8,9], one a repeated, y transposed",
     SSQ_F16,
     SSQ_F16,
     SSQ_F16,
     {2, {8, 9}},
     {2, {8, 9}},
     {2, {8, 9}},
     LAYOUT_BROADCAST,
     0,
     LAYOUT_TRANSPOSED,
     FILL_NORMAL,
     0},
    {"f32 [2,1,2,1,2,1] and [1,3,1,3,1,3]",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {6, {2, 1, 2, 1, 2, 1}},
     {6, {1, 3, 1, 3, 1, 3}},
     {6, {2, 3, 2, 3, 2, 3}},
     0,
     0,
     0,
     FILL_NORMAL,
     0},
    {"f32 [31,1] and [1,37] with specials",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {2, {31, 1}},
     {2, {1, 37}},
     {2, {31, 37}},
     0,
     0,
     0,
     FILL_SPECIAL,
     0},
    {"f16 [31,1] and bf16 [1,37] to f16 with specials",
     SSQ_F16,
     SSQ_BF16,
     SSQ_F16,
     {2, {31, 1}},
     {2, {1, 37}},
     {2, {31, 37}},
     0,
     0,
     0,
     FILL_SPECIAL,
     0},
    {"f32 [53] huge",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {1, {53}},
     {1, {53}},
     {1, {53}},
     0,
     0,
     0,
     FILL_HUGE,
     0},
    {"f16 [53] huge",
     SSQ_F16,
     SSQ_F16,
     SSQ_F16,
     {1, {53}},
     {1, {53}},
     {1, {53}},
     0,
     0,
     0,
     FILL_HUGE,
     0},
    {"f32 [53] tiny",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {1, {53}},
     {1, {53}},
     {1, {53}},
     0,
     0,
     0,
     FILL_TINY,
     0},
    {"f32 [17,3] integers",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {2, {17, 3}},
     {2, {17, 3}},
     {2, {17, 3}},
     0,
     0,
     0,
     FILL_INTEGERS,
     0},
    {"f32 [9,5], y is a",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {2, {9, 5}},
     {2, {9, 5}},
     {2, {9, 5}},
     LAYOUT_PADDED,
     0,
     0,
     FILL_NORMAL,
     1},
    {"f16 [9,5] and [9,5], y is b",
     SSQ_F16,
     SSQ_F16,
     SSQ_F16,
     {1, {5}},
     {2, {9, 5}},
     {2, {9, 5}},
     0,
     LAYOUT_TRANSPOSED,
     0,
     FILL_NORMAL,
     2},
    {"f32 [1403] with specials",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {1, {1403}},
     {1, {1403}},
     {1, {1403}},
     0,
     0,
     0,
     FILL_SPECIAL,
     0},
    {"f16 [1403] huge, y is b",
     SSQ_F16,
     SSQ_F16,
     SSQ_F16,
     {1, {1403}},
     {1, {1403}},
     {1, {1403}},
     0,
     0,
     0,
     FILL_HUGE,
     2},
    {"bf16 [1403] with specials",
     SSQ_BF16,
     SSQ_BF16,
     SSQ_BF16,
     {1, {1403}},
     {1, {1403}},
     {1, {1403}},
     0,
     0,
     0,
     FILL_SPECIAL,
     0},
    {"f32 [1403] and no dimensions",
     SSQ_F32,
     SSQ_F32,
     SSQ_F32,
     {1, {1403}},
     {0, {0}},
     {1, {1403}},
     0,
     0,
     0,
     FILL_NORMAL,
     1},
    {"f16 no dimensions, f32, and [1403]",
     SSQ_F32,
     SSQ_F16,
     SSQ_F16,
     {0, {0}},
     {1, {1403}},
     {1, {1403}},
     0,
     0,
     0,
     FILL_NORMAL,
     0},
    {"bf16 [3,501] and [1,1]",
     SSQ_BF16,
     SSQ_BF16,
     SSQ_BF16,
     {2, {3, 501}},
     {2, {1, 1}},
     {2, {3, 501}},
     0,
     0,
     0,
     FILL_NORMAL,
     0},
};
#define VARIANTS (sizeof(variants) / sizeof(variants[0]))

/* Where element i of a tensor of shape y is in one of shape s. */
static int64_t binary_from(const struct binary_shape *s,
                           const struct binary_shape *y, int64_t i)
{
    int64_t at = 0, step = 1;
    for (int k = y->rank - 1; k >= 0; k--) {
        int64_t index = i % y->size[k];
        int d = k - (y->rank - s->rank);
        i /= y->size[k];
        if (d < 0)
            continue;
        at += s->size[d] == 1 ? 0 : index * step;
        step *= s->size[d];
    }
    return at;
}

/* The arithmetic of C is IEEE 754's: the exact result in float32;
 * for pow the truth. volatile: a product and a sum are two roundings. */
static double binary_expected(enum kind kind, double x, double y)
{
    volatile float a = (float)x, b = (float)y, p, q;
    switch (kind) {
    case ADD:
        return (double)(float)(a + b);
    case SUB:
        return (double)(float)(a - b);
    case MUL:
        return (double)(float)(a * b);
    case DIV:
        return (double)(float)(a / b);
    case MAXIMUM:
        return isnan(x) || isnan(y) ? (double)NAN : x > y ? x : y;
    case MINIMUM:
        return isnan(x) || isnan(y) ? (double)NAN : x < y ? x : y;
    case POW:
        return pow(x, y);
    default:
        p = (float)ALPHA * a;
        q = BETA * b;
        return (double)(float)(p + q);
    }
}

static bool binary_run_variant(struct harness *b, enum kind kind,
                               const struct variant *v)
{
    struct operand x, z, y, *out = &y;
    harness_input(b, &x, v->a, v->sa.rank, v->sa.size, v->la, v->fill);
    harness_input(b, &z, v->b, v->sb.rank, v->sb.size, v->lb, v->fill);
    if (v->in_place == 0)
        harness_output(b, &y, v->y, v->sy.rank, v->sy.size, v->ly);
    else
        out = v->in_place == 1 ? &x : &z;
    double *want = harness_alloc(b, (size_t)out->n * sizeof(*want));
    for (int64_t i = 0; i < out->n && !b->failed; i++) {
        double value =
            binary_expected(kind, x.value[binary_from(&v->sa, &v->sy, i)],
                            z.value[binary_from(&v->sb, &v->sy, i)]);
        want[i] = kind == POW ? value : harness_round(value, out->dtype);
    }
    const ssq_binary_args args = {sizeof(args), x.t, z.t, out->t};
    HARNESS_OP(b, ops[kind].call(b->queue, &args));
    harness_read(b, &x);
    harness_read(b, &z);
    harness_read(b, out);
    return harness_ulps(b, out, want, kind == POW ? 1 : 0) &&
           harness_same(b, out);
}

static const ssq_dtype mixes[][3] = {{SSQ_I32, SSQ_I32, SSQ_I32},
                                     {SSQ_U8, SSQ_U8, SSQ_U8},
                                     {SSQ_U8, SSQ_I32, SSQ_I32},
                                     {SSQ_U8, SSQ_U8, SSQ_I32}};
#define MIXES 4
static const enum kind whole[] = {ADD, SUB, MUL, MAXIMUM, MINIMUM};
#define WHOLE 5

/* Integers: modulo 2^32, stored modulo 2^8 in u8; [101] and [7,1]. */
static bool binary_run_integers(struct harness *b, enum kind kind,
                                const ssq_dtype *mix)
{
    const int64_t sa[] = {101}, sb[] = {7, 1}, sy[] = {7, 101};
    struct operand x, z, y;
    uint32_t want[707];
    harness_input(b, &x, mix[0], 1, sa, LAYOUT_DENSE, FILL_HUGE);
    harness_input(b, &z, mix[1], 2, sb, LAYOUT_PADDED, FILL_HUGE);
    harness_output(b, &y, mix[2], 2, sy, LAYOUT_DENSE);
    for (int i = 0; i < 707; i++) {
        uint32_t p = x.bits[i % 101], q = z.bits[i / 101];
        bool less = (int32_t)p < (int32_t)q;
        want[i] = kind == ADD       ? p + q
                  : kind == SUB     ? p - q
                  : kind == MUL     ? p * q
                  : kind == MAXIMUM ? (less ? q : p)
                                    : (less ? p : q);
        if (mix[2] == SSQ_U8)
            want[i] &= 0xff;
    }
    const ssq_binary_args args = {sizeof(args), x.t, z.t, y.t};
    HARNESS_OP(b, ops[kind].call(b->queue, &args));
    harness_read(b, &y);
    return harness_bits(b, &y, want) && harness_same(b, &y);
}

static const struct exact {
    enum kind kind;
    uint32_t a, b, y;
} exact[] = {
    {ADD, 0x80000000, 0x80000000, 0x80000000},
    {ADD, 0x80000000, 0x00000000, 0x00000000},
    {ADD, 0x7f800000, 0xff800000, 0x7fc00000},
    {ADD, 0xffc12345, 0x3f800000, 0x7fc00000},
    {SUB, 0x7f800000, 0x7f800000, 0x7fc00000},
    {MUL, 0x80000000, 0x7f800000, 0x7fc00000},
    {MUL, 0x80000001, 0x3f000000, 0x80000000},
    {MUL, 0x00000003, 0x3f000000, 0x00000002},
    {DIV, 0x00000000, 0x80000000, 0x7fc00000},
    {DIV, 0xbf800000, 0x00000000, 0xff800000},
    {DIV, 0x3f800000, 0x40400000, 0x3eaaaaab},
    {MAXIMUM, 0x80000000, 0x00000000, 0x00000000},
    {MAXIMUM, 0x00000000, 0x80000000, 0x00000000},
    {MAXIMUM, 0x7f800000, 0xffc12345, 0x7fc00000},
    {MAXIMUM, 0xff800000, 0x80000001, 0x80000001},
    {MINIMUM, 0x80000000, 0x00000000, 0x80000000},
    {MINIMUM, 0x00000000, 0x80000000, 0x80000000},
    {MINIMUM, 0x7fc12345, 0xff800000, 0x7fc00000},
    {POW, 0x7fc00000, 0x00000000, 0x3f800000},
    {POW, 0x3f800000, 0x7fc00000, 0x3f800000},
    {POW, 0xc0000000, 0x40400000, 0xc1000000},
    {POW, 0xc0000000, 0x3f000000, 0x7fc00000},
    {POW, 0x80000000, 0xbf800000, 0xff800000},
    {AXPBY, 0x00000000, 0x7f800000, 0xff800000},
    {AXPBY, 0x7f800000, 0x7f800000, 0x7fc00000},
};
#define EXACTS (sizeof(exact) / sizeof(exact[0]))

static bool binary_run_exact(struct harness *b, const struct exact *e)
{
    struct operand x, z, y;
    harness_raw(b, &x, SSQ_F32, 0, NULL, LAYOUT_DENSE, &e->a);
    harness_raw(b, &z, SSQ_F32, 0, NULL, LAYOUT_DENSE, &e->b);
    harness_output(b, &y, SSQ_F32, 0, NULL, LAYOUT_DENSE);
    const ssq_binary_args args = {sizeof(args), x.t, z.t, y.t};
    HARNESS_OP(b, ops[e->kind].call(b->queue, &args));
    harness_read(b, &y);
    bool given = x.bits[0] == e->a && z.bits[0] == e->b;
    if (!b->failed && !b->skipped && y.bits[0] != e->y && given)
        return harness_fail(b, "0x%08x came out", (unsigned)y.bits[0]);
    return true;
}

#define MISUSES 9
static bool binary_run_misuse(struct harness *b, size_t k)
{
    static const char *const text[MISUSES] = {
        "add: a is NULL",
        "add: b is NULL",
        "add: y is NULL",
        "mul: a is [4,6], b is [6,4]: they do not broadcast",
        "mul: a is [4,6], b is [6], y is [6,4], expected [4,6]",
        "sub: b is i32, expected f32, f16, bf16",
        "div: a is i32, expected f32, f16, bf16",
        "add: y is f32, expected i32",
        "add: y overlaps b and is not exactly the same",
    };
    const int64_t shape[] = {4, 6}, turned[] = {6, 4}, row[] = {6};
    struct operand x, y, i, t, r;
    harness_input(b, &x, SSQ_F32, 2, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &y, SSQ_F32, 2, shape, LAYOUT_DENSE);
    harness_input(b, &i, SSQ_I32, 2, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &t, SSQ_F32, 2, turned, LAYOUT_DENSE);
    harness_input(b, &r, SSQ_F32, 1, row, LAYOUT_DENSE, FILL_NORMAL);
    if (b->failed || b->skipped)
        return true;
    ssq_tensor *part = NULL;
    if (ssq_tensor_slice(y.t, 0, 2, 3, 1, &part) != SSQ_OK)
        return harness_fail(b, "%s", ssq_last_error());
    const struct {
        enum kind kind;
        const ssq_tensor *a, *b, *y;
    } calls[MISUSES] = {
        {ADD, NULL, x.t, y.t}, {ADD, x.t, NULL, y.t}, {ADD, x.t, x.t, NULL},
        {MUL, x.t, t.t, y.t},  {MUL, x.t, r.t, t.t},  {SUB, x.t, i.t, y.t},
        {DIV, i.t, x.t, y.t},  {ADD, i.t, i.t, y.t},  {ADD, x.t, part, y.t},
    };
    const ssq_binary_args args = {sizeof(args), calls[k].a, calls[k].b,
                                  calls[k].y};
    uint32_t before = y.bits[0];
    harness_refused(b, SSQ_ERR_INVALID,
                    ops[calls[k].kind].call(b->queue, &args));
    if (!b->failed && strncmp(ssq_last_error(), text[k], strlen(text[k])) != 0)
        harness_fail(b, "\"%s\" is not \"%s\"", ssq_last_error(), text[k]);
    harness_read(b, &y);
    if (!b->failed && y.bits[0] != before)
        harness_fail(b, "y was written");
    ssq_tensor_destroy(&part);
    return true;
}

/* For bench: how near to a copy's throughput an addition comes. */
static bool binary_run_large(struct harness *b)
{
    const int64_t n = 16 << 20;
    ssq_tensor *x = harness_large(b, SSQ_F32, 1, &n);
    ssq_tensor *z = harness_large(b, SSQ_F32, 1, &n);
    const ssq_binary_args args = {sizeof(args), x, z,
                                  harness_large(b, SSQ_F32, 1, &n)};
    b->bytes = 12.0 * (double)n;
    HARNESS_OP(b, ssq_add(b->queue, &args));
    return !b->failed;
}

#define AT_INTEGERS (KINDS * VARIANTS)
#define AT_EXACT    (AT_INTEGERS + WHOLE * MIXES)
#define AT_MISUSE   (AT_EXACT + EXACTS)
#define AT_LARGE    (AT_MISUSE + MISUSES)

static void binary_describe(size_t i, char *text, size_t bytes)
{
    if (i >= AT_LARGE) {
        snprintf(text, bytes, "add f32, 16,777,216 elements");
    } else if (i >= AT_MISUSE) {
        snprintf(text, bytes, "binary misuse %zu is refused", i - AT_MISUSE);
    } else if (i >= AT_EXACT) {
        const struct exact *e = &exact[i - AT_EXACT];
        snprintf(text, bytes, "%s of 0x%08x and 0x%08x is 0x%08x",
                 ops[e->kind].name, (unsigned)e->a, (unsigned)e->b,
                 (unsigned)e->y);
    } else if (i >= AT_INTEGERS) {
        const ssq_dtype *mix = mixes[(i - AT_INTEGERS) % MIXES];
        snprintf(text, bytes, "%s %s [101] and %s [7,1] to %s",
                 ops[whole[(i - AT_INTEGERS) / MIXES]].name,
                 ssq_dtype_name(mix[0]), ssq_dtype_name(mix[1]),
                 ssq_dtype_name(mix[2]));
    } else {
        snprintf(text, bytes, "%s %s", ops[i / VARIANTS].name,
                 variants[i % VARIANTS].text);
    }
}

static int binary_turn(size_t i)
{
    if (i >= AT_MISUSE)
        return SUITE_ALL;
    size_t kind = i >= AT_EXACT      ? exact[i - AT_EXACT].kind
                  : i >= AT_INTEGERS ? whole[(i - AT_INTEGERS) / MIXES]
                                     : i / VARIANTS;
    return suite_turn(ops[kind].name);
}

static bool binary_run(struct harness *b, size_t i)
{
    if (i >= AT_LARGE)
        return binary_run_large(b);
    if (i >= AT_MISUSE)
        return binary_run_misuse(b, i - AT_MISUSE);
    if (i >= AT_EXACT)
        return binary_run_exact(b, &exact[i - AT_EXACT]);
    if (i >= AT_INTEGERS)
        return binary_run_integers(b, whole[(i - AT_INTEGERS) / MIXES],
                                   mixes[(i - AT_INTEGERS) % MIXES]);
    return binary_run_variant(b, (enum kind)(i / VARIANTS),
                              &variants[i % VARIANTS]);
}

const struct suite binary_suite = {.op = "binary",
                                   .name = "binary",
                                   .n = AT_LARGE,
                                   .large = 1,
                                   .describe = binary_describe,
                                   .run = binary_run,
                                   .turn = binary_turn,
                                   .bit_equal = true,
                                   .floor = 444};
