/* SPDX-License-Identifier: Apache-2.0 */
/* coopmat.h - cooperative matrices: what a device has, found and tried when it
 * is opened.
 *
 * There is a kind for f16 and one for bf16: a shape that the device reports for
 * them with float32 sums in a subgroup, and the pipelines of
 * kernels/gemm/coopmat.comp for it, for small tiles and for large ones. A kind
 * that is not admitted says why. */
#ifndef BACKENDS_VULKAN_COOPMAT_H
#define BACKENDS_VULKAN_COOPMAT_H

#include "backends/vulkan/vulkan.h"
#include "kernels/gemm/gemm_args.h"
#include "lib/op/gemm/gemm.h"

/* Headers before 1.3.255 lack these: Debian 12 has 1.3.239. The numbers are the
 * registry's. */
#ifndef VK_KHR_cooperative_matrix
#define VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR                    \
    ((VkStructureType)1000506001)
#define VK_COMPONENT_TYPE_FLOAT16_KHR 0
#define VK_COMPONENT_TYPE_FLOAT32_KHR 1
#define VK_SCOPE_SUBGROUP_KHR         3
typedef struct VkCooperativeMatrixPropertiesKHR {
    VkStructureType sType;
    void *pNext;
    uint32_t MSize, NSize, KSize;
    uint32_t AType, BType, CType, ResultType; /* VkComponentTypeKHR */
    VkBool32 saturatingAccumulation;
    uint32_t scope; /* VkScopeKHR */
} VkCooperativeMatrixPropertiesKHR;
typedef VkResult(
    VKAPI_PTR *PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)(
    VkPhysicalDevice, uint32_t *, VkCooperativeMatrixPropertiesKHR *);
#endif
/* And before 1.4.311. */
#ifndef VK_KHR_shader_bfloat16
#define VK_COMPONENT_TYPE_BFLOAT16_KHR 1000141000
#endif

/** Sums of a group: a pipeline with so many matrices for a subgroup. */
struct coopmat_tile {
    struct backend_kernel code; /* pipeline VK_NULL_HANDLE: does not fit */
    uint32_t m, n, depth;
};

struct coopmat_kind {
    ssq_dtype dtype;
    bool admitted;
    struct why why; /* it is not */
    uint32_t m, n, k, subgroup;
    uint32_t block;              /* as in ssq_gemm_explanation */
    struct coopmat_tile tile[2]; /* small, large */
};

struct vulkan_coopmat {
    struct coopmat_kind kind[2]; /* f16, bf16 */
};

/** coopmat_words.c: the module for a dtype, to be freed with mem_free; NULL
 *  words: the library was built without it. */
ssq_status coopmat_words(const struct services *core, ssq_dtype dtype,
                         uint32_t **words, size_t *n);

/** coopmat_test.c: multiply with a tile's pipeline what has known results.
 *  *passed, or the kind's why; block is measured. A failure is the device's. */
ssq_status coopmat_test(struct backend_device *device,
                        struct coopmat_kind *kind,
                        const struct coopmat_tile *tile, bool *passed);

/** An operand of gemm_coopmat at binding l->nbindings and the next one: as
 *  16-bit elements and in the other unit. */
void coopmat_bind(struct launch *l, struct backend_mem *mem, uint64_t offset,
                  uint64_t bytes, uint32_t unit, enum access access);

/** gemm_coopmat.c */
extern const struct gemm_impl vulkan_gemms[];
void vulkan_gemm_explain(const struct backend_device *device,
                         const struct gemm_op *op, unsigned impl,
                         struct gemm_explanation *e);

#endif
