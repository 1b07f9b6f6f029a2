/* SPDX-License-Identifier: Apache-2.0 */
/* prod.c - the gradient of a product where elements are 0, bit for bit: whole
 * numbers, whose products are exact. */
#include "tests/tape/tape.h"

#define LONGEST 37

/* Element i is 1, -1, 2 or -2, or 0 at the places given: products of 37 of
 * them are at most 2^19. */
static void fill(float *x, int n, const int *zeros, int nzeros)
{
    for (int i = 0; i < n; i++)
        x[i] = (i % 2 == 0 ? 2.0f : 1.0f) * (i % 3 == 0 ? -1.0f : 1.0f);
    for (int i = 0; i < nzeros; i++)
        x[zeros[i]] = 0.0f;
}

/* The derivative of the product of x with regard to element i. */
static float without(const float *x, int n, int i)
{
    float p = 1.0f;
    for (int j = 0; j < n; j++)
        p *= j == i ? 1.0f : x[j];
    return p;
}

static void row(const char *name, int n, const int *zeros, int nzeros)
{
    struct tape_rig r = rig_open(name, NULL);
    const int64_t shape[] = {n};
    float x[LONGEST], dx[LONGEST] = {0};
    int wrong = -1;
    fill(x, n, zeros, nzeros);
    ssq_tensor *in = rig_floats(&r, 1, shape, x);
    ssq_tape_begin(r.tape, true);
    ssq_var v = ssq_var_watch(ssq_var_input(r.tape, in)), made;
    ssq_var y = ssq_scale_var(ssq_prod_var(v, NULL), SSQ_SCALE(.alpha = -3.0));
    ssq_tape_grad(r.tape, y, &v, 1, NULL, &made);
    NEED(ssq_tape_status(r.tape));
    NEED(ssq_tensor_read(r.queue, ssq_var_tensor(made), dx,
                         (size_t)n * sizeof(*dx), SSQ_F32));
    NEED(ssq_queue_sync(r.queue));
    for (int i = n - 1; i >= 0; i--)
        if (dx[i] != -3.0f * without(x, n, i))
            wrong = i;
    tap_ok(wrong < 0, "%s: the gradient of %d elements, %d of them 0", name, n,
           nzeros);
    if (wrong >= 0)
        tap_diag("dx[%d] is %g, expected %g", wrong, (double)dx[wrong],
                 -3.0 * (double)without(x, n, wrong));
    ssq_tensor_destroy(&in);
    rig_close(&r);
}

int main(void)
{
    static const int sizes[] = {1, 2, 3, 7, 8, 9, 16, 17, LONGEST};
    long n = 0;
    for (size_t d = 0; d < core_device_count(); d++)
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
            const int last = sizes[i] - 1;
            const int zeros[] = {last / 2, 0};
            for (int k = 0; k < 3; k++)
                row(core_device(d), sizes[i], zeros, k);
            n += 3;
        }
    return tap_done(n);
}
