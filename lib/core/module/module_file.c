/* SPDX-License-Identifier: Apache-2.0 */
/* module_file.c - checks on a module's file before it is loaded, and the
 * library's own directory.
 *
 * A module is code that runs with the caller's rights. It is therefore never
 * loaded from a place that every user can write to. Between check and load,
 * only a user with write permission there can change the file. */
#define _GNU_SOURCE 1 /* dladdr */

#include "lib/core/module/module_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- permissions ---- */

/* True if only the owner and the group of dir can replace files in it. own: dir
 * contains the module itself, so other users must not be able to add files
 * either. */
static bool dir_safe(const char *dir, bool own, struct why *why)
{
    struct stat s;
    if (stat(dir, &s) != 0)
        return refuse(why, "%s: %s", dir, strerror(errno));
    /* In a sticky directory such as /tmp, users cannot rename or remove the
     * files of others, but every user can add files. */
    if ((s.st_mode & S_IWOTH) == 0 || (!own && (s.st_mode & S_ISVTX) != 0))
        return true;
    return refuse(why, "%s: other users may write there: not used", dir);
}

/* Check the directory of path and all directories above it. Truncates path. */
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

/* Check the path as given, and the path with all links resolved: a user with
 * write access to either could substitute another file. */
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
        return refuse(why, "%s: other users may write to it: not used", path);
    memcpy(given, path, n + 1);
    return dirs_safe(given, why) && dirs_safe(real, why);
}

/* ---- completeness ---- */

/* Read exactly `bytes` bytes from offset `at` of the file. False if the file
 * ends early, or on an error. */
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

/* True if n items of `each` bytes, from offset `at` on, end within size. */
static bool inside(uint64_t at, uint64_t n, uint64_t each, uint64_t size)
{
    uint64_t bytes;
    return size_mul(n, each, &bytes) && at <= size && bytes <= size - at;
}

/* Refuse a file that ends before a part that its headers describe. */
static bool module_file_cut(struct why *why, const char *path, uint64_t size,
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
        return module_file_cut(why, path, size, "its program headers");
    for (unsigned i = 0; i < h->e_phnum; i++) {
        ElfW(Phdr) p;
        if (!read_at(fd, h->e_phoff + i * sizeof(p), &p, sizeof(p)))
            return refuse(why, "%s: %s", path, strerror(errno));
        if (!inside(p.p_offset, 1, p.p_filesz, size))
            return module_file_cut(why, path, size, "a segment");
    }
    return true;
}

/* True if all sections are within the file's size. The loader does not need
 * them, but they follow the segments: a truncated copy loses them first. A
 * stripped file may have none. */
static bool sections_whole(int fd, const char *path, uint64_t size,
                           const ElfW(Ehdr) * h, struct why *why)
{
    if (h->e_shoff == 0)
        return true;
    if (h->e_shentsize != sizeof(ElfW(Shdr)) ||
        !inside(h->e_shoff, h->e_shnum, sizeof(ElfW(Shdr)), size))
        return module_file_cut(why, path, size, "its section headers");
    for (unsigned i = 0; i < h->e_shnum; i++) {
        ElfW(Shdr) s;
        if (!read_at(fd, h->e_shoff + i * sizeof(s), &s, sizeof(s)))
            return refuse(why, "%s: %s", path, strerror(errno));
        if (s.sh_type != SHT_NOBITS && !inside(s.sh_offset, 1, s.sh_size, size))
            return module_file_cut(why, path, size, "a section");
    }
    return true;
}

/* Run the checks of module_file_whole() on an open file. */
static bool core_module_file_whole(int fd, const char *path, struct why *why)
{
    struct stat s;
    ElfW(Ehdr) h;
    if (fstat(fd, &s) != 0)
        return refuse(why, "%s: %s", path, strerror(errno));
    uint64_t size = (uint64_t)s.st_size;
    if (!read_at(fd, 0, &h, sizeof(h)) ||
        memcmp(h.e_ident, ELFMAG, SELFMAG) != 0)
        return refuse(why, "%s: not an ELF file", path);
    if (h.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32))
        return refuse(why, "%s: of %s bits, this process is of %zu", path,
                      h.e_ident[EI_CLASS] == ELFCLASS64 ? "64" : "32",
                      8 * sizeof(void *));
    return segments_whole(fd, path, size, &h, why) &&
           sections_whole(fd, path, size, &h, why);
}

/* O_NONBLOCK: opening a FIFO must not wait. The FIFO is refused later, because
 * pread() fails on it. */
bool module_file_whole(const char *path, struct why *why)
{
    int fd;
    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return refuse(why, "%s: %s", path, strerror(errno));
    bool ok = core_module_file_whole(fd, path, why);
    close(fd);
    return ok;
}

/* ---- the library itself ---- */

/* Ask dladdr() for the object that contains a variable of this file. */
bool library_directory(char *path, size_t bytes)
{
    static const char here = 0;
    Dl_info info;
    if (dladdr(&here, &info) == 0 || info.dli_fname == NULL)
        return false;
    const char *end = strrchr(info.dli_fname, '/');
    size_t n = end == NULL ? 0 : (size_t)(end - info.dli_fname);
    /* the process may have left the directory that a relative path refers to */
    if (info.dli_fname[0] != '/' || n == 0 || n >= bytes)
        return false;
    memcpy(path, info.dli_fname, n);
    path[n] = '\0';
    return true;
}
