/* SPDX-License-Identifier: Apache-2.0 */
/* disk_cache.c - the cache's files: a writer that is killed at any call, how
 * much there may be, and files that are not the cache's.
 *
 * This program's own write, fsync and renameat replace the library's
 * calls: the Nth of them does half of its work and ends the process. */
#define _GNU_SOURCE /* syscall */
#include "lib/core/module/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "lib/core/base/env.h"
#include "lib/core/base/error.h"
#include "tests/core/core.h"

#define BYTES     5000
#define FILE_NAME "file-0123456789abcdef"
#define ANOTHER   "another_one-00000000000000ff"

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

int renameat(int folder, const char *from, int to_folder, const char *to)
{
    if (dies())
        die();
    tap_diag("rename after call %ld, fsync was %ld", calls, synced);
    if (synced != calls - 1)
        return -1;
    return (int)syscall(SYS_renameat2, folder, from, to_folder, to, 0);
}

/* Files that exist, of which *parts are parts. */
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
    disk_cache_store(&core, FILE_NAME, "key", contents[1], BYTES);
    return 0;
}

/* The contents found: 0, 1, or -1 for none or others. */
static int stored(void)
{
    size_t n = 0;
    unsigned char *got = disk_cache_load(&core, FILE_NAME, "key", &n);
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
    disk_cache_store(&core, ANOTHER, "key", contents[0], 10);
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
        disk_cache_store(&core, FILE_NAME, "key", contents[0], BYTES);
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
    static const char *const names[] = {FILE_NAME ".%ld.0.part",
                                        ANOTHER ".%ld.7.part"};
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
        snprintf(name, sizeof(name), "file-000000000000000%d", i);
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
    tap_ok(!is_there("file-0000000000000004") &&
               is_there("file-0000000000000005") &&
               is_there("file-0000000000000007") && is_there(ANOTHER),
           "the oldest are gone, the newest are there");
    unsetenv("SSQ_CACHE_MB");
}

/* ---- files that are not the cache's ---- */

static void write_at(const char *path, const char *text, size_t bytes)
{
    FILE *f = fopen(path, "w");

    if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0 ||
        truncate(path, (off_t)bytes) != 0)
        tap_bail("cannot write %s", path);
}

/* Old, large, and of names that look like the cache's, more or less. */
static void test_foreign(void)
{
    static const char *const names[] = {"film.mkv",
                                        "film.mkv.part",
                                        "0123456789abcdef",
                                        "Unary-0123456789abcdef",
                                        "unary-0123456789abcde",
                                        "unary-0123456789abcdeg",
                                        "unary-0123456789abcdef.old",
                                        "unary-0123456789abcdef.1.part",
                                        "unary-0123456789abcdef.999999.0.parts",
                                        "unary-0123456789abcdef.999999.0.part",
                                        "unary-0123456789abcdef"};
    const size_t n = sizeof(names) / sizeof(names[0]);
    const struct timespec old[2] = {{1000, 0}, {1000, 0}};
    char path[400];
    size_t left = 0, bytes;

    empty();
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        /* the first ones even begin as the cache's files do */
        write_at(path, i < 9 ? "ssqprog1" : "a file of mine", 600 << 10);
        utimensat(AT_FDCWD, path, old, 0);
    }
    setenv("SSQ_CACHE_MB", "1", 1);
    tap_fork(sweep_now, NULL, 20);
    unsetenv("SSQ_CACHE_MB");
    for (size_t i = 0; i < n; i++)
        left += is_there(names[i]);
    tap_ok(left == n, "%zu of %zu files of others are left", left, n);
    tap_ok(is_there(ANOTHER), "and they do not count as the cache's");
    disk_cache_store(&core, names[n - 1], "key", contents[0], BYTES);
    tap_ok(disk_cache_load(&core, names[n - 1], "key", &bytes) == NULL &&
               !disk_cache_remove(&core, names[n - 1]) &&
               is_there(names[n - 1]),
           "one under a name of the cache's is not replaced or removed");
    tap_ok(disk_cache_remove(&core, ANOTHER) && !is_there(ANOTHER) &&
               disk_cache_remove(&core, ANOTHER),
           "what the cache wrote is removed, and what is gone is");
    empty();
}

/* Nothing is stored in a folder, or swept from it. */
static bool unused(const char *real)
{
    char path[400], part[400];
    bool quiet;

    snprintf(part, sizeof(part), "%s/" FILE_NAME ".999999.0.part", real);
    snprintf(path, sizeof(path), "%s/" ANOTHER, real);
    write_at(part, "ssqprog1", 8);
    dies_at = 0;
    disk_cache_store(&core, ANOTHER, "key", contents[0], 10);
    quiet = access(part, F_OK) == 0 && access(path, F_OK) != 0 &&
            disk_cache_lock(&core) == -1 &&
            !disk_cache_remove(&core, FILE_NAME);
    unlink(part);
    return quiet;
}

static void test_folder(void)
{
    char real[320];

    snprintf(real, sizeof(real), "%s/real", home);
    chmod(dir, 0770);
    tap_ok(unused(dir), "a folder that a group may write to is not used");
    chmod(dir, 0707);
    tap_ok(unused(dir), "nor one that all may write to");
    chmod(dir, 0700);
    if (geteuid() == 0) {
        if (chown(dir, 1, 1) != 0)
            tap_bail("cannot give %s away", dir);
        tap_ok(unused(dir), "nor another user's");
        if (chown(dir, 0, 0) != 0)
            tap_bail("cannot take %s back", dir);
    } else {
        tap_skip("only root can give a folder away", "nor another user's");
    }
    if (rename(dir, real) != 0 || symlink("real", dir) != 0)
        tap_bail("cannot make a link of %s", dir);
    tap_ok(unused(real), "nor a link, even to a folder that would do");
    if (unlink(dir) != 0 || rename(real, dir) != 0)
        tap_bail("cannot take back %s", dir);
}

static int holds_lock(void *arg)
{
    const int *told = arg;
    char byte = disk_cache_lock(&core) >= 0 ? 'y' : 'n';

    if (syscall(SYS_write, told[1], &byte, 1) == 1)
        pause();
    return 1;
}

static void test_lock(void)
{
    int told[2];
    char byte = 'n';
    time_t begun = time(NULL);

    if (pipe(told) != 0)
        tap_bail("no pipe");
    pid_t pid = fork();
    if (pid == 0)
        _exit(holds_lock(told));
    tap_ok(read(told[0], &byte, 1) == 1 && byte == 'y' &&
               disk_cache_lock(&core) == DISK_CACHE_BUSY &&
               time(NULL) - begun < 30,
           "a lock that is held is waited for %ld seconds, and not for ever",
           (long)(time(NULL) - begun));
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    int lock = disk_cache_lock(&core);
    tap_ok(lock >= 0, "it goes with its process");
    disk_cache_unlock(lock);
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
    static const char *const bad[] = {"SSQ_CACHE=off", "SSQ_CACHE_PROGRAMS=2",
                                      "SSQ_CACHE_MB=abc", "SSQ_CACHE_MB=0",
                                      "SSQ_CACHE_MB=-1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char name[32];
        ssq_device *d = NULL;
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(bad[i], "="), bad[i]);
        setenv(name, strchr(bad[i], '=') + 1, 1);
        core_status(ssq_device_open("cpu", NULL, &d), SSQ_ERR_INVALID, name,
                    "no device opens with %s", bad[i]);
        unsetenv(name);
    }
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
    disk_cache_store(&core, FILE_NAME, "key", contents[0], BYTES);
    test_kill();
    test_parts();
    test_bound();
    test_foreign();
    test_folder();
    test_lock();
    test_garbage();
    snprintf(dir + strlen(dir), sizeof(dir) - strlen(dir), "/.lock");
    unlink(dir);
    *strrchr(dir, '/') = '\0';
    empty();
    rmdir(dir);
    rmdir(home);
    return tap_done(21);
}
