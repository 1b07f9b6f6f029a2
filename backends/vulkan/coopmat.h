/* SPDX-License-Identifier: Apache-2.0 */
/* coopmat.h - cooperative matrices: matrix units as VK_KHR_cooperative_matrix
 * shows them, which a device's opening finds and tests.
 *
 * There is a kind for f16 and one for bf16: a shape of matrices that the device
 * reports for such factors with float32 sums, held by a subgroup together, and
 * the pipelines of kernels/gemm/coopmat.comp for it, one for small tiles and
 * one for large ones. A kind that is not admitted says why. */
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

/** The sums that a group computes at a time: m rows and n columns of d, with
 * `depth` elements of k staged in shared memory; and the pipeline for them. */
struct coopmat_tile {
    /* its pipeline is VK_NULL_HANDLE where the tile does not fit into a
     * group */
    struct backend_kernel code;
    uint32_t m, n, depth;
};

/** Matrices for factors of one dtype. */
struct coopmat_kind {
    ssq_dtype dtype;
    bool admitted;
    /* why it is not admitted, for users */
    struct why why;
    /* the shape of one multiplication, and the invocations that share it */
    uint32_t m, n, k, subgroup;
    /* how many products are added before a sum is truncated: the block of
     * ssq_gemm_explanation; 0: sums round to nearest */
    uint32_t truncates_after;
    struct coopmat_tile tile[2]; /* small, large */
};

struct vulkan_coopmat {
    struct coopmat_kind kind[2]; /* f16, bf16 */
};

/** The module for a dtype (coopmat_words.c), to be freed with mem_free. SSQ_OK
 * with NULL words: the library was built without it. */
ssq_status coopmat_words(const struct services *core, ssq_dtype dtype,
                         uint32_t **words, size_t *n);

/** Multiply with a tile's pipeline what has known results (coopmat_test.c):
 * *passed, or the kind's why says what differs; its block is measured. An
 * error is one of the device, and says nothing of the results. */
ssq_status coopmat_test(struct backend_device *device,
                        struct coopmat_kind *kind,
                        const struct coopmat_tile *tile, bool *passed);

/** Registers that the driver spilled to memory in a pipeline
 * (coopmat_spills.c); 0 if it does not say. */
uint64_t coopmat_spills(const struct backend_device *device,
                        VkPipeline pipeline);

/** Add an operand of gemm_coopmat to a launch. The shader has each at two
 * bindings, l->nbindings and the next: as 16-bit elements, and in the other
 * unit, by which it reads or writes more at a time. mem NULL: the operand is
 * absent. */
void coopmat_bind(struct launch *l, struct backend_mem *mem, uint64_t offset,
                  uint64_t bytes, uint32_t unit, enum access access);

/** gemm_coopmat.c */
extern const struct gemm_impl vulkan_gemms[];
void vulkan_gemm_explain(const struct backend_device *device,
                         const struct gemm_op *op, unsigned impl,
                         struct gemm_explanation *e);

#endif
