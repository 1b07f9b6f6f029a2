/* SPDX-License-Identifier: Apache-2.0 */
/* cache.c - tests of vulkan's pipeline cache on disk.
 *
 * The test sets the driver's cache, since not every driver keeps
 * anything: a header, and after it bytes that come with the first pipeline. */

#include "backends/vulkan/calls.h"
#include "tests/core/cache_file.h"

#define KEPT 1000 /* bytes behind the header */

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
    struct vulkan_calls *table = driver_symbol("vulkan", "ssq_vulkan_calls");

    driver.real = *table;
    driver.alien = getenv(alien_env) != NULL;
    table->CreatePipelineCache = make_cache;
    table->CreateComputePipelines = make_pipelines;
    table->MergePipelineCaches = merge_caches;
    table->GetPipelineCacheData = get_data;
}

static int open_once(void *arg)
{
    ssq_device *d = NULL;

    (void)arg;
    stand_between();
    if (ssq_device_open("vulkan:0", NULL, &d) != SSQ_OK) {
        fprintf(stderr, "%s\n", ssq_last_error());
        return CACHE_FAILED;
    }
    cache_need_kernel(d);
    ssq_device_close(&d);
    return driver.wrong != 0              ? CACHE_FAILED
           : driver.accepted == 32 + KEPT ? CACHE_USED
           : driver.accepted == 0         ? CACHE_MADE
                                          : CACHE_FAILED;
}

/* A whole file of ours with another device's driver's data. */
static void test_foreign(void)
{
    unlink(cache_file.path);
    setenv(alien_env, "1", 1);
    cache_expect(CACHE_MADE, "a driver that keeps another device's");
    unsetenv(alien_env);
    cache_expect(CACHE_MADE, "which is not given to this one's");
    cache_expect(CACHE_USED, "then");
}

int main(void)
{
    if (driver_missing("vulkan"))
        return tap_done(0);
    cache_begin("the pipelines come", open_once);
    cache_damage("another magic", 0, 1);
    cache_damage("another checksum", 24, 1);
    cache_damage("another key", 40, 1);
    cache_damage("another last byte", -1, 0x80);
    cache_lengths();
    test_foreign();
    cache_no_directory();
    cache_processes();
    cache_end();
    return tap_done(28);
}
