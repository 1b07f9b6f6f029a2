/* SPDX-License-Identifier: Apache-2.0 */
/* disk_cache.c - compiled kernels on disk, from one run to the next.
 *
 * The directory is $XDG_CACHE_HOME/sesqui or else ~/.cache/sesqui. SSQ_CACHE=0
 * disables the cache, and so does a setuid process. With SSQ_CACHE_PROGRAMS=0
 * only certificates are kept. A backend names a file after the object that it
 * compiles, and a hash of everything except its source: a changed source
 * replaces its file. If a file or the directory is unusable, the kernel is
 * compiled instead.
 *
 *     struct disk_cache_header | key | binary
 *
 * A file appears complete: it is renamed when all its bytes are on the disk.
 * Two processes may therefore write the same file in any order.
 * disk_cache_store() removes .part files that a killed process left. It also
 * removes the oldest files while all files together exceed SSQ_CACHE_MB MiB,
 * 256 by default.
 *
 * Only the cache's own files are removed or replaced. The folder must belong to
 * the user, must not be a link, and must not be writable by another user. Each
 * call opens it once, and opens files relative to this descriptor. A file is
 * the cache's own if its name is WORDS-HASH or WORDS-HASH.PID.N.part and it
 * begins with MAGIC. */
#include "lib/core/module/disk_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/** The first bytes of each file. The digit changes with the layout. */
#define MAGIC "ssqprog1"
/** Limit of a key or a binary. A header with a larger length is damaged. */
#define MOST_BYTES (UINT64_C(256) << 20)
#define PATH_BYTES 4096
/** Bytes of MAGIC that all layouts share. */
#define MAGIC_STEM 7
/** Digits of a HASH. */
#define HASH_DIGITS 16
/** Longest wait for the lock of another process. */
#define LOCK_SECONDS 5
/** Default limit of all files together, in MiB. */
#define MOST_MIB 256u
/** In seconds. An older .part file is abandoned, even if a process has the id
 *  of its writer. */
#define PART_SECONDS 3600

/** In the byte order of the machine. A file of another byte order fails the
 *  check of its lengths. */
struct disk_cache_header {
    char magic[8];
    uint64_t key_bytes, binary_bytes; /* without a terminating NUL */
    uint64_t checksum;                /* of the key and the binary */
};

/* Detects damage by disks and crashes, not by an attacker: the directory
 * belongs to the user. */
static uint64_t disk_cache_checksum(const unsigned char *key_and_binary,
                                    size_t n)
{
    return disk_cache_hash(DISK_CACHE_HASH, key_and_binary, n);
}

/* Set path to the directory that contains "/sesqui". False if the cache is
 * disabled or has no directory. A relative XDG_CACHE_HOME is ignored, as its
 * specification requires. */
static bool directory(const struct services *core, char *path, size_t bytes)
{
    bool on = true; /* an invalid value disables the cache */
    if (core->env_flag("SSQ_CACHE", &on) != SSQ_OK || !on)
        return false;
    const char *base = core->env_text("XDG_CACHE_HOME");
    const char *home = core->env_text("HOME");
    int n = -1;
    if (base != NULL && base[0] == '/')
        n = snprintf(path, bytes, "%s", base);
    else if (home != NULL && home[0] == '/')
        n = snprintf(path, bytes, "%s/.cache", home);
    /* leave space for "/sesqui", a name and the suffix of a .part file */
    return n > 0 && (size_t)n + 256 < bytes;
}

/* Set *most to SSQ_CACHE_MB in bytes, or to 256 MiB if that is unset or
 * invalid. */
static ssq_status most_bytes(const struct services *core, uint64_t *most)
{
    *most = MOST_MIB;
    ssq_status st = core->env_number("SSQ_CACHE_MB", 1, UINT32_MAX, most);
    *most <<= 20;
    return st;
}

ssq_status disk_cache_settings(const struct services *core)
{
    bool on;
    uint64_t most;
    ssq_status st = core->env_flag("SSQ_CACHE", &on);
    if (st == SSQ_OK)
        st = core->env_flag("SSQ_CACHE_PROGRAMS", &on);
    return st == SSQ_OK ? most_bytes(core, &most) : st;
}

bool disk_cache_usable(const struct services *core)
{
    char path[PATH_BYTES];
    return directory(core, path, sizeof(path));
}

bool disk_cache_programs(const struct services *core)
{
    bool on = true;
    return core->env_flag("SSQ_CACHE_PROGRAMS", &on) == SSQ_OK && on &&
           disk_cache_usable(core);
}

/* A signal may interrupt any call on a network or FUSE file system. */
static int disk_cache_open_file(int folder, const char *name, int flags)
{
    int fd;
    do
        fd = openat(folder, name, flags | O_CLOEXEC, 0600);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* True if files of the folder may be removed and replaced: it belongs to this
 * user, and no other user can have put files there. */
static bool is_own(int folder)
{
    struct stat s;
    return fstat(folder, &s) == 0 && s.st_uid == geteuid() &&
           (s.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Open the folder. If make is true, create it first. Returns -1 if it cannot be
 * used; errno is ENOENT if it does not exist or the cache is disabled. Its
 * parent may be a link. */
static int open_folder(const struct services *core, bool make)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    char path[PATH_BYTES];
    errno = ENOENT;
    if (!directory(core, path, sizeof(path)))
        return -1;
    if (make)
        (void)mkdir(path, 0700); /* a failure shows when it is opened */
    size_t at = strlen(path);
    snprintf(path + at, sizeof(path) - at, "/sesqui");
    if (make)
        (void)mkdir(path, 0700);
    int fd = disk_cache_open_file(AT_FDCWD, path,
                                  O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    struct stat s;
    if (fd < 0 && errno == ENOTDIR && lstat(path, &s) != 0)
        errno = ENOENT; /* a directory above is a file */
    if (fd < 0 ? errno == ENOENT : is_own(fd))
        return fd;
    if (fd >= 0)
        close(fd);
    if (!atomic_flag_test_and_set(&told))
        core->log_line(
            SSQ_LOG_WARNING, "cache",
            "%s is not used: it must be a folder and no link, belong "
            "to this user, and be writable by nobody else",
            path);
    errno = EACCES;
    return -1;
}

/* Write a file to the disk before it gets its name. Otherwise a crash may leave
 * the name with an empty file. */
static bool disk_cache_sync_file(int fd)
{
    int e;
    do
        e = fsync(fd);
    while (e != 0 && errno == EINTR);
    return e == 0;
}

/* Read exactly `bytes` bytes. False if the file ends early. */
static bool disk_cache_read_all(int fd, unsigned char *to, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = read(fd, to, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        to += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* Write exactly `bytes` bytes: one write may be partial, as on a full disk. */
static bool disk_cache_write_all(int fd, const void *from, size_t bytes)
{
    const unsigned char *b = from;
    while (bytes > 0) {
        ssize_t n = write(fd, b, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        b += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* Read the header. False unless this is a regular file of the process's user
 * with exactly the length that the header describes. Lengths are bounded before
 * they are added, so the sum cannot overflow. */
static bool read_header(int fd, struct disk_cache_header *h)
{
    struct stat s;
    return fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid() &&
           disk_cache_read_all(fd, (unsigned char *)h, sizeof(*h)) &&
           memcmp(h->magic, MAGIC, sizeof(h->magic)) == 0 &&
           h->key_bytes < MOST_BYTES && h->binary_bytes < MOST_BYTES &&
           (uint64_t)s.st_size == sizeof(*h) + h->key_bytes + h->binary_bytes;
}

/* Read key and binary into one block, and move the binary to its front, as the
 * caller expects. If the file has another key, *binary stays NULL. One more
 * byte is allocated: key and binary may both be empty, but a block must not
 * have 0 bytes. */
static ssq_status read_body(const struct services *core, int fd,
                            const char *key, unsigned char **binary,
                            size_t *bytes)
{
    struct disk_cache_header h;
    if (!read_header(fd, &h))
        return SSQ_ERR_IO;
    size_t n = (size_t)(h.key_bytes + h.binary_bytes);
    unsigned char *body = core->mem_alloc(n + 1);
    if (body == NULL)
        return SSQ_ERR_NOMEM;
    bool whole = disk_cache_read_all(fd, body, n) &&
                 disk_cache_checksum(body, n) == h.checksum;
    if (!whole || h.key_bytes != strlen(key) ||
        memcmp(body, key, h.key_bytes) != 0) {
        core->mem_free(body);
        return whole ? SSQ_OK : SSQ_ERR_IO;
    }
    memmove(body, body + h.key_bytes, (size_t)h.binary_bytes);
    *bytes = (size_t)h.binary_bytes;
    *binary = body;
    return SSQ_OK;
}

bool disk_cache_path(const struct services *core, const char *name, char *path,
                     size_t bytes)
{
    if (!directory(core, path, bytes))
        return false;
    size_t at = strlen(path);
    snprintf(path + at, bytes - at, "/sesqui/%s", name);
    return true;
}

/* O_NOFOLLOW: a link is not followed. O_NONBLOCK: the process does not wait for
 * a FIFO of this name, which the caller then refuses. */
static int open_to_read(int folder, const char *name)
{
    return disk_cache_open_file(folder, name,
                                O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
}

ssq_status disk_cache_read(const struct services *core, const char *name,
                           const char *key, unsigned char **binary,
                           size_t *bytes)
{
    *binary = NULL;
    *bytes = 0;
    int folder = open_folder(core, false);
    if (folder < 0)
        return SSQ_OK;
    int fd = open_to_read(folder, name);
    ssq_status st = fd >= 0 || errno == ENOENT ? SSQ_OK : SSQ_ERR_IO;
    close(folder);
    if (fd < 0)
        return st;
    st = read_body(core, fd, key, binary, bytes);
    close(fd);
    return st;
}

unsigned char *disk_cache_load(const struct services *core, const char *name,
                               const char *key, size_t *bytes)
{
    unsigned char *binary;
    (void)disk_cache_read(core, name, key, &binary, bytes);
    return binary;
}

/* ---- the cache's own files ---- */

/* True if a name has the form of the cache's names. If it ends in
 * ".PID.N.part", *pid is the id of the process that writes the file; else 0. */
static bool has_form(const char *name, long *pid)
{
    size_t words = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");
    const char *end = name + words;
    unsigned serial;
    int used = 0;
    *pid = 0;
    if (words < HASH_DIGITS + 2 || end[-HASH_DIGITS - 1] != '-' ||
        strspn(end - HASH_DIGITS, "0123456789abcdef") != HASH_DIGITS)
        return false;
    return *end == '\0' ||
           (sscanf(end, ".%ld.%u.part%n", pid, &serial, &used) == 2 &&
            used > 0 && end[used] == '\0' && *pid > 0);
}

/* True if this is a regular file of the user that begins with MAGIC, in any
 * layout. If partly is set, a part of MAGIC is enough: the file may still be
 * incomplete. */
static bool has_magic(int folder, const char *name, bool partly)
{
    struct stat s;
    char first[MAGIC_STEM];
    int fd = open_to_read(folder, name);
    if (fd < 0)
        return false;
    ssize_t n = -1;
    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid())
        do
            n = read(fd, first, sizeof(first));
        while (n < 0 && errno == EINTR);
    close(fd);
    return n >= 0 && (partly || n == MAGIC_STEM) &&
           memcmp(first, MAGIC, (size_t)n) == 0;
}

/* True if the name is unused, or its file was written by the cache. A disk may
 * have emptied that file. */
static bool replaceable(int folder, const char *name)
{
    struct stat s;
    return fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW) != 0
               ? errno == ENOENT
               : has_magic(folder, name, s.st_size == 0);
}

bool disk_cache_remove(const struct services *core, const char *name)
{
    int folder = open_folder(core, false);
    if (folder < 0)
        return errno == ENOENT;
    bool gone = replaceable(folder, name) &&
                (unlinkat(folder, name, 0) == 0 || errno == ENOENT);
    close(folder);
    return gone;
}

/* Write a complete new file, or none. name is the name of a .part file, which
 * is unique: O_EXCL refuses a file that exists. */
static bool write_file(int folder, const char *name, const char *key,
                       const unsigned char *binary, size_t bytes)
{
    int fd = disk_cache_open_file(folder, name, O_WRONLY | O_CREAT | O_EXCL);
    if (fd < 0)
        return false;
    struct disk_cache_header h = {.key_bytes = strlen(key),
                                  .binary_bytes = bytes};
    memcpy(h.magic, MAGIC, sizeof(h.magic));
    h.checksum = disk_cache_hash(
        disk_cache_checksum((const unsigned char *)key, strlen(key)), binary,
        bytes);
    bool ok = disk_cache_write_all(fd, &h, sizeof(h)) &&
              disk_cache_write_all(fd, key, strlen(key)) &&
              disk_cache_write_all(fd, binary, bytes) &&
              disk_cache_sync_file(fd);
    /* EINTR: the file is closed nevertheless, and its bytes are on the disk */
    ok = (close(fd) == 0 || errno == EINTR) && ok;
    if (!ok)
        (void)unlinkat(folder, name, 0);
    return ok;
}

/* ---- sweeping ---- */

/* True if the writer of a .part file has ended, or seems to. A writer in
 * another process namespace may still be running. Its rename then fails, and
 * the kernel is compiled once more the next time. */
static bool abandoned(long pid, const struct stat *s)
{
    return (kill((pid_t)pid, 0) != 0 && errno == ESRCH) ||
           time(NULL) - s->st_mtime > PART_SECONDS;
}

/** Results of one pass over the directory. */
struct sweep {
    uint64_t bytes;        /* of all files */
    char oldest[256];      /* name of the oldest file; "": no file */
    struct timespec since; /* when the oldest file was written */
};

static bool older(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec
                                  : a->tv_nsec < b->tv_nsec;
}

/* Process one file of the folder: remove an abandoned .part file, or count a
 * finished file. Files that are not the cache's own are ignored. */
static void sweep_file(int folder, const char *name, struct sweep *w)
{
    struct stat s;
    long pid;
    if (strlen(name) >= sizeof(w->oldest) || !has_form(name, &pid) ||
        fstatat(folder, name, &s, AT_SYMLINK_NOFOLLOW) != 0 ||
        !has_magic(folder, name, pid != 0))
        return;
    if (pid != 0) {
        if (abandoned(pid, &s))
            (void)unlinkat(folder, name, 0);
        return;
    }
    w->bytes += (uint64_t)s.st_size;
    if (w->oldest[0] == '\0' || older(&s.st_mtim, &w->since)) {
        snprintf(w->oldest, sizeof(w->oldest), "%s", name);
        w->since = s.st_mtim;
    }
}

/* Process all files of the folder. closedir() closes its descriptor, so the
 * stream gets a separate one. */
static bool disk_cache_look(int folder, struct sweep *w)
{
    *w = (struct sweep){0};
    int fd = disk_cache_open_file(folder, ".", O_RDONLY | O_DIRECTORY);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (d == NULL) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        sweep_file(folder, e->d_name, w);
    closedir(d);
    return true;
}

/* Remove the oldest file until all files together are within the limit. The
 * folder is read again after each removal, because other processes write and
 * remove files at the same time. If an unlink fails, the loop ends; it would
 * never end otherwise. */
static void sweep(const struct services *core, int folder)
{
    uint64_t most;
    struct sweep w;
    (void)most_bytes(core, &most); /* an error was reported at device_open */
    while (disk_cache_look(folder, &w) && w.bytes > most && w.oldest[0] != '\0')
        if (unlinkat(folder, w.oldest, 0) != 0)
            break;
}

/* ---- locking ---- */

/* Try to get the lock for at most LOCK_SECONDS, because a stopped process would
 * hold it forever. */
static int disk_cache_wait_for(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    const struct timespec nap = {.tv_nsec = 20000000};
    struct timespec begun, now;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    while (fcntl(fd, F_SETLK, &whole) != 0) {
        if (errno == EINTR)
            continue;
        if (errno != EACCES && errno != EAGAIN)
            return -1;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec - begun.tv_sec >= LOCK_SECONDS)
            return DISK_CACHE_BUSY;
        (void)nanosleep(&nap, NULL);
    }
    return fd;
}

/* A POSIX lock, on a file that a sweep ignores because of its name. The lock
 * ends with the process, however the process ends. */
int disk_cache_lock(const struct services *core)
{
    int folder = open_folder(core, true);
    if (folder < 0)
        return -1;
    int fd =
        disk_cache_open_file(folder, ".lock", O_RDWR | O_CREAT | O_NOFOLLOW);
    close(folder);
    if (fd < 0)
        return -1;
    int lock = disk_cache_wait_for(fd);
    if (lock < 0)
        close(fd);
    return lock;
}

void disk_cache_unlock(int lock)
{
    if (lock >= 0)
        close(lock);
}

/* The name of a .part file contains the process id and a serial number, so that
 * no other process or thread writes the same file. */
bool disk_cache_store(const struct services *core, const char *name,
                      const char *key, const unsigned char *binary,
                      size_t bytes)
{
    static atomic_uint serial;
    char part[512];
    int folder = bytes < MOST_BYTES ? open_folder(core, true) : -1;
    if (folder < 0)
        return false;
    sweep(core, folder);
    snprintf(part, sizeof(part), "%s.%ld.%u.part", name, (long)getpid(),
             atomic_fetch_add(&serial, 1u));
    bool written = write_file(folder, part, key, binary, bytes);
    bool stored = written && replaceable(folder, name) &&
                  renameat(folder, part, folder, name) == 0;
    if (written && !stored)
        (void)unlinkat(folder, part, 0);
    close(folder);
    return stored;
}
