/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - the random words of a stream, for the reference. */
#ifndef BACKENDS_REFERENCE_RANDOM_STREAM_H
#define BACKENDS_REFERENCE_RANDOM_STREAM_H

#include "backends/reference/reference.h"
#include "kernels/random/random.h"
#include "lib/op/random/random.h"

/** Return word i of a stream. It depends only on these numbers, so no state
 *  passes from one word to the next. */
static inline uint32_t stream_word(const struct stream *s, uint32_t step,
                                   uint64_t i)
{
    return random_u32(s->seed[0], s->seed[1], step, s->id, (uint32_t)i,
                      (uint32_t)(i >> 32));
}

/** Return the step word; 0 if it is absent. */
static inline uint32_t stream_step(const struct view *step)
{
    const void *word = view_host(step);
    return word == NULL ? 0 : load_bits(word, SSQ_I32, 0);
}

#endif
