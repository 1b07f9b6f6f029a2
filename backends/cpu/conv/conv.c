/* SPDX-License-Identifier: Apache-2.0 */
/* conv.c - convolution and its gradients, by planes of which taps are shifts
 * (conv_kernels.h): only padding is copied.
 *
 *     dot      bf16 times bf16 by vdpbf16ps, two at a time
 *     planes   all other cases */
#include "backends/cpu/conv/conv.h"

#include "backends/cpu/conv/conv_planes.h"
#include "backends/cpu/conv/conv_run.h"
#include "backends/cpu/cpu.h"
#include "lib/core/base/size.h"

#include <stdatomic.h>

/* Tasks are counted in 32 bits; an eighth is left for bands and parts. */
#define MOST_IMAGES (INT64_C(1) << 29)
/* Most words of the filter. */
#define MOST_FILTER (INT64_C(1) << 28)

ISA_KERNELS(conv_kernels)
#if CPU_AVX512
extern const struct conv_kernels conv_dot_avx512;
#endif

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

static ssq_status conv_run_planes(struct backend_queue *queue,
                                  const struct conv_op *op)
{
    struct backend_device *d = queue->device;
    const struct conv_means means = {kernels_of(d->isa), &d->features, d->team,
                                     &d->scratch};
    return op->kind == CONV_WEIGHT ? conv_weight_run(op, &means)
                                   : conv_run(op, &means);
}

/* ---- pairs of bf16 ---- */

#if CPU_AVX512
/* Elements that a thread examines at a time. */
#define SCAN (INT64_C(1) << 16)

struct conv_scan {
    const struct conv_kernels *kernels;
    const char *data;
    int64_t n;
    atomic_bool odd;
};

static void scan_task(void *context, uint32_t i, uint32_t worker)
{
    struct conv_scan *s = context;
    int64_t from = i * SCAN;
    (void)worker;
    if (!s->kernels->even(s->data + 2 * from, size_least(SCAN, s->n - from)))
        atomic_store(&s->odd, true);
}

/* True if no element of a factor could lead to a subnormal sum. */
static bool is_even(const struct conv_kernels *kernels, const struct view *v,
                    struct team *team)
{
    struct conv_scan s = {kernels, view_host(v), (int64_t)view_elements(v)};
    int64_t tasks = size_div_up(s.n, SCAN);
    if (tasks == 1)
        scan_task(&s, 0, 0);
    else
        parallel_for(team, (uint32_t)tasks, scan_task, &s);
    return !atomic_load(&s.odd);
}
#endif

/* True if a view has no gaps between its first and last element. */
static bool conv_is_whole(const struct view *v)
{
    int64_t span = 1;
    for (int i = 0; i < v->rank; i++)
        span += (v->shape[i] - 1) * v->stride[i];
    return span == (int64_t)view_elements(v);
}

/* Set v to the factors, the image first. */
static void factors_of(const struct conv_op *op, const struct view *v[2])
{
    v[0] = op->kind == CONV_DATA ? &op->map : &op->image;
    v[1] = op->kind == CONV_WEIGHT ? &op->map : &op->filter;
}

static bool check_bf16(const struct view *v, struct why *why)
{
    if (v->dtype != SSQ_BF16)
        return refuse(why, "a factor is %s: vdpbf16ps multiplies bf16",
                      ssq_dtype_name(v->dtype));
    if (!conv_is_whole(v))
        return refuse(why, "a factor's elements have gaps");
    return true;
}

/* Pairs are channels, or positions for the gradient of weights. The result
 * depends only on the processor and on shapes, as for GEMM. */
static bool conv_check_dot(const struct backend_device *d,
                           const struct conv_op *op, struct why *why)
{
    const struct view *v[2];
    factors_of(op, v);
    if (!check_bf16(v[0], why) || !check_bf16(v[1], why))
        return false;
    if (d->isa->dot == NULL)
        return refuse(why, "it is code for avx512, this is %s", d->isa->name);
    if (!d->features.avx512_bf16)
        return refuse(why, "the processor has no avx512_bf16");
    if (!d->features.amd)
        return refuse(why, "no faster than FMA on processors but AMD's");
    if (op->kind != CONV_WEIGHT && v[0]->shape[2] < 2)
        return refuse(why, "a group of one channel has no pairs");
    if (v[0]->stride[4] != 1)
        return refuse(why, "a row's elements are not adjacent");
    return check_planes(d, op, why);
}

/* Run as float32 if a sum could be flushed. */
static ssq_status conv_run_dot(struct backend_queue *queue,
                               const struct conv_op *op)
{
#if CPU_AVX512
    struct backend_device *d = queue->device;
    const struct conv_means means = {&conv_dot_avx512, &d->features, d->team,
                                     &d->scratch};
    const struct view *v[2];
    factors_of(op, v);
    if (is_even(means.kernels, v[1], d->team) &&
        is_even(means.kernels, v[0], d->team))
        return op->kind == CONV_WEIGHT ? conv_weight_run(op, &means)
                                       : conv_run(op, &means);
#endif
    return conv_run_planes(queue, op);
}

const struct conv_impl cpu_conv[] = {
    {.name = "dot", .check = conv_check_dot, .run = conv_run_dot},
    {.name = "planes", .check = check_planes, .run = conv_run_planes},
    {.name = NULL},
};
