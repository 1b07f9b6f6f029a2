/* SPDX-License-Identifier: Apache-2.0 */
/* channel_set.h - the elements that share statistics in batch and group norm.
 *
 * A set of a view [n, c, spatial..] is
 *
 *     batch norm (pooled)   one channel, of all examples
 *     group norm            c / groups channels, of one example
 *
 * Its mean and rstd are element [i, group] of their views. */
#ifndef BACKENDS_REFERENCE_NORM_CHANNEL_SET_H
#define BACKENDS_REFERENCE_NORM_CHANNEL_SET_H

#include "backends/reference/reference.h"

/** n examples from i on, and c channels from c0 on. */
struct channel_set {
    int64_t i, n, c0, c, group;
};

/** Return a set. If pooled, i must be 0, and a group is a channel. */
static inline struct channel_set channel_set_of(bool pooled,
                                                const struct view *x,
                                                int64_t groups, int64_t i,
                                                int64_t group)
{
    int64_t n = pooled ? x->shape[0] : 1, c = x->shape[1] / groups;
    return (struct channel_set){i, n, group * c, c, group};
}

/** Return the number of values of i. */
static inline int64_t channel_set_examples(bool pooled, const struct view *x)
{
    return pooled ? 1 : x->shape[0];
}

/** Return channel c of a set. */
static inline struct channel_set channel_of_set(const struct channel_set *set,
                                                int64_t c)
{
    return (struct channel_set){set->i, set->n, c, 1, set->group};
}

/** Return the elements of a set in a view that is present. */
static inline struct view channel_set_view(const struct view *v,
                                           const struct channel_set *set)
{
    struct view part = *v;
    part.offset += (uint64_t)(set->i * v->stride[0] + set->c0 * v->stride[1]) *
                   dtype_bytes(v->dtype);
    part.shape[0] = set->n;
    part.shape[1] = set->c;
    return part;
}

/** Load the statistic of a set. */
static inline float statistic_load(const struct view *v,
                                   const struct channel_set *set)
{
    return view_load(v, set->i * v->stride[0] + set->group * v->stride[1]);
}

/** Store the statistic of a set, unless the view is absent. */
static inline void statistic_store(const struct view *v,
                                   const struct channel_set *set, float value)
{
    if (v->buffer != NULL)
        view_store(v, set->i * v->stride[0] + set->group * v->stride[1], value);
}

/** Load element c of a parameter [c]; `absent` if the parameter is absent. */
static inline float parameter_load(const struct view *v, int64_t c,
                                   float absent)
{
    return v->buffer == NULL ? absent : view_load(v, c * v->stride[0]);
}

/** Store element c of a parameter [c], unless it is absent. */
static inline void parameter_store(const struct view *v, int64_t c, float value)
{
    if (v->buffer != NULL)
        view_store(v, c * v->stride[0], value);
}

#endif
