/* SPDX-License-Identifier: Apache-2.0 */
/* write.h - collect tensors and metadata, and write them to a file. */
#ifndef LIB_CHECKPOINT_WRITE_H
#define LIB_CHECKPOINT_WRITE_H

#include "lib/checkpoint/digest.h"
#include "lib/core/core.h"
#include "lib/core/base/names.h"

/** Get the values of an item when they are written.
 *  @param values  out: a contiguous tensor of the item's dtype and shape
 *  @param made    out: the tensor, if the caller must destroy it; or NULL */
typedef ssq_status item_values(const void *user, ssq_queue *queue,
                               const ssq_tensor **values, ssq_tensor **made);

struct item {
    struct item *next;
    char *name; /* owned */
    struct safetensors_entry e;
    const ssq_tensor *tensor; /* borrowed; or NULL */
    item_values *values;      /* or NULL */
    bool asked;               /* `values` was called */
    const void *user;         /* its first argument */
    unsigned char *bytes;     /* host data; owned; little-endian; or NULL */
    uint64_t sum;
    size_t digits; /* position of its digest in the header */
};

struct note {
    struct note *next;
    char *key, *text; /* owned */
};

struct writing {
    const char *what;
    ssq_queue *queue;
    struct item *items, **items_end;
    struct name_index names; /* of the items */
    struct note *notes, **notes_end;
    struct crc64 crc;
};

void writing_begin(struct writing *w, const char *what, ssq_queue *queue);
/** Add a contiguous tensor. prefix and name are copied. The tensor must exist
 *  until the file is written. */
ssq_status writing_tensor(struct writing *w, const char *prefix,
                          const char *name, const ssq_tensor *tensor);
/** Add a tensor of a dtype and shape. `values` is called when the tensor is
 *  written. user must exist until then. */
ssq_status writing_values(struct writing *w, const char *prefix,
                          const char *name, ssq_dtype dtype, int rank,
                          const int64_t *shape, item_values *values,
                          const void *user);
/** Add a tensor of n elements of host memory, which are copied. */
ssq_status writing_bytes(struct writing *w, const char *name, ssq_dtype dtype,
                         size_t n, const void *host);
/** Add a text to "__metadata__". */
ssq_status writing_note(struct writing *w, const char *prefix, const char *key,
                        const char *text);
/** Write everything to a file, which replaces the file at `path`. Waits. */
ssq_status writing_end(struct writing *w, const char *path);
/** Call `values` of all items for which it was not called yet, and drop the
 *  results. Other ranks wait for this rank to take part in these
 *  collectives. */
ssq_status writing_ask(struct writing *w);
/** Do the same after an error, and keep its text. */
void writing_rest(struct writing *w);
/** Free the items and notes. The file is not changed. */
void writing_free(struct writing *w);

#endif
