/* SPDX-License-Identifier: Apache-2.0 */
/* glu.c - cases of y = a f(b), da = dy f(b) and db = dy a f'(b). */
#include "conformance/bounds.h"
#include "conformance/case.h"
#include "conformance/elementwise/functions.h"

#include <float.h>

#define GATES 6
static const struct gate {
    const char *name;
    ssq_activation activation;
    ssq_status (*call)(ssq_queue *, const ssq_unary_args *);
    ssq_status (*backward)(ssq_queue *, const ssq_unary_backward_args *);
} gates[GATES] = {
    {"relu", SSQ_ACTIVATION_RELU, ssq_relu, ssq_relu_backward},
    {"gelu", SSQ_ACTIVATION_GELU, ssq_gelu, ssq_gelu_backward},
    {"gelu_tanh", SSQ_ACTIVATION_GELU_TANH, ssq_gelu_tanh,
     ssq_gelu_tanh_backward},
    {"silu", SSQ_ACTIVATION_SILU, ssq_silu, ssq_silu_backward},
    {"sigmoid", SSQ_ACTIVATION_SIGMOID, ssq_sigmoid, ssq_sigmoid_backward},
    {"tanh", SSQ_ACTIVATION_TANH, ssq_tanh, ssq_tanh_backward},
};

/* The operand that a result replaces. */
enum place { APART, OVER_A, OVER_B, OVER_DY };

/* dtypes of a, b, dy and of results, which come in one layout. */
static const struct variant {
    const char *text;
    ssq_dtype a, b, dy, y;
    struct shape shape;
    enum layout la, lb, ldy, ly;
    enum fill fill;
    enum place y_place, da_place, db_place;
} variants[] = {
#define SHAPE1(N)    .shape = {1, {N}}
#define SHAPE2(M, N) .shape = {2, {M, N}}
#define SAME(T)      .a = T, .b = T, .dy = T, .y = T
    {"f32 [41]", SAME(SSQ_F32), SHAPE1(41)},
    {"f16 [5,13]", SAME(SSQ_F16), SHAPE2(5, 13)},
    {"bf16 [3,17], all padded", SAME(SSQ_BF16), SHAPE2(3, 17), LAYOUT_PADDED,
     LAYOUT_PADDED, LAYOUT_PADDED, LAYOUT_PADDED},
    {"a f16, b f32, dy bf16 to f32 [11,7], a transposed", SSQ_F16, SSQ_F32,
     SSQ_BF16, SSQ_F32, SHAPE2(11, 7), .la = LAYOUT_TRANSPOSED},
    {"a bf16, b f16, dy f32 to f16 [7,11], one b repeated, results transposed",
     SSQ_BF16, SSQ_F16, SSQ_F32, SSQ_F16, SHAPE2(7, 11), .lb = LAYOUT_BROADCAST,
     .ly = LAYOUT_TRANSPOSED},
    {"f32 of no dimensions", SAME(SSQ_F32), .shape = {0}},
    {"f32 [1]", SAME(SSQ_F32), SHAPE1(1)},
    {"f16 [3,0]", SAME(SSQ_F16), SHAPE2(3, 0)},
    {"f32 [1021] special", SAME(SSQ_F32), SHAPE1(1021), .fill = FILL_SPECIAL},
    {"f16 [1021] special", SAME(SSQ_F16), SHAPE1(1021), .fill = FILL_SPECIAL},
    {"bf16 [509] special", SAME(SSQ_BF16), SHAPE1(509), .fill = FILL_SPECIAL},
    {"f32 [101] huge", SAME(SSQ_F32), SHAPE1(101), .fill = FILL_HUGE},
    {"f16 [101] huge", SAME(SSQ_F16), SHAPE1(101), .fill = FILL_HUGE},
    {"f32 [101] tiny", SAME(SSQ_F32), SHAPE1(101), .fill = FILL_TINY},
    {"f16 [67], y is a, da is dy, db is a", SAME(SSQ_F16), SHAPE1(67),
     .y_place = OVER_A, .da_place = OVER_DY, .db_place = OVER_A},
    {"f32 [13,5], y is b, da is b, db is a", SAME(SSQ_F32), SHAPE2(13, 5),
     .la = LAYOUT_PADDED, .y_place = OVER_B, .da_place = OVER_B,
     .db_place = OVER_A},
    {"bf16 [29], da is a", SAME(SSQ_BF16), SHAPE1(29), .da_place = OVER_A},
};
#define VARIANTS (COUNT(variants) * GATES)

struct glu_operands {
    struct operand a, b, dy;
    struct operand f, p; /* f(b), dy a: float32 */
    struct operand want, want_too;
};

/* Inputs, and memory for the results of them and of ops of one operand. */
static void prepare(struct harness *b, const struct variant *v,
                    struct glu_operands *o)
{
    const struct shape *s = &v->shape;
    harness_input(b, &o->a, v->a, s->rank, s->d, v->la, v->fill);
    harness_input(b, &o->b, v->b, s->rank, s->d, v->lb, v->fill);
    harness_input(b, &o->dy, v->dy, s->rank, s->d, v->ldy, v->fill);
    harness_output(b, &o->f, SSQ_F32, s->rank, s->d, LAYOUT_DENSE);
    harness_output(b, &o->p, SSQ_F32, s->rank, s->d, LAYOUT_DENSE);
    harness_output(b, &o->want, v->y, s->rank, s->d, LAYOUT_DENSE);
    harness_output(b, &o->want_too, v->y, s->rank, s->d, LAYOUT_DENSE);
}

static struct operand *glu_result(struct harness *b, const struct variant *v,
                                  enum place place, struct glu_operands *o,
                                  struct operand *apart)
{
    if (place != APART)
        return place == OVER_A ? &o->a : place == OVER_B ? &o->b : &o->dy;
    harness_output(b, apart, v->y, v->shape.rank, v->shape.d, v->ly);
    return apart;
}

static bool glu_must(struct harness *b, ssq_status st)
{
    return st == SSQ_OK || harness_fail(b, "%s", ssq_last_error());
}

/* Subnormals that a device flushes on the way are other ones where the way has
 * a stop more. */
static bool comparable(const struct harness *b, const struct variant *v)
{
    return b->props.f32_subnormals != SSQ_SUBNORMALS_FLUSHED ||
           v->fill == FILL_NORMAL;
}

/* want has the bits of y, or, where the device flushes, may have others. */
static bool glu_same_bits(struct harness *b, const struct variant *v,
                          struct operand *want, struct operand *y)
{
    harness_read(b, want);
    harness_read(b, y);
    if (comparable(b, v) && !harness_over(b))
        harness_raw_equal(b, y, want->bits);
    return harness_same(b, y);
}

/* y is what ssq_mul makes of a and f(b) in float32. */
static bool glu_run_forward(struct harness *b, const struct gate *g,
                            const struct variant *v)
{
    struct glu_operands o;
    struct operand apart;
    prepare(b, v, &o);
    struct operand *y = glu_result(b, v, v->y_place, &o, &apart);
    if (b->failed)
        return false;
    bool ok =
        glu_must(b, g->call(b->queue, SSQ_UNARY(.x = o.b.t, .y = o.f.t))) &&
        glu_must(b, ssq_mul(b->queue,
                            SSQ_BINARY(.a = o.a.t, .b = o.f.t, .y = o.want.t)));
    HARNESS_OP(b, ssq_glu(b->queue, SSQ_GLU(.a = o.a.t, .b = o.b.t, .y = y->t,
                                            .activation = g->activation)));
    if (harness_over(b))
        return ok && !b->failed;
    return glu_same_bits(b, v, &o.want, y);
}

/* da is what ssq_mul makes of dy and f(b), db what f's backward makes of dy a,
 * both in float32. */
static bool glu_run_backward(struct harness *b, const struct gate *g,
                             const struct variant *v)
{
    struct glu_operands o;
    struct operand da_apart, db_apart;
    prepare(b, v, &o);
    struct operand *da = glu_result(b, v, v->da_place, &o, &da_apart);
    struct operand *db = glu_result(b, v, v->db_place, &o, &db_apart);
    if (b->failed)
        return false;
    ssq_queue *q = b->queue;
    bool ok =
        glu_must(b, g->call(q, SSQ_UNARY(.x = o.b.t, .y = o.f.t))) &&
        glu_must(b, ssq_mul(q, SSQ_BINARY(.a = o.dy.t, .b = o.f.t,
                                          .y = o.want.t))) &&
        glu_must(b,
                 ssq_mul(q, SSQ_BINARY(.a = o.dy.t, .b = o.a.t, .y = o.p.t))) &&
        glu_must(b, g->backward(q, SSQ_UNARY_BACKWARD(.x = o.b.t, .dy = o.p.t,
                                                      .dx = o.want_too.t)));
    HARNESS_OP(b, ssq_glu_backward(
                      q, SSQ_GLU_BACKWARD(.a = o.a.t, .b = o.b.t, .dy = o.dy.t,
                                          .da = da->t, .db = db->t,
                                          .activation = g->activation)));
    if (harness_over(b))
        return ok && !b->failed;
    return glu_same_bits(b, v, &o.want, da) &&
           glu_same_bits(b, v, &o.want_too, db);
}

static const struct function *function_of(const struct gate *g)
{
    const struct function *f = functions;
    while (strcmp(f->name, g->name) != 0)
        f++;
    return f;
}

/* a f(b), f within an ulp of float32 and one more rounding; long double. */
static bool run_value(struct harness *b, const struct gate *g)
{
    const int64_t shape[] = {499};
    const struct function *f = function_of(g);
    double want[499], error[499];
    struct operand a, c, y;
    harness_input(b, &a, SSQ_F32, 1, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &c, SSQ_F32, 1, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &y, SSQ_F16, 1, shape, LAYOUT_DENSE);
    HARNESS_OP(b, ssq_glu(b->queue, SSQ_GLU(.a = a.t, .b = c.t, .y = y.t,
                                            .activation = g->activation)));
    for (int i = 0; i < 499; i++) {
        want[i] = a.value[i] * (double)f->value((long double)c.value[i], 0, 0);
        error[i] = bound_gamma(3, U_F32) * fabs(want[i]) +
                   0x1p-149 * (fabs(a.value[i]) + 1);
    }
    harness_read(b, &y);
    return harness_bound(b, &y, want, error);
}

/* The five-point difference quotient of dy a f(b) along b; along a it is
 * dy f(b). As in unary_backward.c, the quotient of twice the step bounds what
 * this one is off by. */
static void glu_quotient(const struct function *f, double a, double x,
                         double dy, double *want, double *error)
{
    long double d[2], t = (long double)x, most = 0;
    for (int k = 0; k < 2; k++) {
        long double h = k == 0 ? 0x1p-9L : 0x1p-8L, v[5];
        for (int j = -2; j <= 2; j++) {
            v[j + 2] = (long double)a * f->value(t + j * h, 0, 0);
            most = fmaxl(most, fabsl(v[j + 2]));
        }
        d[k] = (8 * (v[3] - v[1]) - (v[4] - v[0])) / (12 * h);
    }
    *want = dy * (double)d[0];
    *error = bound_unary_backward(f->roundings + 1, f->subnormals, f->divisions,
                                  x, dy * a, *want, SSQ_F32) +
             fabs(dy) * (double)(fabsl(d[1] - d[0]) +
                                 1024 * (long double)LDBL_EPSILON * most);
}

static bool glu_run_slopes(struct harness *b, const struct gate *g)
{
    const int64_t shape[] = {307};
    const struct function *f = function_of(g);
    double x[307], want[307], error[307];
    struct operand a, c, dy, da, db;
    for (int i = 0; i < 307; i++)
        do
            x[i] = 8 * harness_uniform(b) - 4;
        while (!function_is_smooth(f, x[i], 0x1p-6));
    harness_input(b, &a, SSQ_F32, 1, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_values(b, &c, SSQ_F32, 1, shape, LAYOUT_DENSE, x);
    harness_input(b, &dy, SSQ_F32, 1, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &da, SSQ_F32, 1, shape, LAYOUT_DENSE);
    harness_output(b, &db, SSQ_F32, 1, shape, LAYOUT_DENSE);
    HARNESS_OP(b, ssq_glu_backward(
                      b->queue, SSQ_GLU_BACKWARD(.a = a.t, .b = c.t, .dy = dy.t,
                                                 .da = da.t, .db = db.t,
                                                 .activation = g->activation)));
    harness_read(b, &da);
    harness_read(b, &db);
    for (int i = 0; i < 307; i++)
        glu_quotient(f, a.value[i], c.value[i], dy.value[i], &want[i],
                     &error[i]);
    harness_bound(b, &db, want, error);
    for (int i = 0; i < 307; i++) {
        want[i] = dy.value[i] * (double)f->value((long double)c.value[i], 0, 0);
        error[i] = bound_gamma(3, U_F32) * fabs(want[i]) +
                   0x1p-149 * (fabs(dy.value[i]) + 1);
    }
    return harness_bound(b, &da, want, error);
}

/* One gradient alone is what it is beside the other; a is not needed for da. */
static bool run_alone(struct harness *b)
{
    const int64_t shape[] = {53};
    struct operand a, c, dy, da, db, one;
    harness_input(b, &a, SSQ_F16, 1, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &c, SSQ_F16, 1, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &dy, SSQ_F16, 1, shape, LAYOUT_DENSE, FILL_NORMAL);
    harness_output(b, &da, SSQ_F16, 1, shape, LAYOUT_DENSE);
    harness_output(b, &db, SSQ_F16, 1, shape, LAYOUT_DENSE);
    harness_output(b, &one, SSQ_F16, 1, shape, LAYOUT_DENSE);
    ssq_queue *q = b->queue;
    HARNESS_OP(
        b, ssq_glu_backward(q, SSQ_GLU_BACKWARD(.a = a.t, .b = c.t, .dy = dy.t,
                                                .da = da.t, .db = db.t)));
    if (harness_over(b))
        return !b->failed;
    harness_read(b, &da);
    harness_read(b, &db);
    glu_must(b, ssq_glu_backward(
                    q, SSQ_GLU_BACKWARD(.b = c.t, .dy = dy.t, .da = one.t)));
    harness_read(b, &one);
    harness_raw_equal(b, &one, da.bits);
    glu_must(b, ssq_glu_backward(q, SSQ_GLU_BACKWARD(.a = a.t, .b = c.t,
                                                     .dy = dy.t, .db = dy.t)));
    harness_read(b, &dy);
    return harness_raw_equal(b, &dy, db.bits);
}

/* ---- misuse ---- */

struct bad {
    const ssq_tensor *x, *i, *s, *y; /* f32 [7], i32 [7], f32 [5], f32 [7] */
};

#define BAD_FORWARD 7
static bool misuse_forward(struct harness *b, size_t k, const struct bad *t)
{
    static const char *const text[BAD_FORWARD] = {
        "glu: a is NULL",
        "glu: b is NULL",
        "glu: b is i32, expected f32, f16, bf16",
        "glu: b is [5], a is [7]",
        "glu: y is i32, expected f32, f16, bf16",
        "glu: activation is 0 (none), expected relu, gelu, gelu_tanh, silu, "
        "sigmoid or tanh",
        "glu: activation is 7",
    };
    const ssq_glu_args calls[BAD_FORWARD] = {
        *SSQ_GLU(.b = t->x, .y = t->y),
        *SSQ_GLU(.a = t->x, .y = t->y),
        *SSQ_GLU(.a = t->x, .b = t->i, .y = t->y),
        *SSQ_GLU(.a = t->x, .b = t->s, .y = t->y),
        *SSQ_GLU(.a = t->x, .b = t->x, .y = t->i),
        *SSQ_GLU(.a = t->x, .b = t->x, .y = t->y, .activation = 0),
        *SSQ_GLU(.a = t->x, .b = t->x, .y = t->y, .activation = 7),
    };
    return harness_refused_as(b, SSQ_ERR_INVALID, ssq_glu(b->queue, &calls[k]),
                              text[k]);
}

#define BAD_BACKWARD 7
static bool misuse_backward(struct harness *b, size_t k, const struct bad *t)
{
    static const char *const text[BAD_BACKWARD] = {
        "glu_backward: da and db are NULL", "glu_backward: a is NULL",
        "glu_backward: dy is NULL",         "glu_backward: da is [5], b is [7]",
        "glu_backward: da overlaps db",     "glu_backward: db overlaps dy",
        "glu_backward: activation is 9",
    };
    const ssq_tensor *x = t->x, *y = t->y;
    const ssq_glu_backward_args calls[BAD_BACKWARD] = {
        *SSQ_GLU_BACKWARD(.a = x, .b = x, .dy = x),
        *SSQ_GLU_BACKWARD(.b = x, .dy = x, .db = y),
        *SSQ_GLU_BACKWARD(.a = x, .b = x, .da = y),
        *SSQ_GLU_BACKWARD(.a = x, .b = x, .dy = x, .da = t->s),
        *SSQ_GLU_BACKWARD(.a = x, .b = x, .dy = x, .da = y, .db = y),
        *SSQ_GLU_BACKWARD(.a = x, .b = x, .dy = y, .da = t->x, .db = y),
        *SSQ_GLU_BACKWARD(.a = x, .b = x, .dy = x, .da = y, .activation = 9),
    };
    return harness_refused_as(b, SSQ_ERR_INVALID,
                              ssq_glu_backward(b->queue, &calls[k]), text[k]);
}

static bool glu_run_misuse(struct harness *b, size_t k,
                           bool (*misuse)(struct harness *, size_t,
                                          const struct bad *))
{
    const int64_t seven[] = {7}, five[] = {5};
    struct operand x, i, s, y;
    harness_input(b, &x, SSQ_F32, 1, seven, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &i, SSQ_I32, 1, seven, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &s, SSQ_F32, 1, five, LAYOUT_DENSE, FILL_NORMAL);
    harness_input(b, &y, SSQ_F32, 1, seven, LAYOUT_DENSE, FILL_NORMAL);
    if (harness_over(b))
        return !b->failed;
    return misuse(b, k, &(const struct bad){x.t, i.t, s.t, y.t}) &&
           harness_unchanged(b, &y);
}

/* ---- the tables ---- */

static void glu_describe(size_t i, char *text, size_t bytes)
{
    if (i < VARIANTS)
        snprintf(text, bytes, "glu by %s, %s", gates[i % GATES].name,
                 variants[i / GATES].text);
    else if (i < VARIANTS + GATES)
        snprintf(text, bytes, "glu by %s is the function, f32 to f16 [499]",
                 gates[i - VARIANTS].name);
    else
        snprintf(text, bytes, "glu misuse %zu is refused",
                 i - VARIANTS - GATES);
}

static bool glu_run(struct harness *b, size_t i)
{
    if (i < VARIANTS)
        return glu_run_forward(b, &gates[i % GATES], &variants[i / GATES]);
    if (i < VARIANTS + GATES)
        return run_value(b, &gates[i - VARIANTS]);
    return glu_run_misuse(b, i - VARIANTS - GATES, misuse_forward);
}

/* A kernel has one gate. */
static int glu_turn(size_t i)
{
    return i < VARIANTS           ? (int)(i % GATES)
           : i < VARIANTS + GATES ? (int)(i - VARIANTS)
                                  : SUITE_ALL;
}

const struct suite glu_suite = {.op = "glu",
                                .name = "glu",
                                .n = VARIANTS + GATES + BAD_FORWARD,
                                .turn = glu_turn,
                                .describe = glu_describe,
                                .run = glu_run,
                                .bit_equal = true,
                                .floor = 230};

static void describe_backward(size_t i, char *text, size_t bytes)
{
    if (i < VARIANTS)
        snprintf(text, bytes, "glu backward by %s, %s", gates[i % GATES].name,
                 variants[i / GATES].text);
    else if (i < VARIANTS + GATES)
        snprintf(text, bytes,
                 "glu backward by %s is the difference quotient, f32 [307]",
                 gates[i - VARIANTS].name);
    else if (i == VARIANTS + GATES)
        snprintf(text, bytes, "glu backward of one operand alone, f16 [53]");
    else
        snprintf(text, bytes, "glu backward misuse %zu is refused",
                 i - VARIANTS - GATES - 1);
}

static bool run_gradient(struct harness *b, size_t i)
{
    if (i < VARIANTS)
        return glu_run_backward(b, &gates[i % GATES], &variants[i / GATES]);
    if (i < VARIANTS + GATES)
        return glu_run_slopes(b, &gates[i - VARIANTS]);
    if (i == VARIANTS + GATES)
        return run_alone(b);
    return glu_run_misuse(b, i - VARIANTS - GATES - 1, misuse_backward);
}

const struct suite glu_backward_suite = {.op = "glu_backward",
                                         .name = "glu_backward",
                                         .n = VARIANTS + GATES + 1 +
                                              BAD_BACKWARD,
                                         .turn = glu_turn,
                                         .describe = describe_backward,
                                         .run = run_gradient,
                                         .bit_equal = true,
                                         .floor = 232};
