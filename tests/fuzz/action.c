/* SPDX-License-Identifier: Apache-2.0 */
/* action.c - calls that are not ops: the same on both sides. */

#include "tests/fuzz/action.h"

#include <string.h>

void got_number(struct got *g, double value)
{
    if (g->n < NUMBERS)
        g->numbers[g->n++] = value;
}

ssq_dtype choose_float(struct objects *o)
{
    static const ssq_dtype list[] = {SSQ_F32, SSQ_F16, SSQ_BF16};
    return list[input_below(o->in, 3)];
}

double choose_double(struct objects *o, const double *list, size_t n)
{
    return list[input_below(o->in, (unsigned)n)];
}

void choose_shape(struct objects *o, struct fuzz_choice *k)
{
    k->rank = (int)input_below(o->in, 4);
    for (int i = 0; i < k->rank; i++)
        k->shape[i] = input_below(o->in, 8);
}

void choose_tensor(struct objects *o, struct fuzz_choice *k, unsigned i,
                   ssq_dtype dtype, bool dense)
{
    int64_t strides[SSQ_MAX_RANK], stride = 1;
    unsigned wide = dense ? 1 : 1 + input_below(o->in, 2);
    for (int d = k->rank - 1; d >= 0; d--) {
        strides[d] = stride * wide;
        stride *= k->shape[d] > 0 ? k->shape[d] : 1;
    }
    unsigned b = input_below(o->in, BUFFERS);
    /* The largest has 7^3 elements, in twice as many places: 2744 bytes. */
    uint64_t at = (uint64_t)input_byte(o->in) * 16;
    ssq_status st[SIDES];
    for (unsigned s = 0; s < SIDES; s++)
        st[s] = ssq_tensor_from_buffer(o->pair->buffer[b][s], dtype, k->rank,
                                       k->shape, strides, at, &k->tensor[i][s]);
    (void)pair_same("tensor_from_buffer", st[0], st[1]);
    fuzz_trace("    tensor %u: %s, rank %d, in buffer %u from byte %llu", i,
               ssq_dtype_name(dtype), k->rank, b, (unsigned long long)at);
}

static void compare(struct objects *o, const char *name, const struct got g[])
{
    if (o->tainted)
        return;
    if (g[0].n != g[1].n ||
        memcmp(g[0].numbers, g[1].numbers, g[0].n * sizeof(double)) != 0) {
        for (unsigned i = 0; i < NUMBERS; i++)
            if (memcmp(&g[0].numbers[i], &g[1].numbers[i], 8) != 0)
                fuzz_fail("%s: number %u is %.17g on the reference, %.17g on "
                          "%s",
                          name, i, g[0].numbers[i], g[1].numbers[i],
                          fuzz_device());
    }
    if (strcmp(g[0].text, g[1].text) != 0)
        fuzz_fail("%s: \"%s\" on the reference, \"%s\" on %s", name, g[0].text,
                  g[1].text, fuzz_device());
    if (g[0].bytes != g[1].bytes)
        fuzz_fail("%s: %u and %u bytes of state", name, g[0].bytes, g[1].bytes);
    for (unsigned i = 0; i < g[0].bytes; i++)
        if (g[0].looked[i] != g[1].looked[i])
            fuzz_fail("%s: byte %u of the state is %02x on the reference, %02x "
                      "on %s",
                      name, i, g[0].looked[i], g[1].looked[i], fuzz_device());
}

/* A result that depends on time counts as done. */
static ssq_status settled(ssq_status st)
{
    return st == SSQ_ERR_NOT_READY || st == SSQ_ERR_SCALE ? SSQ_OK : st;
}

void action_run(struct objects *o, const struct action *a)
{
    static struct got got[SIDES];
    struct fuzz_choice k;
    ssq_status st[SIDES];
    memset(&k, 0, sizeof(k));
    k.slot = input_below(o->in, SLOTS);
    fuzz_trace("%s %u", a->name, k.slot);
    if (a->choose != NULL)
        a->choose(o, &k);
    for (unsigned s = 0; s < SIDES; s++) {
        memset(&got[s], 0, sizeof(got[s]));
        st[s] = a->act(o, s, &k, &got[s]);
        if (st[s] != SSQ_OK)
            fuzz_trace("    %s: %s", ssq_status_name(st[s]), ssq_last_error());
    }
    if (a->timed)
        for (unsigned s = 0; s < SIDES; s++)
            st[s] = settled(st[s]);
    ssq_status same = pair_same(a->name, st[0], st[1]);
    if (same == SSQ_OK || same == SSQ_ERR_SCALE)
        compare(o, a->name, got);
    for (unsigned i = 0; i < CHOSEN; i++)
        for (unsigned s = 0; s < SIDES; s++)
            ssq_tensor_destroy(&k.tensor[i][s]);
    if (!o->pair->capturing && o->pair->every)
        pair_compare(o->pair, a->name, same == SSQ_OK);
}

void objects_destroy(struct objects *o)
{
    for (unsigned s = 0; s < SIDES; s++)
        for (unsigned i = 0; i < SLOTS; i++) {
            ssq_scaler_destroy(&o->scaler[i][s]);
            ssq_optimizer_destroy(&o->optimizer[i][s]);
            ssq_metric_destroy(&o->metric[i][s]);
            ssq_graph_destroy(&o->graph[i][s]);
            ssq_event_destroy(&o->event[i][s]);
        }
}
