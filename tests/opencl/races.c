/* SPDX-License-Identifier: Apache-2.0 */
/* races.c - small cases of every table, for races.sh to run under Oclgrind,
 * which interprets kernels and writes down what they do wrong.
 *
 * usage: races seed    a plain OpenCL kernel with one data race
 *        races tables  a few cases of each table, and a training program
 */

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "tests/api/training.h"
#include "conformance/suite_run.h"
#include "tests/core/driver.h"

/* Cases of each table, of the LOOKED_AT that are considered, and the limits of
 * their memory and operations, because the interpreter is slow. */
#define CASES      1
#define LOOKED_AT  16
#define MOST_BYTES (24 << 10)
#define MOST_FLOPS 1e5

static const char racing[] =
    "kernel void race(global int *x) { x[0] = (int)get_local_id(0); }";

static int seed(void)
{
    const char *text = racing;
    const size_t items = 4;
    cl_platform_id platform;
    cl_device_id id;
    cl_int e = clGetPlatformIDs(1, &platform, NULL);

    if (e == CL_SUCCESS)
        e = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, NULL);
    if (e != CL_SUCCESS)
        return 1;
    cl_context c = clCreateContext(NULL, 1, &id, NULL, NULL, &e);
    cl_command_queue q = clCreateCommandQueue(c, id, 0, &e);
    cl_mem x = clCreateBuffer(c, CL_MEM_READ_WRITE, sizeof(int), NULL, &e);
    cl_program p = clCreateProgramWithSource(c, 1, &text, NULL, &e);
    if (clBuildProgram(p, 1, &id, "", NULL, NULL) != CL_SUCCESS)
        return 1;
    cl_kernel k = clCreateKernel(p, "race", &e);
    if (clSetKernelArg(k, 0, sizeof(x), &x) != CL_SUCCESS ||
        clEnqueueNDRangeKernel(q, k, 1, NULL, &items, &items, 0, NULL, NULL) !=
            CL_SUCCESS ||
        clFinish(q) != CL_SUCCESS)
        return 1;
    clReleaseKernel(k);
    clReleaseProgram(p);
    clReleaseMemObject(x);
    clReleaseCommandQueue(q);
    clReleaseContext(c);
    return 0;
}

static struct harness harness_open(const char *device,
                                   struct harness_state *state)
{
    struct harness b = {.props = SSQ_DEVICE_PROPS_INIT, .state = state};

    b.device = core_open(device);
    b.queue = core_queue(b.device);
    NEED(ssq_device_props_get(b.device, &b.props));
    return b;
}

static void harness_close(struct harness *b)
{
    ssq_queue_destroy(&b->queue);
    ssq_device_close(&b->device);
}

/* Run on the reference, whose bits the device's are compared with. */
static bool is_small(const struct suite *s, size_t i,
                     struct harness_state *state)
{
    ssq_memory_info m = SSQ_MEMORY_INFO_INIT;
    struct harness b = harness_open("reference", state);

    harness_case_begin(state, false);
    b.impl = ssq_implementation_name(b.device, s->op, 0);
    bool ok = harness_run(&b, s, i, false) && !b.skipped;
    NEED(ssq_device_memory(b.device, &m));
    harness_close(&b);
    return ok && m.peak > 0 && m.peak <= MOST_BYTES && b.flops <= MOST_FLOPS;
}

/* The plan of an op: it comes last. */
static const char *plan_of(const ssq_device *device, const char *op)
{
    const char *name = NULL, *next;

    for (size_t i = 0; (next = ssq_implementation_name(device, op, i)) != NULL;
         i++)
        name = next;
    return name;
}

static void run_table(const struct suite *s, struct harness *device)
{
    size_t step = s->n / LOOKED_AT + 1;
    int ran = 0;

    device->impl = plan_of(device->device, s->op);
    NEED(ssq_implementation_pin(device->device, s->op, device->impl));
    for (size_t i = 0; i < s->n && ran < CASES; i += step) {
        char text[256];

        if (!is_small(s, i, device->state))
            continue;
        s->describe(i, text, sizeof(text));
        bool ok = harness_run(device, s, i, false);
        if (device->skipped)
            tap_skip(device->text, "%s", text);
        else if (!tap_ok(ok, "%s", text))
            tap_diag("%s", device->text);
        ran++;
    }
    NEED(ssq_implementation_pin(device->device, s->op, NULL));
}

/* All stages, on the device and on the reference. */
static void run_training(void)
{
    struct training p[2] = {{.name = "reference"}, {.name = "opencl:0"}};

    for (int d = 0; d < 2; d++) {
        for (size_t i = 0; i < TRAINING_STAGES; i++) {
            ssq_status st = training_stages[i].run(&p[d]);

            if (st != SSQ_OK && st != SSQ_ERR_NOT_READY)
                tap_bail("%s: %s: %s", p[d].name, training_stages[i].name,
                         ssq_last_error());
        }
        training_close(&p[d]);
    }
    tap_ok(p[1].state.updates == 4 && p[1].loss < 1.6f &&
               p[1].loss - p[0].loss < 1e-3f && p[0].loss - p[1].loss < 1e-3f,
           "training ends with loss %g, on the reference %g", (double)p[1].loss,
           (double)p[0].loss);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "seed") == 0)
        return seed();
    struct harness_state *state = harness_state_create();
    struct harness device = harness_open("opencl:0", state);
    tap_ok(core_has(device.props.description, "Oclgrind"),
           "the device is Oclgrind's: %s", device.props.description);
    for (size_t i = 0; suites[i] != NULL; i++)
        run_table(suites[i], &device);
    harness_close(&device);
    harness_state_destroy(state);
    run_training();
    return tap_done(55);
}
