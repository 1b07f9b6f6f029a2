/* SPDX-License-Identifier: Apache-2.0 */
/* golden.c - the gradients of every op of a tape against torch's in float64:
 * golden.txt, which golden.py has made; it says what its lines are.
 *
 * A gradient is a sum of at most as many terms as y has elements, each formed
 * by few operations. With ROUNDINGS for a term and one for each addition it is
 * within (ROUNDINGS + elements of y) 2^-24 of the sum of the terms' magnitudes
 * (Higham, Accuracy and Stability of Numerical Algorithms, 4.2), of which the
 * file has the largest of a case. */
#include "tests/tape/penalty.h"

#include <math.h>

#define ROUNDINGS 16

/* ---- the file ---- */

static char *text;

static void load(void)
{
    const char *top = getenv("srcdir");
    char path[512];
    snprintf(path, sizeof(path), "%s/tests/tape/golden.txt",
             top == NULL ? "." : top);
    FILE *f = fopen(path, "rb");
    if (f == NULL || fseek(f, 0, SEEK_END) != 0)
        tap_bail("cannot read %s", path);
    long n = ftell(f);
    text = malloc((size_t)n + 1);
    rewind(f);
    if (text == NULL || fread(text, 1, (size_t)n, f) != (size_t)n)
        tap_bail("cannot read %s", path);
    text[n] = '\0';
    fclose(f);
}

/* The next line of a case behind from, or the first; NULL: there is none. */
static const char *line_of(const char *name, const char *from)
{
    size_t n = strlen(name);
    const char *line = from == NULL ? text : strchr(from, '\n') + 1;
    while (*line != '\0' && (strncmp(line, name, n) != 0 || line[n] != ' '))
        line = strchr(line, '\n') + 1;
    return *line == '\0' ? NULL : line;
}

/* Return the numbers of a line, or NULL if it has another parameter. */
static const char *numbers(const char *line, const char *parameter)
{
    const char *at = strchr(line, ' ') + 1;
    size_t n = strlen(parameter);
    return strncmp(at, parameter, n) == 0 && at[n] == ' ' ? at + n : NULL;
}

/* ---- a pass ---- */

static float *host(const ssq_tensor *t)
{
    float *x = malloc(((size_t)ssq_tensor_elements(t) + 1) * sizeof(*x));
    if (x == NULL)
        tap_bail("no memory");
    return x;
}

static void put(const struct tape_rig *r, const ssq_tensor *t, const float *x)
{
    NEED(ssq_tensor_write(
        r->queue, t, x, (size_t)ssq_tensor_elements(t) * sizeof(*x), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
}

/* Parameters as golden.py has them. */
static void set(const struct tape_rig *r)
{
    for (size_t i = 0; i < ssq_params_count(r->params); i++) {
        ssq_param_info info = SSQ_PARAM_INFO_INIT;
        NEED(ssq_params_get(r->params, i, &info));
        float *x = host(info.tensor);
        int64_t a = 0;
        for (const char *c = info.name; *c != '\0'; c++)
            a += *c;
        a = 1 + a % 13;
        for (int64_t k = 0; k < ssq_tensor_elements(info.tensor); k++)
            x[k] = (float)((k * a + 3) % 31 - 15) / 16.0f;
        put(r, info.tensor, x);
        free(x);
    }
}

/* The gradients of sum(w y). */
static void differentiate(const struct tape_rig *r, ssq_var y)
{
    const ssq_tensor *t = ssq_var_tensor(y);
    if (t == NULL)
        tap_bail("%s", ssq_tape_status(r->tape) == SSQ_OK ? "no result"
                                                          : ssq_last_error());
    ssq_tensor *w = penalty_weights(r, t);
    ssq_var loss = ssq_sum_var(ssq_mul_var(y, ssq_var_input(r->tape, w)), NULL);
    NEED(ssq_tape_backward(r->tape, loss, NULL));
    ssq_tensor_destroy(&w);
}

/* ---- the comparison ---- */

struct golden_worst {
    char parameter[SSQ_PARAM_NAME];
    int64_t index;
    double got, want, part; /* share of the bound */
};

static void compare(const struct tape_rig *r, const ssq_param_info *info,
                    const char *line, struct golden_worst *worst)
{
    char *at;
    double terms = strtod(numbers(line, info->name), &at);
    double largest = strtod(at, &at);
    double allowed = (ROUNDINGS + terms) * 0x1p-24 * largest;
    float *g = host(info->grad);
    int64_t n = ssq_tensor_elements(info->grad);
    NEED(ssq_tensor_read(r->queue, info->grad, g, (size_t)n * sizeof(*g),
                         SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    for (int64_t k = 0; k < n; k++) {
        char *from = at;
        double want = strtod(from, &at), off = fabs((double)g[k] - want);
        if (at == from || strchr("\n ", *at) == NULL)
            tap_bail("%s: %lld numbers, expected %lld", info->name,
                     (long long)k, (long long)n);
        double part = off == 0.0 ? 0.0 : off / allowed;
        if (part <= worst->part)
            continue;
        *worst = (struct golden_worst){"", k, (double)g[k], want, part};
        snprintf(worst->parameter, sizeof(worst->parameter), "%s", info->name);
    }
    if (*at != '\n')
        tap_bail("%s: more than %lld numbers", info->name, (long long)n);
    free(g);
}

/* Each parameter has a line, and each line a parameter. */
static size_t compare_all(const struct tape_rig *r, const char *name,
                          struct golden_worst *worst)
{
    size_t n = 0;
    for (const char *line = NULL; (line = line_of(name, line)) != NULL; n++)
        continue;
    for (size_t i = 0; i < ssq_params_count(r->params); i++) {
        ssq_param_info info = SSQ_PARAM_INFO_INIT;
        const char *line = NULL;
        NEED(ssq_params_get(r->params, i, &info));
        if (info.grad == NULL)
            continue;
        do
            line = line_of(name, line);
        while (line != NULL && numbers(line, info.name) == NULL);
        if (line == NULL) {
            tap_diag("%s has no line for %s", name, info.name);
            return 0;
        }
        compare(r, &info, line, worst);
        n--;
    }
    if (n != 0)
        tap_diag("%s has %lld lines for no parameter", name, (long long)n);
    return n == 0 ? ssq_params_count(r->params) : 0;
}

/* Compare case i with the lines of a name, which begins with second_ for a
 * second derivative. Returns the count of compare_all(). */
static size_t run(const char *device, size_t i, const char *name,
                  struct golden_worst *worst)
{
    struct tape_rig r = rig_open(device, NULL);
    struct data d;
    struct penalty p = {.rig = &r, .data = &d, .i = i};
    data_fill(&r, &d);
    ssq_tape_begin(r.tape, true);
    (void)cases[i].fn(r.tape, &d);
    set(&r);
    ssq_params_clean(r.params);
    ssq_tape_begin(r.tape, true);
    if (strncmp(name, "second_", 7) == 0)
        NEED(ssq_tape_backward(r.tape, penalty_fn(r.tape, &p), NULL));
    else
        differentiate(&r, cases[i].fn(r.tape, &d));
    size_t n = compare_all(&r, name, worst);
    ssq_tensor_destroy(&p.w);
    data_drop(&d);
    rig_close(&r);
    return n;
}

static void check(const char *device, size_t i, const char *order)
{
    struct golden_worst worst = {"", 0, 0.0, 0.0, 0.0};
    char name[64];
    snprintf(name, sizeof(name), "%s%s", order, cases[i].name);
    size_t n = run(device, i, name, &worst);
    tap_ok(n != 0 && worst.part <= 1.0,
           "%s: %s: %zu parameters, worst %s[%lld] %.9g, torch's %.9g, %.2g of "
           "the bound",
           device, name, n, worst.parameter, (long long)worst.index, worst.got,
           worst.want, worst.part);
}

/* The first case is relu, and gelu's two forms are within 1e-3 of each other.
 */
static void wrong(void)
{
    static const char *const others[] = {"leaky_relu", "add", "none"};
    struct golden_worst worst = {"", 0, 0.0, 0.0, 0.0};
    size_t n = run("reference", 0, others[0], &worst);
    tap_ok(n == 1 && worst.part > 1.0, "relu is not %s: %.2g of the bound",
           others[0], worst.part);
    tap_ok(run("reference", 0, others[1], &worst) == 0,
           "relu has not the parameters of %s", others[1]);
    tap_ok(run("reference", 0, others[2], &worst) == 0, "there is no case %s",
           others[2]);
    worst.part = 0.0;
    n = run("reference", 0, "second_leaky_relu", &worst);
    tap_ok(n == 1 && worst.part > 1.0,
           "nor are its second derivatives: %.2g of the bound", worst.part);
    for (size_t i = 0; i < N; i++) {
        if (strcmp(cases[i].name, "gelu") != 0)
            continue;
        worst.part = 0.0;
        n = run("reference", i, "gelu_tanh", &worst);
        tap_ok(n == 1 && worst.part > 1.0,
               "gelu is not gelu_tanh: %.2g of the bound", worst.part);
    }
}

int main(void)
{
    long n = 0;
    load();
    for (size_t i = 0; i < N; i++)
        for (size_t d = 0; d < 2 && cases[i].torch; d++) {
            check(core_device(d), i, "");
            n++;
            if (!cases[i].twice)
                continue;
            check(core_device(d), i, "second_");
            n++;
        }
    wrong();
    free(text);
    return tap_done(n + 5);
}
