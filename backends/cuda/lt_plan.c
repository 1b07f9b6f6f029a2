/* SPDX-License-Identifier: Apache-2.0 */
/* lt_plan.c - descriptors and algorithms of a shape, and its products.
 *
 * A call of the heuristics takes longer than a small product, so they are
 * called once for each shape. Split-K sums may be reduced only in float32: in
 * the result's type, partial sums would be rounded to 16 bits. */
#include "backends/cuda/lt.h"

#include <string.h>

#include "lib/core/module/disk_cache.h"

#define LT(NAME) (lt->blas->NAME)

/* ---- descriptors ---- */

static void lt_plan_free(const struct cuda_lt *lt, struct lt_plan *p)
{
    const cublasLtMatrixLayout_t layout[] = {p->a, p->b, p->c, p->d};
    for (size_t i = 0; i < sizeof(layout) / sizeof(layout[0]); i++)
        if (layout[i] != NULL)
            (void)LT(LayoutDestroy)(layout[i]);
    if (p->desc != NULL)
        (void)LT(DescDestroy)(p->desc);
    memset(p, 0, sizeof(*p));
}

void cuda_lt_plans_free(struct cuda_lt *lt)
{
    for (uint32_t i = 0; i < LT_PLANS; i++)
        lt_plan_free(lt, &lt->plan[i]);
}

/* Create the layout of a matrix. If x is turned, it is stored with columns rows
 * and rows columns. */
static cublasStatus_t lt_plan_make_layout(const struct cuda_lt *lt,
                                          uint32_t type,
                                          const struct lt_shape *s,
                                          const struct lt_matrix *x,
                                          int64_t rows, int64_t columns,
                                          cublasLtMatrixLayout_t *layout)
{
    bool turned = x->turned != 0;
    int32_t batch = (int32_t)s->batch;
    int64_t step = x->batch;
    cublasStatus_t e = LT(LayoutCreate)(
        layout, (cudaDataType)type, (uint64_t)(turned ? columns : rows),
        (uint64_t)(turned ? rows : columns), x->leading);
    if (e != CUBLAS_STATUS_SUCCESS)
        *layout = NULL;
    if (e == CUBLAS_STATUS_SUCCESS)
        e = LT(LayoutSet)(*layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch,
                          sizeof(batch));
    if (e == CUBLAS_STATUS_SUCCESS)
        e = LT(LayoutSet)(*layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                          &step, sizeof(step));
    return e;
}

static cublasStatus_t set_turned(const struct cuda_lt *lt,
                                 const struct lt_plan *p,
                                 cublasLtMatmulDescAttributes_t which,
                                 const struct lt_matrix *x)
{
    int32_t op = x->turned != 0 ? CUBLAS_OP_T : CUBLAS_OP_N;
    return LT(DescSet)(p->desc, which, &op, sizeof(op));
}

static cublasStatus_t set_bias(const struct cuda_lt *lt,
                               const struct lt_plan *p, CUdeviceptr bias)
{
    void *pointer = (void *)(uintptr_t)bias;
    return LT(DescSet)(p->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &pointer,
                       sizeof(pointer));
}

/* Create the descriptor of a product. It includes the bias's address, because
 * the heuristics use its alignment. */
static cublasStatus_t make_desc(const struct cuda_lt *lt, struct lt_plan *p,
                                CUdeviceptr bias)
{
    uint32_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    cublasComputeType_t sums =
        p->shape.tf32 != 0 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    cublasStatus_t e = LT(DescCreate)(&p->desc, sums, CUDA_R_32F);
    if (e != CUBLAS_STATUS_SUCCESS) {
        p->desc = NULL;
        return e;
    }
    e = set_turned(lt, p, CUBLASLT_MATMUL_DESC_TRANSA, &p->shape.a);
    if (e == CUBLAS_STATUS_SUCCESS)
        e = set_turned(lt, p, CUBLASLT_MATMUL_DESC_TRANSB, &p->shape.b);
    if (e == CUBLAS_STATUS_SUCCESS && p->shape.bias != 0)
        e = LT(DescSet)(p->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                        sizeof(epilogue));
    if (e == CUBLAS_STATUS_SUCCESS && p->shape.bias != 0)
        e = set_bias(lt, p, bias);
    return e;
}

static cublasStatus_t make_layouts(const struct cuda_lt *lt, struct lt_plan *p)
{
    const struct lt_shape *s = &p->shape;
    cublasStatus_t e =
        lt_plan_make_layout(lt, s->factors, s, &s->a, s->m, s->k, &p->a);
    if (e == CUBLAS_STATUS_SUCCESS)
        e = lt_plan_make_layout(lt, s->factors, s, &s->b, s->k, s->n, &p->b);
    if (e == CUBLAS_STATUS_SUCCESS)
        e = lt_plan_make_layout(lt, s->result, s, &s->c, s->m, s->n, &p->c);
    if (e == CUBLAS_STATUS_SUCCESS)
        e = lt_plan_make_layout(lt, s->result, s, &s->d, s->m, s->n, &p->d);
    return e;
}

/* ---- algorithms ---- */

static cublasStatus_t prefer(const struct cuda_lt *lt, const struct lt_shape *s,
                             cublasLtMatmulPreference_t preference)
{
    size_t workspace = (size_t)lt->workspace_bytes;
    uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE; /* or no
                                                                  reduction */
    const struct {
        cublasLtMatmulPreferenceAttributes_t what;
        const void *value;
        size_t bytes;
    } set[] = {
        {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
         sizeof(workspace)},
        {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &schemes, sizeof(schemes)},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &s->a.align, 4},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &s->b.align, 4},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &s->c.align, 4},
        {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &s->d.align, 4},
    };
    cublasStatus_t e = CUBLAS_STATUS_SUCCESS;
    for (size_t i = 0; i < sizeof(set) / sizeof(set[0]); i++)
        if (e == CUBLAS_STATUS_SUCCESS)
            e = LT(PreferenceSet)(preference, set[i].what, set[i].value,
                                  set[i].bytes);
    return e;
}

/* Return the name of an algorithm: a hash of its bytes, which is the same in
 * every process. The bytes are its configuration. NVIDIA says of the struct
 * that it may be stored, and used again with the same version of the
 * library. */
static uint64_t lt_plan_name_of(const cublasLtMatmulAlgo_t *algo)
{
    uint64_t name = disk_cache_hash(DISK_CACHE_HASH, algo, sizeof(*algo));
    return name == 0 ? 1 : name;
}

/* Keep the results that are usable. If the state of a result is not a success,
 * its other fields have no meaning. */
static void keep_valid(struct lt_plan *p)
{
    int n = 0;
    for (int i = 0; i < p->n; i++)
        if (p->found[i].state == CUBLAS_STATUS_SUCCESS) {
            p->found[n] = p->found[i];
            p->name[n++] = lt_plan_name_of(&p->found[i].algo);
        }
    p->n = n;
}

static cublasStatus_t lt_plan_ask(const struct cuda_lt *lt, struct lt_plan *p)
{
    cublasLtMatmulPreference_t preference;
    cublasStatus_t e = LT(PreferenceCreate)(&preference);
    if (e != CUBLAS_STATUS_SUCCESS)
        return e;
    e = prefer(lt, &p->shape, preference);
    if (e == CUBLAS_STATUS_SUCCESS)
        e = LT(Heuristic)(lt->handle, p->desc, p->a, p->b, p->c, p->d,
                          preference, LT_ALGORITHMS, p->found, &p->n);
    if (e != CUBLAS_STATUS_SUCCESS)
        p->n = 0;
    keep_valid(p);
    (void)LT(PreferenceDestroy)(preference);
    return e;
}

/* Return the plan of a shape. If there is none, free the least recently used
 * plan and return its place for the shape, with used = 0. */
static struct lt_plan *lt_plan_place_of(struct cuda_lt *lt,
                                        const struct lt_shape *s)
{
    struct lt_plan *oldest = &lt->plan[0];
    for (uint32_t i = 0; i < LT_PLANS; i++) {
        struct lt_plan *p = &lt->plan[i];
        if (p->used != 0 && memcmp(&p->shape, s, sizeof(*s)) == 0)
            return p;
        if (p->used < oldest->used)
            oldest = p;
    }
    lt_plan_free(lt, oldest);
    oldest->shape = *s;
    return oldest;
}

/* Return the plan of a shape, or NULL with why (may be NULL) set. A shape
 * without algorithms is kept, too: the heuristics would give the same result
 * again. The caller must hold lt->lock. */
static struct lt_plan *plan_of(struct cuda_lt *lt, const struct lt_product *x,
                               struct why *why)
{
    struct lt_plan *p = lt_plan_place_of(lt, &x->shape);
    cublasStatus_t e = CUBLAS_STATUS_SUCCESS;
    if (p->used == 0) {
        e = make_desc(lt, p, x->bias);
        if (e == CUBLAS_STATUS_SUCCESS)
            e = make_layouts(lt, p);
        if (e == CUBLAS_STATUS_SUCCESS)
            e = lt_plan_ask(lt, p);
    }
    if (e != CUBLAS_STATUS_SUCCESS && e != CUBLAS_STATUS_NOT_SUPPORTED) {
        lt_plan_free(lt, p);
        (void)cuda_refuse(why, "its heuristics: %s", cuda_blas_status(e));
        return NULL;
    }
    p->used = ++lt->clock;
    if (p->first < p->n)
        return p;
    (void)cuda_refuse(why, "it has no algorithm for this product%s",
                      p->n > 0 ? ": each that it named has refused" : "");
    return NULL;
}

bool cuda_lt_can(struct cuda_lt *lt, const struct lt_product *x,
                 struct why *why)
{
    pthread_mutex_lock(&lt->lock);
    bool can = plan_of(lt, x, why) != NULL;
    pthread_mutex_unlock(&lt->lock);
    return can;
}

/* Return the index of an algorithm by its name; -1: it is not in the list, or
 * has refused. */
static int place_by_name(const struct lt_plan *p, uint64_t name)
{
    for (int i = p->first; name != 0 && i < p->n; i++)
        if (p->name[i] == name)
            return i;
    return -1;
}

unsigned cuda_lt_algorithms(struct cuda_lt *lt, const struct lt_product *x,
                            uint64_t *names)
{
    unsigned n = 0;
    pthread_mutex_lock(&lt->lock);
    const struct lt_plan *p = plan_of(lt, x, NULL);
    for (int i = p == NULL ? 0 : p->first; p != NULL && i < p->n; i++)
        if (p->name[i] != 0)
            names[n++] = p->name[i];
    pthread_mutex_unlock(&lt->lock);
    return n;
}

/* ---- products ---- */

static cublasStatus_t lt_plan_enqueue(const struct cuda_lt *lt,
                                      const struct lt_plan *p, int i,
                                      const struct lt_product *x,
                                      CUdeviceptr workspace, CUstream stream)
{
    return LT(Matmul)(
        lt->handle, p->desc, &x->alpha, (const void *)(uintptr_t)x->a, p->a,
        (const void *)(uintptr_t)x->b, p->b, &x->beta,
        (const void *)(uintptr_t)x->c, p->c, (void *)(uintptr_t)x->d, p->d,
        &p->found[i].algo, (void *)(uintptr_t)workspace,
        (size_t)lt->workspace_bytes, stream);
}

/* Return whether a status means that nothing was enqueued. After any other
 * error the next algorithm would fail, too. */
static bool lt_plan_refused(cublasStatus_t e)
{
    return e == CUBLAS_STATUS_NOT_SUPPORTED ||
           e == CUBLAS_STATUS_INVALID_VALUE || e == CUBLAS_STATUS_ARCH_MISMATCH;
}

/* Enqueue a product by the first algorithm that accepts it, beginning with the
 * one that the op names. An algorithm may refuse although the heuristics
 * returned it. It is then never tried again. The caller must hold lt->lock. */
static cublasStatus_t try_each(const struct cuda_lt *lt, struct lt_plan *p,
                               const struct lt_product *x,
                               CUdeviceptr workspace, CUstream stream)
{
    int named = place_by_name(p, x->algorithm);
    cublasStatus_t e = CUBLAS_STATUS_NOT_SUPPORTED;
    if (named >= 0)
        e = lt_plan_enqueue(lt, p, named, x, workspace, stream);
    if (!lt_plan_refused(e))
        return e;
    if (named >= 0)
        p->name[named] = 0;
    e = lt_plan_enqueue(lt, p, p->first, x, workspace, stream);
    while (lt_plan_refused(e) && ++p->first < p->n)
        e = lt_plan_enqueue(lt, p, p->first, x, workspace, stream);
    return e;
}

ssq_status cuda_lt_multiply(struct cuda_lt *lt, const struct lt_product *x,
                            CUdeviceptr workspace, CUstream stream,
                            struct why *why)
{
    cublasStatus_t e = CUBLAS_STATUS_SUCCESS;
    pthread_mutex_lock(&lt->lock);
    struct lt_plan *p = plan_of(lt, x, why);
    if (p != NULL && x->shape.bias != 0)
        e = set_bias(lt, p, x->bias);
    if (p != NULL && e == CUBLAS_STATUS_SUCCESS)
        e = try_each(lt, p, x, workspace, stream);
    pthread_mutex_unlock(&lt->lock);
    if (p == NULL)
        return SSQ_ERR_UNSUPPORTED;
    if (e == CUBLAS_STATUS_SUCCESS)
        return SSQ_OK;
    (void)cuda_refuse(why, "cublasLtMatmul: %s", cuda_blas_status(e));
    return lt_plan_refused(e) ? SSQ_ERR_UNSUPPORTED : SSQ_ERR_DEVICE;
}
