/* SPDX-License-Identifier: Apache-2.0 */
/* matrix_units.c - ssq_gemm_explain says why no gemm on PoCL runs on matrix
 * units: the driver's support for them, and the reasons against mma and
 * CLBlast. */

#include "backends/opencl/calls.h"
#include "tests/core/driver.h"

#include <sesqui/ops/gemm.h>

static struct {
    struct opencl_calls real;
    const char *extensions; /* NULL: the driver fails to name them */
} cl;

/* A driver with these extensions. */
static cl_int names(cl_device_id d, cl_device_info what, size_t bytes,
                    void *value, size_t *written)
{
    if (what != CL_DEVICE_EXTENSIONS)
        return cl.real.GetDeviceInfo(d, what, bytes, value, written);
    if (cl.extensions == NULL)
        return CL_OUT_OF_RESOURCES;
    if (written != NULL)
        *written = strlen(cl.extensions) + 1;
    if (value != NULL)
        snprintf(value, bytes, "%s", cl.extensions);
    return CL_SUCCESS;
}

static ssq_gemm_explanation explain(ssq_device *dev, ssq_dtype dtype)
{
    const int64_t shape[2] = {16, 16};
    ssq_gemm_explanation x = SSQ_GEMM_EXPLANATION_INIT;
    ssq_queue *q = core_queue(dev);
    ssq_tensor *a = NULL, *d = NULL;

    NEED(ssq_tensor_create(dev, dtype, 2, shape, &a));
    NEED(ssq_tensor_create(dev, dtype, 2, shape, &d));
    NEED(ssq_gemm_explain(q, SSQ_GEMM(.a = a, .b = a, .d = d), &x));
    tap_ok(!x.matrix_units, "%s by %s: %s", ssq_dtype_name(dtype),
           x.implementation, x.condition);
    ssq_tensor_destroy(&a);
    ssq_tensor_destroy(&d);
    ssq_queue_destroy(&q);
    return x;
}

static bool says(ssq_device *dev, const char *part)
{
    return core_has(explain(dev, SSQ_F16).condition, part) &&
           core_has(explain(dev, SSQ_F32).condition, part);
}

int main(void)
{
    ssq_device *dev = NULL;

    if (driver_missing("opencl"))
        return tap_done(0);
    struct opencl_calls *table = driver_symbol("opencl", "ssq_opencl_calls");
    NEED(ssq_device_open("opencl:0", NULL, &dev));
    cl.real = *table;
    table->GetDeviceInfo = names;
    cl.extensions = "cl_khr_fp64 cl_some_matrix_multiply cl_khr_icd";
    tap_ok(says(dev, "no kernel uses the driver's cl_some_matrix_multiply"),
           "an extension that is there and not used is named");
    cl.extensions = "cl_khr_fp64 cl_khr_icd";
    tap_ok(says(dev, "the driver has no extension for matrix units"),
           "and that there is none");
    cl.extensions = NULL;
    tap_ok(says(dev, "the driver does not name its extensions"),
           "and that the driver did not say");
    ssq_gemm_explanation x = explain(dev, SSQ_F16);
    tap_ok(core_has(x.condition, "; mma: it is for NVIDIA's GPUs"),
           "what keeps mma away");
    const char *own = ssq_implementation_name(dev, "gemm", 1);
    if (own == NULL || strcmp(own, "clblast") != 0)
        tap_skip("configured without CLBlast", "what keeps CLBlast away");
    else
        tap_ok(core_has(x.condition, "tiled uses none") &&
                   core_has(x.condition, "; clblast: a, b and d must be f32"),
               "what keeps CLBlast away");
    table->GetDeviceInfo = cl.real.GetDeviceInfo;
    ssq_device_close(&dev);
    return tap_done(12);
}
