/* SPDX-License-Identifier: Apache-2.0 */
/* disk.c - read and write files, and replace them by a rename. A read or write
 * that was cut short, for example by a signal, is continued. */
#include "lib/checkpoint/disk.h"

#include "lib/core/base/object.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/** Maximum number of symbolic links to follow, as on Linux. */
#define MOST_LINKS 40

static ssq_status disk_fail(const char *what, const char *path, const char *did,
                            int e)
{
    char text[128] = "";
    if (strerror_r(e, text, sizeof(text)) != 0)
        snprintf(text, sizeof(text), "error %d", e);
    return error_set(e == ENOENT || e == ENOTDIR ? SSQ_ERR_NOT_FOUND
                                                 : SSQ_ERR_IO,
                     "%s: %.300s: %s: %s", what, path, did, text);
}

static int disk_open_file(const char *path, int flags)
{
    int fd;
    do
        fd = open(path, flags | O_CLOEXEC, 0666);
    while (fd < 0 && errno == EINTR);
    return fd;
}

ssq_status disk_path_check(const char *what, const char *path)
{
    if (path != NULL && path[0] != '\0')
        return SSQ_OK;
    return error_set(SSQ_ERR_INVALID, "%s: path is %s", what,
                     path == NULL ? "NULL" : "empty");
}

/* ---- reading ---- */

/* O_NONBLOCK: without it, opening a pipe of that name would wait for a
 * writer. */
ssq_status disk_open(const char *what, const char *path, int *fd,
                     uint64_t *bytes)
{
    struct stat s;
    int f = disk_open_file(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
    if (f < 0)
        return disk_fail(what, path, "open", errno);
    if (fstat(f, &s) != 0) {
        ssq_status st = disk_fail(what, path, "fstat", errno);
        disk_close(f);
        return st;
    }
    if (!S_ISREG(s.st_mode)) {
        disk_close(f);
        return error_set(SSQ_ERR_INVALID, "%s: %.300s is not a regular file",
                         what, path);
    }
    *fd = f;
    *bytes = (uint64_t)s.st_size;
    return SSQ_OK;
}

ssq_status disk_read(const char *what, const char *path, int fd, uint64_t at,
                     void *to, size_t n)
{
    unsigned char *p = to;
    while (n > 0) {
        ssize_t k = pread(fd, p, n < INT_MAX ? n : INT_MAX, (off_t)at);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return disk_fail(what, path, "read", errno);
        if (k == 0)
            return error_set(SSQ_ERR_IO,
                             "%s: %.300s: it ends at byte %llu, and was longer "
                             "when it was opened",
                             what, path, (unsigned long long)at);
        p += k;
        at += (uint64_t)k;
        n -= (size_t)k;
    }
    return SSQ_OK;
}

/* If a signal interrupts close(), the file is closed nevertheless. */
void disk_close(int fd)
{
    (void)close(fd);
}

/* ---- writing ---- */

/* Return the directory of a path, with room to append a name of n bytes. */
static char *folder_of(const char *path, size_t n, size_t *bytes)
{
    const char *slash = strrchr(path, '/');
    *bytes = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    char *at = mem_alloc(*bytes + n + 1);
    if (at != NULL && *bytes > 0)
        memcpy(at, path, *bytes);
    return at;
}

/* Replace r->target, a link, by the path that it contains. This path may be
 * relative to the link's directory. */
static ssq_status disk_follow(struct replacement *r)
{
    char *to = mem_alloc(PATH_MAX);
    size_t folder = 0;
    ssize_t n = to == NULL ? -1 : readlink(r->target, to, PATH_MAX - 1);
    ssq_status st = to == NULL ? error_nomem(r->what, PATH_MAX)
                    : n < 0    ? disk_fail(r->what, r->path, "readlink", errno)
                               : SSQ_OK;
    char *next = NULL;
    if (st == SSQ_OK) {
        to[n] = '\0';
        next = to[0] == '/' ? mem_strdup(to)
                            : folder_of(r->target, (size_t)n, &folder);
        if (next == NULL)
            st = error_nomem(r->what, PATH_MAX);
        else
            memcpy(next + folder, to, (size_t)n + 1);
    }
    mem_free(to);
    if (st != SSQ_OK)
        return st;
    mem_free(r->target);
    r->target = next;
    return SSQ_OK;
}

/* Follow links to the file that will be replaced or created. Refuse a file that
 * is not a regular file. *mode is set to the file's mode, or to 0 if it does
 * not exist. */
static ssq_status find_target(struct replacement *r, mode_t *mode)
{
    struct stat s = {.st_mode = 0};
    r->target = mem_strdup(r->path);
    if (r->target == NULL)
        return error_nomem(r->what, strlen(r->path));
    for (int links = 0;; links++) {
        int e = lstat(r->target, &s) == 0 ? 0 : errno;
        *mode = e == 0 ? s.st_mode : 0;
        if (e == ENOENT || (e == 0 && S_ISREG(s.st_mode)))
            return SSQ_OK;
        if (e != 0)
            return disk_fail(r->what, r->path, "lstat", e);
        if (!S_ISLNK(s.st_mode))
            return error_set(SSQ_ERR_INVALID,
                             "%s: %.300s is not a regular file", r->what,
                             r->path);
        if (links == MOST_LINKS)
            return disk_fail(r->what, r->path, "follow a link", ELOOP);
        ssq_status st = disk_follow(r);
        if (st != SSQ_OK)
            return st;
    }
}

ssq_status replacement_begin(struct replacement *r, const char *what,
                             const char *path)
{
    static atomic_uint number;
    mode_t mode = 0;
    size_t folder;
    *r = (struct replacement){.what = what, .path = path, .fd = -1};
    ssq_status st = find_target(r, &mode);
    if (st != SSQ_OK)
        return st;
    char *name = folder_of(r->target, 64, &folder);
    if (name == NULL)
        return error_nomem(what, strlen(path) + 64);
    for (int tries = 0; tries < 100 && r->fd < 0; tries++) {
        struct timespec now = {0, 0};
        (void)clock_gettime(CLOCK_REALTIME, &now);
        snprintf(name + folder, 64, ".sesqui-%ld-%lx-%u.part", (long)getpid(),
                 (unsigned long)now.tv_nsec, atomic_fetch_add(&number, 1u));
        r->fd = disk_open_file(name, O_RDWR | O_CREAT | O_EXCL);
        if (r->fd < 0 && errno != EEXIST)
            break;
    }
    if (r->fd < 0) {
        st = disk_fail(what, path, "no new file beside it", errno);
        mem_free(name);
        return st;
    }
    r->temporary = name;
    /* Some file systems do not store modes, for example CIFS and FUSE. The file
     * then has the mode of all files there. */
    if (mode != 0)
        (void)fchmod(r->fd, mode & 0777);
    return SSQ_OK;
}

/* Write without raising SIGXFSZ. The kernel sends it if the file exceeds a size
 * limit, and it ends a process that does not expect it. Here the limit is an
 * error like a full disk. A signal that this write raised is removed, unless
 * one was already pending. */
static ssize_t write_quietly(int fd, const void *from, size_t n, uint64_t at)
{
    sigset_t limit, pending, before;
    const struct timespec now = {0, 0};
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    sigemptyset(&pending);
    (void)sigpending(&pending);
    if (pthread_sigmask(SIG_BLOCK, &limit, &before) != 0)
        return pwrite(fd, from, n, (off_t)at);
    ssize_t k = pwrite(fd, from, n, (off_t)at);
    int e = errno;
    if (k < 0 && e == EFBIG && sigismember(&pending, SIGXFSZ) != 1)
        while (sigtimedwait(&limit, NULL, &now) < 0 && errno == EINTR)
            continue;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = e;
    return k;
}

ssq_status replacement_write(struct replacement *r, uint64_t at,
                             const void *from, size_t n)
{
    const unsigned char *p = from;
    while (n > 0) {
        ssize_t k = write_quietly(r->fd, p, n < INT_MAX ? n : INT_MAX, at);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return disk_fail(r->what, r->path, "write", k < 0 ? errno : ENOSPC);
        p += k;
        at += (uint64_t)k;
        n -= (size_t)k;
    }
    return SSQ_OK;
}

static int disk_sync_file(int fd)
{
    int e;
    do
        e = fsync(fd);
    while (e != 0 && errno == EINTR);
    return e;
}

/* Sync the directory, so that the rename is on disk. The new file is already
 * in place, so errors are ignored: some file systems cannot sync a
 * directory.
 * @param name  a file in the directory; it is cut, because memory may be
 *              short */
static void sync_folder(char *name)
{
    char *slash = strrchr(name, '/');
    if (slash != NULL)
        slash[1] = '\0';
    int fd = disk_open_file(slash != NULL ? name : ".", O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return;
    (void)disk_sync_file(fd);
    disk_close(fd);
}

ssq_status replacement_commit(struct replacement *r)
{
    if (disk_sync_file(r->fd) != 0)
        return disk_fail(r->what, r->path, "fsync", errno);
    int fd = r->fd;
    r->fd = -1;
    if (close(fd) != 0 && errno != EINTR)
        return disk_fail(r->what, r->path, "close", errno);
    if (rename(r->temporary, r->target) != 0)
        return disk_fail(r->what, r->path, "rename", errno);
    sync_folder(r->temporary);
    mem_free(r->temporary);
    r->temporary = NULL;
    return SSQ_OK;
}

void replacement_end(struct replacement *r)
{
    if (r->fd >= 0)
        disk_close(r->fd);
    if (r->temporary != NULL)
        (void)unlink(r->temporary);
    mem_free(r->temporary);
    mem_free(r->target);
    *r = (struct replacement){.fd = -1};
}
