/* SPDX-License-Identifier: Apache-2.0 */
/* windows.h - batches of windows of a text, on a device. */
#ifndef EXAMPLES_GPT_WINDOWS_H
#define EXAMPLES_GPT_WINDOWS_H

#include <sesqui.h>

/** Batches that are drawn, written and used some at a time. */
struct windows {
    ssq_queue *queue;     /* borrowed */
    const int32_t *token; /* n of them; borrowed */
    size_t n;
    int64_t batch, block;
    uint64_t random;   /* its state */
    bool walking;      /* windows one after the other, not drawn */
    size_t place;      /* of the next one, walking */
    int32_t *host;     /* what is written, then what is expected of it */
    ssq_tensor *x, *y; /* i32 [CHUNK, batch, block] */
    ssq_tensor *part_x, *part_y; /* of the last call */
    ssq_trainer *trainer; /* whose share of each batch is taken; NULL: all */
    int64_t at;           /* batches that are left begin here */
};

/** @param walking  false: windows begin anywhere, drawn by the seed; true: one
 *                  behind the other, and from the beginning at the end
 *  @return false after saying why; windows_close also then */
bool windows_open(struct windows *w, ssq_queue *queue, const int32_t *token,
                  size_t n, int64_t batch, int64_t block, bool walking,
                  uint64_t seed);
void windows_close(struct windows *w);

/** The next batch, or the trainer's share of it: x [batch, block], and y
 *  [batch block], the token behind each of x; NULL where it is none. Views that
 * the next call ends; waits for the device now and then. */
ssq_status windows_next(struct windows *w, const ssq_tensor **x,
                        const ssq_tensor **y);
/** As if n batches had been asked for, drawn from the beginning. */
ssq_status windows_skip(struct windows *w, unsigned long n);
/** Walk from the beginning again. */
void windows_rewind(struct windows *w);

#endif
