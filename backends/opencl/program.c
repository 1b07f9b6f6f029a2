/* SPDX-License-Identifier: Apache-2.0 */
/* program.c - kernel texts made into programs of a device.
 *
 * Nothing that changes a number is asked of the compiler: no -cl-fast-*, no
 * -cl-mad-enable, no -cl-denorms-are-zero. */
#include "backends/opencl/opencl.h"

#include <stdio.h>
#include <string.h>

#include "kernels/kernel_text.h"

/* Append to options; they are far shorter than their room. */
static void add(char *text, size_t bytes, const char *name, unsigned value)
{
    size_t at = strlen(text);
    snprintf(text + at, bytes - at, " -D%s=%u", name, value);
}

static void options_of(const struct backend_device *d,
                       const struct kernel *kernel,
                       const uint8_t key[LAUNCH_KEYS], char *text, size_t bytes)
{
    snprintf(text, bytes, "-cl-std=CL1.2");
    if (d->exact_div) {
        size_t at = strlen(text);
        snprintf(text + at, bytes - at,
                 " -cl-fp32-correctly-rounded-divide-sqrt -DNATIVE_EXACT_DIV");
    }
    add(text, bytes, "WG", d->group);
    add(text, bytes, "WIDTH", d->width);
    for (uint32_t i = 0; i < kernel->nkeys; i++)
        add(text, bytes, kernel->keys[i], key[i]);
}

/* What the compiler says, as far as it fits into an error text. */
static ssq_status build_error(struct backend_device *d, cl_program program,
                              const struct kernel *kernel, const char *options,
                              cl_int error)
{
    size_t bytes = 0;
    char *text = NULL;
    if (CL(GetProgramBuildInfo)(program, d->id, CL_PROGRAM_BUILD_LOG, 0, NULL,
                                &bytes) == CL_SUCCESS)
        text = opencl_core->mem_alloc(bytes + 1);
    if (text != NULL &&
        CL(GetProgramBuildInfo)(program, d->id, CL_PROGRAM_BUILD_LOG, bytes,
                                text, NULL) != CL_SUCCESS)
        text[0] = '\0';
    ssq_status st = opencl_core->error_set(
        SSQ_ERR_DEVICE,
        "opencl: kernel %s (%s): clBuildProgram: %s (%d)\n%.600s", kernel->name,
        options, opencl_error_name(error), (int)error,
        text == NULL ? "" : text);
    opencl_core->mem_free(text);
    return st;
}

ssq_status opencl_program_create(struct backend_device *device,
                                 const struct kernel *kernel,
                                 const uint8_t key[LAUNCH_KEYS],
                                 cl_program *program)
{
    char options[384];
    options_of(device, kernel, key, options, sizeof(options));
    const struct kernel_text *text = &kernel_texts[kernel->id];
    const char *pieces[64];
    for (uint32_t i = 0; i < text->n && i < 64; i++)
        pieces[i] = text->piece[i];
    cl_int e;
    cl_program p =
        CL(CreateProgramWithSource)(device->context, text->n, pieces, NULL, &e);
    if (p == NULL)
        return opencl_create_error("clCreateProgramWithSource", e);
    e = CL(BuildProgram)(p, 1, &device->id, options, NULL, NULL);
    if (e != CL_SUCCESS) {
        ssq_status st = build_error(device, p, kernel, options, e);
        (void)CL(ReleaseProgram)(p);
        return st;
    }
    *program = p;
    return SSQ_OK;
}
