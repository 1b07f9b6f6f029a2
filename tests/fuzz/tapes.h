/* SPDX-License-Identifier: Apache-2.0 */
/* tapes.h - a program of tapes, made of bytes, on two devices in lockstep.
 *
 * A step of a program reads its choices once and acts on each side; statuses,
 * shapes, dtypes and, where the device computes as the reference does, all bits
 * are the same. A program trains by itself, with params, tape, optimizer and
 * its own scaler, or has a trainer. */
#ifndef TESTS_FUZZ_TAPES_H
#define TESTS_FUZZ_TAPES_H

#include "tests/fuzz/pair.h"

/* At most: vars that a program knows, elements of one that is checked. */
enum { VARS = 24, ELEMENTS = 4096 };

struct program {
    struct pair *pair;
    struct input *in;
    ssq_params *params[SIDES];
    ssq_tape *tape[SIDES];
    ssq_optimizer *optimizer[SIDES];
    ssq_scaler *scaler[SIDES];
    ssq_trainer *trainer[SIDES]; /* NULL: the four are the program's own */
    ssq_var vars[VARS][SIDES];   /* of any pass; the first n are set */
    unsigned n, next;            /* next: which is replaced */
    unsigned fresh;              /* how many were made in this pass */
    unsigned calls;
    bool apart; /* a device has refused what it may refuse: it ends here */
};

/** One kind of step. */
struct step {
    const char *name;
    void (*act)(struct program *t);
    unsigned weight; /* how often it is chosen */
};

extern const struct step var_steps[], layer_steps[], train_steps[];
extern const size_t var_steps_count, layer_steps_count, train_steps_count;

/** An op over vars, written from its header by vars.awk. */
struct fuzz_var {
    const char *name;
    ssq_var (*call)(const char *where, const ssq_var *v, ssq_var *more,
                    const void *options);
    const char *vars[8]; /* operands, in their order */
    unsigned n, more;    /* operands; results beside the first */
    bool options;
};

/** The place of this call, for texts. */
const char *program_where(struct program *t);
/** The error that both tapes have latched; the same, with a text. */
ssq_status program_latched(struct program *t, const char *what);
/** Both answers of a call; counted. */
ssq_status program_same(struct program *t, const char *what,
                        const ssq_status st[SIDES]);
/** The result of a call: checked, and known from now on. */
void program_made(struct program *t, const char *what,
                  const ssq_var var[SIDES]);
/** A var of the program, mostly of this pass, of a rank (-1: any), or a
 *  parameter or an input that is made for it. */
void program_pick(struct program *t, int rank, ssq_var var[SIDES]);
/** An input of a shape: somewhere in the buffers, of any float dtype. */
void program_input(struct program *t, int rank, const int64_t *shape,
                   ssq_var var[SIDES]);
/** The parameter of a shape; now and then one of another. */
void program_param(struct program *t, int rank, const int64_t *shape,
                   ssq_var var[SIDES]);
/** An i32 tensor with small numbers in it, to be destroyed. */
void program_index(struct program *t, int rank, const int64_t *shape,
                   ssq_tensor *index[SIDES]);
/** Begin a pass on both sides. */
void program_begin(struct program *t);
/** Values, and gradients if asked, of all parameters are the same. */
void program_params(struct program *t, bool grads);
/** Wait on both sides. */
void program_sync(struct program *t);

/** Text, of a list; a byte decides. */
const char *program_text(struct program *t, const char *const *list, size_t n);

#define PROGRAM_TEXT(T, LIST)                                                  \
    program_text((T), (LIST), sizeof(LIST) / sizeof((LIST)[0]))

#endif
