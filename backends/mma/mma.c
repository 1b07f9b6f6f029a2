/* SPDX-License-Identifier: Apache-2.0 */
/* mma.c - which variants of gemm_mma.nv a device has, and whether they are
 * right: each one's worth is measured once. */
#include "backends/mma/mma.h"

static struct mma_kind *mma_kind_of(struct mma *mma, ssq_dtype dtype)
{
    return &mma->kind[dtype == SSQ_BF16];
}

const struct mma_kind *mma_kind(const struct mma *mma, ssq_dtype dtype)
{
    return &mma->kind[dtype == SSQ_BF16];
}

/* With the lock: test a variant's products, once. A source that the driver
 * does not take is as bad as a wrong product. */
static ssq_status try_variant(const struct mma *mma, struct backend_device *d,
                              struct mma_kind *kind, unsigned variant)
{
    struct mma_variant *v = &kind->variant[variant];
    bool right;
    if (v->state != MMA_UNTRIED)
        return SSQ_OK;
    ssq_status st = mma_test(mma, d, kind->dtype, variant, &right, &v->why);
    if (st == SSQ_ERR_UNSUPPORTED)
        right = mma_refuse(&v->why, "%s", mma->core->error_text());
    else if (st != SSQ_OK)
        return st;
    v->state = right ? MMA_RIGHT : MMA_WRONG;
    if (!right)
        mma->core->log_line(SSQ_LOG_WARNING, mma->backend, "%s: mma: %s",
                            mma->name, v->why.text);
    return SSQ_OK;
}

bool mma_try(struct mma *mma, struct backend_device *d, ssq_dtype dtype,
             unsigned variant, struct why *why)
{
    struct mma_kind *kind = mma_kind_of(mma, dtype);
    struct mma_variant *v = &kind->variant[variant];
    pthread_mutex_lock(&mma->lock);
    ssq_status st = try_variant(mma, d, kind, variant);
    enum mma_state state = v->state;
    pthread_mutex_unlock(&mma->lock);
    if (st != SSQ_OK)
        return mma_refuse(why, "its self-test: %s", mma->core->error_text());
    return state == MMA_RIGHT ? true : mma_refuse(why, "%s", v->why.text);
}

/* Does this capability have the instructions, and groups the memory? */
static bool mma_has_kind(const struct mma *mma, ssq_dtype dtype,
                         struct why *why)
{
    int least = dtype == SSQ_F16 ? MMA_LEAST : MMA_ASYNC;
    if (mma->capability < least)
        return mma_refuse(why,
                          "mma of %s needs compute capability %d.%d or later, "
                          "this is %d.%d",
                          dtype == SSQ_F16 ? "f16" : "bf16", least / 10,
                          least % 10, mma->capability / 10,
                          mma->capability % 10);
    if (mma->local_bytes < mma_local_bytes(mma, 0))
        return mma_refuse(why,
                          "mma needs %u bytes of shared memory, "
                          "here are %u",
                          mma_local_bytes(mma, 0), mma->local_bytes);
    return true;
}

ssq_status mma_kind_open(struct mma *mma, struct backend_device *d,
                         ssq_dtype dtype, bool tried)
{
    struct mma_kind *kind = mma_kind_of(mma, dtype);
    kind->dtype = dtype;
    if (!mma_has_kind(mma, dtype, &kind->why))
        return SSQ_OK;
    kind->admitted = true;
    if (!tried)
        return SSQ_OK;
    ssq_status st = try_variant(mma, d, kind, 0);
    if (st == SSQ_OK && kind->variant[0].state == MMA_WRONG) {
        kind->admitted = false;
        kind->why = kind->variant[0].why;
    }
    return st;
}

bool mma_open(struct mma *mma)
{
    mma->level = mma->capability >= MMA_ASYNC ? MMA_ASYNC : MMA_LEAST;
    return pthread_mutex_init(&mma->lock, NULL) == 0;
}

void mma_close(struct mma *mma)
{
    pthread_mutex_destroy(&mma->lock);
}
