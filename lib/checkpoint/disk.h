/* SPDX-License-Identifier: Apache-2.0 */
/* disk.h - files that are read at any place, and files that are replaced as a
 * whole or not at all. */
#ifndef LIB_CHECKPOINT_DISK_H
#define LIB_CHECKPOINT_DISK_H

#include "lib/core/error.h"

#include <stddef.h>
#include <stdint.h>

/** Can there be a file of this name? @return INVALID path is NULL or empty */
ssq_status disk_path_check(const char *what, const char *path);
/** Open a plain file to read. @return NOT_FOUND there is none */
ssq_status disk_open(const char *what, const char *path, int *fd,
                     uint64_t *bytes);
/** Read exactly n bytes from a place on. */
ssq_status disk_read(const char *what, const char *path, int fd, uint64_t at,
                     void *to, size_t n);
void disk_close(int fd);

/** A file that is being written beside the one that it will replace. */
struct replacement {
    const char *what, *path; /* the caller's; path is for texts */
    char *target, *temporary;
    int fd; /* -1: none */
};

/** Begin: a file of another name in the same folder, of the old file's mode. */
ssq_status replacement_begin(struct replacement *r, const char *what,
                             const char *path);
ssq_status replacement_write(struct replacement *r, uint64_t at,
                             const void *from, size_t n);
/** Put it in the old file's place once the disk has it. */
ssq_status replacement_commit(struct replacement *r);
/** Let go of it; what was not committed goes. Also where begin has failed. */
void replacement_end(struct replacement *r);

#endif
