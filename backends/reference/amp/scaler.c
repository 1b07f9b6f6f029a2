/* SPDX-License-Identifier: Apache-2.0 */
/* scaler.c - reference: a scaler's verdict and its state machine. */
#include "lib/amp/scaler/scaler.h"

#include "backends/reference/reference.h"
#include "kernels/amp/machine.h"

/* Word i of a block, for MACHINE_LOAD and MACHINE_STORE. */
#define WORD(i) block[i]

/* Add the verdict of a check to the scaler's. A clean check does not reset the
 * verdict: only an update does. */
static ssq_status reference_scaler_join_run(struct backend_queue *queue,
                                            const struct scaler_join_op *op)
{
    (void)queue;
    const uint32_t *record = view_host(&op->record);
    uint32_t *block = view_host(&op->block);
    block[SCALER_VERDICT] =
        verdict_join(block[SCALER_VERDICT], record[RECORD_VERDICT]);
    return SSQ_OK;
}

/* Run an update of the scale. If op->set is not 0, for ssq_scaler_update_to(),
 * the scale becomes the caller's value. */
static ssq_status reference_scaler_update_run(struct backend_queue *queue,
                                              const struct scaler_update_op *op)
{
    (void)queue;
    uint32_t *block = view_host(&op->block);
    struct machine m;
    MACHINE_LOAD(m, WORD)
    m = machine_next(m, op->set != 0, op->value);
    MACHINE_STORE(m, WORD)
    return SSQ_OK;
}

REFERENCE_IMPL(scaler_join);
REFERENCE_IMPL(scaler_update);
