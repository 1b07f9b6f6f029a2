/* SPDX-License-Identifier: Apache-2.0 */
/* pair.c - two devices that are given the same calls and must do the same. */

#include "tests/fuzz/pair.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/values.h"

struct fuzz_counts fuzz_counts;

static bool tracing(void)
{
    static int set = -1;
    if (set < 0)
        set = getenv("SSQ_FUZZ_TRACE") != NULL;
    return set > 0;
}

void fuzz_trace(const char *fmt, ...)
{
    if (!tracing())
        return;
    va_list args;
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
}

void fuzz_fail(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fputs("fuzz: ", stderr);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fprintf(stderr, "\nfuzz: the last error is \"%s\"\n", ssq_last_error());
    abort();
}

void fuzz_counts_print(void)
{
    fprintf(stderr,
            "fuzz: %s: %lu programs, %lu calls of ops, %lu done, %lu refused, "
            "%lu of these unsupported\n",
            fuzz_device(), fuzz_counts.programs, fuzz_counts.calls,
            fuzz_counts.done, fuzz_counts.refused, fuzz_counts.unsupported);
}

const char *fuzz_device(void)
{
    const char *name = getenv("SSQ_FUZZ_DEVICE");
    return name != NULL ? name : "guard";
}

unsigned cell_bytes(ssq_dtype dtype)
{
    return ssq_dtype_bits(dtype) / 8;
}

static void must(ssq_status st, const char *what)
{
    if (st != SSQ_OK)
        fuzz_fail("%s: %s", what, ssq_status_name(st));
}

/* Opening a driver takes longer than a program: it stays open. */
static ssq_device *open_once(unsigned side)
{
    static ssq_device *devices[SIDES];
    if (devices[side] == NULL) {
        if (side == 1 && getenv("SSQ_FUZZ_COUNTS") != NULL)
            atexit(fuzz_counts_print);
        must(ssq_device_open(side == 0 ? "reference" : fuzz_device(), NULL,
                             &devices[side]),
             "open");
    }
    return devices[side];
}

static void fill(struct pair *p, struct input *in)
{
    unsigned kind = input_byte(in);
    for (unsigned b = 0; b < BUFFERS; b++) {
        values_make(p->copy[b], BUFFER_BYTES, kind + b, kind * BUFFERS + b);
        must(pair_write(p, p->whole[b], p->copy[b], BUFFER_BYTES, SSQ_U8),
             "write");
    }
}

bool pair_told(ssq_status st)
{
    return st == SSQ_ERR_INVALID &&
           strstr(ssq_last_error(), " of a loss has the label ") != NULL;
}

ssq_status pair_wait(ssq_queue *queue)
{
    ssq_status st;
    do
        st = ssq_queue_sync(queue);
    while (pair_told(st));
    return st;
}

void pair_open(struct pair *p, struct input *in)
{
    int64_t shape[] = {BUFFER_BYTES};
    memset(p, 0, sizeof(*p));
    p->same_bits = strcmp(fuzz_device(), "guard") == 0 ||
                   strcmp(fuzz_device(), "reference") == 0;
    p->every = input_byte(in) % 4 != 3;
    for (unsigned s = 0; s < SIDES; s++) {
        ssq_device *d = p->device[s] = open_once(s);
        for (unsigned q = 0; q < QUEUES; q++)
            must(ssq_queue_create(d, NULL, &p->queues[q][s]), "queue");
        must(ssq_event_create(d, &p->order[s]), "event");
        p->queue[s] = p->queues[0][s];
        for (unsigned b = 0; b < BUFFERS; b++) {
            must(ssq_buffer_create(d, BUFFER_BYTES, &p->buffer[b][s]),
                 "buffer");
            must(ssq_tensor_from_buffer(p->buffer[b][s], SSQ_U8, 1, shape, NULL,
                                        0, &p->whole[b][s]),
                 "tensor");
        }
    }
    fill(p, in);
    for (unsigned s = 0; s < SIDES; s++)
        must(pair_wait(p->queue[s]), "sync");
    fuzz_counts.programs++;
}

void pair_close(struct pair *p)
{
    for (unsigned s = 0; s < SIDES; s++) {
        ssq_memory_info info = SSQ_MEMORY_INFO_INIT;
        for (unsigned b = 0; b < BUFFERS; b++) {
            ssq_tensor_destroy(&p->whole[b][s]);
            ssq_buffer_destroy(&p->buffer[b][s]);
        }
        ssq_event_destroy(&p->order[s]);
        for (unsigned q = 0; q < QUEUES; q++)
            ssq_queue_destroy(&p->queues[q][s]);
        must(ssq_device_memory(p->device[s], &info), "memory");
        if (info.buffers != 0 || info.in_use != 0)
            fuzz_fail("side %u: %llu buffers of %llu bytes are left", s,
                      (unsigned long long)info.buffers,
                      (unsigned long long)info.in_use);
    }
}

ssq_status pair_same(const char *what, ssq_status a, ssq_status b)
{
    if (a != b)
        fuzz_fail("%s: the reference answers %s, %s answers %s", what,
                  ssq_status_name(a), fuzz_device(), ssq_status_name(b));
    if (a != SSQ_OK && ssq_last_error()[0] == '\0')
        fuzz_fail("%s: %s without a text", what, ssq_status_name(a));
    return a;
}

static void read_all(struct pair *p, unsigned side,
                     uint8_t bytes[BUFFERS][BUFFER_BYTES])
{
    for (unsigned b = 0; b < BUFFERS; b++)
        must(ssq_tensor_read(p->queue[side], p->whole[b][side], bytes[b],
                             BUFFER_BYTES, SSQ_U8),
             "read");
    must(pair_wait(p->queue[side]), "sync");
}

/* The output of a call of class R is copied from the reference. */
static void adopt(struct pair *p, unsigned b)
{
    memset(p->loose[b], 0, BUFFER_BYTES);
    must(ssq_tensor_write(p->queue[1], p->whole[b][1], p->copy[b], BUFFER_BYTES,
                          SSQ_U8),
         "write");
    must(pair_wait(p->queue[1]), "sync");
}

void pair_compare(struct pair *p, const char *what, bool changed)
{
    static uint8_t got[SIDES][BUFFERS][BUFFER_BYTES];
    for (unsigned s = 0; s < SIDES; s++)
        read_all(p, s, got[s]);
    for (unsigned b = 0; b < BUFFERS; b++) {
        bool differs = memcmp(got[0][b], got[1][b], BUFFER_BYTES) != 0;
        if (!changed && memcmp(got[0][b], p->copy[b], BUFFER_BYTES) != 0)
            fuzz_fail("%s: refused, and yet buffer %u changed", what, b);
        for (unsigned i = 0; differs && i < BUFFER_BYTES; i++)
            if (got[0][b][i] != got[1][b][i] && !p->loose[b][i])
                fuzz_fail("%s: byte %u of buffer %u is %02x (word %02x%02x"
                          "%02x%02x) on the reference, %02x (word %02x%02x"
                          "%02x%02x) on %s",
                          what, i, b, got[0][b][i], got[0][b][i | 3],
                          got[0][b][(i & ~3u) | 2], got[0][b][(i & ~3u) | 1],
                          got[0][b][i & ~3u], got[1][b][i], got[1][b][i | 3],
                          got[1][b][(i & ~3u) | 2], got[1][b][(i & ~3u) | 1],
                          got[1][b][i & ~3u], fuzz_device());
        memcpy(p->copy[b], got[0][b], BUFFER_BYTES);
        if (differs)
            adopt(p, b);
    }
}

void pair_settle(struct pair *p)
{
    if (p->every)
        pair_compare(p, "write", true);
    for (unsigned s = 0; s < SIDES && !p->every; s++)
        must(pair_wait(p->queue[s]), "sync");
}

void pair_switch(struct pair *p, unsigned queue)
{
    for (unsigned s = 0; s < SIDES; s++) {
        ssq_queue *next = p->queues[queue % QUEUES][s];
        if (next == p->queue[s])
            continue;
        must(ssq_event_record(p->order[s], p->queue[s]), "record");
        must(ssq_queue_wait(next, p->order[s]), "wait");
        p->queue[s] = next;
    }
}

ssq_status pair_write(struct pair *p, ssq_tensor *const tensor[SIDES],
                      const void *host, size_t bytes, ssq_dtype dtype)
{
    ssq_status st[SIDES];
    for (unsigned s = 0; s < SIDES; s++)
        st[s] = ssq_tensor_write(p->queue[s], tensor[s], host, bytes, dtype);
    return pair_same("tensor_write", st[0], st[1]);
}
