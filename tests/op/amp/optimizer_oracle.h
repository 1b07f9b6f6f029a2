/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_oracle.h - torch's optimizers in float64, with running bounds.
 *
 * torch.optim's documented single-tensor formulas (apex's for lamb and for the
 * apex form of adamw), written from their documentation, with a bound on the
 * error of the float32 operations: tests/running.h. */
#ifndef TESTS_OP_AMP_OPTIMIZER_ORACLE_H
#define TESTS_OP_AMP_OPTIMIZER_ORACLE_H

#include "tests/op/case.h"
#include "tests/running.h"

#define TENSORS 3  /* parameters of an optimizer */
#define MOST    83 /* elements of the largest */

struct config {
    const char *name, *kind;
    double lr, momentum, dampening, decay, clip, lr_decay, initial, max_norm;
    bool nesterov, amsgrad, centered, maximize, nvlamb, no_bias, no_average;
    ssq_adam_form form;
};

struct oracle {
    const struct config *c;
    int64_t n[TENSORS]; /* elements */
    double lr[TENSORS], betas[2], alpha, eps;
    struct num p[TENSORS][MOST], s[3][TENSORS][MOST];
    unsigned t;
    ssq_dtype param;
    bool stochastic; /* no master: 16 bits are the truth */
};

/** Start from exact values of p; n and lr are set by the caller. */
void oracle_begin(struct oracle *o, const struct config *c, ssq_dtype param,
                  bool stochastic);
/** One step on exact gradients. */
void oracle_step(struct oracle *o, const double (*g)[MOST]);

#endif
