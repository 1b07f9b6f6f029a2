/* SPDX-License-Identifier: Apache-2.0 */
/* tuned.c - the key of a gemm among a device's tunings, and its choice. */
#include "lib/op/gemm/tuned.h"

#include <string.h>

static uint8_t tuned_turned(const struct view *v, unsigned bit)
{
    bool columns;
    (void)gemm_leading(v, &columns);
    return columns ? (uint8_t)bit : 0;
}

struct tuning_key tuning_key_of(const struct gemm_op *op)
{
    struct tuning_key key;
    memset(&key, 0, sizeof(key));
    key.batch = op->batch;
    key.m = op->m;
    key.n = op->n;
    key.k = op->k;
    key.a = (uint8_t)op->a.dtype;
    key.b = (uint8_t)op->b.dtype;
    key.d = (uint8_t)op->d.dtype;
    key.turned = (uint8_t)(tuned_turned(&op->a, TURNED_A) |
                           tuned_turned(&op->b, TURNED_B) |
                           tuned_turned(&op->d, TURNED_D));
    key.tf32 = op->tf32;
    key.three = op->three;
    return key;
}

void tuning_prefer(const ssq_device *d, struct gemm_op *op)
{
    tuning_forget(op);
    if (d->tunings == NULL || op->k == 0)
        return;
    const struct tuning_key key = tuning_key_of(op);
    uint16_t number = 0;
    const struct tuning *found = tuning_find(d, &key, &number);
    if (found == NULL)
        return;
    op->op.prefer = number;
    op->algorithm = found->algorithm;
}
