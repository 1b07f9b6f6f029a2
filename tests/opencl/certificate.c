/* SPDX-License-Identifier: Apache-2.0 */
/* certificate.c - compilers that change what a text says are found out when the
 * device is opened.
 *
 * The layer between rewrites the text on its way to the compiler, like one
 * that fuses, folds or flushes. */

#include "backends/opencl/calls.h"
#include "lib/certify/certificate.h"
#include "tests/core/driver.h"

#define PIECES 64

struct edit {
    const char *from, *to;
};

static struct {
    struct opencl_calls real;
    const struct edit *edits; /* up to one whose from is NULL */
    int made;                 /* edits that found their place */
} cl;

/* text with every from replaced, in its own memory. */
static char *rewrite(const char *text, const struct edit *e)
{
    size_t from = strlen(e->from), to = strlen(e->to);
    size_t room = strlen(text) * (1 + to / from) + to + 1, at = 0;
    char *made = malloc(room);

    if (made == NULL)
        tap_bail("no memory");
    for (const char *next; (next = strstr(text, e->from)) != NULL;) {
        memcpy(made + at, text, (size_t)(next - text));
        at += (size_t)(next - text);
        memcpy(made + at, e->to, to);
        at += to;
        text = next + from;
        cl.made++;
    }
    strcpy(made + at, text);
    return made;
}

static cl_program create(cl_context c, cl_uint n, const char **s,
                         const size_t *b, cl_int *error)
{
    char *piece[PIECES];

    if (n > PIECES || b != NULL)
        tap_bail("%u pieces", (unsigned)n);
    for (cl_uint i = 0; i < n; i++) {
        piece[i] = strdup(s[i]);
        for (const struct edit *e = cl.edits; e->from != NULL; e++) {
            char *next = rewrite(piece[i], e);
            free(piece[i]);
            piece[i] = next;
        }
    }
    cl_program p = cl.real.CreateProgramWithSource(
        c, n, (const char **)(void *)piece, NULL, error);
    for (cl_uint i = 0; i < n; i++)
        free(piece[i]);
    return p;
}

/* A device whose fma() is not an instruction. */
static cl_int no_fma(cl_device_id d, cl_device_info what, size_t bytes,
                     void *value, size_t *written)
{
    cl_int e = cl.real.GetDeviceInfo(d, what, bytes, value, written);

    if (e == CL_SUCCESS && what == CL_DEVICE_SINGLE_FP_CONFIG && value != NULL)
        *(cl_device_fp_config *)value &= ~(cl_device_fp_config)CL_FP_FMA;
    return e;
}

static ssq_status open_with(const struct edit *edits, ssq_device_props *props)
{
    ssq_device *d = NULL;

    certificate_forget();
    cl.edits = edits;
    cl.made = 0;
    ssq_status st = ssq_device_open("opencl:0", NULL, &d);
    if (st == SSQ_OK)
        NEED(ssq_device_props_get(d, props));
    ssq_device_close(&d);
    tap_ok(cl.made > 0, "the text has %d places for it", cl.made);
    return st;
}

int main(void)
{
    static const struct edit fuses[] = {
        {"((a) * (b) + (c))", "fma(a, b, c)"},
        {"s.lo = (a - (s.hi - t)) + (b - t);", "s.lo = 0.0f;"},
        {"mul_hi(a, b)", "(mul_hi(a, b) & 0xfffffffeu)"},
        {NULL, NULL}};
    static const struct edit flushes[] = {
        {"EXACT float value = VALUE;",
         "EXACT float value = VALUE; "
         "value = fabs(value) < 1.17549435e-38f ? 0.0f * value : value;"},
        {NULL, NULL}};
    static const struct edit hurries[] = {
        {"barrier(CLK_LOCAL_MEM_FENCE)", "((void)0)"}, {NULL, NULL}};
    static const struct edit lacks_fma[] = {
        {"#define FMA(a, b, c) fma(a, b, c)",
         "#define FMA(a, b, c) there_is_none(a, b, c)"},
        {NULL, NULL}};
    ssq_device_props props = SSQ_DEVICE_PROPS_INIT;

    setenv("SSQ_CACHE", "0", 1);
    if (driver_missing("opencl"))
        return tap_done(0);
    struct opencl_calls *table = driver_symbol("opencl", "ssq_opencl_calls");
    cl.real = *table;
    table->CreateProgramWithSource = create;
    core_status(open_with(fuses, &props), SSQ_ERR_UNSUPPORTED,
                "product and sum apart|, two sum|high product",
                "a compiler that fuses, folds and forgets a bit");
    tap_ok(!core_has(ssq_last_error(), "floor"), "and does nothing else");
    tap_ok(open_with(flushes, &props) == SSQ_OK &&
               props.f32_subnormals == SSQ_SUBNORMALS_FLUSHED,
           "a compiler that flushes: the device says so");
    core_status(open_with(lacks_fma, &props), SSQ_ERR_UNSUPPORTED,
                "wrong are: ", "a library without fma() that says it has it");
    table->GetDeviceInfo = no_fma;
    tap_ok(open_with(lacks_fma, &props) == SSQ_OK &&
               props.f32_subnormals == SSQ_SUBNORMALS_PRESERVED,
           "a device without fma() does products and sums");
    table->GetDeviceInfo = cl.real.GetDeviceInfo;
    setenv("SSQ_OPENCL_GROUP", "64", 1);
    core_status(open_with(hurries, &props), SSQ_ERR_UNSUPPORTED,
                "wrong are: ", "items that do not wait for each other");
    return tap_done(0);
}
