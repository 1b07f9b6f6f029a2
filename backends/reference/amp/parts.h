/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h - partials of chunks, in the layout of kernels/amp/grad_args.h: word
 * f of partial i is word f * n + i. Ranks whose devices differ exchange them.
 */
#ifndef BACKENDS_REFERENCE_AMP_PARTS_H
#define BACKENDS_REFERENCE_AMP_PARTS_H

#include "backends/reference/reduce/fold.h"
#include "lib/core/core.h"

struct parts {
    uint32_t *word; /* NULL: there are none */
    size_t n;
};

/** Those of a view with so many words for each. */
struct parts parts_of(const struct view *v, size_t words);
/** Chunks of a view. */
size_t parts_chunks(const struct view *v);
static inline uint32_t *parts_at(const struct parts *p, size_t word, size_t i)
{
    return &p->word[word * p->n + i];
}
/** The three sums of a chunk's norm into partial i, from that word on. */
void parts_put(const struct parts *p, size_t word, size_t i,
               struct norm_fold *fold);
/** The norm of so many partials. */
float parts_norm(const struct parts *p, size_t word, size_t from, size_t count);

#endif
