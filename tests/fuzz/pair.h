/* SPDX-License-Identifier: Apache-2.0 */
/* pair.h - two devices that are given the same calls and must do the same.
 *
 * Side 0 is the reference, side 1 the device under test. All tensors of a
 * program lie in a few buffers, of which the host keeps a copy: so one
 * comparison sees every byte that a call could have changed. */
#ifndef TESTS_FUZZ_PAIR_H
#define TESTS_FUZZ_PAIR_H

#include <sesqui.h>

#include <stdbool.h>

#include "tests/fuzz/input.h"

enum { SIDES = 2, QUEUES = 2, BUFFERS = 4, BUFFER_BYTES = 8192 };

/** Both devices, and what a program has on them. */
struct pair {
    ssq_device *device[SIDES];
    ssq_queue *queues[QUEUES][SIDES];
    ssq_queue *queue[SIDES]; /* the one in use */
    ssq_event *order[SIDES]; /* between the queues */
    ssq_buffer *buffer[BUFFERS][SIDES];
    ssq_tensor *whole[BUFFERS][SIDES]; /* as bytes */
    uint8_t copy[BUFFERS][BUFFER_BYTES];
    /* Which bytes of side 1 may differ since a call of class R. */
    uint8_t loose[BUFFERS][BUFFER_BYTES];
    bool same_bits; /* side 1 computes as the reference does, class R too */
    bool every;     /* compare after every call */
    bool capturing; /* a graph, on both sides: nothing runs until its launch */
};

/** Counts of the process, printed at its end where SSQ_FUZZ_COUNTS is set. */
extern struct fuzz_counts {
    unsigned long programs, calls, done, refused, unsupported;
} fuzz_counts;

void fuzz_counts_print(void);

/** Bytes of an element. */
unsigned cell_bytes(ssq_dtype dtype);
/** Say what is done, where SSQ_FUZZ_TRACE is set. */
__attribute__((format(printf, 1, 2))) void fuzz_trace(const char *fmt, ...);
/** Say what is wrong and abort: libFuzzer keeps the input. */
__attribute__((format(printf, 1, 2), noreturn)) void fuzz_fail(const char *fmt,
                                                               ...);
/** The device under test: SSQ_FUZZ_DEVICE, or guard. */
const char *fuzz_device(void);

/** Open both sides, with the same bytes in their buffers. */
void pair_open(struct pair *p, struct input *in);
/** Destroy it all; a byte of device memory that is left fails. */
void pair_close(struct pair *p);
/** A report of labels out of range, which a trainer gives once, at a time that
 *  depends on the device. */
bool pair_told(ssq_status st);
/** ssq_queue_sync, past such reports. */
ssq_status pair_wait(ssq_queue *queue);
/** Both answers of a call; they must be the same. */
ssq_status pair_same(const char *what, ssq_status a, ssq_status b);
/** Bring the host's copy up to date; both sides must agree where they have to.
 *  @param changed  false: no byte may have changed */
void pair_compare(struct pair *p, const char *what, bool changed);
/** Wait until what was written from the host is there. */
void pair_settle(struct pair *p);
/** Continue with another queue, behind the work of this one. */
void pair_switch(struct pair *p, unsigned queue);
/** Write elements on both sides. */
ssq_status pair_write(struct pair *p, ssq_tensor *const tensor[SIDES],
                      const void *host, size_t bytes, ssq_dtype dtype);

#endif
