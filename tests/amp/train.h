/* SPDX-License-Identifier: Apache-2.0 */
/* train.h - what the tests of optimizers share: three parameters, gradients
 * that are the same on every device, and images of the whole state. */
#ifndef TESTS_AMP_TRAIN_H
#define TESTS_AMP_TRAIN_H

#include "tests/amp/amp.h"
#include "tests/amp/kinds.h"

#define TRAIN_PARAMS 3

/** How parameters are kept: their dtype, their gradients', and the master. */
struct train_storage {
    const char *name; /* for names of cases */
    ssq_dtype param, grad;
    ssq_master_kind master;
};
extern const struct train_storage storages[];
#define STORAGES 6

/** The names of all kinds of optimizers. */
extern const char *const kinds[];
#define KINDS OPT_KINDS

/** An optimizer with its parameters, on a rig that outlives it. */
struct train {
    const struct rig *r;
    const struct train_storage *s;
    ssq_optimizer *o;
    ssq_tensor *param[TRAIN_PARAMS], *grad[TRAIN_PARAMS];
    int64_t n[TRAIN_PARAMS]; /* elements */
};

/** Whether a test tries this pair on the device. The hosts try every pair. A
 *  driver compiles programs for each, some for seconds: it has every kind and
 *  every storage once, and all pairs only with SSQ_TEST_FULL=1. That all pairs
 *  give the reference's bits on all devices is for tests/amp/replay. */
bool train_tries(const struct rig *r, int kind, int storage);

/** "a" (130 elements), "empty" (0) and "b" (33, in a separate group). */
void train_open(struct train *t, const struct rig *r, const char *kind,
                const struct train_storage *s,
                const ssq_optimizer_options *options);
void train_close(struct train *t);
/** Defaults that use every slot of a kind, with the storage's master. */
ssq_optimizer_options train_options(const char *kind,
                                    const struct train_storage *s);

/** A fault of a step's gradients. */
enum flaw { FLAW_NONE, FLAW_INF, FLAW_NAN };
/** The gradient of element i: a multiple of 2^-10 in [-1, 1). */
double train_gradient(unsigned step, int k, int64_t i);
/** Write them, times scale, to tensors of the gradients' shapes. Waits. */
void train_send(const struct train *t, ssq_tensor *const *to, unsigned step,
                double scale, enum flaw flaw);
/** Gradients of a step, then ssq_optimizer_step and the scaler's update. */
void train_step(const struct train *t, ssq_scaler *scaler, unsigned step,
                double scale, enum flaw flaw);

/** Every byte of parameters and state, in order. Waits. */
struct train_image {
    size_t bytes;
    unsigned char *data;
};
struct train_image image_take(const struct train *t);
bool image_equal(const struct train_image *a, const struct train_image *b);
void image_free(struct train_image *i);
/** Put an image into a train of the same kind: restore. */
void image_put(const struct train *t, const struct train_image *i);
/** t, the number of successful steps. Waits. */
uint32_t train_t(const struct train *t);

/** A scaler that stays at a scale. */
ssq_scaler *train_fixed(const struct rig *r, double scale);

#endif
