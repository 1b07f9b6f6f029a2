/* SPDX-License-Identifier: Apache-2.0 */
/* optimizer_oracle.h - torch's optimizers in float64, with running bounds.
 *
 * torch.optim's documented single-tensor formulas (apex's for lamb and for the
 * apex form of adamw), written from their documentation, with a bound on the
 * error of the float32 operations: conformance/running.h. */
#ifndef CONFORMANCE_AMP_OPTIMIZER_ORACLE_H
#define CONFORMANCE_AMP_OPTIMIZER_ORACLE_H

#include "conformance/case.h"
#include "conformance/running.h"

#define TENSORS 3  /* parameters of an optimizer */
#define MOST    83 /* elements of the largest */

struct config {
    const char *name, *kind;
    double lr, momentum, dampening, decay, clip, lr_decay, initial, max_norm;
    double alpha, eps; /* 0 the kind's own */
    bool nesterov, amsgrad, centered, maximize, nvlamb, no_bias, no_average;
    ssq_adam_form form;
};

struct oracle;

/** The properties of a kind, apart from its cases. */
struct oracle_kind {
    const char *name;
    double lr, decay, eps, alpha; /* defaults */
    const char *slot[3]; /* saved tensors, in the oracle's order; or NULL */
    /** p after a step on the true gradient g, and new slots. NULL is lamb,
     *  whose steps need the whole tensor. */
    struct num (*step)(struct oracle *o, int k, int64_t i, struct num g,
                       struct num lr);
};

/** All kinds, ended by one without a name: optimizer.c. */
extern const struct oracle_kind oracle_kinds[];

struct oracle {
    const struct config *c;
    const struct oracle_kind *kind;
    int64_t n[TENSORS]; /* elements */
    double lr[TENSORS], betas[2], alpha, eps;
    struct num p[TENSORS][MOST], s[3][TENSORS][MOST];
    unsigned t;
    ssq_dtype param;
    bool stochastic; /* no master copy: the 16 bits are exact */
};

/** Start from exact values of p; n and lr are set by the caller. */
void oracle_begin(struct oracle *o, const struct config *c, ssq_dtype param,
                  bool stochastic);
/** One step on exact gradients. */
void oracle_step(struct oracle *o, const double (*g)[MOST]);

/* The parts of steps. */

/** 1 - b formed in double, rounded once. */
struct num oracle_complement(double b);
/** 1 - b^t, by float32 pairs. */
struct num oracle_correction(double b, unsigned t);
/** g + decay p */
struct num oracle_decayed(const struct oracle *o, struct num g, struct num p);
/** b x + c g */
struct num oracle_mix(struct num x, struct num g, struct num b, struct num c);
/** torch.lerp(x, g, c) for c < 1/2 */
struct num oracle_lerp(struct num x, struct num g, struct num c);
/** b x + c g^2 */
struct num oracle_squares(struct num x, struct num g, struct num b,
                          struct num c);
/** m_hat / (sqrt(v_hat) + eps) + decay p */
struct num oracle_apex(const struct oracle *o, struct num m, struct num v,
                       struct num p);

#endif
