/* SPDX-License-Identifier: Apache-2.0 */
/* cache_file.h - what a backend keeps on disk, damaged in many ways.
 *
 * Every case is a child that opens the device, which needs one kernel: what is
 * on disk is used if it is whole and ours, and else made again and written
 * again. Before the first case the test names its device and says how to open
 * it. */
#ifndef TESTS_CORE_CACHE_FILE_H
#define TESTS_CORE_CACHE_FILE_H

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/core/driver.h"

/* How a child ends. */
enum { CACHE_FAILED = 1, CACHE_USED = 10, CACHE_MADE = 11 };

static struct {
    const char *what;       /* "the kernel comes", after a case's name */
    bool certificate;       /* it is the file, which otherwise does not count */
    int (*open)(void *arg); /* CACHE_.. */
    char dir[256];          /* $XDG_CACHE_HOME */
    char path[600];         /* the file, once found */
} cache_file;

/* Have the device need a kernel that its self-test does not. */
static inline void cache_need_kernel(ssq_device *d)
{
    ssq_queue *q = core_queue(d);
    ssq_tensor *x = core_vector(d, SSQ_F32, 64);

    driver_fill(q, x, 1.0);
    NEED(ssq_queue_sync(q));
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&q);
}

/* One case: a child opens the device and ends with CACHE_USED or _MADE. */
static inline void cache_expect(int how, const char *name)
{
    int st = tap_fork(cache_file.open, NULL, 60);

    tap_ok(tap_exited(st, how), "%s: %s %s: %s", name, cache_file.what,
           how == CACHE_USED ? "from the disk" : "from the compiler",
           tap_status(st));
}

/* How many files there are; the path of the last. */
static inline int cache_count(void)
{
    char at[300];
    int n = 0;

    snprintf(at, sizeof(at), "%s/sesqui", cache_file.dir);
    DIR *d = opendir(at);
    if (d == NULL)
        return 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.' && (strncmp(e->d_name, "certificate", 11) ==
                                    0) == cache_file.certificate) {
            snprintf(cache_file.path, sizeof(cache_file.path), "%s/%s", at,
                     e->d_name);
            n++;
        }
    closedir(d);
    return n;
}

/* An empty cache, its first file. */
static inline void cache_begin(const char *what, int (*open)(void *arg))
{
    const char *tmp = getenv("TMPDIR");

    cache_file.what = what;
    cache_file.open = open;
    snprintf(cache_file.dir, sizeof(cache_file.dir), "%s/sesqui-cache-XXXXXX",
             tmp == NULL ? "/tmp" : tmp);
    if (mkdtemp(cache_file.dir) == NULL)
        tap_bail("no directory %s", cache_file.dir);
    setenv("XDG_CACHE_HOME", cache_file.dir, 1);
    setenv("SSQ_CACHE", "0", 1);
    cache_expect(CACHE_MADE, "SSQ_CACHE=0");
    tap_ok(cache_count() == 0, "and nothing is written");
    unsetenv("SSQ_CACHE");
    setenv("SSQ_CACHE_PROGRAMS", "0", 1);
    if (!cache_file.certificate) {
        cache_expect(CACHE_MADE, "SSQ_CACHE_PROGRAMS=0");
        tap_ok(cache_count() == 0, "and no program is written");
    }
    unsetenv("SSQ_CACHE_PROGRAMS");
    cache_expect(CACHE_MADE, "an empty cache");
    tap_ok(cache_count() == 1, "there is a file then");
    cache_expect(CACHE_USED, "with it");
}

/* The file of this name is not one of the cache's: it stays as it is,
 * and nothing is kept until it is gone. */
static inline void cache_others(const char *name)
{
    cache_expect(CACHE_MADE, name);
    cache_expect(CACHE_MADE, "which stays");
    if (remove(cache_file.path) != 0)
        tap_bail("cannot remove %s", cache_file.path);
    cache_expect(CACHE_MADE, "without it");
    cache_expect(CACHE_USED, "then");
}

/* Change a byte; at < 0 counts from the end. Of the first ones a file of the
 * cache's is known. */
static inline void cache_damage(const char *name, long at, int byte)
{
    FILE *f = fopen(cache_file.path, "r+");

    if (f == NULL)
        tap_bail("cannot open %s", cache_file.path);
    fseek(f, at, at < 0 ? SEEK_END : SEEK_SET);
    int old = fgetc(f);
    fseek(f, at, at < 0 ? SEEK_END : SEEK_SET);
    fputc(old ^ byte, f);
    fclose(f);
    if (at >= 0 && at < 7) {
        cache_others(name);
        return;
    }
    cache_expect(CACHE_MADE, name);
    cache_expect(CACHE_USED, "then");
}

/* Anything but a whole file of ours: too short, empty; foreign, a directory, a
 * link to a device that never ends, which are all left alone. */
static inline void cache_lengths(void)
{
    static const char garbage[] = "somebody else's file";
    const char *path = cache_file.path;
    struct stat s;

    if (stat(path, &s) != 0 || truncate(path, s.st_size - 1) != 0)
        tap_bail("cannot shorten %s", path);
    cache_expect(CACHE_MADE, "a file that lacks its last byte");
    cache_expect(CACHE_USED, "then");
    if (truncate(path, 0) != 0)
        tap_bail("cannot empty %s", path);
    cache_expect(CACHE_MADE, "an empty file");
    cache_expect(CACHE_USED, "then");
    FILE *f = fopen(path, "w");
    if (f == NULL || fwrite(garbage, sizeof(garbage), 1, f) != 1)
        tap_bail("cannot write %s", path);
    fclose(f);
    cache_others("a foreign file");
    unlink(path);
    mkdir(path, 0700);
    cache_others("a directory in its place");
    unlink(path);
    if (symlink("/dev/zero", path) != 0)
        tap_bail("no link %s", path);
    cache_others("an endless file");
}

/* Where nothing can be written: a file is in the way, also for root. */
static inline void cache_no_directory(void)
{
    char at[300];

    snprintf(at, sizeof(at), "%s/file", cache_file.dir);
    FILE *f = fopen(at, "w");
    if (f == NULL)
        tap_bail("cannot write %s", at);
    fclose(f);
    setenv("XDG_CACHE_HOME", at, 1);
    cache_expect(CACHE_MADE, "a cache that is no directory");
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", "/dev/null", 1);
    cache_expect(CACHE_MADE, "a relative path and no home");
    setenv("XDG_CACHE_HOME", cache_file.dir, 1);
    unlink(at);
}

/* Several processes find no file, and write the same one. */
static inline void cache_processes(void)
{
    pid_t pid[4];
    int wrong = 0;

    unlink(cache_file.path);
    fflush(NULL);
    for (int i = 0; i < 4; i++) {
        pid[i] = fork();
        if (pid[i] == 0)
            tap_child(cache_file.open, NULL, 60);
    }
    for (int i = 0; i < 4; i++) {
        int st = -1;

        waitpid(pid[i], &st, 0);
        wrong += !tap_exited(st, CACHE_MADE) && !tap_exited(st, CACHE_USED);
    }
    tap_ok(wrong == 0, "four processes at once, %d failed", wrong);
    cache_expect(CACHE_USED, "after them");
}

/* Remove what is left: certificates and programs, in two rounds. */
static inline void cache_end(void)
{
    tap_ok(cache_count() == 1, "no temporary file was left behind");
    for (int k = 0; k < 2;
         k++, cache_file.certificate = !cache_file.certificate)
        while (cache_count() > 0 && unlink(cache_file.path) == 0) {
        }
    snprintf(cache_file.path, sizeof(cache_file.path), "%s/sesqui",
             cache_file.dir);
    rmdir(cache_file.path);
    rmdir(cache_file.dir);
}

#endif
