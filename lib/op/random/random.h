/* SPDX-License-Identifier: Apache-2.0 */
/* random.h - ops that draw random words.
 *
 * Words are a function of numbers that the caller gives, not of earlier draws.
 * The same call gives the same bits on every device, however it is divided into
 * windows and groups. */
#ifndef LIB_OP_RANDOM_RANDOM_H
#define LIB_OP_RANDOM_RANDOM_H

#include "lib/core/core.h"

/** Selects words: element i in row-major order draws word offset + op.first + i
 *  of (seed, step, id). step is an operand; if it is absent, 0. */
struct stream {
    uint32_t seed[2]; /* low, high */
    uint32_t id;      /* distinguishes streams of one seed */
    uint32_t gap;
    uint64_t offset; /* words */
};

/** An event of probability threshold / 2^32, or 1. */
struct chance {
    uint32_t threshold; /* a random word below it is the event */
    bool always;        /* probability 1 */
    uint8_t gap[3];
};

/** The numbers are those in kernels/random/random.h, which kernels use. */
enum random_kind {
    RANDOM_KIND_UNIFORM = 0,
    RANDOM_KIND_NORMAL = 1,
    RANDOM_KIND_TRUNCATED_NORMAL = 2,
    RANDOM_KIND_BERNOULLI = 3
};

/** y = a + b * a variate. Bernoulli: 1 with its chance, else 0. */
struct random_op {
    struct op op;
    enum random_kind kind;
    uint32_t gap;
    struct stream stream;
    struct chance one; /* bernoulli only */
    float a, b;        /* low and width, or mean and std; not for bernoulli */
    struct view y;
    struct view step; /* optional: i32, one element */
};

/** y = dropped ? 0 : x * scale; mask = dropped ? 0 : 1. */
struct dropout_op {
    struct op op;
    struct stream stream;
    struct chance drop;
    float scale; /* of elements that are kept */
    uint32_t gap;
    struct view x, y;
    struct view mask; /* optional: u8 */
    struct view step; /* optional: i32, one element */
};

/** Return the stream of these numbers. */
struct stream make_stream(uint64_t seed, uint32_t id, uint64_t offset);
/** Round p to the nearest multiple of 2^-32. Call it between fpenv_enter() and
 *  fpenv_leave(). */
struct chance make_chance(double p);
/** Check the step of a stream: NULL, or one i32 that does not overlap out.
 *  what: the name of out. */
ssq_status check_step(const ssq_queue *queue, const ssq_tensor *step,
                      const ssq_tensor *out, const char *what,
                      const char *name);

#endif
