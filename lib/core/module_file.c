/* SPDX-License-Identifier: Apache-2.0 */
/* module_file.c - what must be true of a module's file before it is loaded,
 * and where the library itself is.
 *
 * A module is code that runs with the caller's rights, so where anybody may
 * write none is looked for. What is checked cannot change behind the check but
 * by who might write there anyway. */
#define _GNU_SOURCE 1 /* dladdr */

#include "lib/core/module_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- who may write there ---- */

/* True if nobody but its owner or group may replace what is in dir. own: dir
 * has the file itself, so that not even new files may come. */
static bool dir_safe(const char *dir, bool own, struct why *why)
{
    struct stat s;
    if (stat(dir, &s) != 0)
        return refuse(why, "%s: %s", dir, strerror(errno));
    /* In a sticky directory, as /tmp is, others cannot rename or remove what is
     * not theirs, but anybody adds files. */
    if ((s.st_mode & S_IWOTH) == 0 || (!own && (s.st_mode & S_ISVTX) != 0))
        return true;
    return refuse(why, "%s: everybody may write there: not used", dir);
}

/* The directory that path is in, and all above it. path is cut. */
static bool dirs_safe(char *path, struct why *why)
{
    bool own = true;
    for (char *end = strrchr(path, '/'); end != NULL;
         end = strrchr(path, '/')) {
        *end = '\0';
        if (!dir_safe(path[0] == '\0' ? "/" : path, own, why))
            return false;
        own = false;
    }
    return true;
}

/* The way as it was given is checked, and the way behind all links: whoever may
 * write to either could put another file there. */
bool module_file_safe(const char *path, struct why *why)
{
    char given[PATH_MAX], real[PATH_MAX];
    struct stat s;
    size_t n = strlen(path);
    if (n >= sizeof(given))
        return refuse(why, "%.64s...: %zu characters are too many", path, n);
    if (realpath(path, real) == NULL || stat(real, &s) != 0)
        return refuse(why, "%s: %s", path, strerror(errno));
    if (!S_ISREG(s.st_mode))
        return refuse(why, "%s: not a file", path);
    if ((s.st_mode & S_IWOTH) != 0)
        return refuse(why, "%s: everybody may write to it: not used", path);
    memcpy(given, path, n + 1);
    return dirs_safe(given, why) && dirs_safe(real, why);
}

/* ---- all its bytes ---- */

/* Exactly so many bytes from a place of the file; false where it ends early. */
static bool read_at(int fd, uint64_t at, void *to, size_t bytes)
{
    unsigned char *b = to;
    while (bytes > 0) {
        ssize_t n = pread(fd, b, bytes, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        b += n;
        at += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return true;
}

/* True if n times each bytes, from at on, end within size. */
static bool inside(uint64_t at, uint64_t n, uint64_t each, uint64_t size)
{
    uint64_t bytes;
    return size_mul(n, each, &bytes) && at <= size && bytes <= size - at;
}

/* The refusal of a file that ends before what its headers speak of. */
static bool cut(struct why *why, const char *path, uint64_t size,
                const char *what)
{
    return refuse(why, "%s: cut off after %llu bytes: %s would follow", path,
                  (unsigned long long)size, what);
}

/* True if all segments, which the loader maps, are within the file's size. */
static bool segments_whole(int fd, const char *path, uint64_t size,
                           const ElfW(Ehdr) * h, struct why *why)
{
    if (h->e_phentsize != sizeof(ElfW(Phdr)) ||
        !inside(h->e_phoff, h->e_phnum, sizeof(ElfW(Phdr)), size))
        return cut(why, path, size, "its program headers");
    for (unsigned i = 0; i < h->e_phnum; i++) {
        ElfW(Phdr) p;
        if (!read_at(fd, h->e_phoff + i * sizeof(p), &p, sizeof(p)))
            return refuse(why, "%s: %s", path, strerror(errno));
        if (!inside(p.p_offset, 1, p.p_filesz, size))
            return cut(why, path, size, "a segment");
    }
    return true;
}

/* The same of all sections. The loader needs none, but they lie behind the
 * segments: a copy that was cut short misses them first. A stripped file may
 * have none. */
static bool sections_whole(int fd, const char *path, uint64_t size,
                           const ElfW(Ehdr) * h, struct why *why)
{
    if (h->e_shoff == 0)
        return true;
    if (h->e_shentsize != sizeof(ElfW(Shdr)) ||
        !inside(h->e_shoff, h->e_shnum, sizeof(ElfW(Shdr)), size))
        return cut(why, path, size, "its section headers");
    for (unsigned i = 0; i < h->e_shnum; i++) {
        ElfW(Shdr) s;
        if (!read_at(fd, h->e_shoff + i * sizeof(s), &s, sizeof(s)))
            return refuse(why, "%s: %s", path, strerror(errno));
        if (s.sh_type != SHT_NOBITS && !inside(s.sh_offset, 1, s.sh_size, size))
            return cut(why, path, size, "a section");
    }
    return true;
}

/* The checks of module_file_whole, with the file open. */
static bool whole(int fd, const char *path, struct why *why)
{
    struct stat s;
    ElfW(Ehdr) h;
    if (fstat(fd, &s) != 0)
        return refuse(why, "%s: %s", path, strerror(errno));
    uint64_t size = (uint64_t)s.st_size;
    if (!read_at(fd, 0, &h, sizeof(h)) ||
        memcmp(h.e_ident, ELFMAG, SELFMAG) != 0)
        return refuse(why, "%s: no ELF file", path);
    if (h.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32))
        return refuse(why, "%s: of %s bits, this process is of %zu", path,
                      h.e_ident[EI_CLASS] == ELFCLASS64 ? "64" : "32",
                      8 * sizeof(void *));
    return segments_whole(fd, path, size, &h, why) &&
           sections_whole(fd, path, size, &h, why);
}

/* O_NONBLOCK: opening a FIFO must not wait; fstat and the ELF magic refuse
 * it. */
bool module_file_whole(const char *path, struct why *why)
{
    int fd;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return refuse(why, "%s: %s", path, strerror(errno));
    bool ok = whole(fd, path, why);
    close(fd);
    return ok;
}

/* ---- the library itself ---- */

/* dladdr finds the object that has the address of one of our own variables. */
bool library_directory(char *path, size_t bytes)
{
    static const char here = 0;
    Dl_info info;
    if (dladdr(&here, &info) == 0 || info.dli_fname == NULL)
        return false;
    const char *end = strrchr(info.dli_fname, '/');
    size_t n = end == NULL ? 0 : (size_t)(end - info.dli_fname);
    /* a relative one is of a directory that the process may have left */
    if (info.dli_fname[0] != '/' || n == 0 || n >= bytes)
        return false;
    memcpy(path, info.dli_fname, n);
    path[n] = '\0';
    return true;
}
