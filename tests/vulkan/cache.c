/* SPDX-License-Identifier: Apache-2.0 */
/* cache.c - tests of vulkan's pipeline cache on disk.
 *
 * Every case is a child that opens the device: that needs one kernel. What its
 * driver would keep of it is ours to say, since not every driver keeps
 * anything: a header, and behind it bytes that come with the first pipeline. */

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/vulkan/table.h"

#define KEPT 1000 /* bytes behind the header */

static char dir[256]; /* $XDG_CACHE_HOME */

static struct {
    struct vulkan_calls real;
    size_t bytes;    /* of the newest cache's contents */
    size_t accepted; /* of the first's, as it was made */
    int caches, merges, wrong;
    bool alien; /* the header is another device's */
} driver;

static const char alien_env[] = "SESQUI_TEST_ALIEN";

static void expect_contents(const unsigned char *data, size_t bytes)
{
    for (size_t i = 32; i < bytes; i++)
        driver.wrong += data[i] != (unsigned char)i;
}

static VKAPI_ATTR VkResult VKAPI_CALL
make_cache(VkDevice d, const VkPipelineCacheCreateInfo *info,
           const VkAllocationCallbacks *a, VkPipelineCache *cache)
{
    VkPipelineCacheCreateInfo none = *info;

    if (info->initialDataSize > 0)
        expect_contents(info->pInitialData, info->initialDataSize);
    if (driver.caches++ == 0)
        driver.bytes = driver.accepted = info->initialDataSize;
    none.initialDataSize = 0;
    none.pInitialData = NULL;
    return driver.real.CreatePipelineCache(d, &none, a, cache);
}

static VKAPI_ATTR VkResult VKAPI_CALL
make_pipelines(VkDevice d, VkPipelineCache c, uint32_t n,
               const VkComputePipelineCreateInfo *info,
               const VkAllocationCallbacks *a, VkPipeline *made)
{
    driver.bytes = 32 + KEPT;
    return driver.real.CreateComputePipelines(d, c, n, info, a, made);
}

static VKAPI_ATTR VkResult VKAPI_CALL merge_caches(VkDevice d,
                                                   VkPipelineCache c,
                                                   uint32_t n,
                                                   const VkPipelineCache *from)
{
    driver.merges++;
    return driver.real.MergePipelineCaches(d, c, n, from);
}

static VKAPI_ATTR VkResult VKAPI_CALL get_data(VkDevice d, VkPipelineCache c,
                                               size_t *bytes, void *data)
{
    unsigned char *out = data, header[64];
    size_t n = sizeof(header), all = driver.bytes < 32 ? 32 : driver.bytes;

    if (data == NULL) {
        *bytes = all;
        return VK_SUCCESS;
    }
    VkResult e = driver.real.GetPipelineCacheData(d, c, &n, header);
    if (e < VK_SUCCESS || n < 32 || *bytes < all)
        return VK_INCOMPLETE;
    memcpy(out, header, 32);
    out[31] ^= driver.alien; /* the last byte of the UUID */
    for (size_t i = 32; i < all; i++)
        out[i] = (unsigned char)i;
    *bytes = all;
    return VK_SUCCESS;
}

static void stand_between(void)
{
    struct vulkan_calls *table = vulkan_table();

    driver.real = *table;
    driver.alien = getenv(alien_env) != NULL;
    table->CreatePipelineCache = make_cache;
    table->CreateComputePipelines = make_pipelines;
    table->MergePipelineCaches = merge_caches;
    table->GetPipelineCacheData = get_data;
}

enum { FAILED = 1, FROM_DISK = 10, COMPILED = 11 };

static int open_once(void *arg)
{
    ssq_device *d = NULL;

    (void)arg;
    stand_between();
    if (ssq_device_open("vulkan:0", NULL, &d) != SSQ_OK) {
        fprintf(stderr, "%s\n", ssq_last_error());
        return FAILED;
    }
    ssq_device_close(&d);
    return driver.wrong != 0              ? FAILED
           : driver.accepted == 32 + KEPT ? FROM_DISK
           : driver.accepted == 0         ? COMPILED
                                          : FAILED;
}

static void expect(int how, const char *name)
{
    int st = tap_fork(open_once, NULL, 60);

    tap_ok(tap_exited(st, how), "%s: the pipelines %s: %s", name,
           how == FROM_DISK ? "come from the disk" : "are compiled",
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

/* A whole file of ours with what another device's driver made. */
static void test_foreign(const char *path)
{
    unlink(path);
    setenv(alien_env, "1", 1);
    expect(COMPILED, "a driver that keeps another device's");
    unsetenv(alien_env);
    expect(COMPILED, "which is not given to this one's");
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

    if (vulkan_missing())
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
    test_damage(path, "another last byte", -1, 0x80);
    test_lengths(path);
    test_foreign(path);
    test_no_directory();
    test_two_processes(path);
    tap_ok(find_file(path, sizeof(path)) == 1,
           "no temporary file was left behind");
    unlink(path);
    snprintf(path, sizeof(path), "%s/sesqui", dir);
    rmdir(path);
    rmdir(dir);
    return tap_done(28);
}
