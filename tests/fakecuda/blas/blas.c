/* SPDX-License-Identifier: Apache-2.0 */
/* blas.c - the calls of the stand-in for cuBLASLt: objects, heuristics, and
 * products, which become work of the stand-in driver's streams. */
#include "tests/fakecuda/blas/blas_state.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Algorithms of a shape, and the memory that each of them wants. */
#define ALGORITHMS 3
#define INVALID    1 /* the one whose state is a failure */
#define WORKSPACE  UINT64_C(65536)
#define ALGORITHM  UINT64_C(0x46414b45414c474f)

/* All objects that were made, so that destroyed ones are not reported as leaks.
 */
struct blas_made {
    struct blas_made *next;
    void *object;
};

static struct {
    pthread_mutex_t lock;
    struct blas_made *all;
    unsigned long products, refused, heuristics, faults, live, tf32;
    unsigned algorithm; /* of the last product: its place in the list */
    char text[512];
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void count(unsigned long *what, long by)
{
    pthread_mutex_lock(&state.lock);
    *what += (unsigned long)by;
    pthread_mutex_unlock(&state.lock);
}

cublasStatus_t blas_refuse(cublasStatus_t status, const char *format, ...)
{
    const char *quiet = getenv("FAKECUDA_QUIET");
    va_list args;

    pthread_mutex_lock(&state.lock);
    va_start(args, format);
    vsnprintf(state.text, sizeof(state.text), format, args);
    va_end(args);
    state.faults++;
    if (quiet == NULL || *quiet == '\0')
        fprintf(stderr, "fakeblas: %s\n", state.text);
    pthread_mutex_unlock(&state.lock);
    return status;
}

void fakeblas_counts(unsigned long *products, unsigned long *refused,
                     unsigned long *heuristics)
{
    pthread_mutex_lock(&state.lock);
    *products = state.products;
    *refused = state.refused;
    *heuristics = state.heuristics;
    pthread_mutex_unlock(&state.lock);
}

void fakeblas_last(unsigned long *tf32, unsigned *algorithm)
{
    pthread_mutex_lock(&state.lock);
    *tf32 = state.tf32;
    *algorithm = state.algorithm;
    pthread_mutex_unlock(&state.lock);
}

unsigned long fakeblas_faults(char *text, size_t bytes)
{
    unsigned long n;

    pthread_mutex_lock(&state.lock);
    n = state.faults;
    if (text != NULL)
        snprintf(text, bytes, "%s", state.text);
    pthread_mutex_unlock(&state.lock);
    return n;
}

unsigned long fakeblas_live(void)
{
    unsigned long n;

    pthread_mutex_lock(&state.lock);
    n = state.live;
    pthread_mutex_unlock(&state.lock);
    return n;
}

/* ---- objects ---- */

static void *make(enum blas_kind kind, size_t bytes)
{
    enum blas_kind *p = calloc(1, bytes);
    struct blas_made *m = malloc(sizeof(*m));

    if (p == NULL || m == NULL) {
        free(p);
        free(m);
        return NULL;
    }
    *p = kind;
    m->object = p;
    pthread_mutex_lock(&state.lock);
    m->next = state.all;
    state.all = m;
    state.live++;
    pthread_mutex_unlock(&state.lock);
    return p;
}

/* A destroyed object stays, marked, so that its use is found. */
static cublasStatus_t destroy(void *p, enum blas_kind kind)
{
    if (p == NULL || *(enum blas_kind *)p != kind)
        return blas_refuse(BLAS_INVALID_VALUE, "destroyed, but no object");
    *(enum blas_kind *)p = BLAS_DEAD;
    count(&state.live, -1);
    return BLAS_SUCCESS;
}

/* The place of a word in a list that its variable may have. */
static int word(const char *variable, const char *const *words)
{
    const char *text = getenv(variable);
    int i = 0;

    while (text != NULL && words[i] != NULL && strcmp(words[i], text) != 0)
        i++;
    return text == NULL || words[i] == NULL ? 0 : i;
}

static int number(const char *variable)
{
    const char *text = getenv(variable);

    return text == NULL ? 0 : atoi(text);
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    static const char *const wrong[] = {"right", "transposed", "half", "bias",
                                        "beta",  "tf32",       NULL};
    static const char *const fail[] = {"none",  "create", "heuristic",
                                       "first", "all",    NULL};
    struct fake_handle *h;
    CUdevice device;
    int major = 0, minor = 0;

    CUcontext ctx = NULL;
    if (handle == NULL || cuCtxGetCurrent(&ctx) != CUDA_SUCCESS)
        return BLAS_NOT_INITIALIZED;
    if (ctx == NULL)
        return blas_refuse(BLAS_NOT_INITIALIZED, "no context is current");
    if (cuCtxGetDevice(&device) != CUDA_SUCCESS)
        return BLAS_NOT_INITIALIZED;
    if (word("FAKEBLAS_FAIL", fail) == FAIL_CREATE)
        return BLAS_NOT_INITIALIZED;
    h = make(BLAS_HANDLE, sizeof(*h));
    if (h == NULL)
        return BLAS_ALLOC_FAILED;
    cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                         device);
    cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
                         device);
    h->ctx = ctx;
    h->block = major >= 9 ? 16 : 10 * major + minor >= 75 ? 8 : 4;
    h->wrong = (enum blas_wrong)word("FAKEBLAS_WRONG", wrong);
    h->fail = (enum blas_fail)word("FAKEBLAS_FAIL", fail);
    h->slow = (unsigned)number("FAKEBLAS_SLOW");
    h->list = (uint64_t)number("FAKEBLAS_LIST");
    *handle = h;
    return BLAS_SUCCESS;
}

/* Of 13.0.N, with the N of the environment. */
cublasStatus_t cublasLtGetProperty(int property, int *value)
{
    if (value == NULL || property < 0 || property > 2)
        return BLAS_INVALID_VALUE;
    *value = property == 0 ? 13 : property == 1 ? 0 : number("FAKEBLAS_PATCH");
    return BLAS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    return destroy(handle, BLAS_HANDLE);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc, int compute,
                                        int scale)
{
    if ((compute != 68 && compute != 77) || scale != R_32F)
        return blas_refuse(BLAS_NOT_SUPPORTED,
                           "sums of type %d, scaled in %d: not float32",
                           compute, scale);
    *desc = make(BLAS_DESC, sizeof(**desc));
    if (*desc == NULL)
        return BLAS_ALLOC_FAILED;
    (*desc)->epilogue = 1;
    (*desc)->tf32 = compute == 77;
    return BLAS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc)
{
    return destroy(desc, BLAS_DESC);
}

/* A value for an object, of just this many bytes. */
static cublasStatus_t copy(void *to, size_t bytes, const void *value,
                           size_t given, const void *object,
                           enum blas_kind kind, int attribute)
{
    if (object == NULL || *(const enum blas_kind *)object != kind)
        return blas_refuse(BLAS_INVALID_VALUE, "an attribute of no object");
    if (to == NULL || value == NULL || given != bytes)
        return blas_refuse(BLAS_INVALID_VALUE, "attribute %d, of %zu bytes",
                           attribute, given);
    memcpy(to, value, bytes);
    return BLAS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                                              int attribute, const void *value,
                                              size_t bytes)
{
    int32_t op = 0;
    cublasStatus_t e;

    if (attribute == 7)
        return copy(&desc->epilogue, 4, value, bytes, desc, BLAS_DESC, 7);
    if (attribute == 8)
        return copy(&desc->bias, 8, value, bytes, desc, BLAS_DESC, 8);
    e = copy(attribute == 3 || attribute == 4 ? &op : NULL, 4, value, bytes,
             desc, BLAS_DESC, attribute);
    if (e == BLAS_SUCCESS && op != 0 && op != 1)
        e = blas_refuse(BLAS_INVALID_VALUE, "no such operation: %d", op);
    if (e == BLAS_SUCCESS && attribute == 3)
        desc->turn_a = op == 1;
    else if (e == BLAS_SUCCESS)
        desc->turn_b = op == 1;
    return e;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout,
                                          int type, uint64_t rows,
                                          uint64_t columns, int64_t leading)
{
    struct fake_layout *x = make(BLAS_LAYOUT, sizeof(*x));

    if (x == NULL)
        return BLAS_ALLOC_FAILED;
    x->type = type;
    x->rows = rows;
    x->columns = columns;
    x->leading = leading;
    x->batch = 1;
    *layout = x;
    return BLAS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    return destroy(layout, BLAS_LAYOUT);
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                int attribute,
                                                const void *value, size_t bytes)
{
    if (attribute == 5)
        return copy(&layout->batch, 4, value, bytes, layout, BLAS_LAYOUT, 5);
    return copy(attribute == 6 ? &layout->step : NULL, 8, value, bytes, layout,
                BLAS_LAYOUT, attribute);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *p)
{
    *p = make(BLAS_PREFERENCE, sizeof(**p));
    if (*p == NULL)
        return BLAS_ALLOC_FAILED;
    (*p)->reductions = 7;
    for (int i = 0; i < 4; i++)
        (*p)->align[i] = 256;
    return BLAS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p)
{
    return destroy(p, BLAS_PREFERENCE);
}

cublasStatus_t
cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                     int attribute, const void *value,
                                     size_t bytes)
{
    if (attribute == 1)
        return copy(&p->workspace, 8, value, bytes, p, BLAS_PREFERENCE, 1);
    if (attribute >= 5 && attribute <= 8)
        return copy(&p->align[attribute - 5], 4, value, bytes, p,
                    BLAS_PREFERENCE, attribute);
    return copy(attribute == 3 ? &p->reductions : NULL, 4, value, bytes, p,
                BLAS_PREFERENCE, attribute);
}

/* ---- heuristics ---- */

static cublasStatus_t check_preference(const struct fake_preference *p)
{
    if (p == NULL || p->kind != BLAS_PREFERENCE)
        return blas_refuse(BLAS_INVALID_VALUE, "no preference");
    for (int i = 0; i < 4; i++)
        if (p->align[i] == 0 || (p->align[i] & (p->align[i] - 1)) != 0)
            return blas_refuse(BLAS_INVALID_VALUE, "an alignment of %u",
                               p->align[i]);
    /* a promise of the backend: no partial sum of 16 bits */
    if ((p->reductions & 5u) != 0)
        return blas_refuse(BLAS_INVALID_VALUE,
                           "reductions in 16 bits are allowed");
    return BLAS_SUCCESS;
}

/* Tensor cores take lines of 16 bytes. */
static bool takes(const struct fake_layout *x, uint32_t align)
{
    return x->type == R_32F ||
           (align >= 16 && x->leading % 8 == 0 && x->step % 8 == 0);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
    cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
    cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
    cublasLtMatmulPreference_t p, int most,
    cublasLtMatmulHeuristicResult_t *results, int *n)
{
    cublasStatus_t e = blas_check(handle, desc, a, b, c, d);

    if (e == BLAS_SUCCESS)
        e = check_preference(p);
    if (e != BLAS_SUCCESS)
        return e;
    count(&state.heuristics, 1);
    *n = 0;
    if (handle->fail == FAIL_HEURISTIC || p->workspace < WORKSPACE ||
        !takes(a, p->align[0]) || !takes(b, p->align[1]) ||
        !takes(c, p->align[2]) || !takes(d, p->align[3]))
        return BLAS_NOT_SUPPORTED;
    for (; *n < most && *n < ALGORITHMS; ++*n) {
        cublasLtMatmulHeuristicResult_t *r = &results[*n];
        uint64_t *word = r->algo.data;

        memset(r, 0, sizeof(*r));
        word[0] = ALGORITHM;
        word[1] = (uint64_t)*n;
        word[2] = blas_sum_of(desc, a, b, c, d);
        word[3] = (uint64_t)p->align[0] | (uint64_t)p->align[1] << 16 |
                  (uint64_t)p->align[2] << 32 | (uint64_t)p->align[3] << 48;
        word[4] = handle->list;
        r->workspaceSize = WORKSPACE;
        r->wavesCount = 1.0f;
        if (*n == INVALID) { /* and its other fields say nothing */
            memset(r, 0xff, sizeof(*r));
            r->state = BLAS_NOT_SUPPORTED;
        }
    }
    return BLAS_SUCCESS;
}

/* ---- products ---- */

static cublasStatus_t check_addresses(const struct blas_product *p,
                                      const cublasLtMatmulAlgo_t *algo)
{
    const void *address[] = {p->a, p->b, p->c, p->d};

    for (int i = 0; i < 4; i++) {
        uint64_t align = algo->data[3] >> 16 * i & 0xffffu;

        if (address[i] == NULL || (uintptr_t)address[i] % align != 0)
            return blas_refuse(BLAS_INVALID_VALUE,
                               "%c is at %p: the algorithm wants %llu bytes",
                               "ABCD"[i], address[i],
                               (unsigned long long)align);
    }
    if (p->workspace == NULL || (uintptr_t)p->workspace % 16 != 0 ||
        p->workspace_bytes < WORKSPACE)
        return blas_refuse(BLAS_INVALID_VALUE, "a workspace of %llu bytes, %p",
                           (unsigned long long)p->workspace_bytes,
                           p->workspace);
    if (p->c == p->d &&
        (p->c_is.leading != p->d_is.leading || p->c_is.step != p->d_is.step))
        return blas_refuse(BLAS_INVALID_VALUE, "C is D with another layout");
    return BLAS_SUCCESS;
}

static cublasStatus_t check_algorithm(struct fake_handle *h,
                                      const cublasLtMatmulAlgo_t *algo,
                                      uint64_t sum)
{
    if (algo == NULL || algo->data[0] != ALGORITHM || algo->data[2] != sum)
        return blas_refuse(BLAS_INVALID_VALUE,
                           "the algorithm was found for something else");
    if (h->fail == FAIL_ALL || getenv("FAKEBLAS_REFUSE") != NULL ||
        (h->fail == FAIL_FIRST && algo->data[1] == 0)) {
        count(&state.refused, 1);
        return BLAS_NOT_SUPPORTED;
    }
    return BLAS_SUCCESS;
}

static cublasStatus_t enqueue(struct blas_product *p, CUstream stream)
{
    const struct ssq_standin_range range[] = {
        {(uintptr_t)p->a, blas_span(&p->a_is), 0},
        {(uintptr_t)p->b, blas_span(&p->b_is), 0},
        {(uintptr_t)p->d, blas_span(&p->d_is), 1},
        {(uintptr_t)p->workspace, p->workspace_bytes, 1},
        {(uintptr_t)p->c, p->beta == 0.0f ? 0 : blas_span(&p->c_is), 0},
        {(uintptr_t)p->bias,
         p->bias == NULL ? 0 : p->m * blas_size(p->d_is.type), 0},
    };

    p->workspace_bytes = WORKSPACE;
    if (fakecuda_compute(stream, range, sizeof(range) / sizeof(range[0]),
                         blas_multiply, p, sizeof(*p)) != CUDA_SUCCESS)
        return BLAS_EXECUTION;
    count(&state.products, 1);
    return BLAS_SUCCESS;
}

/* The facts that a test reads about a product that was enqueued. */
static void note(const struct blas_product *p, const cublasLtMatmulAlgo_t *algo)
{
    pthread_mutex_lock(&state.lock);
    state.tf32 += p->tf32;
    state.algorithm = (unsigned)algo->data[1];
    pthread_mutex_unlock(&state.lock);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle,
                              cublasLtMatmulDesc_t desc, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t a_layout,
                              const void *b, cublasLtMatrixLayout_t b_layout,
                              const void *beta, const void *c,
                              cublasLtMatrixLayout_t c_layout, void *d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspace_bytes, CUstream stream)
{
    cublasStatus_t e =
        blas_check(handle, desc, a_layout, b_layout, c_layout, d_layout);
    struct blas_product p;

    if (e == BLAS_SUCCESS && (alpha == NULL || beta == NULL))
        e = blas_refuse(BLAS_INVALID_VALUE, "no alpha or no beta");
    if (e == BLAS_SUCCESS)
        e = check_algorithm(
            handle, algo,
            blas_sum_of(desc, a_layout, b_layout, c_layout, d_layout));
    if (e != BLAS_SUCCESS)
        return e;
    memset(&p, 0, sizeof(p));
    p.m = d_layout->rows;
    p.n = d_layout->columns;
    p.k = desc->turn_a ? a_layout->rows : a_layout->columns;
    p.batch = d_layout->batch;
    p.turn_a = desc->turn_a;
    p.turn_b = desc->turn_b;
    p.a_is = *a_layout;
    p.b_is = *b_layout;
    p.c_is = *c_layout;
    p.d_is = *d_layout;
    p.a = a;
    p.b = b;
    p.c = c;
    p.d = d;
    p.bias = desc->epilogue == 4 ? (const void *)(uintptr_t)desc->bias : NULL;
    p.workspace = workspace;
    p.workspace_bytes = workspace_bytes;
    p.alpha = *(const float *)alpha;
    p.beta = *(const float *)beta;
    p.block = handle->block;
    p.wrong = handle->wrong;
    p.slow = algo->data[1] < handle->slow;
    p.tf32 = desc->tf32 && a_layout->type == R_32F;
    e = check_addresses(&p, algo);
    if (e == BLAS_SUCCESS)
        e = enqueue(&p, stream);
    if (e == BLAS_SUCCESS)
        note(&p, algo);
    return e;
}
