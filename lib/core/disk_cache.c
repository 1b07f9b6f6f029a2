/* SPDX-License-Identifier: Apache-2.0 */
/* disk_cache.c - compiled kernels on disk, from one run to the next.
 *
 * $XDG_CACHE_HOME/sesqui, else ~/.cache/sesqui; SSQ_CACHE=0 does without, and
 * so does a setuid process; SSQ_CACHE_PROGRAMS=0 keeps certificates alone. A
 * backend names a file by what it compiles, and by a hash of all but its
 * source: a changed source writes its file anew.
 * Whatever is wrong with a file or the directory, it is compiled instead.
 *
 *     struct header | key | binary
 *
 * A file appears whole, by rename, once the disk has it: two processes write
 * the same one in any order. What a killed process left is swept, and files go,
 * the oldest first, when all together are more than SSQ_CACHE_MB, 256 if that
 * does not say. Whoever stores looks after both. */
#include "lib/core/disk_cache.h"

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

/** The first bytes of each file; the digit changes with the layout. */
#define MAGIC "ssqprog1"
/** Nothing is larger: a length that says so is garbage. */
#define MOST_BYTES (UINT64_C(256) << 20)
#define PATH_BYTES 4096
/** Of all files together, in MiB. */
#define MOST_MIB 256u
/** In seconds. A .part file is still being written; one that is older is
 *  nobody's, whoever has its writer's number now. */
#define PART_SECONDS 3600

/** In the byte order of the machine: a file of another order fails the check of
 *  its lengths. */
struct header {
    char magic[8];
    uint64_t key_bytes, binary_bytes; /* without an end of string */
    uint64_t checksum; /* of the key and the binary */
};

/* Guards against damage by disks and crashes, not by an attacker: the directory
 * is the user's own. */
static uint64_t checksum(const unsigned char *key_and_binary, size_t n)
{
    return disk_cache_hash(DISK_CACHE_HASH, key_and_binary, n);
}

/* Write the directory above "/sesqui" to path; false: there is none to be used.
 * A relative XDG_CACHE_HOME is ignored, as its specification demands. */
static bool directory(const struct services *core, char *path, size_t bytes)
{
    bool on = true; /* not if nobody can tell */
    if (core->env_flag("SSQ_CACHE", &on) != SSQ_OK || !on)
        return false;
    const char *base = core->env_text("XDG_CACHE_HOME");
    const char *home = core->env_text("HOME");
    int n = -1;
    if (base != NULL && base[0] == '/')
        n = snprintf(path, bytes, "%s", base);
    else if (home != NULL && home[0] == '/')
        n = snprintf(path, bytes, "%s/.cache", home);
    /* room for "/sesqui", a name and what makes it temporary */
    return n > 0 && (size_t)n + 256 < bytes;
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

/* A signal may interrupt any call on a disk of a network or of FUSE. */
static int open_file(const char *path, int flags)
{
    int fd;
    do
        fd = open(path, flags, 0600);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* Have the disk take a file before it gets its name: else a crash may leave the
 * name with nothing behind it. */
static bool sync_file(int fd)
{
    int e;
    do
        e = fsync(fd);
    while (e != 0 && errno == EINTR);
    return e == 0;
}

/* Read exactly so many bytes; a file that ends early is false. */
static bool read_all(int fd, unsigned char *to, size_t bytes)
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

/* The same for writing: a write may take a part only, as on a full disk. */
static bool write_all(int fd, const void *from, size_t bytes)
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

/* Read the header. False unless this is a plain file of the process's user with
 * exactly the length that the header says; lengths are bounded before they are
 * added, so that the sum cannot overflow. */
static bool read_header(int fd, struct header *h)
{
    struct stat s;
    return fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid() &&
           read_all(fd, (unsigned char *)h, sizeof(*h)) &&
           memcmp(h->magic, MAGIC, sizeof(h->magic)) == 0 &&
           h->key_bytes < MOST_BYTES && h->binary_bytes < MOST_BYTES &&
           (uint64_t)s.st_size == sizeof(*h) + h->key_bytes + h->binary_bytes;
}

/* Read key and binary into one block and move the binary to its front, where
 * the caller wants it. NULL if the file is of another key, or damaged. One byte
 * more is allocated, since both may be empty and no block has 0 bytes. */
static unsigned char *read_body(const struct services *core, int fd,
                                const char *key, size_t *bytes, bool *damaged)
{
    struct header h;
    *damaged = !read_header(fd, &h);
    if (*damaged)
        return NULL;
    size_t n = (size_t)(h.key_bytes + h.binary_bytes);
    unsigned char *body = core->mem_alloc(n + 1);
    if (body == NULL)
        return NULL;
    *damaged = !read_all(fd, body, n) || checksum(body, n) != h.checksum;
    if (*damaged || h.key_bytes != strlen(key) ||
        memcmp(body, key, h.key_bytes) != 0) {
        core->mem_free(body);
        return NULL;
    }
    memmove(body, body + h.key_bytes, (size_t)h.binary_bytes);
    *bytes = (size_t)h.binary_bytes;
    return body;
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

/* O_NOFOLLOW and O_NONBLOCK: a link is not followed, and a FIFO under this name
 * must not make the process wait; read_header then refuses it. */
unsigned char *disk_cache_read(const struct services *core, const char *name,
                               const char *key, size_t *bytes, bool *damaged)
{
    char path[PATH_BYTES];
    *damaged = false;
    if (!disk_cache_path(core, name, path, sizeof(path)))
        return NULL;
    int fd = open_file(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    *damaged = fd < 0 && errno != ENOENT && errno != ENOTDIR;
    if (fd < 0)
        return NULL;
    unsigned char *binary = read_body(core, fd, key, bytes, damaged);
    close(fd);
    return binary;
}

unsigned char *disk_cache_load(const struct services *core, const char *name,
                               const char *key, size_t *bytes)
{
    bool damaged;
    return disk_cache_read(core, name, key, bytes, &damaged);
}

bool disk_cache_remove(const struct services *core, const char *name)
{
    char path[PATH_BYTES];
    return !disk_cache_path(core, name, path, sizeof(path)) ||
           unlink(path) == 0 || errno == ENOENT || errno == ENOTDIR;
}

/* Write a whole new file. O_EXCL: path is that of a .part file, which is
 * unique, so whatever exists under it is not ours to write to. */
static bool write_file(const char *path, const char *key,
                       const unsigned char *binary, size_t bytes)
{
    int fd = open_file(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC);
    if (fd < 0)
        return false;
    struct header h = {.key_bytes = strlen(key), .binary_bytes = bytes};
    memcpy(h.magic, MAGIC, sizeof(h.magic));
    h.checksum = disk_cache_hash(
        checksum((const unsigned char *)key, strlen(key)), binary, bytes);
    bool ok = write_all(fd, &h, sizeof(h)) && write_all(fd, key, strlen(key)) &&
              write_all(fd, binary, bytes) && sync_file(fd);
    /* interrupted, it is closed all the same, and the disk has it */
    return (close(fd) == 0 || errno == EINTR) && ok;
}

/* ---- sweeping ---- */

/* The number of the process that writes name, which ends in ".PID.N.part"; 0:
 * it ends otherwise. */
static long writer_of(const char *name)
{
    size_t n = strlen(name);
    long pid = 0;
    if (n < 5 || strcmp(name + n - 5, ".part") != 0)
        return 0;
    size_t at = n - 5;
    while (at > 0 && name[at - 1] != '.')
        at--;
    if (at > 0)
        at--;
    while (at > 0 && name[at - 1] != '.')
        at--;
    return sscanf(name + at, "%ld.", &pid) == 1 && pid > 0 ? pid : 1;
}

/* True if a .part file's writer has ended, or seems to. One in another process
 * namespace may still be writing: then its rename fails, and it compiles once
 * more the next time. */
static bool abandoned(long pid, const struct stat *s)
{
    return (kill((pid_t)pid, 0) != 0 && errno == ESRCH) ||
           time(NULL) - s->st_mtime > PART_SECONDS;
}

/** What one look through the directory finds. */
struct sweep {
    uint64_t bytes; /* of all files */
    char oldest[256];      /* its name; "": there is no file */
    struct timespec since; /* of the oldest */
};

static bool older(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec
                                  : a->tv_nsec < b->tv_nsec;
}

/* Look at one file of the directory: remove a .part file that was abandoned,
 * count any other. Files of other users and what is not a plain file are left
 * alone. */
static void sweep_file(int at, const char *name, struct sweep *w)
{
    struct stat s;
    long pid = writer_of(name);
    if (fstatat(at, name, &s, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(s.st_mode) || s.st_uid != geteuid())
        return;
    if (pid != 0) {
        if (abandoned(pid, &s))
            (void)unlinkat(at, name, 0);
        return;
    }
    w->bytes += (uint64_t)s.st_size;
    if (strlen(name) < sizeof(w->oldest) &&
        (w->oldest[0] == '\0' || older(&s.st_mtim, &w->since))) {
        snprintf(w->oldest, sizeof(w->oldest), "%s", name);
        w->since = s.st_mtim;
    }
}

/* Sweep .part files; the bytes of what is left, and its oldest file. */
static bool look(const char *directory, struct sweep *w)
{
    *w = (struct sweep){0};
    DIR *d = opendir(directory);
    if (d == NULL)
        return false;
    for (const struct dirent *e; (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.')
            sweep_file(dirfd(d), e->d_name, w);
    closedir(d);
    return true;
}

/* Remove the oldest file until all together are small enough. The directory is
 * looked through again after each one, since other processes write and remove
 * files at the same time. A failed unlink ends it, or it would never end. */
static void sweep(const struct services *core, char *directory, size_t room)
{
    uint64_t most = MOST_MIB;
    struct sweep w;
    size_t at = strlen(directory);
    (void)core->env_number("SSQ_CACHE_MB", 1, UINT32_MAX, &most);
    most <<= 20;
    while (look(directory, &w) && w.bytes > most && w.oldest[0] != '\0') {
        snprintf(directory + at, room - at, "/%s", w.oldest);
        int e = unlink(directory);
        directory[at] = '\0';
        if (e != 0)
            break;
    }
}

/* Make the directory, where it is not there yet; path has it then. False: there
 * is none to be used. */
static bool make_directory(const struct services *core, char *path,
                           size_t bytes)
{
    if (!directory(core, path, bytes))
        return false;
    (void)mkdir(path, 0700); /* there already, or the file will not open */
    size_t at = strlen(path);
    snprintf(path + at, bytes - at, "/sesqui");
    (void)mkdir(path, 0700);
    return true;
}

/* A lock of POSIX, on a file that a sweep leaves alone because of its name: it
 * goes with the process, however that ends. */
int disk_cache_lock(const struct services *core)
{
    char path[PATH_BYTES];
    if (!make_directory(core, path, sizeof(path)))
        return -1;
    size_t at = strlen(path);
    snprintf(path + at, sizeof(path) - at, "/.lock");
    int fd = open_file(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    while (fd >= 0 && fcntl(fd, F_SETLKW, &whole) != 0)
        if (errno != EINTR) {
            close(fd);
            return -1;
        }
    return fd;
}

void disk_cache_unlock(int lock)
{
    if (lock >= 0)
        close(lock);
}

/* A .part file is named by process and a serial number, so that neither another
 * process nor another thread of this one writes the same. Failures are silent:
 * nothing depends on the cache but time. */
void disk_cache_store(const struct services *core, const char *name,
                      const char *key, const unsigned char *binary,
                      size_t bytes)
{
    static atomic_uint serial;
    char path[PATH_BYTES], part[PATH_BYTES + 64];
    if (bytes >= MOST_BYTES || !make_directory(core, path, sizeof(path)))
        return;
    size_t at = strlen(path);
    sweep(core, path, sizeof(path));
    snprintf(path + at, sizeof(path) - at, "/%s", name);
    snprintf(part, sizeof(part), "%s.%ld.%u.part", path, (long)getpid(),
             atomic_fetch_add(&serial, 1u));
    if (!write_file(part, key, binary, bytes) || rename(part, path) != 0)
        (void)unlink(part);
}
