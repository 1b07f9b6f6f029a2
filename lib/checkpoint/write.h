/* SPDX-License-Identifier: Apache-2.0 */
/* write.h - a file of tensors as it is put together, and written. */
#ifndef LIB_CHECKPOINT_WRITE_H
#define LIB_CHECKPOINT_WRITE_H

#include "lib/checkpoint/digest.h"
#include "lib/core/core.h"
#include "lib/core/names.h"

/** The values of an item when they are wanted: a contiguous tensor of its dtype
 *  and shape, and *made, if it was made for that: then it is destroyed. */
typedef ssq_status item_values(const void *user, ssq_queue *queue,
                               const ssq_tensor **values, ssq_tensor **made);

struct item {
    struct item *next;
    char *name; /* owned */
    struct entry e;
    const ssq_tensor *tensor; /* borrowed; NULL: values, or bytes */
    item_values *values;      /* or NULL */
    bool asked;               /* for them */
    const void *user;         /* of these */
    unsigned char *bytes;     /* owned; little-endian */
    uint64_t sum;
    size_t digits; /* where in the header its digest is */
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
/** A contiguous tensor, under prefix and name, which are copied; it has to stay
 *  until the file is written. */
ssq_status writing_tensor(struct writing *w, const char *prefix,
                          const char *name, const ssq_tensor *tensor);
/** A tensor of a dtype and shape whose values are asked for when they are
 *  written; user has to stay until then. */
ssq_status writing_values(struct writing *w, const char *prefix,
                          const char *name, ssq_dtype dtype, int rank,
                          const int64_t *shape, item_values *values,
                          const void *user);
/** n elements of host memory, which are copied. */
ssq_status writing_bytes(struct writing *w, const char *name, ssq_dtype dtype,
                         size_t n, const void *host);
/** A text of "__metadata__". */
ssq_status writing_note(struct writing *w, const char *prefix, const char *key,
                        const char *text);
/** All of it into a file, that replaces the one of this path. Waits. */
ssq_status writing_end(struct writing *w, const char *path);
/** Ask for all values that nobody has asked for yet, and drop them: where
 * others wait for this rank's part in that. */
ssq_status writing_ask(struct writing *w);
/** The same behind a failure, whose text stays. */
void writing_rest(struct writing *w);
/** Let go of what was put together; the file is as it is. */
void writing_free(struct writing *w);

#endif
