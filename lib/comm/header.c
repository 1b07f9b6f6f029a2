/* SPDX-License-Identifier: Apache-2.0 */
/* header.c - headers: each rank describes its call before any data is moved.
 *
 * Every rank receives all headers and compares them with rank 0's. So all ranks
 * report the same difference. */
#include "lib/comm/direct.h"

#include "lib/core/base/crc64.h"

#include <stdio.h>
#include <string.h>

/* "ssq" and the version of the format. A rank with the other byte order reads
 * another number. */
#define MAGIC UINT32_C(0x73737101)

struct comm_header {
    uint32_t magic, abi;
    uint64_t number;
    uint32_t call, reduction, root, dtypes; /* bits, as DTYPE_BIT */
    uint64_t n, elements; /* number of tensors, and of elements of all */
    uint64_t layout;      /* hash of all dtypes and sizes, or of the facts */
    uint64_t piece;       /* options.piece_bytes */
    uint64_t inlined;     /* bytes of values that follow */
    uint64_t facts;       /* bytes of facts */
    char tag[COMM_TAG];
};

_Static_assert(sizeof(struct comm_header) + INLINE_BYTES <= HEADER_BYTES,
               "values fit behind a header");

char *comm_inlined(const ssq_comm *comm, unsigned rank)
{
    return comm->headers + (size_t)rank * HEADER_BYTES + HEADER_BYTES -
           INLINE_BYTES;
}

static struct comm_header header_of(const ssq_comm *comm, unsigned rank)
{
    struct comm_header h;
    memcpy(&h, comm->headers + (size_t)rank * HEADER_BYTES, sizeof(h));
    return h;
}

/* Return the header of a job. The sizes of x and y have a fixed ratio, so their
 * sum determines both. */
static struct comm_header header_describe(const ssq_comm *comm,
                                          const struct job *job, size_t inlined)
{
    struct crc64 crc;
    struct comm_header h = {.magic = MAGIC,
                            .abi = SSQ_COMM_ABI,
                            .number = job->number,
                            .call = (uint32_t)job->call,
                            .reduction = (uint32_t)job->reduction,
                            .root = job->root,
                            .n = job->n,
                            .piece = comm->options.piece_bytes,
                            .inlined = inlined,
                            .facts = job->facts_bytes};
    crc64_begin(&crc);
    memcpy(h.tag, job->tag, sizeof(h.tag));
    for (size_t i = 0; i < job->n; i++) {
        uint64_t one[2] = {(uint64_t)job->views[i].dtype,
                           (uint64_t)view_elements(&job->views[i])};
        h.dtypes |= DTYPE_BIT(job->views[i].dtype);
        h.elements += one[1];
        h.layout = crc64_add(&crc, h.layout, one, sizeof(one));
    }
    if (job->parts != NULL)
        h.layout = crc64_add(&crc, h.layout, &job->parts_hash,
                             sizeof(job->parts_hash));
    if (job->facts != NULL)
        h.layout = crc64_add(&crc, 0, job->facts, job->facts_bytes);
    return h;
}

/* ---- words ---- */

static void dtype_words(uint32_t dtypes, char *text, size_t bytes)
{
    size_t at = 0;
    text[0] = '\0';
    for (int d = SSQ_F32; d <= SSQ_U8 && at < bytes; d++)
        if ((dtypes & DTYPE_BIT(d)) != 0)
            at += (size_t)snprintf(text + at, bytes - at, "%s%s",
                                   at == 0 ? "" : "+",
                                   ssq_dtype_name((ssq_dtype)d));
}

static void header_words(const struct comm_header *h, char *text, size_t bytes)
{
    char dtypes[64];
    bool reduces = h->call == CALL_ALL_REDUCE || h->call == CALL_REDUCE_SCATTER;
    dtype_words(h->dtypes, dtypes, sizeof(dtypes));
    int at = snprintf(text, bytes, "%s%s%s number %llu \"%.31s\"",
                      call_name(h->call), reduces ? " " : "",
                      reduces ? reduction_name(h->reduction) : "",
                      (unsigned long long)h->number, h->tag);
    if (at > 0 && (size_t)at < bytes && h->n > 0)
        (void)snprintf(text + at, bytes - (size_t)at,
                       " of %llu tensors, %llu elements, %s%s",
                       (unsigned long long)h->n,
                       (unsigned long long)h->elements, dtypes,
                       h->call == CALL_BROADCAST ? " from its root" : "");
}

/* Report how a header differs from rank 0's. If the descriptions of both are
 * equal, a member differs that they do not show. */
static ssq_status header_differ(const struct comm_header *zero,
                                const struct comm_header *other, unsigned rank)
{
    char a[256], b[256];
    header_words(zero, a, sizeof(a));
    header_words(other, b, sizeof(b));
    if (strcmp(a, b) != 0)
        return error_set(SSQ_ERR_COMM, "rank 0 calls %s, rank %u %s", a, rank,
                         b);
    if (zero->root != other->root)
        return error_set(SSQ_ERR_COMM,
                         "%s: the root is %u on rank 0, %u on rank %u", a,
                         zero->root, other->root, rank);
    if (zero->piece != other->piece)
        return error_set(SSQ_ERR_COMM,
                         "%s: piece_bytes is %llu on rank 0, %llu on rank %u",
                         a, (unsigned long long)zero->piece,
                         (unsigned long long)other->piece, rank);
    return error_set(SSQ_ERR_COMM,
                     "%s: the tensors' sizes differ between ranks 0 and %u", a,
                     rank);
}

/* ---- the exchange ---- */

/* Return true if two headers agree. The facts of a comparison may differ:
 * compare_facts() reports that. */
static bool alike(const struct comm_header *a, const struct comm_header *b)
{
    struct comm_header x = *a, y = *b;
    if (x.call == CALL_COMPARE && y.call == CALL_COMPARE)
        x.layout = y.layout = x.facts = y.facts = 0;
    return memcmp(&x, &y, sizeof(x)) == 0;
}

static ssq_status compare_headers(const ssq_comm *comm)
{
    struct comm_header zero = header_of(comm, 0);
    for (unsigned r = 0; r < comm->size; r++) {
        struct comm_header h = header_of(comm, r);
        if (h.magic != MAGIC || h.abi != SSQ_COMM_ABI)
            return error_set(SSQ_ERR_COMM,
                             "rank %u uses another format of messages: %08x "
                             "%u, expected %08x %d",
                             r, h.magic, h.abi, MAGIC, SSQ_COMM_ABI);
        if (!alike(&zero, &h))
            return header_differ(&zero, &h, r);
    }
    return SSQ_OK;
}

ssq_status header_exchange(ssq_comm *comm, const struct job *job,
                           size_t inlined)
{
    struct comm_header mine = header_describe(comm, job, inlined);
    char *own = comm->headers + (size_t)comm->rank * HEADER_BYTES;
    size_t bytes =
        inlined == 0 ? sizeof(mine) : HEADER_BYTES - INLINE_BYTES + inlined;
    size_t n = 0;
    memcpy(own, &mine, sizeof(mine));
    if (comm->direct != NULL) {
        ssq_status st = direct_gather(comm, own, comm->headers, HEADER_BYTES);
        return st == SSQ_OK ? compare_headers(comm) : st;
    }
    for (unsigned r = 0; r < comm->size; r++) {
        if (r == comm->rank)
            continue;
        exchange_set(comm, n++, r, true, own, bytes);
        exchange_set(comm, n++, r, false,
                     comm->headers + (size_t)r * HEADER_BYTES, HEADER_BYTES);
    }
    ssq_status st = exchange_run(comm, n);
    return st == SSQ_OK ? compare_headers(comm) : st;
}

/* ---- facts ---- */

/* Return the offset from which two texts are shown in a message. It is at most
 * 100 bytes before their first difference. */
static size_t shown_from(const char *a, const char *b)
{
    size_t same = 0;
    while (a[same] == b[same] && a[same] != '\0')
        same++;
    return same > 100 ? same - 100 : 0;
}

static ssq_status names_differ(const char *zero, const char *other,
                               unsigned rank)
{
    size_t at = shown_from(zero, other);
    const char *dots = at == 0 ? "" : "...";
    return error_set(SSQ_ERR_COMM,
                     "rank 0 has \"%s%.200s\" where rank %u has \"%s%.200s\"",
                     dots, zero + at, rank, dots, other + at);
}

static ssq_status values_differ(const char *name, const char *zero,
                                const char *other, unsigned rank)
{
    size_t at = shown_from(zero, other);
    const char *dots = at == 0 ? "" : "...";
    return error_set(SSQ_ERR_COMM,
                     "%.200s is \"%s%.200s\" on rank 0, \"%s%.200s\" on rank "
                     "%u",
                     name, dots, zero + at, dots, other + at, rank);
}

/* Report the first difference between the facts of rank 0 and of another rank.
 * They are compared in order. A fact that only one rank has appears as a
 * different name. */
static ssq_status first_difference(const char *zero, size_t zero_bytes,
                                   const char *other, size_t other_bytes,
                                   unsigned rank)
{
    const char *zero_end = zero + zero_bytes, *other_end = other + other_bytes;
    while (zero < zero_end && other < other_end) {
        const char *name = zero, *value = zero + strlen(zero) + 1;
        const char *name2 = other, *value2 = other + strlen(other) + 1;
        if (strcmp(name, name2) != 0)
            return names_differ(name, name2, rank);
        if (strcmp(value, value2) != 0)
            return values_differ(name, value, value2, rank);
        zero = value + strlen(value) + 1;
        other = value2 + strlen(value2) + 1;
    }
    if (zero == zero_end && other == other_end)
        return SSQ_OK;
    return error_set(SSQ_ERR_COMM, "only rank %u has \"%.200s\"",
                     zero < zero_end ? 0 : rank,
                     zero < zero_end ? zero : other);
}

/* Compare each rank's facts with rank 0's. Each fact ends with a NUL. */
static ssq_status header_compare_all(const ssq_comm *comm, const char *all,
                                     const size_t *at)
{
    ssq_status st = SSQ_OK;
    for (unsigned r = 1; r < comm->size && st == SSQ_OK; r++)
        st = first_difference(all, at[1], all + at[r], at[r + 1] - at[r], r);
    return st;
}

/* Exchange facts by a library, which gathers the same number of bytes from each
 * rank. Shorter facts are padded with zeros. */
static ssq_status gather_facts(ssq_comm *comm, const struct job *job, char *all,
                               const size_t *at)
{
    size_t most = 0;
    for (unsigned r = 0; r < comm->size; r++)
        most = at[r + 1] - at[r] > most ? at[r + 1] - at[r] : most;
    char *padded = mem_alloc_array(comm->size + 1, most);
    if (padded == NULL)
        return error_nomem("comm_compare", (comm->size + 1) * most);
    char *mine = padded + comm->size * most;
    memcpy(mine, job->facts, job->facts_bytes);
    ssq_status st = direct_gather(comm, mine, padded, most);
    for (unsigned r = 0; r < comm->size && st == SSQ_OK; r++)
        memcpy(all + at[r], padded + r * most, at[r + 1] - at[r]);
    mem_free(padded);
    return st == SSQ_OK ? header_compare_all(comm, all, at) : st;
}

/* Send all facts to all ranks. This runs at most once, because a difference
 * ends the group. */
static ssq_status exchange_facts(ssq_comm *comm, const struct job *job,
                                 char *all, const size_t *at)
{
    size_t n = 0;
    if (comm->direct != NULL)
        return gather_facts(comm, job, all, at);
    memcpy(all + at[comm->rank], job->facts, job->facts_bytes);
    for (unsigned r = 0; r < comm->size; r++) {
        if (r == comm->rank)
            continue;
        exchange_set(comm, n++, r, true, job->facts, job->facts_bytes);
        exchange_set(comm, n++, r, false, all + at[r], at[r + 1] - at[r]);
    }
    ssq_status st = exchange_run(comm, n);
    return st == SSQ_OK ? header_compare_all(comm, all, at) : st;
}

ssq_status compare_facts(ssq_comm *comm, const struct job *job)
{
    bool equal = true;
    struct comm_header zero = header_of(comm, 0);
    for (unsigned r = 1; r < comm->size; r++) {
        struct comm_header h = header_of(comm, r);
        equal = equal && h.layout == zero.layout && h.facts == zero.facts;
    }
    if (equal)
        return SSQ_OK;
    size_t *at = mem_alloc_array(comm->size + 1, sizeof(*at));
    if (at == NULL)
        return error_nomem("comm_compare", (comm->size + 1) * sizeof(*at));
    for (unsigned r = 0; r < comm->size; r++)
        at[r + 1] = at[r] + header_of(comm, r).facts;
    char *all = mem_alloc(at[comm->size]);
    ssq_status st = all == NULL ? error_nomem("comm_compare", at[comm->size])
                                : exchange_facts(comm, job, all, at);
    mem_free(all);
    mem_free(at);
    return st;
}
