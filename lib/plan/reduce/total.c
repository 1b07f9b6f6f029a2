/* SPDX-License-Identifier: Apache-2.0 */
/* total.c - the sum of many float32s in one or two launches. */
#include "lib/plan/reduce/total.h"

#include "kernels/reduce/total_args.h"

/* Elements that one group adds. A longer sum is divided into such chunks. */
#define CHUNK 4096u

/* Record the sums of chunks, each divided by count and by the divisor, if
 * present. A single chunk is the sum of all. */
static void total_sums(struct plan *p, const struct view *x, uint32_t n,
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
        total_sums(p, x, (uint32_t)n, (uint32_t)n, count, divisor, y);
        return;
    }
    uint32_t parts = (uint32_t)size_div_up(n, CHUNK);
    plan_scratch(p, SSQ_F32, parts, &part);
    total_sums(p, x, (uint32_t)n, CHUNK, 1.0f, &none, &part);
    total_sums(p, &part, parts, parts, count, divisor, y);
}

/* Multiplication by a power of two only rounds results that become
 * subnormal. */
float plan_scale(uint64_t n)
{
    float scale = 1.0f;
    for (uint64_t most = 1; most < n; most *= 2)
        scale *= 0.5f;
    return scale;
}
