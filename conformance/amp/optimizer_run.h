/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_run.h - forty steps of one optimizer against the oracle. */
#ifndef CONFORMANCE_AMP_OPTIMIZER_RUN_H
#define CONFORMANCE_AMP_OPTIMIZER_RUN_H

#include "conformance/amp/optimizer_oracle.h"

#define STEPS 40

/** How parameters, gradients and masters are kept. */
struct storage {
    const char *name;
    ssq_dtype param, grad;
    ssq_master_kind master;
    bool flat; /* one master for all of a group */
};
#define STORAGES 7 /* with which all configurations run */
#define RARE     7 /* with which each kind runs once */
extern const struct storage optimizer_storages[STORAGES + RARE];

/** A case: all parameters, masters and slots end inside of their bounds. */
bool optimizer_run(struct harness *b, const struct config *c,
                   const struct storage *s);

/** For bench: a step of one long parameter. */
bool optimizer_run_large(struct harness *b, const struct storage *s);

#endif
