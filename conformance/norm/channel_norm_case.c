/* SPDX-License-Identifier: Apache-2.0 */
/* channel_norm_case.c - the drawn cases of batch norm and group norm. */
#include "conformance/norm/channel_norm.h"

#include "conformance/case.h"
#include "conformance/norm/near.h"

static const struct {
    int rank, axis;
    int64_t shape[SSQ_MAX_RANK], groups;
    bool batch_only;
} shapes[] = {
    {4, 1, {2, 6, 4, 5}, 3, false},    {4, -1, {2, 4, 5, 6}, 2, false},
    {2, 1, {7, 5}, 1, false},          {2, -1, {5, 6}, 3, false},
    {3, 1, {3, 4, 7}, 4, false},       {3, 2, {3, 7, 4}, 4, false},
    {4, 1, {1, 3, 3, 3}, 1, false},    {4, 1, {4, 8, 1, 1}, 4, false},
    {5, 1, {2, 4, 3, 2, 3}, 2, false}, {6, 2, {2, 3, 4, 2, 1, 2}, 1, false},
    {3, 0, {6, 2, 9}, 1, true},        {2, 0, {3, 11}, 1, true},
    {4, 1, {0, 4, 3, 3}, 2, false},    {4, 1, {2, 4, 0, 3}, 2, false},
    {4, 1, {2, 0, 3, 3}, 1, false},    {2, 1, {300, 3}, 1, false},
    {4, 1, {3, 8, 17, 13}, 2, false},  {4, 3, {2, 5, 7, 16}, 4, false},
    {3, 1, {1, 2, 1031}, 1, false},    {4, 1, {2, 5, 1, 3}, 5, false},
    {2, 1, {1, 7}, 1, false},          {3, 1, {2, 1, 2}, 1, false},
};
static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_F16, SSQ_BF16};

/* splitmix64 of the case's number: every pair of choices occurs. */
static unsigned channel_norm_case_choose(uint64_t *state, unsigned n)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (unsigned)((z ^ (z >> 31)) % n);
}

/* Batch norm cannot train with one value per channel. */
static bool one_value(const struct channel_entry *e)
{
    int64_t n = 1;
    for (int i = 0; i < e->rank; i++)
        n *= e->shape[i];
    return n > 0 && n == channel_count(e);
}

struct channel_entry channel_entry_of(size_t i, bool batch)
{
    uint64_t s = 0xba7c4u + 2 * i + (batch ? 1 : 0);
    size_t k = i % COUNT(shapes);
    if (!batch && shapes[k].batch_only)
        k = 0;
    struct channel_entry e = {.batch = batch,
                              .rank = shapes[k].rank,
                              .axis = shapes[k].axis,
                              .groups = shapes[k].groups};
    memcpy(e.shape, shapes[k].shape, sizeof(e.shape));
    e.training = channel_norm_case_choose(&s, 3) != 0 && !one_value(&e);
    if (!batch && channel_norm_case_choose(&s, 3) == 0 && channel_count(&e) > 0)
        e.groups = channel_count(&e); /* instance norm */
    e.in = dtypes[channel_norm_case_choose(&s, 3)];
    e.out = dtypes[channel_norm_case_choose(&s, 3)];
    e.layout_in = (enum layout)channel_norm_case_choose(&s, 3);
    e.layout_out = (enum layout)channel_norm_case_choose(&s, 3);
    unsigned data = channel_norm_case_choose(&s, 10);
    e.data = data < 7 ? (enum channel_data)data : DATA_NORMAL;
    unsigned eps = channel_norm_case_choose(&s, 4);
    e.eps = eps == 0 ? 1e-2 : 1e-5;
    if (eps == 1 && e.data == DATA_NORMAL)
        e.eps = 0.0; /* needs a variance; one element has none: NaN */
    e.momentum = channel_norm_case_choose(&s, 4) == 0 ? 1.0 : 0.1;
    e.gamma = channel_norm_case_choose(&s, 3) != 0;
    e.beta = channel_norm_case_choose(&s, 2) != 0;
    e.running = batch && (!e.training || channel_norm_case_choose(&s, 2) != 0);
    e.stats = channel_norm_case_choose(&s, 2) != 0;
    unsigned activation = channel_norm_case_choose(&s, 12);
    if (activation <= SSQ_ACTIVATION_TANH)
        e.activation = (ssq_activation)activation;
    e.place = (int)channel_norm_case_choose(&s, 6);
    e.place = e.place > 2 ? 0 : e.place;
    e.outputs = 1 + channel_norm_case_choose(&s, 7);
    e.population =
        e.training && e.running && channel_norm_case_choose(&s, 2) != 0;
    return e;
}

void channel_entry_text(const struct channel_entry *e, bool backward,
                        char *text, size_t bytes)
{
    static const char *const data[] = {"normal",  "far",  "tiny", "constant",
                                       "special", "zero", "near"};
    static const char *const places[] = {"", ", over x", ", over dy"};
    char size[64], act[24] = "", groups[24] = "";
    const struct shape s = {e->rank,
                            {e->shape[0], e->shape[1], e->shape[2], e->shape[3],
                             e->shape[4], e->shape[5]}};
    if (e->activation != SSQ_ACTIVATION_NONE && !backward)
        snprintf(act, sizeof(act), ", %s", ssq_activation_name(e->activation));
    if (!e->batch)
        snprintf(groups, sizeof(groups), " groups %d", (int)e->groups);
    snprintf(text, bytes,
             "%s%s %s axis %d%s%s %s %s %s to %s %s%s%s%s%s%s, eps %g%s%s",
             e->batch ? "batch_norm" : "group_norm",
             backward ? "_backward" : "", shape_text(&s, size, sizeof(size)),
             e->axis, groups,
             !e->batch     ? ""
             : e->training ? " training"
                           : " inference",
             data[e->data], ssq_dtype_name(e->in), layout_text(e->layout_in),
             ssq_dtype_name(e->out), layout_text(e->layout_out),
             e->gamma ? " gamma" : "", e->beta && !backward ? " beta" : "",
             e->running ? " running" : "",
             e->population && !backward ? " of the population" : "",
             e->stats ? " statistics" : "", e->eps, act,
             backward || e->place == 1 ? places[e->place] : "");
    if (backward)
        snprintf(text + strlen(text), bytes - strlen(text), ":%s%s%s",
                 (e->outputs & 1) != 0 ? " dx" : "",
                 (e->outputs & 2) != 0 ? " dgamma" : "",
                 (e->outputs & 4) != 0 ? " dbeta" : "");
}

void channel_make_x(struct harness *b, const struct channel_entry *e,
                    struct operand *x)
{
    static const enum fill fills[] = {FILL_NORMAL, FILL_NORMAL,  FILL_TINY,
                                      FILL_NORMAL, FILL_SPECIAL, FILL_ZERO,
                                      FILL_NORMAL};
    harness_input(b, x, e->in, e->rank, e->shape, e->layout_in, fills[e->data]);
    if (e->data != DATA_FAR && e->data != DATA_CONSTANT &&
        e->data != DATA_NEAR && !(e->data == DATA_SPECIAL && e->in != SSQ_F16))
        return;
    /* special: squares must stay below 2^128, which the contract excludes */
    double *v = harness_alloc(b, (size_t)x->n * sizeof(*v));
    for (int64_t i = 0; i < x->n; i++)
        v[i] = e->data == DATA_FAR        ? x->value[i] + 100.0
               : e->data == DATA_NEAR     ? near_value(e->in, x->value[i])
               : e->data == DATA_CONSTANT ? 0.7
                                          : x->value[i] * 0x1p-70;
    harness_values(b, x, e->in, e->rank, e->shape, e->layout_in, v);
}
