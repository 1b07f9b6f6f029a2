/* SPDX-License-Identifier: Apache-2.0 */
/* cache.c - tests of opencl's program binaries on disk.
 *
 * Every case is a child that opens the device: that needs one kernel, which is
 * compiled, or comes from the disk, and says so in the log. */

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/opencl/opencl.h"

static char dir[256]; /* $XDG_CACHE_HOME */
static int from_disk, compiled;

static void count_lines(void *user, ssq_log_level level, const char *text)
{
    (void)user;
    (void)level;
    if (core_has(text, "kernel probe")) {
        from_disk += core_has(text, ": from the disk:");
        compiled += core_has(text, ": compiled:");
    }
}

enum { FAILED = 1, FROM_DISK = 10, COMPILED = 11 };

static int open_once(void *arg)
{
    ssq_device *d = NULL;

    (void)arg;
    ssq_log_set(count_lines, NULL);
    if (ssq_device_open("opencl:0", NULL, &d) != SSQ_OK) {
        fprintf(stderr, "%s\n", ssq_last_error());
        return FAILED;
    }
    ssq_device_close(&d);
    return from_disk + compiled != 1 ? FAILED
           : from_disk == 1          ? FROM_DISK
                                     : COMPILED;
}

static void expect(int how, const char *name)
{
    int st = tap_fork(open_once, NULL, 60);

    tap_ok(tap_exited(st, how), "%s: the kernel %s: %s", name,
           how == FROM_DISK ? "comes from the disk" : "is compiled",
           tap_status(st));
}

/* The only file of the cache; how many there are. */
static int find_file(char *path, size_t bytes)
{
    char at[300];
    int n = 0;

    snprintf(at, sizeof(at), "%s/sesqui", dir);
    DIR *d = opendir(at);
    if (d == NULL)
        return 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.') {
            snprintf(path, bytes, "%s/%s", at, e->d_name);
            n++;
        }
    closedir(d);
    return n;
}

/* Damage the file, in a way; it is compiled, and written anew. */
static void test_damage(const char *path, const char *name, long at, int byte)
{
    FILE *f = fopen(path, "r+");

    if (f == NULL)
        tap_bail("cannot open %s", path);
    fseek(f, at, at < 0 ? SEEK_END : SEEK_SET);
    int old = fgetc(f);
    fseek(f, at, at < 0 ? SEEK_END : SEEK_SET);
    fputc(old ^ byte, f);
    fclose(f);
    expect(COMPILED, name);
    expect(FROM_DISK, "then");
}

static void test_lengths(const char *path)
{
    static const char garbage[] = "somebody else's file";
    struct stat s;

    if (stat(path, &s) != 0 || truncate(path, s.st_size - 1) != 0)
        tap_bail("cannot shorten %s", path);
    expect(COMPILED, "a file that lacks its last byte");
    expect(FROM_DISK, "then");
    if (truncate(path, 0) != 0)
        tap_bail("cannot empty %s", path);
    expect(COMPILED, "an empty file");
    FILE *f = fopen(path, "w");
    if (f == NULL || fwrite(garbage, sizeof(garbage), 1, f) != 1)
        tap_bail("cannot write %s", path);
    fclose(f);
    expect(COMPILED, "a foreign file");
    expect(FROM_DISK, "then");
    unlink(path);
    mkdir(path, 0700);
    expect(COMPILED, "a directory in its place");
    expect(COMPILED, "which stays");
    rmdir(path);
    if (symlink("/dev/zero", path) != 0)
        tap_bail("no link %s", path);
    expect(COMPILED, "an endless file");
    expect(FROM_DISK, "then");
}

/* Where nothing can be written: a file is in the way, also for root. */
static void test_no_directory(void)
{
    char at[300];

    snprintf(at, sizeof(at), "%s/file", dir);
    FILE *f = fopen(at, "w");
    if (f == NULL)
        tap_bail("cannot write %s", at);
    fclose(f);
    setenv("XDG_CACHE_HOME", at, 1);
    expect(COMPILED, "a cache that is no directory");
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", "/dev/null", 1);
    expect(COMPILED, "a relative path and no home");
    setenv("XDG_CACHE_HOME", dir, 1);
    unlink(at);
}

static void test_two_processes(const char *path)
{
    pid_t pid[4];
    int wrong = 0;

    unlink(path);
    fflush(NULL);
    for (int i = 0; i < 4; i++) {
        pid[i] = fork();
        if (pid[i] == 0)
            tap_child(open_once, NULL, 60);
    }
    for (int i = 0; i < 4; i++) {
        int st = -1;

        waitpid(pid[i], &st, 0);
        wrong += !tap_exited(st, COMPILED) && !tap_exited(st, FROM_DISK);
    }
    tap_ok(wrong == 0, "four processes at once, %d failed", wrong);
    expect(FROM_DISK, "after them");
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");
    char path[600];

    if (opencl_missing())
        return tap_done(0);
    snprintf(dir, sizeof(dir), "%s/sesqui-cache-XXXXXX",
             tmp == NULL ? "/tmp" : tmp);
    if (mkdtemp(dir) == NULL)
        tap_bail("no directory %s", dir);
    setenv("XDG_CACHE_HOME", dir, 1);
    setenv("SSQ_CACHE", "0", 1);
    expect(COMPILED, "SSQ_CACHE=0");
    tap_ok(find_file(path, sizeof(path)) == 0, "and nothing is written");
    unsetenv("SSQ_CACHE");
    expect(COMPILED, "an empty cache");
    tap_ok(find_file(path, sizeof(path)) == 1, "there is a file then");
    expect(FROM_DISK, "with it");
    test_damage(path, "another magic", 0, 1);
    test_damage(path, "another checksum", 24, 1);
    test_damage(path, "another key", 40, 1);
    test_damage(path, "another last byte of the binary", -1, 0x80);
    test_lengths(path);
    test_no_directory();
    test_two_processes(path);
    tap_ok(find_file(path, sizeof(path)) == 1,
           "no temporary file was left behind");
    unlink(path);
    snprintf(path, sizeof(path), "%s/sesqui", dir);
    rmdir(path);
    rmdir(dir);
    return tap_done(25);
}
