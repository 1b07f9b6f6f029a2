/* SPDX-License-Identifier: Apache-2.0 */
/* conv.c - convolution and its gradients, by planes that taps are shifts of
 * (conv_kernels.h): nothing is gathered but the padding. */
#include "backends/cpu/conv.h"

#include "backends/cpu/conv_planes.h"
#include "backends/cpu/conv_run.h"
#include "backends/cpu/cpu.h"

/* Tasks are counted in 32 bits, an eighth of which is for bands and parts. */
#define MOST_IMAGES (INT64_C(1) << 29)
/* Most words of the filter. */
#define MOST_FILTER (INT64_C(1) << 28)

extern const struct conv_kernels conv_kernels_plain;
#ifdef __x86_64__
extern const struct conv_kernels conv_kernels_avx2, conv_kernels_avx512;
#endif

/* Those of the device's instructions: a tile has two of its vectors. */
static const struct conv_kernels *kernels_of(const struct isa *isa)
{
    static const struct conv_kernels *const all[] = {
#ifdef __x86_64__
        &conv_kernels_avx512, &conv_kernels_avx2,
#endif
        &conv_kernels_plain};
    const struct conv_kernels *const *k = all;
    while ((*k)->columns != 2 * isa->width)
        k++;
    return *k;
}

static bool check_planes(const struct backend_device *d,
                         const struct conv_op *op, struct why *why)
{
    const struct slide *h = &op->slide[HEIGHT], *w = &op->slide[WIDTH];
    (void)d;
    if (!conv_planes_check(op, why))
        return false;
    if (op->n == 0 || op->c == 0 || op->o == 0 || h->map == 0 || w->map == 0 ||
        h->image == 0 || w->image == 0)
        return refuse(why, "nothing is multiplied");
    if (op->n > MOST_IMAGES / op->groups / (h->map + h->image))
        return refuse(why, "%lld images in %lld groups are too many tasks",
                      (long long)op->n, (long long)op->groups);
    if (op->c > MOST_FILTER / op->groups / op->o / (h->window * w->window))
        return refuse(why, "a filter of %lld by %lld channels is too large",
                      (long long)op->o, (long long)op->c);
    return true;
}

static ssq_status run_planes(struct backend_queue *queue,
                             const struct conv_op *op)
{
    struct backend_device *d = queue->device;
    const struct conv_means means = {kernels_of(d->isa), &d->features, d->team,
                                     &d->scratch};
    return op->kind == CONV_WEIGHT ? conv_weight_run(op, &means)
                                   : conv_run(op, &means);
}

const struct conv_impl cpu_conv[] = {
    {.name = "planes", .check = check_planes, .run = run_planes},
    {.name = NULL},
};
