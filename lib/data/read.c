/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - ssq_array_read: a file's contents, and which format they have. */
#include "lib/data/array.h"

#include <ctype.h>
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
static bool grow(struct contents *c, size_t *room)
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

static ssq_status read_all(struct contents *c, int fd)
{
    size_t room = 0;
    for (;;) {
        if (c->n == room && !grow(c, &room))
            return error_nomem("array_read", room);
        ssize_t n = read(fd, c->data + c->n, room - c->n);
        if (n == 0)
            return SSQ_OK;
        if (n < 0 && errno != EINTR)
            return error_set(SSQ_ERR_IO, "array_read: %s: %s", c->path,
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

ssq_status contents_read(struct contents *c, const char *path)
{
    struct stat s;
    *c = (struct contents){.path = path};
    int fd = open_either(path);
    if (fd < 0)
        return error_set(errno == ENOENT ? SSQ_ERR_NOT_FOUND : SSQ_ERR_IO,
                         "array_read: %s: %s", path, strerror(errno));
    ssq_status st = SSQ_OK;
    if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode))
        st = error_set(SSQ_ERR_IO, "array_read: %s: it is %s", path,
                       S_ISDIR(s.st_mode) ? "a folder" : "no regular file");
    if (st == SSQ_OK)
        st = read_all(c, fd);
    close(fd);
    if (st == SSQ_OK && c->n >= 2 && c->data[0] == 0x1f && c->data[1] == 0x8b)
        st = contents_inflate(c);
    return st;
}

static ssq_status check_args(const char *path, const ssq_array_read_args *args,
                             ssq_array **array)
{
    if (path == NULL || array == NULL)
        return error_set(SSQ_ERR_INVALID, "array_read: %s is NULL",
                         path == NULL ? "path" : "array");
    if (args->struct_size != sizeof(*args))
        return error_set(SSQ_ERR_INVALID,
                         "array_read: struct_size is %zu, expected %zu",
                         args->struct_size, sizeof(*args));
    if (args->skip_rows < 0)
        return error_set(SSQ_ERR_INVALID,
                         "array_read: skip_rows is %lld, expected at least 0",
                         (long long)args->skip_rows);
    if (args->separator == '\0' || isalnum((unsigned char)args->separator) ||
        strchr("+-. \n\r", args->separator) != NULL)
        return error_set(SSQ_ERR_INVALID,
                         "array_read: separator 0x%02x is a blank, or a part "
                         "of numbers or lines",
                         (unsigned)(unsigned char)args->separator);
    switch (args->dtype) {
    case SSQ_F32:
    case SSQ_F64:
    case SSQ_I32:
    case SSQ_I64:
        return SSQ_OK;
    default:
        return error_set(SSQ_ERR_INVALID,
                         "array_read: dtype of CSV is %s, expected f32, f64, "
                         "i32 or i64",
                         ssq_dtype_name(args->dtype));
    }
}

ssq_status ssq_array_read(const char *path, const ssq_array_read_args *args,
                          ssq_array **array)
{
    const ssq_array_read_args plain = SSQ_ARRAY_READ_INIT;
    struct contents c;
    args = args == NULL ? &plain : args;
    ssq_status st = check_args(path, args, array);
    if (st != SSQ_OK)
        return st;
    st = contents_read(&c, path);
    if (st == SSQ_OK)
        st = npy_is(&c)   ? npy_read(&c, array)
             : idx_is(&c) ? idx_read(&c, array)
                          : csv_read(&c, args, array);
    contents_free(&c);
    return st;
}
