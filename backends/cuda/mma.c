/* SPDX-License-Identifier: Apache-2.0 */
/* mma.c - which variants of gemm_mma.nv a device has, and whether they are
 * right. */
#include "backends/cuda/mma.h"

#include "backends/cuda/lt.h"

/* As the text lists them: LEVEL X A_TURNED B_TURNED LARGE. */
#define TURNED(LEVEL, X)                                                       \
    {LEVEL, X, 0, 0, 0}, {LEVEL, X, 0, 0, 1}, {LEVEL, X, 0, 1, 0},             \
        {LEVEL, X, 0, 1, 1}, {LEVEL, X, 1, 0, 0}, {LEVEL, X, 1, 0, 1},         \
        {LEVEL, X, 1, 1, 0},                                                   \
    {                                                                          \
        LEVEL, X, 1, 1, 1                                                      \
    }
static const uint8_t variants[][LAUNCH_KEYS] = {TURNED(MMA_LEAST, DT_F16),
                                                TURNED(MMA_ASYNC, DT_F16),
                                                TURNED(MMA_ASYNC, DT_BF16)};

static const struct kernel kernel = {
    .name = "gemm_mma",
    .id = KERNEL_gemm_mma,
    .nkeys = 5,
    .keys = {"LEVEL", "X", "A_TURNED", "B_TURNED", "LARGE"},
    .nvariants = sizeof(variants) / sizeof(variants[0]),
    .variants = variants};

static struct mma_kind *kind_of(struct cuda_mma *mma, ssq_dtype dtype)
{
    return &mma->kind[dtype == SSQ_BF16];
}

const struct mma_kind *cuda_mma_kind(const struct cuda_mma *mma,
                                     ssq_dtype dtype)
{
    return &mma->kind[dtype == SSQ_BF16];
}

uint32_t cuda_mma_tile(unsigned variant)
{
    return (variant & MMA_LARGE) != 0 ? 128 : 64;
}

ssq_status cuda_mma_code(struct backend_device *d, ssq_dtype dtype,
                         unsigned variant, const struct backend_kernel **code)
{
    const uint8_t key[LAUNCH_KEYS] = {
        d->mma->level, dtype == SSQ_F16 ? DT_F16 : DT_BF16,
        (variant & MMA_A_TURNED) != 0, (variant & MMA_B_TURNED) != 0,
        (variant & MMA_LARGE) != 0};
    return cuda_kernel_get(d, &kernel, key, code);
}

/* With the context and the lock: what a variant's products are, once. */
static ssq_status try_variant(struct backend_device *d, struct mma_kind *kind,
                              unsigned variant)
{
    struct mma_variant *v = &kind->variant[variant];
    bool right;
    if (v->state != MMA_UNTRIED)
        return SSQ_OK;
    ssq_status st = cuda_mma_test(d, kind->dtype, variant, &right, &v->why);
    if (st != SSQ_OK)
        return st;
    v->state = right ? MMA_RIGHT : MMA_WRONG;
    if (!right)
        d->core->log_line(SSQ_LOG_WARNING, "cuda", "%s: mma: %s",
                          d->found->name, v->why.text);
    return SSQ_OK;
}

bool cuda_mma_try(struct backend_device *d, ssq_dtype dtype, unsigned variant,
                  struct why *why)
{
    struct mma_kind *kind = kind_of(d->mma, dtype);
    struct mma_variant *v = &kind->variant[variant];
    pthread_mutex_lock(&d->mma->lock);
    ssq_status st = v->state == MMA_UNTRIED ? cuda_enter(d) : SSQ_OK;
    if (st == SSQ_OK && v->state == MMA_UNTRIED) {
        CUstreamCaptureMode mode = cuda_relax(d);
        st = try_variant(d, kind, variant);
        cuda_relaxed(d, mode);
        cuda_leave(d);
    }
    enum mma_state state = v->state;
    pthread_mutex_unlock(&d->mma->lock);
    if (st != SSQ_OK)
        return cuda_refuse(why, "its self-test: %s", d->core->error_text());
    return state == MMA_RIGHT ? true : cuda_refuse(why, "%s", v->why.text);
}

/* Does this capability have the instructions? */
static bool has_kind(int capability, ssq_dtype dtype, struct why *why)
{
    int least = dtype == SSQ_F16 ? MMA_LEAST : MMA_ASYNC;
    return capability >= least
               ? true
               : cuda_refuse(why,
                             "mma of %s wants compute capability %d.%d or "
                             "later, this is %d.%d",
                             dtype == SSQ_F16 ? "f16" : "bf16", least / 10,
                             least % 10, capability / 10, capability % 10);
}

/* A kind that cuBLASLt does not take from it is tried at once, so that the
 * device's properties say what it is worth. */
static ssq_status open_kind(struct backend_device *d, struct mma_kind *kind)
{
    bool lt =
        d->lt != NULL && cuda_lt_kind(d->lt, kind->dtype, false)->admitted;
    if (!has_kind(d->found->capability, kind->dtype, &kind->why))
        return SSQ_OK;
    kind->admitted = true;
    if (lt)
        return SSQ_OK;
    ssq_status st = try_variant(d, kind, 0);
    if (st == SSQ_OK && kind->variant[0].state == MMA_WRONG) {
        kind->admitted = false;
        kind->why = kind->variant[0].why;
    }
    return st;
}

ssq_status cuda_mma_open(struct backend_device *d)
{
    struct cuda_mma *mma = d->core->mem_alloc(sizeof(*mma));
    if (mma == NULL || pthread_mutex_init(&mma->lock, NULL) != 0) {
        d->core->mem_free(mma);
        return cuda_no_memory(d->core, sizeof(*mma));
    }
    mma->level = d->found->capability >= MMA_ASYNC ? MMA_ASYNC : MMA_LEAST;
    mma->kind[0].dtype = SSQ_F16;
    mma->kind[1].dtype = SSQ_BF16;
    d->mma = mma;
    ssq_status st = SSQ_OK;
    for (int i = 0; st == SSQ_OK && i < MMA_KINDS; i++)
        st = open_kind(d, &mma->kind[i]);
    return st;
}

void cuda_mma_close(struct backend_device *d)
{
    if (d->mma == NULL)
        return;
    pthread_mutex_destroy(&d->mma->lock);
    d->core->mem_free(d->mma);
    d->mma = NULL;
}
