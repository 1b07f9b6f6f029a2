/* SPDX-License-Identifier: Apache-2.0 */
/* contents.c - the contents of a file, decompressed. */
#include "lib/data/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST ((size_t)1 << 16) /* bytes of the first piece */

void contents_free(struct contents *c)
{
    mem_free(c->data);
    c->data = NULL;
    c->n = 0;
}

/* Make room for one more byte than *room, at least twice as many as before. */
static bool contents_grow(struct contents *c, size_t *room)
{
    size_t more = *room < FIRST ? FIRST : *room * 2;
    unsigned char *p = more < *room ? NULL : mem_alloc(more);
    if (p == NULL)
        return false;
    if (c->n > 0)
        memcpy(p, c->data, c->n);
    mem_free(c->data);
    c->data = p;
    *room = more;
    return true;
}

static ssq_status contents_read_all(struct contents *c, int fd,
                                    const char *what)
{
    size_t room = 0;
    for (;;) {
        if (c->n == room && !contents_grow(c, &room))
            return error_nomem(what, room);
        ssize_t n = read(fd, c->data + c->n, room - c->n);
        if (n == 0)
            return SSQ_OK;
        if (n < 0 && errno != EINTR)
            return error_set(SSQ_ERR_IO, "%s: %s: %s", what, c->path,
                             strerror(errno));
        c->n += n > 0 ? (size_t)n : 0;
    }
}

/* Open a file, or the one with .gz behind its name. */
static int open_either(const char *path)
{
    char packed[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 || errno != ENOENT)
        return fd;
    int n = snprintf(packed, sizeof(packed), "%s.gz", path);
    if (n < 0 || (size_t)n >= sizeof(packed)) {
        errno = ENOENT;
        return -1;
    }
    return open(packed, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* fd: negative: it could not be opened. */
static ssq_status read_file(struct contents *c, int fd, const char *path,
                            const char *what)
{
    struct stat s;
    *c = (struct contents){.path = path};
    if (fd < 0)
        return error_set(errno == ENOENT ? SSQ_ERR_NOT_FOUND : SSQ_ERR_IO,
                         "%s: %s: %s", what, path, strerror(errno));
    ssq_status st = SSQ_OK;
    if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode))
        st = error_set(SSQ_ERR_IO, "%s: %s: it is %s", what, path,
                       S_ISDIR(s.st_mode) ? "a folder" : "no regular file");
    if (st == SSQ_OK)
        st = contents_read_all(c, fd, what);
    close(fd);
    return st;
}

ssq_status contents_read_plain(struct contents *c, const char *path,
                               const char *what)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return read_file(c, fd, path, what);
}

ssq_status contents_read(struct contents *c, const char *path)
{
    ssq_status st = read_file(c, open_either(path), path, "array_read");
    if (st == SSQ_OK && c->n >= 2 && c->data[0] == 0x1f && c->data[1] == 0x8b)
        st = contents_inflate(c);
    return st;
}
