/* SPDX-License-Identifier: Apache-2.0 */
/* matrix_units.c - whether a gemm on OpenCL runs on matrix units.
 *
 * OpenCL has no ratified way to them. NVIDIA's compiler takes the instructions
 * themselves, which mma uses. Some drivers bring their own way, which no
 * kernel here uses: a caller only needs to know if the device has one, and
 * so whether Vulkan on the same device is worth a look. */
#include "backends/opencl/opencl.h"

#include "lib/op/gemm/gemm.h"

#include <stdio.h>
#include <string.h>

/* The first word of a list between blanks that contains part; NULL: none. The
 * list is cut up. */
static const char *word_with(char *list, const char *part)
{
    char *rest = NULL;
    for (char *w = strtok_r(list, " ", &rest); w != NULL;
         w = strtok_r(NULL, " ", &rest))
        if (strstr(w, part) != NULL)
            return w;
    return NULL;
}

void opencl_gemm_explain(const struct backend_device *d,
                         const struct gemm_op *op, unsigned impl,
                         struct gemm_explanation *e)
{
    (void)op;
    if (impl != GEMM_BY_PLAN && opencl_is_mma(impl)) {
        e->matrix_units = true;
        e->block = mma_block(d->mma->capability);
        return;
    }
    if (d->mma != NULL)
        return; /* its check() tells why it was not this one */
    /* true of the plan's kernels and of CLBlast's */
    size_t bytes = 0;
    char *list = NULL;
    if (CL(GetDeviceInfo)(d->id, CL_DEVICE_EXTENSIONS, 0, NULL, &bytes) ==
        CL_SUCCESS)
        list = d->core->mem_alloc(bytes + 1);
    bool known =
        list != NULL && CL(GetDeviceInfo)(d->id, CL_DEVICE_EXTENSIONS, bytes,
                                          list, NULL) == CL_SUCCESS;
    const char *word = known ? word_with(list, "matrix") : NULL;
    if (word != NULL)
        snprintf(e->condition, sizeof(e->condition),
                 "no kernel uses the driver's %.64s", word);
    else
        snprintf(e->condition, sizeof(e->condition),
                 known ? "the driver has no extension for matrix units"
                       : "the driver does not name its extensions");
    d->core->mem_free(list);
}
