/* SPDX-License-Identifier: Apache-2.0 */
/* channel_merge.h - kernels/norm/channel_merge.k on the host, for backends that
 * process a channel at a time. */
#ifndef LIB_OP_NORM_CHANNEL_MERGE_H
#define LIB_OP_NORM_CHANNEL_MERGE_H

#include "kernels/norm/channel_merge.h"
#include "lib/op/norm/channel_norm.h"

/** The statistics of a channel, merged from all parts. */
struct channel_merged {
    float mean, rstd;
    float running; /* the value that the running variance moves to */
    bool some;     /* the channel has elements: running statistics move */
};

/* The values that can be summed over parts. */
enum merge_sum { MERGE_COUNT, MERGE_MEAN, MERGE_DEVIATION, MERGE_SQUARES };

/* Return the term of a part. found: c means, c rests, c variances, one
 * count. */
static inline float merge_term(const float *found, int64_t c, int64_t s,
                               enum merge_sum what, float mean)
{
    const float n = found[3 * c], rest = found[c + s];
    if (what == MERGE_COUNT)
        return n;
    if (what == MERGE_MEAN)
        return merge_mean(n, found[s]);
    return what == MERGE_DEVIATION
               ? merge_deviation(n, found[s], rest, mean)
               : merge_squares(n, found[s], rest, found[2 * c + s], mean);
}

/* Sum terms in the order of the kernel: up to 64 blocks of parts, then the
 * blocks. */
static inline float merge_over_parts(const struct view *found, int64_t s,
                                     enum merge_sum what, float mean)
{
    const int64_t parts = found->shape[0], c = found->shape[1] / 3;
    const int64_t block = (parts + 63) / 64;
    const float *at = view_host(found);
    float total = 0.0f;
    for (int64_t b = 0; b < parts; b += block) {
        float part = 0.0f;
        for (int64_t e = b; e < b + block && e < parts; e++)
            part += merge_term(at + e * found->shape[1], c, s, what, mean);
        total += part;
    }
    return total;
}

static inline struct channel_merged
channel_merge(const struct channel_norm_op *op, int64_t s)
{
    const struct view *found = &op->found;
    const float n = merge_over_parts(found, s, MERGE_COUNT, 0.0f);
    const float means = merge_over_parts(found, s, MERGE_MEAN, 0.0f);
    const float first = s_canonical(s_div(means, n));
    const float apart = merge_over_parts(found, s, MERGE_DEVIATION, first);
    const float about = merge_over_parts(found, s, MERGE_SQUARES, first);
    const float c = s_div(apart, n);
    const float squares = s_canonical(deviations_squares(about, apart, c));
    struct channel_merged m = {.mean = deviations_mean(first, c),
                               .some = n > 0.0f};
    m.rstd = merge_rstd(s_div(squares, n), op->eps);
    m.running = merge_running(squares, n, op->population ? 0.0f : 1.0f);
    return m;
}

#endif
