/* SPDX-License-Identifier: Apache-2.0 */
/* distro_paths.c - the files that a driver of tests/distro-env opens by name.
 *
 * rusticl reads the library of OpenCL's functions from /usr/lib/clc, wherever
 * rusticl itself is. Preloaded into a program that runs in the folder ROOT,
 * this gives it the folder's. */
#define _GNU_SOURCE /* RTLD_NEXT, O_TMPFILE */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CLC "/usr/lib/clc/"

/* ROOT, the folder, is defined by the command line that compiles this. */
typedef int (*open_fn)(const char *, int, ...);

/* The folder's name of path, in room, or path itself. */
static const char *where(const char *path, char *room, size_t bytes)
{
    if (strncmp(path, CLC, sizeof(CLC) - 1) != 0)
        return path;
    int n = snprintf(room, bytes, "%s%s", ROOT, path);
    return n > 0 && (size_t)n < bytes ? room : path;
}

/* The C library's own function, by its name; a mode follows only where a file
 * may be created. */
static int open_by(const char *symbol, const char *path, int flags,
                   va_list more)
{
    char room[4096];
    open_fn next = (open_fn)dlsym(RTLD_NEXT, symbol);
    int mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, int) : 0;
    return next(where(path, room, sizeof(room)), flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int fd = open_by("open", path, flags, more);
    va_end(more);
    return fd;
}

int open64(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    int fd = open_by("open64", path, flags, more);
    va_end(more);
    return fd;
}
