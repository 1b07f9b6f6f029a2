/* SPDX-License-Identifier: Apache-2.0 */
/* traffic.c - how many messages and bytes a rank sends for a collective: the
 * formulas of doc/scaling.md, by the code that runs, for groups of up to 1024.
 *
 * There is one rank, on a link that answers by itself: bytes sent to a rank
 * return from it. So headers agree, and sums are of equal values. */
#include <sesqui/comm.h>

#include "lib/comm/comm.h"
#include "lib/comm/parts.h"
#include "tests/core/core.h"

#include <string.h>

/* A header, alone and with the room for values that comes before them. */
#define HEADER      112
#define HEADER_ROOM 512

struct comm_link {
    uint64_t messages, bytes; /* sent */
};

static ssq_status exchange(struct comm_link *link, struct comm_message *m,
                           size_t n, double timeout)
{
    (void)timeout;
    for (size_t i = 0; i < n; i++) {
        m[i].done = true;
        if (m[i].send) {
            link->messages++;
            link->bytes += m[i].size;
            continue;
        }
        memset(m[i].bytes, 0, m[i].size);
        m[i].got = m[i].size;
        if (i > 0 && m[i - 1].send && m[i - 1].peer == m[i].peer) {
            m[i].got = m[i - 1].size < m[i].size ? m[i - 1].size : m[i].size;
            memcpy(m[i].bytes, m[i - 1].bytes, m[i].got);
        }
    }
    return SSQ_OK;
}

static void abandon(struct comm_link *link, const char *text)
{
    (void)link;
    (void)text;
}

static void leave(struct comm_link *link)
{
    (void)link;
}

static const struct comm_transport echo = {.abi = SSQ_COMM_ABI,
                                           .name = "echo",
                                           .exchange = exchange,
                                           .abandon = abandon,
                                           .leave = leave,
                                           .close = leave};

/* ---- a rank of many ---- */

struct traffic_rank {
    ssq_device *dev;
    ssq_queue *q;
    ssq_comm *comm;
    unsigned size;
    uint64_t piece;
    struct comm_link link;
};

static void begin(struct traffic_rank *r, unsigned rank, unsigned size,
                  uint64_t piece)
{
    ssq_comm_options options = SSQ_COMM_OPTIONS_INIT;
    options.piece_bytes = piece;
    *r = (struct traffic_rank){.size = size, .piece = piece};
    r->dev = core_open("reference");
    r->q = core_queue(r->dev);
    NEED(comm_create(r->dev, rank, size, &echo, &r->link, &options, &r->comm));
}

static void end(struct traffic_rank *r)
{
    ssq_comm_destroy(&r->comm);
    ssq_queue_destroy(&r->q);
    ssq_device_close(&r->dev);
}

/* The collective is over: this many messages and bytes have been sent. */
static void sent(struct traffic_rank *r, const char *what, uint64_t messages,
                 uint64_t bytes)
{
    NEED(ssq_queue_sync(r->q));
    tap_ok(r->link.messages == messages && r->link.bytes == bytes,
           "%s, %u ranks, pieces of %llu bytes: %llu messages of %llu bytes, "
           "expected %llu of %llu",
           what, r->size, (unsigned long long)r->piece,
           (unsigned long long)r->link.messages,
           (unsigned long long)r->link.bytes, (unsigned long long)messages,
           (unsigned long long)bytes);
    r->link = (struct comm_link){.messages = 0};
}

static uint64_t pieces(uint64_t bytes, uint64_t piece)
{
    return (bytes + piece - 1) / piece;
}

/* ---- collectives ---- */

static void all_reduce(struct traffic_rank *r, int64_t elements)
{
    const uint64_t v = (uint64_t)elements * sizeof(float), n = r->size;
    const uint64_t others = n - 1;
    ssq_tensor *x = core_vector(r->dev, SSQ_F32, elements);
    NEED(ssq_fill(r->q, SSQ_FILL(.x = x, .value = 1.0)));
    NEED(ssq_comm_all_reduce(
        r->q, r->comm,
        SSQ_COMM_ALL_REDUCE(.tensors = (const ssq_tensor *const[]){x},
                            .n = 1)));
    if (v <= INLINE_BYTES)
        sent(r, "all_reduce with the header", others,
             others * (HEADER_ROOM + v));
    else
        sent(r, "all_reduce", others * (1 + 2 * pieces(v, r->piece)),
             others * HEADER + 2 * v * others / n);
    ssq_tensor_destroy(&x);
}

/* Both halves of it, over x and y. */
static void halves(struct traffic_rank *r, int64_t elements)
{
    const uint64_t v = (uint64_t)elements * sizeof(float), n = r->size;
    const uint64_t others = n - 1;
    const uint64_t messages = others * (1 + pieces(v, r->piece));
    const uint64_t bytes = others * HEADER + v * others / n;
    ssq_tensor *large = core_vector(r->dev, SSQ_F32, elements);
    ssq_tensor *small = core_vector(r->dev, SSQ_F32, elements / r->size);
    NEED(ssq_fill(r->q, SSQ_FILL(.x = large, .value = 1.0)));
    NEED(ssq_comm_reduce_scatter(
        r->q, r->comm, SSQ_COMM_REDUCE_SCATTER(.x = large, .y = small)));
    sent(r, "reduce_scatter", messages, bytes);
    NEED(ssq_comm_all_gather(r->q, r->comm,
                             SSQ_COMM_ALL_GATHER(.x = small, .y = large)));
    sent(r, "all_gather", messages, bytes);
    ssq_tensor_destroy(&large);
    ssq_tensor_destroy(&small);
}

/* The same of a list of two tensors of which each rank has a part. */
static void shards(struct traffic_rank *r, int64_t elements)
{
    const uint64_t v = (uint64_t)elements * sizeof(float), n = r->size;
    const uint64_t others = n - 1;
    const uint64_t messages = others * (1 + pieces(v, r->piece));
    const uint64_t bytes = others * HEADER + v * others / n;
    int64_t bounds[2 * (SSQ_COMM_MAX_SIZE + 1)];
    const int64_t half = elements / 2, part = elements / r->size;
    ssq_tensor *x[2] = {core_vector(r->dev, SSQ_F32, half),
                        core_vector(r->dev, SSQ_F32, half)};
    for (unsigned i = 0; i <= r->size; i++) {
        int64_t at = part * i;
        bounds[i] = at < half ? at : half;
        bounds[r->size + 1 + i] = at < half ? 0 : at - half;
    }
    for (int i = 0; i < 2; i++)
        NEED(ssq_fill(r->q, SSQ_FILL(.x = x[i], .value = 1.0)));
    const ssq_tensor *const list[] = {x[0], x[1]};
    NEED(comm_reduce_parts(r->q, r->comm, list, 2, bounds, "sums"));
    sent(r, "sums of shards", messages, bytes);
    NEED(comm_gather_parts(r->q, r->comm, list, 2, bounds, COMM_ALL, "params"));
    sent(r, "parameters of shards", messages, bytes);
    for (int i = 0; i < 2; i++)
        ssq_tensor_destroy(&x[i]);
}

/* The root alone sends, everything to everybody. */
static void broadcast(struct traffic_rank *r, int64_t elements)
{
    const uint64_t v = (uint64_t)elements * sizeof(float);
    const uint64_t others = r->size - 1;
    ssq_tensor *x = core_vector(r->dev, SSQ_F32, elements);
    NEED(ssq_fill(r->q, SSQ_FILL(.x = x, .value = 1.0)));
    for (unsigned root = 0; root < 2; root++) {
        const bool sends = root == ssq_comm_rank(r->comm);
        NEED(ssq_comm_broadcast(
            r->q, r->comm,
            SSQ_COMM_BROADCAST(.tensors = (const ssq_tensor *const[]){x},
                               .n = 1, .root = root)));
        sent(r, sends ? "broadcast from here" : "broadcast from elsewhere",
             others * (1 + (sends ? pieces(v, r->piece) : 0)),
             others * (HEADER + (sends ? v : 0)));
    }
    ssq_tensor_destroy(&x);
}

static void test(unsigned rank, unsigned size, uint64_t piece)
{
    struct traffic_rank r;
    /* as much of each piece for each rank, and a piece that is not full */
    const int64_t elements = (int64_t)(piece * 9 / 4 / sizeof(float));
    begin(&r, rank, size, piece);
    NEED(ssq_comm_barrier(r.q, r.comm, NULL));
    sent(&r, "barrier", size - 1, (size - 1) * (uint64_t)HEADER);
    all_reduce(&r, 1);
    all_reduce(&r, INLINE_BYTES / sizeof(float));
    all_reduce(&r, elements);
    halves(&r, elements);
    shards(&r, elements);
    broadcast(&r, elements);
    end(&r);
}

int main(void)
{
    test(1, 2, 4096);
    test(1, 8, 4096);
    test(0, 64, 65536);
    test(1, SSQ_COMM_MAX_SIZE, 65536);
    return tap_done(40);
}
