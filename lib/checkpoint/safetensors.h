/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors.h - a file of tensors, or an index of several, open for reading.
 *
 *     u64      bytes of the header, at most 100,000,000
 *     header   JSON: {"NAME": {"dtype": "F32", "shape": [2,3],
 *              "data_offsets": [0,24]}, .., "__metadata__": {"KEY": "TEXT"}}
 *     data     the ranges of all tensors, without gaps
 *
 * An index lists the tensors of several such files, its shards (index.c):
 *
 *     {"weight_map": {"NAME": "SHARD.safetensors", ..},
 *      "metadata": {"total_size": BYTES}}
 *
 * Numbers are little-endian. The whole header is checked when the file is
 * opened. Memory is allocated for the bytes that exist, not for sizes that the
 * header claims. */
#ifndef LIB_CHECKPOINT_SAFETENSORS_H
#define LIB_CHECKPOINT_SAFETENSORS_H

#include <sesqui/checkpoint.h>

#include <stdbool.h>
#include <stdint.h>

/** Maximum size of a header in bytes. */
#define HEADER_MOST 100000000u
/** Prefix of the names of tensors that are not parameters. */
#define OWN "sesqui/"

/** A dtype in files that tensors cannot have. */
#define NO_DTYPE ((ssq_dtype)0)

/** How a dtype is spelled in files. */
struct spelling {
    const char *text;
    ssq_dtype dtype; /* NO_DTYPE: not a dtype of tensors */
    unsigned bits;   /* of an element; 0 if unknown */
    unsigned bytes;  /* of an element; 0: not a whole number */
};

/** Return the spelling with this text, or NULL. */
const struct spelling *spelling_of(const char *text);
/** Return the spelling of a dtype, or NULL if it does not exist in files. */
const struct spelling *spelling_of_dtype(ssq_dtype dtype);

struct safetensors_entry {
    const char *name; /* points into the header */
    struct spelling spelling;
    int rank;                    /* may exceed SSQ_MAX_RANK */
    int64_t shape[SSQ_MAX_RANK]; /* the first dimensions */
    uint64_t begin, bytes;       /* begin: offset in the file */
    const ssq_safetensors *in;   /* the file that contains the bytes */
};

struct metadata {
    const char *key, *text;
};

struct ssq_safetensors {
    int fd;
    const char *what; /* the current call; begins error texts */
    char *path;
    char *header; /* header_bytes bytes */
    size_t header_bytes;
    struct safetensors_entry *entry; /* ordered by position */
    size_t n, room;
    struct safetensors_entry **by_name; /* sorted */
    struct metadata *meta;              /* sorted by key */
    size_t metas, metas_room;
    /* the shards of an index, sorted by name. An index has no fd and no
     * metadata. Shards must outlive the entries */
    ssq_safetensors **shard;
    size_t shards;
};

/** Return the tensor with this name, or NULL. */
const struct safetensors_entry *entry_find(const ssq_safetensors *file,
                                           const char *name);
/** Parse the header.
 *  @param data  number of bytes that follow the header */
ssq_status header_parse(ssq_safetensors *file, size_t bytes, uint64_t data);
/** Sort entries and metadata. Returns SSQ_ERR_INVALID if a name or key occurs
 *  twice, or if the tensors' ranges have gaps or overlap. */
ssq_status header_order(ssq_safetensors *file, uint64_t data);
/** Open a safetensors file, or a sharded file by its index, and read the
 *  headers.
 *  @param what  the call that error texts name; it must live as long as file */
ssq_status file_open(const char *what, const char *path,
                     ssq_safetensors **file);
/** Open a file of *size bytes and read the first 8 of them. They are the length
 *  of the header, unless the file is an index. */
ssq_status file_begin(const char *what, const char *path,
                      ssq_safetensors **file, uint64_t *size,
                      unsigned char length[8]);
/** Read the header of a file that file_begin() has opened. Its length is
 *  compared with the file's size before memory is allocated. */
ssq_status file_header(ssq_safetensors *file, uint64_t size,
                       const unsigned char length[8]);
/** Sort f's entries by name into by_name.
 *  @return SSQ_ERR_INVALID two entries have the same name */
ssq_status names_order(ssq_safetensors *f);
/** Make room for one more element of `size` bytes in a list of n. */
ssq_status list_grow(const char *what, void **list, size_t n, size_t *room,
                     size_t size);
/** Write a shape to buf, for example "[2,3]", for error texts. Returns buf. */
const char *shape_text(int rank, const int64_t *shape, char *buf, size_t bytes);

#endif
