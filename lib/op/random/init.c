/* SPDX-License-Identifier: Apache-2.0 */
/* init.c - initial values of parameters: each is a random op or a fill. */
#include <sesqui/ops/data.h>
#include <sesqui/ops/random.h>

#include "lib/op/random/random.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The inputs of an output, and the outputs that an input goes to. */
struct fans {
    double in, out;
};

/* Return true if a kind's spread depends on the fans; these kinds are last. */
static bool has_fan(ssq_init_kind kind)
{
    return kind >= SSQ_INIT_XAVIER_UNIFORM;
}

/* Compute the fans of weights [out, in, kernel...]: each tap of a kernel
 * counts. */
static struct fans count_fans(const struct view *x)
{
    struct fans f = {(double)x->shape[1], (double)x->shape[0]};
    for (int i = 2; i < x->rank; i++) {
        f.in *= (double)x->shape[i];
        f.out *= (double)x->shape[i];
    }
    return f;
}

/* Find the gain of a nonlinearity, as in torch.nn.init.calculate_gain. A
 * nonzero gain of the args replaces it. */
static ssq_status find_gain(const ssq_init_args *a, double *gain)
{
    bool kaiming = a->kind == SSQ_INIT_KAIMING_UNIFORM ||
                   a->kind == SSQ_INIT_KAIMING_NORMAL;
    const struct {
        const char *name;
        double gain;
    } known[] = {
        {"linear", 1.0},
        {"sigmoid", 1.0},
        {"tanh", 5.0 / 3.0},
        {"relu", sqrt(2.0)},
        {"selu", 0.75},
        {"leaky_relu", sqrt(2.0 / (1.0 + a->slope * a->slope))},
    };
    const char *name = a->nonlinearity;
    if (name == NULL)
        name = kaiming ? "leaky_relu" : "linear";
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(name, known[i].name) != 0)
            continue;
        *gain = a->gain != 0.0 ? a->gain : known[i].gain;
        return SSQ_OK;
    }
    return error_set(SSQ_ERR_NOT_FOUND,
                     "init: no nonlinearity \"%.32s\": linear, sigmoid, tanh, "
                     "relu, leaky_relu, selu",
                     name);
}

/* Return the bound of a uniform kind with a fan, or the deviation of a normal
 * one. For the same variance a bound is sqrt(3) times as large. */
static double init_spread(const ssq_init_args *a, const struct fans *f,
                          double gain)
{
    double fan = a->fan == SSQ_FAN_IN ? f->in : f->out;
    switch (a->kind) {
    case SSQ_INIT_XAVIER_UNIFORM:
        return gain * sqrt(6.0 / (f->in + f->out));
    case SSQ_INIT_XAVIER_NORMAL:
        return gain * sqrt(2.0 / (f->in + f->out));
    case SSQ_INIT_KAIMING_UNIFORM:
        return gain * sqrt(3.0 / fan);
    case SSQ_INIT_KAIMING_NORMAL:
        return gain / sqrt(fan);
    case SSQ_INIT_LECUN_UNIFORM:
        return sqrt(3.0 / f->in);
    default:
        /* the deviation of a normal cut at 2: sqrt(1 - 4 phi(2) / erf(2^.5)),
         * phi is the density */
        return 1.0 / sqrt(f->in) / 0.87962566103423978;
    }
}

/* Return true if a value is finite, and not negative unless sign is true. */
static bool init_number(double value, bool sign)
{
    return isfinite(value) && (sign || value >= 0.0);
}

/* Check everything except the step, which check_step() checks. */
static ssq_status check_init(const ssq_queue *queue, const ssq_init_args *a)
{
    ssq_status st = check_output(queue, a->x, "init", "x");
    if (st == SSQ_OK)
        st = check_dtype(a->x, DTYPES_FLOAT, "init", "x");
    if (st != SSQ_OK)
        return st;
    if ((unsigned)a->kind > SSQ_INIT_LECUN_NORMAL ||
        (unsigned)a->fan > SSQ_FAN_OUT)
        return error_set(SSQ_ERR_INVALID, "init: no such %s, %d",
                         (unsigned)a->fan > SSQ_FAN_OUT ? "fan" : "kind",
                         (unsigned)a->fan > SSQ_FAN_OUT ? (int)a->fan
                                                        : (int)a->kind);
    if (!init_number(a->value, a->kind == SSQ_INIT_CONSTANT) ||
        (a->kind == SSQ_INIT_CONSTANT && fabs(a->value) > (double)FLT_MAX) ||
        !init_number(a->gain, false) || !init_number(a->slope, true))
        return error_set(SSQ_ERR_INVALID,
                         "init: value is %g, gain is %g, slope is %g", a->value,
                         a->gain, a->slope);
    if (has_fan(a->kind) && a->x->view.rank < 2)
        return error_set(SSQ_ERR_INVALID,
                         "init: x has rank %d, a fan needs [out, in, ..]",
                         a->x->view.rank);
    return SSQ_OK;
}

/* Fill x with a value. */
static ssq_status init_fill(ssq_queue *queue, const ssq_init_args *a,
                            double value)
{
    ssq_fill_args args = SSQ_FILL_INIT;
    args.x = a->x;
    args.value = value;
    return ssq_fill(queue, &args);
}

/* Check the bound or deviation that value, gain and the fans give. */
static ssq_status check_size(const char *name, double size, double most)
{
    return fabs(size) <= most
               ? SSQ_OK
               : error_set(SSQ_ERR_INVALID,
                           "init: the %s is %g, expected at most %g: value or "
                           "gain is too large",
                           name, size, most);
}

/* Fill x from -bound to bound, with the stream of the init. */
static ssq_status uniform(ssq_queue *queue, const ssq_init_args *a,
                          double bound)
{
    ssq_status st = check_size("bound", bound, (double)FLT_MAX / 2.0);
    if (st != SSQ_OK)
        return st;
    ssq_random_uniform_args args = SSQ_RANDOM_UNIFORM_INIT;
    args.x = a->x;
    args.seed = a->seed;
    args.id = a->id;
    args.step = a->step;
    args.offset = a->offset;
    args.low = -bound;
    args.high = bound;
    return ssq_random_uniform(queue, &args);
}

/* Fill x, with the stream of the init. truncated: cut at two deviations, so
 * that the deviation of the result is less than std. */
static ssq_status init_normal(ssq_queue *queue, const ssq_init_args *a,
                              double std, bool truncated)
{
    ssq_status st = check_size("deviation", std, (double)FLT_MAX);
    if (st != SSQ_OK)
        return st;
    ssq_random_normal_args args = SSQ_RANDOM_NORMAL_INIT;
    args.x = a->x;
    args.seed = a->seed;
    args.id = a->id;
    args.step = a->step;
    args.offset = a->offset;
    args.std = std;
    return truncated ? ssq_random_truncated_normal(queue, &args)
                     : ssq_random_normal(queue, &args);
}

/* Enqueue the call of a kind. value is its constant, bound or deviation. */
static ssq_status init_start(ssq_queue *queue, const ssq_init_args *a,
                             double value)
{
    switch (a->kind) {
    case SSQ_INIT_ZEROS:
        return init_fill(queue, a, 0.0);
    case SSQ_INIT_ONES:
        return init_fill(queue, a, 1.0);
    case SSQ_INIT_CONSTANT:
        return init_fill(queue, a, value);
    case SSQ_INIT_UNIFORM:
    case SSQ_INIT_XAVIER_UNIFORM:
    case SSQ_INIT_KAIMING_UNIFORM:
    case SSQ_INIT_LECUN_UNIFORM:
        return uniform(queue, a, value);
    case SSQ_INIT_NORMAL:
    case SSQ_INIT_XAVIER_NORMAL:
    case SSQ_INIT_KAIMING_NORMAL:
        return init_normal(queue, a, value, false);
    default:
        return init_normal(queue, a, value, true);
    }
}

ssq_status ssq_init(ssq_queue *queue, const ssq_init_args *args)
{
    ssq_status st = CHECK_CALL(queue, args, "init");
    if (st == SSQ_OK)
        st = check_init(queue, args);
    if (st == SSQ_OK)
        st = check_step(queue, args->step, args->x, "x", "init");
    if (st != SSQ_OK)
        return st;
    double value = args->value, gain = 1.0;
    if (has_fan(args->kind)) {
        struct fpenv env = fpenv_enter();
        st = find_gain(args, &gain);
        struct fans fans = count_fans(&args->x->view);
        /* Without elements a fan may be 0, and init_spread() would divide by
         * it; nothing will be drawn. */
        value = 0.0;
        if (view_elements(&args->x->view) > 0)
            value = init_spread(args, &fans, gain);
        /* Else the compiler might compute value after fpenv_leave(). */
        FPENV_KEEP(st);
        FPENV_KEEP(value);
        fpenv_leave(env);
    }
    return st == SSQ_OK ? init_start(queue, args, value) : st;
}
