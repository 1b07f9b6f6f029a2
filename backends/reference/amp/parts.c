/* SPDX-License-Identifier: Apache-2.0 */
/* parts.c - partials of a norm: store and combine them. */
#include "backends/reference/amp/parts.h"

#include "backends/reference/reference.h"

struct amp_parts parts_of(const struct view *v, size_t words)
{
    struct amp_parts p = {.word = view_host(v)};
    if (p.word != NULL)
        p.n = (size_t)view_elements(v) / words;
    return p;
}

size_t parts_chunks(const struct view *v)
{
    return (size_t)((view_elements(v) + FOLD_CHUNK - 1) / FOLD_CHUNK);
}

void parts_put(const struct amp_parts *p, size_t word, size_t i,
               struct norm_fold *fold)
{
    float total[3];
    norm_fold_end(fold, total);
    for (size_t c = 0; c < 3; c++)
        *parts_at(p, word + c, i) = AS_U32(total[c]);
}

float parts_norm(const struct amp_parts *p, size_t word, size_t from,
                 size_t count)
{
    float total[3];
    for (size_t c = 0; c < 3; c++) {
        struct fold f;
        fold_begin(&f, false);
        for (size_t i = from; i < from + count; i++)
            fold_add(&f, AS_F32(*parts_at(p, word + c, i)));
        total[c] = fold_end(&f);
    }
    return norm_root(total[0], total[1], total[2]);
}
