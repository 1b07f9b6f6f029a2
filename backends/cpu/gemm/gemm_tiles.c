/* SPDX-License-Identifier: Apache-2.0 */
/* gemm_tiles.c - the rules of `amx`.
 *
 * The tiles multiply bf16 directly, and f16 if they support it. Otherwise each
 * f16 is the sum of two bf16, and a product is four products of these, or three
 * if the caller allows it: low by low is left out. */
#include "backends/cpu/gemm/gemm_tiles.h"

#include "backends/cpu/cpu.h"
#include "backends/cpu/gemm/gemm_batch.h"
#include "lib/core/base/size.h"

/* Fewer rows or columns are read faster in place, by `packed`, than they are
 * packed. Halves are twice as many, and take longer to make. */
#define FEWEST        8
#define FEWEST_HALVES 32

/* Elements of k that a tile multiplies at a time. */
#define STEP 32

/* (1 + 2^-7)^2 and 1, as multiples of 2^-14: the factor by which splitting into
 * halves enlarges sums of absolute values. */
#define HALVES 16641
#define WHOLE  16384
/* Low by low, at most 2^-16 of a product, in units of 2^-24. */
#define LEFT_OUT 256

/* A term is affected by the roundings of its chain in a step, of the sum of
 * even and odd products, and of all later sums of steps; then alpha's
 * and beta c. Derived in doc/design/numbers.md, section 5. */
bool tiles_bounded(int64_t k, uint32_t products)
{
    int64_t chain = size_div_up(size_least(k, STEP), 2);
    int64_t steps = size_div_up(k, STEP) * products;
    int64_t error = (chain + steps - 1 + 2) * HALVES;
    if (products == 3)
        error += (int64_t)LEFT_OUT * WHOLE;
    return error <= (k + 2) * WHOLE;
}

uint32_t tiles_products(const struct tiles *tiles, const struct gemm_op *op)
{
    if (op->a.dtype != SSQ_F16 || tiles->f16)
        return 0;
    return op->three && tiles_bounded(op->k, 3) ? 3 : 4;
}

const struct gemm_kernels *tiles_kernels(const struct tiles *tiles,
                                         const struct gemm_op *op)
{
    const struct gemm_tiles *x = tiles->kernels;
    const uint32_t products = tiles_products(tiles, op);
    if (products != 0)
        return products == 3 ? x->three : x->four;
    return op->a.dtype == SSQ_F16 ? x->f16 : x->bf16;
}

bool tiles_check(const struct backend_device *d, const struct gemm_op *op,
                 struct why *why)
{
    const struct tiles *t = &d->tiles;
    if (op->k == 0)
        return refuse(why, "nothing is multiplied");
    if (op->a.dtype != op->b.dtype || op->a.dtype == SSQ_F32)
        return refuse(why, "a is %s, b is %s: tiles multiply bf16 and f16",
                      ssq_dtype_name(op->a.dtype), ssq_dtype_name(op->b.dtype));
    if (t->kernels == NULL)
        return refuse(why, "%s", t->why);
    bool halves = tiles_products(t, op) != 0;
    if (halves && !tiles_bounded(op->k, 4))
        return refuse(why,
                      "k %lld: the bound of products of halves is above "
                      "that of f16",
                      (long long)op->k);
    int64_t fewest = halves ? FEWEST_HALVES : FEWEST;
    if (!t->model && size_least(op->m, op->n) < fewest)
        return refuse(why,
                      "m %lld n %lld: packing takes longer than "
                      "multiplying below %lld",
                      (long long)op->m, (long long)op->n, (long long)fewest);
    return true;
}

/* ---- infinities and NaNs ---- */

/* Parts of a matrix, each of which one thread examines. */
#define PARTS 8

/* True if all of a row's elements are finite. */
static bool is_finite(const uint16_t *x, int64_t n)
{
    uint32_t worst = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t exponent = x[i] & 0x7c00u;
        worst = exponent > worst ? exponent : worst;
    }
    return worst != 0x7c00u;
}

/* Examine part `part` of the rows of a source of this many lines of k elements.
 */
static bool part_is_finite(const struct gemm_source *s, int64_t lines,
                           int64_t k, int64_t part)
{
    int64_t rows = s->line == 1 ? k : lines, row = s->line == 1 ? lines : k;
    int64_t step = s->line == 1 ? s->step : s->line;
    int64_t i = rows * part / PARTS, end = rows * (part + 1) / PARTS;
    for (; i < end; i++)
        if (!is_finite((const uint16_t *)s->data + i * step, row))
            return false;
    return true;
}

static void gemm_tiles_look(void *context, uint32_t i, uint32_t worker)
{
    const struct gemm_job *job = context;
    struct gemm_source a, b;
    struct gemm_result result;
    (void)worker;
    gemm_matrix(job, i / PARTS, &a, &b, &result);
    if (!part_is_finite(&a, job->m, job->k, i % PARTS) ||
        !part_is_finite(&b, job->n, job->k, i % PARTS))
        atomic_store(job->not_finite, true);
}

void tiles_look_through(const struct gemm_job *job, struct team *team)
{
    struct gemm_job copy = *job;
    parallel_for(team, (uint32_t)job->batch * PARTS, gemm_tiles_look, &copy);
}
