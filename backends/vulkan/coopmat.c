/* SPDX-License-Identifier: Apache-2.0 */
/* coopmat.c - find the matrices of a device, make their pipelines, try them.
 *
 * Shapes come from the device, best first: the ones that do most products at a
 * time, where more than a 16x16x16 matrix's count as no better. The device does
 * not say for which size of subgroup a shape holds: its own size is tried
 * first, then the others that it has; but if the driver reports spilled
 * registers, the size with the fewest is first. The first shape and size that
 * pass the self-test are taken; where none does, the first failure is the
 * reason that users read, because it is the one of the best shape. */
#include "backends/vulkan/coopmat.h"

#include <stdio.h>
#include <string.h>

/** Subgroups of a group, along the rows and along the columns of its tile. */
#define DOWN   2u
#define ACROSS 2u
/** Work-items of a group that every device with matrices has. */
#define MOST_ITEMS 512u
/** Elements of k that a group puts into shared memory at a time; less where
 * that is short. */
#define DEPTH 32u
/** Shapes that are looked at; and the ones that are tried, since each try costs
 * the compilation of two pipelines for each size of subgroup. */
#define MOST_SHAPES 64u
#define MOST_TRIES  4u
/** Sizes of subgroups that are tried. */
#define MOST_SIZES 8u
/** Intel, in the list of PCI. */
#define INTEL 0x8086u
/** Products of one multiplication of matrices that count as good as more:
 * 16x16x16. */
#define GOOD_PRODUCTS 4096u

/** The specialization constants of the shader: their values here are the
 * constant_ids of kernels/gemm/coopmat.comp. */
enum constant {
    ITEMS,
    SHAPE_M,
    SHAPE_N,
    SHAPE_K,
    SUBGROUP,
    SUBGROUPS_DOWN,
    SUBGROUPS_ACROSS,
    MATRICES,
    STAGE_DEPTH,
    A_ROOM,
    B_ROOM,
    CONSTANTS
};

/* It is in no table of kernels: its name is for texts of errors. */
static const struct kernel kernel = {.name = "gemm_coopmat"};

static void coopmat_no(struct why *why, const char *text)
{
    snprintf(why->text, sizeof(why->text), "%s", text);
}

/* ---- shapes ---- */

/* A multiplication: m rows, n columns, k products for each sum. */
struct coopmat_shape {
    uint32_t m, n, k;
};

/* True for factors of this dtype, float32 sums, matrices that belong to a
 * subgroup, and sides that the shader can stage. */
static bool fits_kind(const VkCooperativeMatrixPropertiesKHR *p,
                      ssq_dtype dtype)
{
    int64_t type = dtype == SSQ_F16 ? VK_COMPONENT_TYPE_FLOAT16_KHR
                                    : VK_COMPONENT_TYPE_BFLOAT16_KHR;
    /* 8: the elements in 16 bytes, which is what the shader stages at a time */
    return (int64_t)p->AType == type && (int64_t)p->BType == type &&
           p->CType == VK_COMPONENT_TYPE_FLOAT32_KHR &&
           p->ResultType == VK_COMPONENT_TYPE_FLOAT32_KHR &&
           p->scope == VK_SCOPE_SUBGROUP_KHR && p->MSize % 8 == 0 &&
           p->NSize % 8 == 0 && p->KSize % 8 == 0 && p->MSize != 0 &&
           p->NSize != 0 && p->KSize != 0 && p->MSize <= 64 && p->NSize <= 64 &&
           p->KSize <= 64;
}

static uint32_t worth(const struct coopmat_shape *s)
{
    uint32_t products = s->m * s->n * s->k;
    return products > GOOD_PRODUCTS ? GOOD_PRODUCTS : products;
}

/* Put a shape into the list: the best first, the ones that are worth the same
 * in the device's order. Returns how many there are then. */
static uint32_t coopmat_insert(struct coopmat_shape *list, uint32_t n,
                               struct coopmat_shape s)
{
    uint32_t at = n;
    while (at > 0 && worth(&list[at - 1]) < worth(&s)) {
        list[at] = list[at - 1];
        at--;
    }
    list[at] = s;
    return n + 1;
}

/* The shapes for a kind: *n of them; *all is how many the device reports for
 * anything, for the text of a refusal. INCOMPLETE means that there are more
 * than are looked at. */
static ssq_status find_shapes(struct backend_device *d, ssq_dtype dtype,
                              struct coopmat_shape *list, uint32_t *n,
                              uint32_t *all)
{
    VkCooperativeMatrixPropertiesKHR p[MOST_SHAPES];
    PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR get =
        (PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)VK(
            GetInstanceProcAddr)(
            d->instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    *n = *all = 0;
    if (get == NULL)
        return SSQ_OK;
    memset(p, 0, sizeof(p));
    for (uint32_t i = 0; i < MOST_SHAPES; i++)
        p[i].sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR;
    *all = MOST_SHAPES;
    VkResult e = get(d->physical, all, p);
    if (e != VK_SUCCESS && e != VK_INCOMPLETE) {
        *all = 0;
        return vulkan_error(
            d->core, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR", e);
    }
    for (uint32_t i = 0; i < *all; i++)
        if (fits_kind(&p[i], dtype))
            *n = coopmat_insert(
                list, *n,
                (struct coopmat_shape){p[i].MSize, p[i].NSize, p[i].KSize});
    return SSQ_OK;
}

/* ---- pipelines ---- */

/* Vulkan's names for these are longer than a line. */
#define REQUIRED(NAME)                                                         \
    VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_##NAME##_CREATE_INFO
#define REQUIRED_SUBGROUP_SIZE_INFO REQUIRED(SUBGROUP_SIZE)
#define FULL_SUBGROUPS                                                         \
    VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT

/* The 16-byte words that a stage of this many lines takes. Each line is one
 * word longer than its elements, so that neighbouring lines begin in different
 * banks of shared memory. */
static uint32_t coopmat_room(uint32_t lines, uint32_t elements)
{
    return lines * (elements / 8u + 1u);
}

/* The constants of a tile with matrices x matrices for each subgroup; false: it
 * does not fit into shared memory or into a group. Shared memory holds two
 * stages of each factor, one that is filled while the other is used, in
 * in the order of lines that takes more, and a matrix of sums for each
 * subgroup. Where that is too much, stages become shallower, down to one
 * matrix. */
static bool choose_constants(const struct vulkan_caps *caps,
                             const struct coopmat_kind *kind, uint32_t matrices,
                             uint32_t c[CONSTANTS])
{
    uint32_t m = DOWN * matrices * kind->m, n = ACROSS * matrices * kind->n;
    uint32_t sums = DOWN * ACROSS * kind->m * kind->n * 4u;
    c[ITEMS] = DOWN * ACROSS * kind->subgroup;
    c[SHAPE_M] = kind->m;
    c[SHAPE_N] = kind->n;
    c[SHAPE_K] = kind->k;
    c[SUBGROUP] = kind->subgroup;
    c[SUBGROUPS_DOWN] = DOWN;
    c[SUBGROUPS_ACROSS] = ACROSS;
    c[MATRICES] = matrices;
    for (uint32_t depth = DEPTH; depth >= 8; depth /= 2) {
        if (depth % kind->k != 0)
            depth = kind->k; /* the least */
        c[STAGE_DEPTH] = depth;
        c[A_ROOM] =
            (uint32_t)size_most(coopmat_room(m, depth), coopmat_room(depth, m));
        c[B_ROOM] =
            (uint32_t)size_most(coopmat_room(n, depth), coopmat_room(depth, n));
        /* two stages of 16-byte words */
        if ((c[A_ROOM] + c[B_ROOM]) * 2u * 16u + sums <= caps->local_bytes)
            return c[ITEMS] <= MOST_ITEMS;
        if (depth == kind->k)
            break;
    }
    return false;
}

/* A pipeline for these constants. Where the device can be told, it has to take
 * the size of subgroup that the shape is tried with, and full subgroups:
 * matrices are undefined in others. */
static ssq_status coopmat_make_pipeline(struct backend_device *d,
                                        VkShaderModule module,
                                        const uint32_t c[CONSTANTS],
                                        VkPipeline *pipeline)
{
    VkSpecializationMapEntry entry[CONSTANTS];
    for (uint32_t i = 0; i < CONSTANTS; i++)
        entry[i] = (VkSpecializationMapEntry){i, i * 4u, 4u};
    const VkSpecializationInfo constants = {CONSTANTS, entry,
                                            CONSTANTS * sizeof(*c), c};
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
        .sType = REQUIRED_SUBGROUP_SIZE_INFO,
        .requiredSubgroupSize = c[SUBGROUP]};
    bool control = d->caps.subgroup_control;
    const VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .flags = d->caps.statistics
                     ? VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR
                     : 0,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .pNext = control ? &size : NULL,
                  .flags = control ? FULL_SUBGROUPS : 0,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                  .module = module,
                  .pName = "main",
                  .pSpecializationInfo = &constants},
        .layout = d->layout};
    VkResult e =
        VK(CreateComputePipelines)(d->vk, d->cache, 1, &info, NULL, pipeline);
    if (e == VK_SUCCESS)
        return SSQ_OK;
    *pipeline = VK_NULL_HANDLE;
    return vulkan_error(d->core, "vkCreateComputePipelines: gemm_coopmat", e);
}

static void drop_tile(struct backend_device *d, struct coopmat_tile *tile)
{
    if (tile->code.pipeline != VK_NULL_HANDLE)
        VK(DestroyPipeline)(d->vk, tile->code.pipeline, NULL);
    memset(tile, 0, sizeof(*tile));
}

static void drop_tiles(struct backend_device *d, struct coopmat_kind *kind)
{
    for (int i = 0; i < 2; i++)
        drop_tile(d, &kind->tile[i]);
}

/* The pipeline of a tile, or none where it does not fit: that is no error. */
static ssq_status make_tile(struct backend_device *d, VkShaderModule module,
                            const struct coopmat_kind *kind, uint32_t matrices,
                            struct coopmat_tile *tile)
{
    uint32_t c[CONSTANTS];
    tile->code.entry.kernel = &kernel;
    if (!choose_constants(&d->caps, kind, matrices, c))
        return SSQ_OK;
    tile->m = DOWN * matrices * kind->m;
    tile->n = ACROSS * matrices * kind->n;
    tile->depth = c[STAGE_DEPTH];
    return coopmat_make_pipeline(d, module, c, &tile->code.pipeline);
}

/* ---- trying ---- */

/* A call of make_tile(), which another thread may make. */
struct tile_job {
    struct backend_device *device;
    VkShaderModule module;
    const struct coopmat_kind *kind;
    uint32_t matrices;
    struct coopmat_tile *tile;
    ssq_status status;
    struct why why; /* of a failure */
};

static void tile_job_run(void *job)
{
    struct tile_job *j = job;
    j->status = make_tile(j->device, j->module, j->kind, j->matrices, j->tile);
    if (j->status != SSQ_OK)
        coopmat_no(&j->why, j->device->core->error_text());
}

static ssq_status tile_job_end(const struct tile_job *j)
{
    return j->status == SSQ_OK
               ? SSQ_OK
               : j->device->core->error_set(j->status, "%s", j->why.text);
}

/* Make both tiles. If the sums of the large one need more registers than an
 * item has, it is not used: Intel's GPUs have too few for every shape. */
static ssq_status make_tiles(struct backend_device *d, VkShaderModule module,
                             struct coopmat_kind *kind)
{
    struct coopmat_tile *large = &kind->tile[1];
    struct tile_job one = {d, module, kind, 2, &kind->tile[0], SSQ_OK, {""}};
    struct tile_job two = {d, module, kind, 4, large, SSQ_OK, {""}};
    if (d->caps.vendor == INTEL)
        tile_job_run(&one);
    else
        vulkan_compile_both(d, tile_job_run, &one, &two);
    ssq_status st = tile_job_end(&one);
    if (st == SSQ_OK)
        st = tile_job_end(&two);
    if (st == SSQ_OK && d->caps.vendor != INTEL &&
        coopmat_spills(d, large->code.pipeline) > 0)
        drop_tile(d, large);
    return st;
}

/* Try a shape with a size of subgroup: make a small and a large tile, and test
 * the ones that there are. A driver may well fail to compile this: that refuses
 * the kind, and is an error only where the device is lost with it. */
static ssq_status try_shape(struct backend_device *d, VkShaderModule module,
                            struct coopmat_kind *kind)
{
    ssq_status st = make_tiles(d, module, kind);
    if (st == SSQ_OK && kind->tile[0].code.pipeline == VK_NULL_HANDLE) {
        snprintf(kind->why.text, sizeof(kind->why.text),
                 "its matrices of %ux%ux%u do not fit into %u bytes of shared "
                 "memory or %u invocations",
                 kind->m, kind->n, kind->k, d->caps.local_bytes, MOST_ITEMS);
        return SSQ_OK;
    }
    kind->admitted = st == SSQ_OK;
    for (int i = 0; i < 2 && st == SSQ_OK && kind->admitted; i++)
        if (kind->tile[i].code.pipeline != VK_NULL_HANDLE)
            st = coopmat_test(d, kind, &kind->tile[i], &kind->admitted);
    if (st != SSQ_OK) {
        kind->admitted = false;
        snprintf(kind->why.text, sizeof(kind->why.text), "%.64s: %.180s",
                 d->caps.driver, d->core->error_text());
        st = vulkan_device_check(d); /* a refusal, unless it is lost */
    }
    return st;
}

/* List the sizes of subgroup: the device's own, then the other powers of two
 * that it has. On Intel's GPUs they go from the least up: the matrices of a
 * larger subgroup are spilled there. Returns how many there are. */
static uint32_t subgroup_sizes(const struct vulkan_caps *caps,
                               uint32_t sizes[MOST_SIZES])
{
    bool ascending = caps->vendor == INTEL && caps->subgroup_least != 0;
    uint32_t n = 0;
    if (!ascending)
        sizes[n++] = caps->subgroup;
    for (uint32_t s = caps->subgroup_least;
         s != 0 && s <= caps->subgroup_most && n < MOST_SIZES; s *= 2)
        if (ascending || s != caps->subgroup)
            sizes[n++] = s;
    return n;
}

/* Move the subgroup size with which a shape's small tile spills least to the
 * front, if the driver reports spills. If a size has no pipeline, it is not
 * moved. */
static void prefer_unspilled(struct backend_device *d, VkShaderModule module,
                             const struct coopmat_kind *kind,
                             uint32_t sizes[MOST_SIZES], uint32_t n)
{
    uint64_t least = UINT64_MAX;
    uint32_t best = 0;
    for (uint32_t i = 0; d->caps.statistics && n > 1 && i < n && least > 0;
         i++) {
        struct coopmat_kind trial = *kind;
        struct coopmat_tile tile = {0};
        trial.subgroup = sizes[i];
        if (make_tile(d, module, &trial, 2, &tile) == SSQ_OK &&
            tile.code.pipeline != VK_NULL_HANDLE) {
            uint64_t spills = coopmat_spills(d, tile.code.pipeline);
            best = spills < least ? i : best;
            least = spills < least ? spills : least;
        }
        drop_tile(d, &tile);
    }
    uint32_t first = sizes[best];
    memmove(&sizes[1], &sizes[0], best * sizeof(*sizes));
    sizes[0] = first;
}

/* Try shapes until one is admitted. Where none is, the kind gets the reason of
 * the first. */
static ssq_status try_shapes(struct backend_device *d, VkShaderModule module,
                             struct coopmat_kind *kind,
                             const struct coopmat_shape *shapes, uint32_t n)
{
    struct why first = {""};
    for (uint32_t i = 0; i < n && i < MOST_TRIES; i++) {
        uint32_t sizes[MOST_SIZES];
        uint32_t nsizes = subgroup_sizes(&d->caps, sizes);
        kind->m = shapes[i].m;
        kind->n = shapes[i].n;
        kind->k = shapes[i].k;
        prefer_unspilled(d, module, kind, sizes, nsizes);
        for (uint32_t s = 0; s < nsizes; s++) {
            kind->subgroup = sizes[s];
            ssq_status st = try_shape(d, module, kind);
            if (kind->admitted || st != SSQ_OK)
                return st;
            drop_tiles(d, kind);
            if (first.text[0] == '\0')
                first = kind->why;
        }
    }
    kind->why = first;
    return SSQ_OK;
}

/* The module for a dtype; VK_NULL_HANDLE: the library was built without it. */
static ssq_status make_module(struct backend_device *d, ssq_dtype dtype,
                              VkShaderModule *module)
{
    uint32_t *words, *own;
    size_t n, bytes;
    *module = VK_NULL_HANDLE;
    ssq_status st = coopmat_words(d->core, dtype, &words, &n);
    if (st != SSQ_OK || words == NULL)
        return st;
    st = vulkan_spirv(d->core, &d->caps, kernel.name, words, n, &own, &bytes);
    d->core->mem_free(words);
    if (st != SSQ_OK)
        return st;
    const VkShaderModuleCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = bytes,
        .pCode = own};
    VkResult e = VK(CreateShaderModule)(d->vk, &info, NULL, module);
    d->core->mem_free(own);
    return e == VK_SUCCESS
               ? SSQ_OK
               : vulkan_error(d->core, "vkCreateShaderModule: gemm_coopmat", e);
}

/* Admit a kind or say why not. Errors are the ones that no other driver would
 * spare the program: no host memory, a lost device. */
static ssq_status open_kind(struct backend_device *d, struct coopmat_kind *kind)
{
    struct coopmat_shape shapes[MOST_SHAPES];
    uint32_t n, all;
    VkShaderModule module;
    const char *type = kind->dtype == SSQ_F16 ? "f16" : "bf16";
    if (!d->caps.coopmat) {
        coopmat_no(&kind->why,
                   "its driver has no VK_KHR_cooperative_matrix: a newer "
                   "one may");
        return SSQ_OK;
    }
    if (kind->dtype == SSQ_BF16 && !d->caps.shader_bfloat16) {
        coopmat_no(&kind->why,
                   "its driver has no VK_KHR_shader_bfloat16 for matrices");
        return SSQ_OK;
    }
    ssq_status st = find_shapes(d, kind->dtype, shapes, &n, &all);
    if (st != SSQ_OK)
        return st;
    if (n == 0) {
        snprintf(kind->why.text, sizeof(kind->why.text),
                 "none of the %u shapes of matrices that it reports has %s "
                 "factors, float32 sums and a subgroup's scope",
                 all, type);
        return SSQ_OK;
    }
    st = make_module(d, kind->dtype, &module);
    /* a lack of host memory says nothing about the device */
    if (st == SSQ_ERR_NOMEM)
        return st;
    if (st != SSQ_OK) {
        coopmat_no(&kind->why, d->core->error_text());
        return vulkan_device_check(d);
    }
    if (module == VK_NULL_HANDLE) {
        coopmat_no(&kind->why,
                   "the library was built without its shader: glslc did "
                   "not know GL_KHR_cooperative_matrix");
        return SSQ_OK;
    }
    st = try_shapes(d, module, kind, shapes, n);
    VK(DestroyShaderModule)(d->vk, module, NULL);
    return st;
}

static void log_kind(const struct services *core,
                     const struct coopmat_kind *kind)
{
    const char *type = kind->dtype == SSQ_F16 ? "f16" : "bf16";
    if (kind->admitted)
        core->log_line(SSQ_LOG_INFO, "vulkan",
                       "coopmat: %s matrices of %ux%ux%u, subgroups of "
                       "%u, block %u",
                       type, kind->m, kind->n, kind->k, kind->subgroup,
                       kind->truncates_after);
    else
        core->log_line(SSQ_LOG_INFO, "vulkan", "coopmat: %s: %s", type,
                       kind->why.text);
}

/* A call of open_kind(), which another thread may make. */
struct kind_job {
    struct backend_device *device;
    struct coopmat_kind *kind;
    ssq_status status;
    struct why why; /* of a failure */
};

static void kind_job_run(void *job)
{
    struct kind_job *j = job;
    j->status = open_kind(j->device, j->kind);
    if (j->status != SSQ_OK)
        coopmat_no(&j->why, j->device->core->error_text());
    log_kind(j->device->core, j->kind);
}

ssq_status vulkan_coopmat_open(struct backend_device *d)
{
    struct kind_job job[2];
    d->coopmat = d->core->mem_alloc(sizeof(*d->coopmat));
    if (d->coopmat == NULL)
        return vulkan_no_memory(d->core, sizeof(*d->coopmat));
    memset(d->coopmat, 0, sizeof(*d->coopmat));
    d->coopmat->kind[0].dtype = SSQ_F16;
    d->coopmat->kind[1].dtype = SSQ_BF16;
    for (int i = 0; i < 2; i++)
        job[i] = (struct kind_job){d, &d->coopmat->kind[i], SSQ_OK, {""}};
    vulkan_compile_both(d, kind_job_run, &job[0], &job[1]);
    ssq_status st = vulkan_device_check(d);
    for (int i = 0; i < 2 && st == SSQ_OK; i++)
        if (job[i].status != SSQ_OK)
            st = d->core->error_set(job[i].status, "%s", job[i].why.text);
    return st;
}

void vulkan_coopmat_close(struct backend_device *d)
{
    if (d->coopmat == NULL)
        return;
    for (int i = 0; i < 2; i++)
        drop_tiles(d, &d->coopmat->kind[i]);
    d->core->mem_free(d->coopmat);
    d->coopmat = NULL;
}

uint32_t vulkan_coopmat_dtypes(const struct backend_device *d, struct why *why)
{
    uint32_t bits = 0;
    int at = 0;
    why->text[0] = '\0';
    for (int i = 0; d->coopmat != NULL && i < 2; i++) {
        const struct coopmat_kind *k = &d->coopmat->kind[i];
        if (k->admitted)
            bits |= 1u << k->dtype;
        else if (at >= 0 && (size_t)at < sizeof(why->text))
            at += snprintf(why->text + at, sizeof(why->text) - (size_t)at,
                           "%scoopmat %s: %s", at == 0 ? "" : "; ",
                           k->dtype == SSQ_F16 ? "f16" : "bf16", k->why.text);
    }
    return bits;
}
