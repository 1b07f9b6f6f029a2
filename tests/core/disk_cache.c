/* SPDX-License-Identifier: Apache-2.0 */
/* disk_cache.c - the cache's files: a writer that is killed at any call, and
 * how much there may be.
 *
 * This program's own write, fsync and rename stand before the library's calls:
 * the Nth of them does half of its work and ends the process. */
#define _GNU_SOURCE /* syscall */
#include "lib/core/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "lib/core/env.h"
#include "lib/core/error.h"
#include "tests/core/core.h"

#define BYTES 5000

static const struct services core = {.error_set = error_set,
                                     .log_line = log_line,
                                     .mem_alloc = mem_alloc,
                                     .mem_free = mem_free,
                                     .env_text = env_text,
                                     .env_number = env_number,
                                     .env_flag = env_flag};
static char home[256], dir[300];
static long calls, dies_at; /* 0: never */
static long synced;         /* calls so far when fsync came last */

static bool dies(void)
{
    return ++calls == dies_at;
}

static void die(void)
{
    (void)raise(SIGKILL);
}

ssize_t write(int fd, const void *from, size_t bytes)
{
    bool last = fd > 2 && dies();
    ssize_t n = syscall(SYS_write, fd, from, last ? bytes / 2 : bytes);

    if (last)
        die();
    return n;
}

int fsync(int fd)
{
    if (dies())
        die();
    synced = calls;
    return (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
    if (dies())
        die();
    tap_diag("rename after call %ld, fsync was %ld", calls, synced);
    if (synced != calls - 1)
        return -1;
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

/* Files that are there, of which *parts are parts. */
static int count_files(int *parts, uint64_t *bytes)
{
    int n = 0;
    DIR *d = opendir(dir);

    *parts = 0;
    *bytes = 0;
    if (d == NULL)
        return 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        struct stat s;
        size_t length = strlen(e->d_name);

        if (e->d_name[0] == '.' || fstatat(dirfd(d), e->d_name, &s, 0) != 0)
            continue;
        n++;
        *bytes += (uint64_t)s.st_size;
        *parts += length > 5 && strcmp(e->d_name + length - 5, ".part") == 0;
    }
    closedir(d);
    return n;
}

static void empty(void)
{
    DIR *d = opendir(dir);

    if (d == NULL)
        return;
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.')
            unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
}

static unsigned char contents[2][BYTES];

static int store_other(void *arg)
{
    (void)arg;
    calls = 0;
    disk_cache_store(&core, "file", "key", contents[1], BYTES);
    return 0;
}

/* Which contents are there: 0, 1, or -1 for none or others. */
static int stored(void)
{
    size_t n = 0;
    unsigned char *got = disk_cache_load(&core, "file", "key", &n);
    int which = -1;

    for (int i = 0; i < 2 && got != NULL; i++)
        if (n == BYTES && memcmp(got, contents[i], BYTES) == 0)
            which = i;
    mem_free(got);
    return which;
}

static int sweep_now(void *arg)
{
    (void)arg;
    dies_at = 0;
    disk_cache_store(&core, "another", "key", contents[0], 10);
    return 0;
}

static void test_kill(void)
{
    int wrong = 0, left = 0, parts, status;
    long n = 0;
    uint64_t bytes;

    do {
        empty();
        dies_at = 0;
        disk_cache_store(&core, "file", "key", contents[0], BYTES);
        dies_at = ++n;
        status = tap_fork(store_other, NULL, 20);
        int now = stored();
        count_files(&parts, &bytes);
        left += parts;
        wrong += now != (tap_exited(status, 0) ? 1 : 0);
        tap_fork(sweep_now, NULL, 20);
        count_files(&parts, &bytes);
        wrong += parts != 0;
    } while (tap_killed(status, SIGKILL));
    tap_ok(n == 6, "a store has %ld calls that may be its last", n - 1);
    tap_ok(wrong == 0, "killed at each, what was there stays whole, %d not",
           wrong);
    tap_ok(left == 5, "%d parts are left behind, and swept by the next", left);
    dies_at = 0;
}

/* Of a process that is alive, or of none that has a number. */
static void test_parts(void)
{
    static const char *const names[] = {"file-1.%ld.0.part", "odd.part"};
    struct timespec old[2] = {{1000, 0}, {1000, 0}};
    char path[400], name[64];
    int parts;
    uint64_t bytes;

    empty();
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof(name), names[i], (long)getpid());
        snprintf(path, sizeof(path), "%s/%s", dir, name);
        FILE *f = fopen(path, "w");
        if (f == NULL)
            tap_bail("cannot write %s", path);
        fclose(f);
    }
    tap_fork(sweep_now, NULL, 20);
    count_files(&parts, &bytes);
    tap_ok(parts == 2, "parts of those who live stay: %d", parts);
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof(name), names[i], (long)getpid());
        snprintf(path, sizeof(path), "%s/%s", dir, name);
        utimensat(AT_FDCWD, path, old, 0);
    }
    tap_fork(sweep_now, NULL, 20);
    count_files(&parts, &bytes);
    tap_ok(parts == 0, "but not for ever: %d", parts);
}

static bool is_there(const char *name)
{
    char path[400];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static void test_bound(void)
{
    static unsigned char large[300 << 10];
    char name[32], path[400];
    int parts;
    uint64_t bytes;

    empty();
    for (int i = 0; i < 8; i++) {
        struct timespec when[2] = {{2000 + i, 0}, {2000 + i, 0}};
        snprintf(name, sizeof(name), "file-%d", i);
        disk_cache_store(&core, name, "key", large, sizeof(large));
        snprintf(path, sizeof(path), "%s/%s", dir, name);
        utimensat(AT_FDCWD, path, when, 0);
    }
    tap_ok(count_files(&parts, &bytes) == 8, "8 files of 300 KiB are kept");
    setenv("SSQ_CACHE_MB", "1", 1);
    tap_fork(sweep_now, NULL, 20);
    count_files(&parts, &bytes);
    tap_ok(bytes < (1 << 20) + 200, "%llu bytes are left of 1 MiB",
           (unsigned long long)bytes);
    tap_ok(!is_there("file-4") && is_there("file-5") && is_there("file-7") &&
               is_there("another"),
           "the oldest are gone, the newest are there");
    unsetenv("SSQ_CACHE_MB");
}

static void test_garbage(void)
{
    setenv("SSQ_CACHE", "off", 1);
    tap_ok(!disk_cache_usable(&core), "SSQ_CACHE=off keeps nothing");
    tap_ok(core_has(ssq_last_error(), "SSQ_CACHE is \"off\""), "and is named");
    setenv("SSQ_CACHE", "1", 1);
    tap_ok(disk_cache_usable(&core), "SSQ_CACHE=1 is as none");
    setenv("SSQ_CACHE_PROGRAMS", "0", 1);
    tap_ok(disk_cache_usable(&core) && !disk_cache_programs(&core),
           "SSQ_CACHE_PROGRAMS=0 keeps certificates");
    setenv("SSQ_CACHE_PROGRAMS", "some", 1);
    tap_ok(!disk_cache_programs(&core) &&
               core_has(ssq_last_error(), "SSQ_CACHE_PROGRAMS is \"some\""),
           "what it cannot be is named");
    unsetenv("SSQ_CACHE_PROGRAMS");
    tap_ok(disk_cache_programs(&core), "and programs without it");
    unsetenv("SSQ_CACHE");
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");

    unsetenv("SSQ_CACHE");
    memset(contents[0], 1, BYTES);
    memset(contents[1], 2, BYTES);
    snprintf(home, sizeof(home), "%s/sesqui-disk-XXXXXX",
             tmp == NULL ? "/tmp" : tmp);
    if (mkdtemp(home) == NULL)
        tap_bail("no directory %s", home);
    setenv("XDG_CACHE_HOME", home, 1);
    snprintf(dir, sizeof(dir), "%s/sesqui", home);
    disk_cache_store(&core, "first", "key", contents[0], BYTES);
    test_kill();
    test_parts();
    test_bound();
    test_garbage();
    empty();
    rmdir(dir);
    rmdir(home);
    return tap_done(11);
}
