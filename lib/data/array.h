/* SPDX-License-Identifier: Apache-2.0 */
/* array.h - arrays in host memory, and the readers of files. */
#ifndef LIB_DATA_ARRAY_H
#define LIB_DATA_ARRAY_H

#include <sesqui/data.h>

#include "lib/core/core.h"

struct ssq_array {
    struct object object; /* batches hold it */
    ssq_dtype dtype;
    int rank;
    int64_t shape[SSQ_MAX_RANK];
    uint64_t bytes;
    void *data;     /* owned */
    char **classes; /* owned: names of labels 0.., ended by NULL; or NULL */
};

/** Create an array of zeros. what: begins the error's text. */
ssq_status array_create(const char *what, ssq_dtype dtype, int rank,
                        const int64_t *shape, ssq_array **array);
/** Bytes of an element of a host dtype. */
size_t array_element(ssq_dtype dtype);

/** The contents of a file, owned by the reader. */
struct contents {
    const char *path; /* for error texts */
    unsigned char *data;
    size_t n;
};

/** Read a whole file, or PATH.gz if it does not exist, and decompress it.
 *  Release it with contents_free(), also after an error. */
ssq_status contents_read(struct contents *c, const char *path);
void contents_free(struct contents *c);
/** Read a regular file as it is; it must exist under this name. what: begins
 * the error's text. */
ssq_status contents_read_plain(struct contents *c, const char *path,
                               const char *what);
/** Replace gzip data by what it contains; or deflate data without a header. */
ssq_status contents_inflate(struct contents *c);
ssq_status contents_inflate_raw(struct contents *c);

/** The readers of the formats. is: do the contents begin as this format? */
bool idx_is(const struct contents *c);
ssq_status idx_read(const struct contents *c, ssq_array **array);
bool npy_is(const struct contents *c);
ssq_status npy_read(const struct contents *c, ssq_array **array);
bool npz_is(const struct contents *c);
/** name: of the array in the archive; NULL: the only one. */
ssq_status npz_read(const struct contents *c, const char *name,
                    ssq_array **array);
ssq_status csv_read(const struct contents *c, const ssq_array_read_args *args,
                    ssq_array **array);

/** Create an array of elements in a file, which end the file. swap: the bytes
 *  of each are in the other order than this machine's. */
ssq_status array_from_file(const struct contents *c, size_t offset,
                           ssq_dtype dtype, int rank, const int64_t *shape,
                           bool swap, ssq_array **array);
/** Is this machine little-endian? */
bool array_little_endian(void);

#endif
