/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h - partials of chunks, in the layout of kernels/amp/grad_args.h: word
 * f of partial i is word f * n + i. Ranks with different devices exchange them,
 * so the layout is fixed. */
#ifndef BACKENDS_REFERENCE_AMP_PARTS_H
#define BACKENDS_REFERENCE_AMP_PARTS_H

#include "backends/reference/reduce/fold.h"
#include "lib/core/core.h"

struct amp_parts {
    uint32_t *word; /* NULL: no partials */
    size_t n;
};

/** Return the partials in a view, each of which has `words` words. */
struct amp_parts parts_of(const struct view *v, size_t words);
/** Return the number of chunks of a view. */
size_t parts_chunks(const struct view *v);
static inline uint32_t *parts_at(const struct amp_parts *p, size_t word,
                                 size_t i)
{
    return &p->word[word * p->n + i];
}
/** Store the three sums of a chunk's norm in partial i, from word `word` on. */
void parts_put(const struct amp_parts *p, size_t word, size_t i,
               struct norm_fold *fold);
/** Return the norm of `count` partials, starting with partial `from`. Their
 *  sums are folded in the same way as elements. */
float parts_norm(const struct amp_parts *p, size_t word, size_t from,
                 size_t count);

#endif
