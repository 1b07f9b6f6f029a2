/* SPDX-License-Identifier: Apache-2.0 */
/* coopmat_refused.c - drivers whose cooperative matrices are wrong, one way
 * each, are refused when the device is opened.
 *
 * The layer between makes the driver wrong: it rewrites the shader's SPIR-V,
 * or changes what is read or what returns. The device continues without
 * matrices, says which shape it refuses and why, and multiplies rightly. */

#include "backends/vulkan/calls.h"
#include "backends/vulkan/coopmat.h"
#include "tests/core/driver.h"

enum fault {
    HONEST,
    TRANSPOSES,  /* matrices are stored column by column */
    SUMS_HALF,   /* sums have the 11 bits of f16 */
    FLUSHES,     /* f16 subnormals are read as 0 */
    ONE_ELEMENT, /* one bit of one element is wrong, from some launch on */
    OTHER_SIZE,  /* the shader finds subgroups of another size */
    NO_PIPELINE, /* is not made */
    NO_FLOAT32   /* matrices have sums of f16 alone */
};

/* Of SPIR-V: instructions, by their numbers. */
enum {
    OP_CONSTANT = 43,
    OP_FUNCTION = 54,
    OP_SUBTRACT = 131,
    OP_TIMES_SCALAR = 143,
    OP_MATRIX_TYPE = 4456,
    OP_MATRIX_LOAD = 4457,
    OP_MATRIX_STORE = 4458,
    OP_MATRIX_MULTIPLY = 4459,
    HEADER = 5,
    MORE_WORDS = 32
};
#define FLOAT_8193               0x46000400u /* 2^13 + 1 */
#define INSTRUCTION(WORDS, CODE) ((uint32_t)(WORDS) << 16 | (CODE))

/** Ids of specialization constants: kernels/gemm/coopmat.comp. */
#define ID_SUBGROUP    4u
#define MOST_CONSTANTS 32u
/** Bindings of its operands: d as float32; a, b as 16-bit elements. */
#define BINDING_D 1
#define BINDING_A 6
#define BINDING_B 8
#define BINDINGS  10
/** The element that is wrong: not the first. */
#define ELEMENT 37
#define SIZE    24

static struct {
    struct vulkan_calls real;
    enum fault fault;
    long launches, wrong_from; /* of the matrices' shader */
    bool bound, pending;
    VkShaderModule module; /* that has matrices */
    VkPipeline pipeline[64];
    uint32_t pipelines;
    VkDescriptorBufferInfo operand[BINDINGS];
    PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR shapes;
    VkCooperativeMatrixPropertiesKHR shape[64]; /* as reported */
    uint32_t nshapes;
    struct place {
        VkBuffer buffer;
        VkDeviceMemory memory;
        unsigned char *map;
    } place[256];
} vk;

/* ---- the shader, made wrong ---- */

struct coopmat_refused_facts {
    uint32_t sum, element;  /* ids: the types of sums' matrices, of elements */
    uint32_t rows, columns; /* of layouts */
    bool multiplies;
};

static struct coopmat_refused_facts look(const uint32_t *w, size_t n)
{
    struct coopmat_refused_facts f = {0};

    for (size_t i = HEADER; i < n; i += w[i] >> 16) {
        uint32_t code = w[i] & 0xffffu;

        if (code == OP_MATRIX_MULTIPLY)
            f.sum = w[i + 1];
        if (code == OP_MATRIX_STORE)
            f.rows = w[i + 3];
        f.multiplies = f.multiplies || code == OP_MATRIX_MULTIPLY;
    }
    for (size_t i = HEADER; i < n; i += w[i] >> 16) {
        uint32_t code = w[i] & 0xffffu;

        if (code == OP_MATRIX_LOAD && w[i + 4] != f.rows)
            f.columns = w[i + 4];
        if (code == OP_MATRIX_TYPE && w[i + 1] == f.sum)
            f.element = w[i + 2];
    }
    return f;
}

/* Sums of 11 bits (Veltkamp): t = (2^13 + 1) s; s = t - (t - s). */
static size_t multiply_half(uint32_t *to, const uint32_t *from, uint32_t length,
                            uint32_t factor, uint32_t *bound)
{
    uint32_t sum = (*bound)++, large = (*bound)++, rest = (*bound)++;
    const uint32_t type = from[1];
    const uint32_t more[] = {
        INSTRUCTION(5, OP_TIMES_SCALAR), type, large,   sum,   factor,
        INSTRUCTION(5, OP_SUBTRACT),     type, rest,    large, sum,
        INSTRUCTION(5, OP_SUBTRACT),     type, from[2], large, rest};

    memcpy(to, from, length * sizeof(*to));
    to[2] = sum;
    memcpy(to + length, more, sizeof(more));
    return length + sizeof(more) / sizeof(*more);
}

static size_t rewrite(uint32_t *to, const uint32_t *from, size_t n)
{
    struct coopmat_refused_facts f = look(from, n);
    uint32_t bound = from[3], factor = 0;
    size_t at = HEADER;

    memcpy(to, from, HEADER * sizeof(*to));
    for (size_t i = HEADER; i < n; i += from[i] >> 16) {
        uint32_t length = from[i] >> 16, code = from[i] & 0xffffu;

        if (vk.fault == SUMS_HALF && code == OP_FUNCTION && factor == 0) {
            const uint32_t constant[] = {INSTRUCTION(4, OP_CONSTANT), f.element,
                                         factor = bound++, FLOAT_8193};

            memcpy(to + at, constant, sizeof(constant));
            at += sizeof(constant) / sizeof(*constant);
        }
        if (vk.fault == SUMS_HALF && code == OP_MATRIX_MULTIPLY) {
            at += multiply_half(to + at, from + i, length, factor, &bound);
            continue;
        }
        memcpy(to + at, from + i, length * sizeof(*to));
        if (vk.fault == TRANSPOSES && code == OP_MATRIX_STORE)
            to[at + 3] = f.columns;
        at += length;
    }
    to[3] = bound;
    return at;
}

static VKAPI_ATTR VkResult VKAPI_CALL
create_module(VkDevice d, const VkShaderModuleCreateInfo *info,
              const VkAllocationCallbacks *a, VkShaderModule *made)
{
    size_t n = info->codeSize / sizeof(uint32_t);
    VkShaderModuleCreateInfo other = *info;

    if (!look(info->pCode, n).multiplies)
        return vk.real.CreateShaderModule(d, info, a, made);
    uint32_t *words = malloc((n + MORE_WORDS) * sizeof(*words));
    if (words == NULL)
        tap_bail("no memory");
    other.codeSize = rewrite(words, info->pCode, n) * sizeof(*words);
    other.pCode = words;
    VkResult e = vk.real.CreateShaderModule(d, &other, a, made);
    vk.module = *made;
    free(words);
    return e;
}

static VKAPI_ATTR VkResult VKAPI_CALL
create_pipelines(VkDevice d, VkPipelineCache c, uint32_t n,
                 const VkComputePipelineCreateInfo *info,
                 const VkAllocationCallbacks *a, VkPipeline *made)
{
    VkComputePipelineCreateInfo other = *info;
    uint32_t data[MOST_CONSTANTS];

    if (n != 1 || vk.module == VK_NULL_HANDLE ||
        info->stage.module != vk.module)
        return vk.real.CreateComputePipelines(d, c, n, info, a, made);
    if (vk.fault == NO_PIPELINE)
        return VK_ERROR_FEATURE_NOT_PRESENT;
    VkSpecializationInfo constants = *info->stage.pSpecializationInfo;
    if (constants.dataSize > sizeof(data) || vk.pipelines == 64)
        tap_bail("no room");
    memcpy(data, constants.pData, constants.dataSize);
    if (vk.fault == OTHER_SIZE)
        data[ID_SUBGROUP] *= 2;
    constants.pData = data;
    other.stage.pSpecializationInfo = &constants;
    VkResult e = vk.real.CreateComputePipelines(d, c, 1, &other, a, made);
    if (e == VK_SUCCESS)
        vk.pipeline[vk.pipelines++] = *made;
    return e;
}

/* ---- operands and results, made wrong ---- */

static struct place *place_of(VkBuffer buffer, VkDeviceMemory memory)
{
    for (size_t i = 0; i < sizeof(vk.place) / sizeof(*vk.place); i++)
        if (vk.place[i].buffer == buffer &&
            (memory == VK_NULL_HANDLE || vk.place[i].memory == memory))
            return &vk.place[i];
    tap_bail("no such buffer");
    return NULL;
}

static VKAPI_ATTR VkResult VKAPI_CALL bind_memory(VkDevice d, VkBuffer b,
                                                  VkDeviceMemory m,
                                                  VkDeviceSize offset)
{
    *place_of(VK_NULL_HANDLE, VK_NULL_HANDLE) = (struct place){b, m, NULL};
    return vk.real.BindBufferMemory(d, b, m, offset);
}

static VKAPI_ATTR void VKAPI_CALL destroy_buffer(VkDevice d, VkBuffer b,
                                                 const VkAllocationCallbacks *a)
{
    *place_of(b, VK_NULL_HANDLE) = (struct place){0};
    vk.real.DestroyBuffer(d, b, a);
}

static VKAPI_ATTR VkResult VKAPI_CALL map_memory(VkDevice d, VkDeviceMemory m,
                                                 VkDeviceSize offset,
                                                 VkDeviceSize bytes,
                                                 VkMemoryMapFlags f, void **p)
{
    VkResult e = vk.real.MapMemory(d, m, offset, bytes, f, p);

    for (size_t i = 0; i < sizeof(vk.place) / sizeof(*vk.place); i++)
        if (vk.place[i].memory == m)
            vk.place[i].map = *p;
    return e;
}

static VKAPI_ATTR void VKAPI_CALL update(VkDevice d, uint32_t n,
                                         const VkWriteDescriptorSet *w,
                                         uint32_t nc,
                                         const VkCopyDescriptorSet *c)
{
    for (uint32_t i = 0; i < n; i++)
        if (w[i].dstBinding < BINDINGS)
            vk.operand[w[i].dstBinding] = *w[i].pBufferInfo;
    vk.real.UpdateDescriptorSets(d, n, w, nc, c);
}

static VKAPI_ATTR void VKAPI_CALL bind_pipeline(VkCommandBuffer c,
                                                VkPipelineBindPoint where,
                                                VkPipeline p)
{
    vk.bound = false;
    for (uint32_t i = 0; i < vk.pipelines; i++)
        vk.bound = vk.bound || vk.pipeline[i] == p;
    vk.real.CmdBindPipeline(c, where, p);
}

static VKAPI_ATTR void VKAPI_CALL dispatch(VkCommandBuffer c, uint32_t x,
                                           uint32_t y, uint32_t z)
{
    vk.pending = vk.bound;
    vk.real.CmdDispatch(c, x, y, z);
}

static void flush(const VkDescriptorBufferInfo *b)
{
    uint16_t *x = (void *)(place_of(b->buffer, VK_NULL_HANDLE)->map);

    for (VkDeviceSize i = 0; i < b->range / sizeof(*x); i++)
        if ((x[i] & 0x7c00u) == 0)
            x[i] &= 0x8000u;
}

static VKAPI_ATTR VkResult VKAPI_CALL submit(VkQueue q, uint32_t n,
                                             const VkSubmitInfo *info,
                                             VkFence f)
{
    bool ours = vk.pending;

    vk.pending = false;
    if (ours && vk.fault == FLUSHES) {
        flush(&vk.operand[BINDING_A]);
        flush(&vk.operand[BINDING_B]);
    }
    VkResult e = vk.real.QueueSubmit(q, n, info, f);
    if (ours && e == VK_SUCCESS && vk.launches++ >= vk.wrong_from &&
        vk.fault == ONE_ELEMENT) {
        e = vk.real.QueueWaitIdle(q);
        const VkDescriptorBufferInfo *d = &vk.operand[BINDING_D];
        place_of(d->buffer, VK_NULL_HANDLE)->map[ELEMENT * sizeof(float)] ^= 1;
    }
    return e;
}

/* ---- shapes ---- */

static VKAPI_ATTR VkResult VKAPI_CALL
get_shapes(VkPhysicalDevice d, uint32_t *n, VkCooperativeMatrixPropertiesKHR *p)
{
    VkResult e = vk.shapes(d, n, p);

    vk.nshapes = 0;
    for (uint32_t i = 0; p != NULL && i < *n && i < 64; i++) {
        if (vk.fault == NO_FLOAT32)
            p[i].CType = p[i].ResultType = VK_COMPONENT_TYPE_FLOAT16_KHR;
        vk.shape[vk.nshapes++] = p[i];
    }
    return e;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL by_name(VkInstance instance,
                                                        const char *name)
{
    PFN_vkVoidFunction real = vk.real.GetInstanceProcAddr(instance, name);

    if (real == NULL ||
        strcmp(name, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR") != 0)
        return real;
    vk.shapes = (PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)real;
    return (PFN_vkVoidFunction)get_shapes;
}

static void stand_between(void)
{
    struct vulkan_calls *table = driver_symbol("vulkan", "ssq_vulkan_calls");

    /* calls are made in the same order each time */
    setenv("SSQ_VULKAN_THREADS", "0", 1);
    vk.real = *table;
    table->CreateShaderModule = create_module;
    table->CreateComputePipelines = create_pipelines;
    table->BindBufferMemory = bind_memory;
    table->DestroyBuffer = destroy_buffer;
    table->MapMemory = map_memory;
    table->UpdateDescriptorSets = update;
    table->CmdBindPipeline = bind_pipeline;
    table->CmdDispatch = dispatch;
    table->QueueSubmit = submit;
    table->GetInstanceProcAddr = by_name;
}

/* ---- tests ---- */

struct coopmat_refused_product {
    ssq_device *dev;
    ssq_queue *q;
    ssq_tensor *a, *b, *d;
    ssq_gemm_args args;
};

static ssq_tensor *square(const struct coopmat_refused_product *p,
                          ssq_dtype dtype)
{
    const int64_t shape[2] = {SIZE, SIZE};
    ssq_tensor *t = NULL;

    NEED(ssq_tensor_create(p->dev, dtype, 2, shape, &t));
    return t;
}

static void product_open(struct coopmat_refused_product *p, enum fault fault,
                         long from)
{
    vk.fault = fault;
    vk.launches = 0;
    vk.wrong_from = from;
    vk.pipelines = 0;
    vk.pending = vk.bound = false;
    vk.module = VK_NULL_HANDLE;
    p->dev = core_open("vulkan:0");
    p->q = core_queue(p->dev);
    p->a = square(p, SSQ_F16);
    p->b = square(p, SSQ_F16);
    p->d = square(p, SSQ_F32);
    p->args = (ssq_gemm_args)SSQ_GEMM_INIT;
    p->args.a = p->a;
    p->args.b = p->b;
    p->args.d = p->d;
}

static void product_close(struct coopmat_refused_product *p)
{
    ssq_tensor_destroy(&p->a);
    ssq_tensor_destroy(&p->b);
    ssq_tensor_destroy(&p->d);
    ssq_queue_destroy(&p->q);
    ssq_device_close(&p->dev);
}

/* a[i,q] = i - q, b[q,j] = q + j: integers, no symmetry. */
static long wrong_elements(struct coopmat_refused_product *p)
{
    static float a[SIZE * SIZE], b[SIZE * SIZE], d[SIZE * SIZE];
    long wrong = 0;

    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            a[i * SIZE + j] = (float)(i - j);
            b[i * SIZE + j] = (float)(i + j);
        }
    NEED(ssq_tensor_write(p->q, p->a, a, sizeof(a), SSQ_F32));
    NEED(ssq_tensor_write(p->q, p->b, b, sizeof(b), SSQ_F32));
    NEED(ssq_gemm(p->q, &p->args));
    NEED(ssq_tensor_read(p->q, p->d, d, sizeof(d), SSQ_F32));
    NEED(ssq_queue_sync(p->q));
    for (int i = 0; i < SIZE; i++)
        for (int j = 0; j < SIZE; j++) {
            int sum = 0;

            for (int q = 0; q < SIZE; q++)
                sum += (i - q) * (q + j);
            wrong += d[i * SIZE + j] != (float)sum;
        }
    return wrong;
}

/* "8x8x8" of the text is a shape that the device reported. */
static bool names_shape(const char *text)
{
    const char *at = strstr(text, "self-test of f16 ");
    unsigned m, n, k, size;

    if (at == NULL || sscanf(at, "self-test of f16 %ux%ux%u in subgroups of %u",
                             &m, &n, &k, &size) != 4)
        return false;
    for (uint32_t i = 0; i < vk.nshapes; i++)
        if (vk.shape[i].MSize == m && vk.shape[i].NSize == n &&
            vk.shape[i].KSize == k)
            return size > 0;
    return false;
}

/* The device's report about its matrices: by `sesqui devices --why` too. */
static bool is_refused(struct coopmat_refused_product *p, const char *said,
                       bool by_test)
{
    ssq_device_props props = SSQ_DEVICE_PROPS_INIT;

    NEED(ssq_device_props_get(p->dev, &props));
    const char *why = strstr(props.refused, "coopmat f16: ");
    bool ok = (props.f16 & SSQ_CAP_MATRIX) == 0 && why != NULL &&
              core_has(why, said) && (!by_test || names_shape(why));
    if (!ok)
        tap_diag("matrix %d: %s", (props.f16 & SSQ_CAP_MATRIX) != 0,
                 props.refused);
    return ok;
}

/* And of a product, by each way to ask for it. */
static void test_product(struct coopmat_refused_product *p, const char *name,
                         const char *said)
{
    ssq_gemm_explanation e = SSQ_GEMM_EXPLANATION_INIT;

    NEED(ssq_gemm_explain(p->q, &p->args, &e));
    bool ok = !e.matrix_units && strcmp(e.implementation, "coopmat") != 0 &&
              core_has(e.condition, said);
    tap_ok(ok, "%s: so a product is explained", name);
    if (!ok)
        tap_diag("%s: %s", e.implementation, e.condition);
    p->args.flags = SSQ_GEMM_REQUIRE_MATRIX_UNITS;
    core_status(ssq_gemm(p->q, &p->args), SSQ_ERR_UNSUPPORTED, said,
                "%s: matrix units cannot be required", name);
    p->args.flags = 0;
    NEED(ssq_implementation_pin(p->dev, "gemm", "coopmat"));
    core_status(ssq_gemm(p->q, &p->args), SSQ_ERR_UNSUPPORTED, said,
                "%s: coopmat cannot be pinned", name);
    NEED(ssq_implementation_pin(p->dev, "gemm", NULL));
    tap_ok(wrong_elements(p) == 0, "%s: a product is right without", name);
}

static void test_fault(enum fault fault, const char *name, const char *said)
{
    bool by_test = fault != NO_PIPELINE && fault != NO_FLOAT32;
    struct coopmat_refused_product p;

    product_open(&p, fault, 0);
    tap_ok(is_refused(&p, said, by_test), "%s: refused: %s", name, said);
    tap_ok(vk.launches > 0 || !by_test, "%s: by %ld launches", name,
           vk.launches);
    test_product(&p, name, said);
    product_close(&p);
}

/* Each launch of the test looks at each element; but the last one looks how
 * sums are rounded, for which a device is not refused. */
static void test_elements(long launches)
{
    struct coopmat_refused_product p;
    long missed = 0;

    for (long i = 0; i < launches - 1; i++) {
        product_open(&p, ONE_ELEMENT, i);
        if (!is_refused(&p, " 1 of ", true)) {
            tap_diag("launch %ld of %ld", i, launches);
            missed++;
        }
        product_close(&p);
    }
    tap_ok(missed == 0,
           "one wrong bit of one element is refused in each of %ld launches, "
           "but %ld",
           launches - 1, missed);
}

static bool test_honest(long *launches)
{
    ssq_device_props props = SSQ_DEVICE_PROPS_INIT;
    struct coopmat_refused_product p;

    product_open(&p, HONEST, 0);
    *launches = vk.launches;
    NEED(ssq_device_props_get(p.dev, &props));
    bool has = (props.f16 & SSQ_CAP_MATRIX) != 0;
    if (has) {
        NEED(ssq_implementation_pin(p.dev, "gemm", "coopmat"));
        tap_ok(wrong_elements(&p) == 0 && vk.launches == *launches + 1,
               "the device's own matrices are right");
    } else if (tap_required("coopmat")) {
        tap_ok(false, "matrices of f16 are required: %s", props.refused);
    } else {
        tap_skip("vulkan:0 has no matrices of f16", "wrong matrices");
    }
    product_close(&p);
    return has;
}

int main(void)
{
    long launches;

    if (driver_missing("vulkan"))
        return tap_done(0);
    stand_between();
    if (!test_honest(&launches))
        return tap_done(0);
    test_fault(TRANSPOSES, "transposed results", "sums of integers: ");
    test_fault(SUMS_HALF, "sums of 11 bits", "sums of integers: ");
    test_fault(FLUSHES, "flushed f16 subnormals",
               "sums of subnormal factors: ");
    test_fault(OTHER_SIZE, "subgroups of another size", "sums of integers: ");
    test_fault(NO_PIPELINE, "no pipeline",
               "vkCreateComputePipelines: gemm_coopmat");
    test_fault(NO_FLOAT32, "no float32 sums",
               "it reports has f16 factors, float32 sums");
    test_elements(launches);
    return tap_done(30);
}
