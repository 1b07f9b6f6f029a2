/* SPDX-License-Identifier: Apache-2.0 */
/* action.h - calls that are not ops: of queues, graphs, views, scalers,
 * optimizers and metrics.
 *
 * An action reads its choices once, acts on each side, and says what it got:
 * both sides must answer the same status and the same numbers. */
#ifndef TESTS_FUZZ_ACTION_H
#define TESTS_FUZZ_ACTION_H

#include <sesqui/data.h>

#include "tests/fuzz/pair.h"

/* At most: objects of a kind, tensors of a choice, numbers that an action gets,
 * parameters of an optimizer, bytes of a state. */
enum { SLOTS = 2, CHOSEN = 4, NUMBERS = 24, PARAMS = 4, LOOKED = 16384 };

/** The choice of an action, before either side acts; the use of kind, value,
 * word and count each action says for itself. */
struct fuzz_choice {
    unsigned slot, kind; /* slot: which of the objects */
    double value;
    uint64_t word;
    unsigned count;
    unsigned group; /* 0 the default one */
    ssq_tensor *tensor[CHOSEN][SIDES];
    int rank;
    int64_t shape[SSQ_MAX_RANK];
};

/** The result of an action on one side; both sides must have the same. */
struct got {
    double numbers[NUMBERS]; /* n of them */
    unsigned n;
    char text[64];
    unsigned bytes;         /* in looked */
    uint8_t looked[LOOKED]; /* of state */
};

/** The objects of a program. */
struct objects {
    struct pair *pair;
    struct input *in;
    ssq_scaler *scaler[SLOTS][SIDES];
    ssq_optimizer *optimizer[SLOTS][SIDES];
    ssq_group *group[SLOTS][SLOTS][SIDES];
    unsigned params[SLOTS];
    ssq_metric *metric[SLOTS][SIDES];
    ssq_graph *graph[SLOTS][SIDES];
    ssq_event *event[SLOTS][SIDES];
    bool tainted; /* a state of side 1 may differ in bits from here on */
};

/** One kind of call. */
struct action {
    const char *name; /* for traces and failures */
    void (*choose)(struct objects *o, struct fuzz_choice *k); /* optional */
    ssq_status (*act)(struct objects *o, unsigned side,
                      const struct fuzz_choice *k, struct got *g);
    bool timed; /* the status depends on how far the device is */
};

extern const struct action queue_actions[], scaler_actions[],
    optimizer_actions[], metric_actions[];
extern const size_t queue_actions_count, scaler_actions_count,
    optimizer_actions_count, metric_actions_count;

/** One action on both sides. */
void action_run(struct objects *o, const struct action *a);
/** Destroy every object. */
void objects_destroy(struct objects *o);

/* For actions. */

/** Note a number that must be equal on both sides. */
void got_number(struct got *g, double value);
/** A float tensor somewhere in the buffers, of the shape in k; dense if asked.
 *  @return as ssq_tensor_from_buffer on both sides */
void choose_tensor(struct objects *o, struct fuzz_choice *k, unsigned i,
                   ssq_dtype dtype, bool dense);
/** A shape of up to 7^3 elements, into k. */
void choose_shape(struct objects *o, struct fuzz_choice *k);
/** One of the three float dtypes. */
ssq_dtype choose_float(struct objects *o);
/** One of n values. */
double choose_double(struct objects *o, const double *list, size_t n);

#endif
