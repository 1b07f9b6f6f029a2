/* SPDX-License-Identifier: Apache-2.0 */
/* gradcheck.c - compare gradients with difference quotients. */
#include <sesqui/gradcheck.h>
#include <sesqui/ops/data.h>
#include <sesqui/vars.h>

#include "lib/core/base/size.h"
#include "lib/tape/params.h"
#include "lib/tape/tape.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Number of steps to try. Each is twice the previous one. */
#define STEPS 4

/* A state, such as a running mean, and its values before the check. */
struct gradcheck_kept {
    ssq_tensor *state, *copy; /* both held */
};

/* A check in progress. */
struct check {
    ssq_tape *tape;
    ssq_gradcheck_fn fn;
    void *user;
    ssq_gradcheck_args args;
    ssq_gradcheck_report worst;
    bool wrong;     /* worst exceeds its tolerance */
    uint32_t draws; /* of the parameters, the same for every pass */
    float *y;       /* the function's result, n elements */
    double *w;      /* the weights of y's elements */
    size_t n;
    double rounding;   /* B in sesqui/gradcheck.h */
    size_t params;     /* parameters after the first pass; 0 before its end */
    uint32_t removals; /* of the set, when the check began */
    struct gradcheck_kept *kept; /* n_kept of them */
    size_t n_kept, seen; /* seen: parameters that keep_states() has visited */
};

/* ---- states ---- */

/* Copy the states that are new in the set. If the first pass creates a state,
 * the copy has the values after that pass. */
static ssq_status keep_states(struct check *c)
{
    const ssq_params *set = c->tape->params;
    struct gradcheck_kept *kept = mem_alloc_array(set->n + 1, sizeof(*kept));
    ssq_status st = kept == NULL
                        ? error_nomem("gradcheck", set->n * sizeof(*kept))
                        : SSQ_OK;
    if (st != SSQ_OK)
        return st;
    if (c->n_kept > 0)
        memcpy(kept, c->kept, c->n_kept * sizeof(*kept));
    mem_free(c->kept);
    c->kept = kept;
    for (; c->seen < set->n && st == SSQ_OK; c->seen++) {
        const struct param *p = &set->at[c->seen];
        struct gradcheck_kept *k = &kept[c->n_kept];
        const struct view *v = &p->tensor->view;
        if (!p->state || view_elements(v) == 0)
            continue;
        st = tensor_create(set->device, v->dtype, v->rank, v->shape, &k->copy);
        if (st == SSQ_OK)
            st = ssq_copy(c->tape->queue,
                          SSQ_COPY(.x = p->tensor, .y = k->copy));
        if (st != SSQ_OK) {
            ssq_tensor_destroy(&k->copy);
            break;
        }
        k->state = p->tensor;
        object_get(&k->state->object);
        c->n_kept++;
    }
    return st;
}

/* Restore the states. Returns st, the status of the check, if it is an
 * error. */
static ssq_status gradcheck_restore_states(struct check *c, ssq_status st)
{
    for (size_t i = 0; i < c->n_kept; i++) {
        struct gradcheck_kept *k = &c->kept[i];
        ssq_status back =
            ssq_copy(c->tape->queue, SSQ_COPY(.x = k->copy, .y = k->state));
        st = st == SSQ_OK ? back : st;
        ssq_tensor_destroy(&k->copy);
        object_put(&k->state->object);
    }
    mem_free(c->kept);
    return st;
}

/* Return the weight of element i: between 1/2 and 3/2, of either sign. Weights
 * differ, because equal ones would hide errors: for example, the sum of a row
 * of softmax is constant. */
static double gradcheck_weight(size_t i)
{
    uint32_t h = (uint32_t)i * 2654435761u ^ 0x9e3779b9u;
    h ^= h >> 15;
    h *= 2246822519u;
    h ^= h >> 13;
    double u = 0.5 + (double)(h >> 8) * 0x1p-24;
    return (h & 1u) != 0 ? u : -u;
}

/* Run a pass. Returns the var that fn made in *y. */
static ssq_status gradcheck_pass(struct check *c, ssq_var *y)
{
    c->tape->params->draws = c->draws;
    ssq_tape_begin(c->tape, true);
    *y = c->fn(c->tape, c->user);
    if (c->tape->status != SSQ_OK)
        return ssq_tape_status(c->tape);
    const ssq_params *set = c->tape->params;
    if (set->removals != c->removals)
        return error_set(SSQ_ERR_INVALID,
                         "gradcheck: the function removed parameters: %zu are "
                         "left",
                         set->n);
    if (c->params > 0 && set->n > c->params)
        return error_set(SSQ_ERR_INVALID,
                         "gradcheck: the function made parameter \"%s\" only "
                         "in a later call; each call must do the same",
                         set->at[c->params].name);
    const struct value *v = var_value(c->tape, *y, "gradcheck", "gradcheck",
                                      "the function's result");
    if (v == NULL)
        return c->tape->status;
    const ssq_dtype dtype = v->is.tensor.view.dtype;
    return dtype_is_float(dtype)
               ? SSQ_OK
               : error_set(SSQ_ERR_INVALID,
                           "gradcheck: the function's result is %s, expected "
                           "f32, f16 or bf16",
                           ssq_dtype_name(dtype));
}

/* Compute f for the current values of the parameters. */
static ssq_status gradcheck_value(struct check *c, double *f)
{
    ssq_var y = SSQ_VAR_NONE;
    ssq_status st = gradcheck_pass(c, &y);
    const ssq_tensor *t = st == SSQ_OK ? ssq_var_tensor(y) : NULL;
    if (st == SSQ_OK && (size_t)ssq_tensor_elements(t) != c->n)
        st = error_set(SSQ_ERR_INVALID,
                       "gradcheck: the function made %zu elements, and now "
                       "makes %lld",
                       c->n, (long long)ssq_tensor_elements(t));
    if (st == SSQ_OK)
        st = ssq_tensor_read(c->tape->queue, t, c->y, c->n * sizeof(*c->y),
                             SSQ_F32);
    if (st == SSQ_OK)
        st = queue_wait(c->tape->queue);
    *f = 0.0;
    for (size_t i = 0; i < c->n && st == SSQ_OK; i++)
        *f += c->w[i] * (double)c->y[i];
    return st;
}

/* Run the first passes: allocate arrays of the result's size, set the weights
 * and compute the rounding error of f. */
static ssq_status gradcheck_measure(struct check *c)
{
    ssq_var y = SSQ_VAR_NONE;
    ssq_status st = gradcheck_pass(c, &y);
    if (st == SSQ_OK)
        st = keep_states(c);
    if (st != SSQ_OK)
        return st;
    double f, most = 0.0, sum = 0.0;
    c->params = c->tape->params->n;
    c->n = (size_t)ssq_tensor_elements(ssq_var_tensor(y));
    c->y = mem_alloc_array(c->n, sizeof(*c->y));
    c->w = mem_alloc_array(c->n, sizeof(*c->w));
    if (c->y == NULL || c->w == NULL)
        return error_nomem("gradcheck", c->n * sizeof(*c->w));
    for (size_t i = 0; i < c->n; i++)
        c->w[i] = (double)(float)gradcheck_weight(i);
    st = gradcheck_value(c, &f);
    for (size_t i = 0; i < c->n; i++) {
        most = fmax(most, fabs((double)c->y[i]));
        sum += fabs(c->w[i]);
    }
    c->rounding = c->args.ulps * 0x1p-23 * most * sum;
    return st;
}

/* Compute f on the tape, and run its backward. */
static ssq_status gradcheck_backward(struct check *c)
{
    ssq_var y = SSQ_VAR_NONE;
    ssq_tensor *w = NULL;
    ssq_status st = gradcheck_pass(c, &y);
    if (st != SSQ_OK)
        return st;
    const struct view v = ssq_var_tensor(y)->view;
    st = tensor_create(c->tape->queue->device, SSQ_F32, v.rank, v.shape, &w);
    if (st == SSQ_OK)
        st = ssq_tensor_write(c->tape->queue, w, c->w, c->n * sizeof(*c->w),
                              SSQ_F64);
    if (st == SSQ_OK) {
        ssq_var f =
            ssq_sum_var(ssq_mul_var(y, ssq_var_input(c->tape, w)), NULL);
        ssq_params_clean(c->tape->params);
        st = ssq_tape_backward(c->tape, f, NULL);
    }
    ssq_tensor_destroy(&w);
    return st;
}

/* ---- one element ---- */

struct gradcheck_element {
    const char *name;   /* of the parameter, copied: a pass may change the
                           set */
    ssq_tensor *tensor; /* its values; held */
    size_t i, n;
    float *at;        /* the parameter's elements on the host */
    double differ;    /* D(h) */
    double tolerance; /* maximum distance of D(h) from the derivative */
};

/* Compute f with the element set to x. */
static ssq_status gradcheck_value_at(struct check *c,
                                     struct gradcheck_element *e, float x,
                                     double *f)
{
    float was = e->at[e->i];
    e->at[e->i] = x;
    ssq_status st = ssq_tensor_write(c->tape->queue, e->tensor, e->at,
                                     e->n * sizeof(*e->at), SSQ_F32);
    ssq_status then = st == SSQ_OK ? gradcheck_value(c, f) : st;
    if (then != SSQ_OK) { /* the write may still be in flight */
        ssq_status waited = queue_wait(c->tape->queue);
        (void)waited;
    }
    e->at[e->i] = was;
    return then;
}

/* Compute D(h). The divisor is the difference of the two float32 arguments. */
static ssq_status quotient(struct check *c, struct gradcheck_element *e,
                           double h, double *d)
{
    float p = e->at[e->i];
    float up = (float)((double)p + h), down = (float)((double)p - h);
    double high = 0.0, low = 0.0;
    if (up == down || isinf(up) || isinf(down))
        return error_set(SSQ_ERR_INVALID,
                         "gradcheck: step is %g: \"%s\"[%zu] is %.9g, and plus "
                         "and minus %.3g it is %.9g and %.9g",
                         c->args.step, e->name, e->i, (double)p, h, (double)up,
                         (double)down);
    ssq_status st = gradcheck_value_at(c, e, up, &high);
    if (st == SSQ_OK)
        st = gradcheck_value_at(c, e, down, &low);
    *d = (high - low) / ((double)up - (double)down);
    return st;
}

/* Compute D(h) with the smallest tolerance of all pairs h and 2h. Large steps
 * suit nearly linear functions, small steps suit curved ones. */
static ssq_status gradcheck_differ(struct check *c, struct gradcheck_element *e)
{
    double h = c->args.step * fmax(1.0, fabs((double)e->at[e->i])), one, two;
    ssq_status st = quotient(c, e, h, &one);
    for (int i = 0; i < STEPS && st == SSQ_OK; i++, h *= 2.0, one = two) {
        st = quotient(c, e, 2.0 * h, &two);
        double tolerance = fabs(two - one) + c->rounding / h;
        if (i > 0 && !(tolerance < e->tolerance))
            continue;
        e->differ = one;
        e->tolerance = tolerance;
    }
    return st;
}

/* Keep the worst of the wrong elements, or of all elements while none is wrong.
 * An element with a NaN is wrong. */
static void gradcheck_judge(struct check *c, const struct gradcheck_element *e,
                            double g)
{
    double tolerance = e->tolerance + c->args.ulps * 0x1p-23 * fabs(g);
    double error = fabs(g - e->differ);
    bool wrong = !(error <= tolerance);
    double had = fabs(c->worst.gradient - c->worst.difference);
    bool worse =
        c->worst.tried == 0 || error * c->worst.tolerance > had * tolerance;
    if (wrong == c->wrong ? worse : wrong) {
        (void)snprintf(c->worst.name, sizeof(c->worst.name), "%s", e->name);
        c->worst.index = e->i;
        c->worst.gradient = g;
        c->worst.difference = e->differ;
        c->worst.tolerance = tolerance;
        c->wrong = wrong;
    }
    c->worst.tried++;
}

/* ---- parameters ---- */

static ssq_status gradcheck_try_all(struct check *c,
                                    struct gradcheck_element *e,
                                    const float *grads)
{
    size_t step = 1;
    if (c->args.samples > 0 && e->n > c->args.samples)
        step = (e->n + c->args.samples - 1) / c->args.samples;
    ssq_status st = SSQ_OK;
    for (e->i = 0; e->i < e->n && st == SSQ_OK; e->i += step) {
        st = gradcheck_differ(c, e);
        if (st == SSQ_OK)
            gradcheck_judge(c, e, (double)grads[e->i]);
    }
    /* restore the values, also after an error */
    ssq_status back = ssq_tensor_write(c->tape->queue, e->tensor, e->at,
                                       e->n * sizeof(*e->at), SSQ_F32);
    if (back == SSQ_OK)
        back = queue_wait(c->tape->queue);
    return st == SSQ_OK ? back : st;
}

static ssq_status check_param(struct check *c, const struct param *p)
{
    char name[SSQ_PARAM_NAME];
    struct gradcheck_element e = {.name = name, .tensor = p->tensor};
    e.n = (size_t)view_elements(&p->tensor->view);
    if (p->state || e.n == 0)
        return SSQ_OK;
    snprintf(name, sizeof(name), "%s", p->name);
    object_get(&e.tensor->object);
    size_t bytes = e.n * sizeof(float);
    float *grads = mem_alloc_array(e.n, sizeof(*grads));
    e.at = mem_alloc_array(e.n, sizeof(*e.at));
    ssq_status st =
        grads == NULL || e.at == NULL
            ? error_nomem("gradcheck", bytes)
            : ssq_tensor_read(c->tape->queue, p->grad, grads, bytes, SSQ_F32);
    if (st == SSQ_OK)
        st = ssq_tensor_read(c->tape->queue, p->tensor, e.at, bytes, SSQ_F32);
    if (st == SSQ_OK)
        st = queue_wait(c->tape->queue);
    if (st == SSQ_OK)
        st = gradcheck_try_all(c, &e, grads);
    object_put(&e.tensor->object);
    mem_free(grads);
    mem_free(e.at);
    return st;
}

/* Check all parameters. A gradient that the backward did not reach is zeros,
 * and is checked as well. */
static ssq_status gradcheck_check_params(struct check *c)
{
    ssq_params *params = c->tape->params;
    ssq_status st = SSQ_OK;
    size_t n = params->n, with = 0;
    for (size_t i = 0; i < n && st == SSQ_OK; i++) {
        struct param *p = &params->at[i];
        if (p->state)
            continue;
        with++;
        if (p->tensor->view.dtype != SSQ_F32)
            return error_set(SSQ_ERR_INVALID,
                             "gradcheck: \"%s\" is %s: differences need "
                             "float32",
                             p->name, ssq_dtype_name(p->tensor->view.dtype));
        st = param_grad(params, p);
    }
    if (st == SSQ_OK && with == 0)
        return error_set(SSQ_ERR_INVALID,
                         "gradcheck: there is no parameter with a gradient");
    if (st == SSQ_OK)
        st = gradcheck_backward(c);
    for (size_t i = 0; i < n && st == SSQ_OK; i++)
        st = check_param(c, &params->at[i]);
    return st;
}

static ssq_status check_arguments(const ssq_tape *tape, ssq_gradcheck_fn fn,
                                  const ssq_gradcheck_args *args,
                                  const ssq_gradcheck_report *report)
{
    static const char op[] = "gradcheck";
    if (tape == NULL || fn == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", op,
                         tape == NULL ? "tape" : "fn");
    if (args->struct_size != sizeof(*args) ||
        (report != NULL && report->struct_size != sizeof(*report)))
        return error_set(SSQ_ERR_INVALID, "%s: struct_size of %s is wrong", op,
                         args->struct_size != sizeof(*args) ? "args"
                                                            : "report");
    if (!(args->step > 0.0 && args->step < INFINITY) ||
        !(args->ulps > 0.0 && args->ulps < INFINITY))
        return error_set(SSQ_ERR_INVALID,
                         "%s: step is %g, ulps %g: expected above 0, and "
                         "finite",
                         op, args->step, args->ulps);
    return queue_check_runs(tape->queue, op);
}

ssq_status ssq_gradcheck(ssq_tape *tape, ssq_gradcheck_fn fn, void *user,
                         const ssq_gradcheck_args *args,
                         ssq_gradcheck_report *report)
{
    struct check c = {.tape = tape, .fn = fn, .user = user};
    c.args = args == NULL ? (ssq_gradcheck_args)SSQ_GRADCHECK_INIT : *args;
    c.worst = (ssq_gradcheck_report)SSQ_GRADCHECK_REPORT_INIT;
    ssq_status st = check_arguments(tape, fn, &c.args, report);
    if (st != SSQ_OK)
        return st;
    c.draws = tape->params->draws;
    c.removals = tape->params->removals;
    st = keep_states(&c);
    if (st == SSQ_OK)
        st = gradcheck_measure(&c);
    if (st == SSQ_OK)
        st = gradcheck_check_params(&c);
    st = gradcheck_restore_states(&c, st);
    ssq_params_clean(tape->params);
    mem_free(c.y);
    mem_free(c.w);
    if (report != NULL && st == SSQ_OK)
        *report = c.worst;
    if (st != SSQ_OK || !c.wrong)
        return st;
    return error_set(SSQ_ERR_INVALID,
                     "gradcheck: the gradient of \"%s\"[%llu] is %.9g, the "
                     "difference quotient %.9g, tolerance %.3g",
                     c.worst.name, (unsigned long long)c.worst.index,
                     c.worst.gradient, c.worst.difference, c.worst.tolerance);
}
