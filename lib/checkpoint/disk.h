/* SPDX-License-Identifier: Apache-2.0 */
/* disk.h - read files at any offset, and replace files completely or not at
 * all. */
#ifndef LIB_CHECKPOINT_DISK_H
#define LIB_CHECKPOINT_DISK_H

#include "lib/core/base/error.h"

#include <stddef.h>
#include <stdint.h>

/** Check that a path may name a file.
 *  @return SSQ_ERR_INVALID path is NULL or empty */
ssq_status disk_path_check(const char *what, const char *path);
/** Open a regular file for reading.
 *  @return SSQ_ERR_NOT_FOUND it does not exist */
ssq_status disk_open(const char *what, const char *path, int *fd,
                     uint64_t *bytes);
/** Read exactly n bytes at offset `at`. */
ssq_status disk_read(const char *what, const char *path, int fd, uint64_t at,
                     void *to, size_t n);
void disk_close(int fd);

/** A temporary file that will replace another file in the same directory. */
struct replacement {
    const char *what, *path; /* owned by the caller; path is for error texts */
    char *target, *temporary;
    int fd; /* -1: not open */
};

/** Create the temporary file, with the mode of the old file. */
ssq_status replacement_begin(struct replacement *r, const char *what,
                             const char *path);
ssq_status replacement_write(struct replacement *r, uint64_t at,
                             const void *from, size_t n);
/** Sync the temporary file and rename it to the old file's name. */
ssq_status replacement_commit(struct replacement *r);
/** Free *r and delete a file that was not committed. Call it also if
 *  replacement_begin() has failed. */
void replacement_end(struct replacement *r);

#endif
