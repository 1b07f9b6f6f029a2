/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors.h - a file of tensors, or an index of several, open to be read.
 *
 *     u64      bytes of the header, at most 100,000,000
 *     header   JSON: {"NAME": {"dtype": "F32", "shape": [2,3],
 *              "data_offsets": [0,24]}, .., "__metadata__": {"KEY": "TEXT"}}
 *     data     where the ranges of all tensors lie, without gaps
 *
 * An index has the tensors of several such files, its shards (index.c):
 *
 *     {"weight_map": {"NAME": "SHARD.safetensors", ..},
 *      "metadata": {"total_size": BYTES}}
 *
 * Numbers are little-endian. All of the header is checked when the file is
 * opened: memory is taken for what is there, not for what it says. */
#ifndef LIB_CHECKPOINT_SAFETENSORS_H
#define LIB_CHECKPOINT_SAFETENSORS_H

#include <sesqui/checkpoint.h>

#include <stdbool.h>
#include <stdint.h>

/** The longest header. */
#define HEADER_MOST 100000000u
/** Names of tensors that are no parameters begin with it. */
#define OWN "sesqui/"

/** What no tensor is of. */
#define NO_DTYPE ((ssq_dtype)0)

/** How a dtype is spelled in files. */
struct spelling {
    const char *text;
    ssq_dtype dtype; /* NO_DTYPE: tensors cannot have its values */
    unsigned bits;   /* of an element; 0 if unknown */
    unsigned bytes;  /* 0: not a whole number of them */
};

/** NULL: there is none of this name. */
const struct spelling *spelling_of(const char *text);
/** NULL: files have none. */
const struct spelling *spelling_of_dtype(ssq_dtype dtype);

struct entry {
    const char *name; /* in the header */
    struct spelling spelling;
    int rank;                    /* may be more than tensors have */
    int64_t shape[SSQ_MAX_RANK]; /* the first dimensions */
    uint64_t begin, bytes;       /* begin counts from the file's begin */
    const ssq_safetensors *in;   /* the file that has the bytes */
};

struct metadata {
    const char *key, *text;
};

struct ssq_safetensors {
    int fd;
    const char *what; /* begins texts: the call under way */
    char *path;
    char *header; /* of so many bytes */
    size_t header_bytes;
    struct entry *entry; /* in the order of their bytes */
    size_t n, room;
    struct entry **by_name; /* sorted */
    struct metadata *meta;  /* sorted by key */
    size_t metas, metas_room;
    /* of an index, which has no fd and no metadata: its shards, sorted by name;
     * they outlive the entries */
    ssq_safetensors **shard;
    size_t shards;
};

/** The tensor of a name, or NULL. */
const struct entry *entry_find(const ssq_safetensors *file, const char *name);
/** SSQ_OK where the header is as it has to be; data: bytes behind it. */
ssq_status header_parse(ssq_safetensors *file, size_t bytes, uint64_t data);
/** INVALID unless no two names are the same, and ranges follow each other. */
ssq_status header_order(ssq_safetensors *file, uint64_t data);
/** Open a file of *size bytes and read the first 8 of them, which are the
 * length of a header unless the file is an index. */
ssq_status file_begin(const char *what, const char *path,
                      ssq_safetensors **file, uint64_t *size,
                      unsigned char length[8]);
/** Read the header of a file that file_begin has opened. The length is held
 *  against the file's size before memory is allocated for it. */
ssq_status file_header(ssq_safetensors *file, uint64_t size,
                       const unsigned char length[8]);
/** Sort f's entries by name into by_name. @return INVALID two have one name */
ssq_status names_order(ssq_safetensors *f);
/** Have room for one more element of `size` bytes in a list of n. */
ssq_status list_grow(const char *what, void **list, size_t n, size_t *room,
                     size_t size);
/** "[2,3]" in buf, for texts; returns buf. */
const char *shape_text(int rank, const int64_t *shape, char *buf, size_t bytes);

#endif
