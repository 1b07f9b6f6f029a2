/* SPDX-License-Identifier: Apache-2.0 */
/* total.c - a sum of many f32s as one or two launches. */
#include "lib/plan/reduce/total.h"

#include "kernels/reduce/total_args.h"

/* What one group sums; more is divided into so many. */
#define CHUNK 4096u

/* Sums of chunks, or with one chunk the sum of all, divided where a divisor is
 * given. */
static void sums(struct plan *p, const struct view *x, uint32_t n,
                 uint32_t chunk, float count, const struct view *divisor,
                 const struct view *y)
{
    struct total_args a = {.n = n,
                           .chunk = chunk,
                           .tasks = (uint32_t)size_div_up(n, chunk),
                           .divide = divisor->buffer != NULL,
                           .count = count};
    plan_kernel(p, KERNEL_total, KEYS(0));
    plan_bind(p, x, ACCESS_READ);
    plan_bind(p, divisor, ACCESS_READ);
    plan_bind(p, y, ACCESS_WRITE);
    plan_groups(p, &a, sizeof(a), a.tasks,
                LOOPS_FEW + loops_shared(plan_limits(p), chunk, 0));
}

void plan_total(struct plan *p, const struct view *x, uint64_t n, float count,
                const struct view *divisor, const struct view *y)
{
    const struct view none = {.dtype = SSQ_F32, .buffer = NULL};
    struct view part;
    if (n <= 2 * CHUNK) {
        sums(p, x, (uint32_t)n, (uint32_t)n, count, divisor, y);
        return;
    }
    uint32_t parts = (uint32_t)size_div_up(n, CHUNK);
    plan_scratch(p, SSQ_F32, parts, &part);
    sums(p, x, (uint32_t)n, CHUNK, 1.0f, &none, &part);
    sums(p, &part, parts, parts, count, divisor, y);
}

/* A product with a power of two rounds nothing but what becomes subnormal. */
float plan_scale(uint64_t n)
{
    float scale = 1.0f;
    for (uint64_t most = 1; most < n; most *= 2)
        scale *= 0.5f;
    return scale;
}
