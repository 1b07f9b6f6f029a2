/* SPDX-License-Identifier: Apache-2.0 */
/* certify.c - run the self-test of a device and compare the results with C.
 *
 * Three kernels read one block of operands and write another block, of results.
 * The block of results is first filled with a pattern, so that a word that the
 * device does not write is wrong.
 *
 * The device is not open yet. Therefore this file uses no queue, pool or plan
 * of the core. It gets memory and a queue from the backend, and launches
 * through it. */
#include "lib/certify/certify.h"

#include "kernel_table.h"
#include "lib/certify/certificate.h"
#include "lib/core/base/error.h"
#include "lib/core/base/fpenv.h"
#include "lib/core/module/data.h"

#include <stddef.h>
#include <string.h>

/** Groups of each launch. More than one, so that primitives run in several
 *  groups. */
#define GROUPS 4u
/** Not the expected result of any word. */
#define PATTERN 0xa5

/* The meaning of a wrong word: see kernels/certify/certify_args.h. */
enum trait { MEASURES, FLOATS, BITS };

struct primitive {
    const char *name;
    enum trait trait;
};

#define ROW(INDEX, NAME, TRAIT, VALUE) [INDEX] = {#NAME, TRAIT},
static const struct primitive of_floats[] = {CERTIFY_FLOAT_LIST(ROW)};
static const struct primitive of_bits[] = {CERTIFY_BITS_LIST(ROW)};
static const struct primitive of_groups[] = {CERTIFY_GROUP_LIST(ROW)};

/* One self-test. Too large for a stack, so it is allocated. */
struct certify_run {
    const struct backend *backend;
    struct backend_device *device;
    struct backend_queue *queue;
    struct backend_mem *x, *y; /* words and results, on the device */
    struct certify_words words;
    struct certify_answers expected, got;
    struct certificate *certificate; /* owned by the caller; filled here */
    /* float, bits, group: true if the device cannot compile the kernel */
    bool missing[3];
};

/* ---- find wrong primitives ---- */

/* Append a primitive's name, or "..." if it does not fit. */
static void certify_fail(struct certificate *c, const char *name)
{
    size_t at = strlen(c->failed), n = strlen(name);
    const size_t room = sizeof(c->failed) - sizeof(", ...");
    if (at > 3 && strcmp(c->failed + at - 3, "...") == 0)
        return;
    if (at > 0)
        at += (size_t)(stpcpy(c->failed + at, ", ") - (c->failed + at));
    if (at + n > room) {
        memcpy(c->failed + at, "...", sizeof("..."));
        return;
    }
    for (size_t i = 0; i <= n; i++)
        c->failed[at + i] = (char)(name[i] == '_' ? ' ' : name[i]);
}

static bool subnormal(uint32_t u)
{
    return (u & 0x7f800000u) == 0 && (u & 0x7fffffffu) != 0;
}

/* Return true if a word of a primitive is wrong. tiny selects the words that
 * are compared: the tiny ones, or all others. A word is tiny if an operand or
 * the expected result is a float32 subnormal; x are the operands. If x is NULL,
 * `all` says if all words are tiny or none is. */
static bool certify_wrong(const uint32_t *got, const uint32_t *expected,
                          const uint32_t *x, bool all, bool tiny)
{
    for (uint32_t i = 0; i < CERTIFY_N; i++) {
        bool is_tiny = all;
        for (uint32_t k = 0; x != NULL && k < 3; k++)
            is_tiny = is_tiny || subnormal(x[k * CERTIFY_N + i]);
        if (x != NULL)
            is_tiny = is_tiny || subnormal(expected[i]);
        if (is_tiny == tiny && got[i] != expected[i])
            return true;
    }
    return false;
}

/* Check one list of n primitives. If c is NULL, return true if the device
 * flushes subnormals. Otherwise append the names of the primitives that are
 * wrong to c.
 *
 * A primitive is wrong if a word that is not tiny is wrong. It is also wrong if
 * it does not measure and a tiny word is wrong. Exception: if the device
 * flushes subnormals (c->found), tiny words only count for primitives of the
 * trait BITS. */
static bool certify_judge(const struct primitive *p, uint32_t n,
                          const uint32_t *got, const uint32_t *expected,
                          const uint32_t *x, struct certificate *c)
{
    bool flushes = false;
    for (uint32_t k = 0; k < n; k++, got += CERTIFY_N, expected += CERTIFY_N) {
        bool measures = p[k].trait == MEASURES, all = x == NULL && measures;
        bool tiny = certify_wrong(got, expected, x, all, true);
        flushes = flushes || (measures && tiny);
        bool excused = p[k].trait != BITS && c != NULL && !c->found.subnormals;
        if (c != NULL && (certify_wrong(got, expected, x, all, false) ||
                          (tiny && !measures && !excused)))
            certify_fail(c, p[k].name);
    }
    return flushes;
}

/* Find out the properties that plans and kernels need. A missing kernel does
 * not count against subnormals. Native f16 needs its kernel, and all 65536
 * values must be right. */
static void certify_find(struct certify_run *r)
{
    const struct certify_answers *g = &r->got, *e = &r->expected;
    struct findings *f = &r->certificate->found;
    *f = (struct findings){.subnormals = true,
                           .half_load = !r->missing[1],
                           .half_store = !r->missing[1]};
    if (!r->missing[0] && certify_judge(of_floats, CERTIFY_FLOATS, g->floats,
                                        e->floats, r->words.floats.u, NULL))
        f->subnormals = false;
    if (!r->missing[2] && certify_judge(of_groups, CERTIFY_GROUPS, g->groups,
                                        e->groups, NULL, NULL))
        f->subnormals = false;
    for (uint32_t i = 0; i < 256; i++) {
        f->half_load = f->half_load && g->native[i] == 0;
        f->half_store = f->half_store && g->native[256 + i] == 0;
    }
}

/* Compare all results. certify_find() runs first: certify_judge() depends on
 * its result. */
static void certify_compare_words(struct certify_run *r)
{
    const struct certify_answers *g = &r->got, *e = &r->expected;
    struct certificate *c = r->certificate;
    certify_find(r);
    if (!r->missing[0])
        (void)certify_judge(of_floats, CERTIFY_FLOATS, g->floats, e->floats,
                            r->words.floats.u, c);
    if (!r->missing[1]) {
        (void)certify_judge(of_bits, CERTIFY_BITS, g->bits, e->bits, NULL, c);
        if (memcmp(g->narrow2, e->narrow2, sizeof(g->narrow2)) != 0)
            certify_fail(c, "store_of_16_bits");
        if (memcmp(g->narrow1, e->narrow1, sizeof(g->narrow1)) != 0)
            certify_fail(c, "store_of_8_bits");
    }
    if (!r->missing[2])
        (void)certify_judge(of_groups, CERTIFY_GROUPS, g->groups, e->groups,
                            NULL, c);
}

/* ---- on the device ---- */

/* Return a view of all bytes of mem, for the backend's uploads and downloads.
 * *b serves as its buffer. */
static struct view certify_view_of(ssq_buffer *b, struct backend_mem *mem,
                                   size_t bytes)
{
    *b = (ssq_buffer){.mem = mem, .bytes = bytes};
    return (struct view){.buffer = b,
                         .dtype = SSQ_U8,
                         .rank = 1,
                         .shape = {(int64_t)bytes},
                         .stride = {1}};
}

static ssq_status certify_upload(struct certify_run *r, struct backend_mem *mem,
                                 const void *host, size_t bytes)
{
    ssq_buffer b;
    struct upload_op op = {
        .host = host, .bytes = bytes, .dst = certify_view_of(&b, mem, bytes)};
    return r->backend->ops->upload[0].run(r->queue, &op);
}

static ssq_status certify_download(struct certify_run *r)
{
    ssq_buffer b;
    struct download_op op = {.host = &r->got,
                             .bytes = sizeof(r->got),
                             .src = certify_view_of(&b, r->y, sizeof(r->got))};
    return r->backend->ops->download[0].run(r->queue, &op);
}

#define X_PART(R, FIELD, UNIT)                                                 \
    (struct binding)                                                           \
    {                                                                          \
        (R)->x, offsetof(struct certify_words, FIELD),                         \
            sizeof((R)->words.FIELD), UNIT, ACCESS_READ                        \
    }
#define Y_PART(R, FIELD)                                                       \
    (struct binding)                                                           \
    {                                                                          \
        (R)->y, offsetof(struct certify_answers, FIELD),                       \
            sizeof((R)->got.FIELD), sizeof((R)->got.FIELD[0]), ACCESS_WRITE    \
    }

/* Launch kernel k of the three, with the operands in l. */
static ssq_status certify_launch(struct certify_run *r, unsigned k, uint32_t id,
                                 struct launch *l)
{
    static const uint8_t key[LAUNCH_KEYS] = {0};
    ssq_status st =
        r->backend->kernel_get(r->device, &kernels[id], key, &l->code);
    if (st == SSQ_ERR_DEVICE) { /* report it as a wrong primitive */
        log_line(SSQ_LOG_WARNING, "device", "%s", ssq_last_error());
        r->missing[k] = true;
        certify_fail(r->certificate, kernels[id].name);
        return SSQ_OK;
    }
    if (st != SSQ_OK)
        return st;
    l->groups = GROUPS;
    /* the offsets of the operands, all 0, and then n */
    l->param[l->nbindings] = CERTIFY_N;
    l->nwords = l->nbindings + 1;
    return r->backend->launch(r->queue, l);
}

/* Launch the three kernels, with the operands in the order of their parameters.
 * If one does not compile, try the others. */
static ssq_status launch_all(struct certify_run *r)
{
    struct launch floats = {
        .nbindings = 2, .binding = {X_PART(r, floats, 4), Y_PART(r, floats)}};
    struct launch bits = {.nbindings = 7,
                          .binding = {X_PART(r, bits, 4), X_PART(r, bits, 2),
                                      X_PART(r, bits, 1), Y_PART(r, bits),
                                      Y_PART(r, narrow2), Y_PART(r, narrow1),
                                      Y_PART(r, native)}};
    struct launch groups = {
        .nbindings = 2, .binding = {X_PART(r, groups, 4), Y_PART(r, groups)}};
    ssq_status st = certify_launch(r, 0, KERNEL_certify_float, &floats);
    if (st == SSQ_OK)
        st = certify_launch(r, 1, KERNEL_certify_bits, &bits);
    if (st == SSQ_OK)
        st = certify_launch(r, 2, KERNEL_certify_group, &groups);
    return st;
}

/* Run the test: upload, launch, download. Memory and a queue must exist. */
static ssq_status certify_run_kernel(struct certify_run *r)
{
    memset(&r->got, PATTERN, sizeof(r->got));
    ssq_status st = certify_upload(r, r->x, &r->words, sizeof(r->words));
    if (st == SSQ_OK)
        st = certify_upload(r, r->y, &r->got, sizeof(r->got));
    if (st == SSQ_OK) /* r->got is written again below */
        st = r->backend->queue_sync(r->queue);
    if (st == SSQ_OK)
        st = launch_all(r);
    if (st == SSQ_OK)
        st = certify_download(r);
    return st == SSQ_OK ? r->backend->queue_sync(r->queue) : st;
}

/* Run the test with memory and a queue, which are freed at the end. */
static ssq_status run_on_device(struct certify_run *r)
{
    const struct backend *b = r->backend;
    ssq_status st = b->alloc(r->device, sizeof(r->words), &r->x);
    if (st != SSQ_OK)
        return st;
    st = b->alloc(r->device, sizeof(r->got), &r->y);
    if (st != SSQ_OK)
        goto out_x;
    st = b->queue_open(r->device, &r->queue);
    if (st != SSQ_OK)
        goto out_y;
    st = certify_run_kernel(r);
    b->queue_close(r->queue);
out_y:
    b->free(r->device, r->y);
out_x:
    b->free(r->device, r->x);
    return st;
}

ssq_status certify_run(const struct backend *b, struct backend_device *d,
                       struct certificate *c, bool *sure)
{
    struct certify_run *r = mem_alloc(sizeof(*r));
    if (r == NULL)
        return error_nomem("device_open", sizeof(*r));
    memset(c, 0, sizeof(*c));
    r->backend = b;
    r->device = d;
    r->certificate = c;
    /* the operands and the expected results use float arithmetic of the host */
    struct fpenv env = fpenv_enter();
    certify_words_fill(&r->words);
    certify_reference(&r->words, &r->expected);
    ssq_status st = run_on_device(r);
    if (st == SSQ_OK)
        certify_compare_words(r);
    fpenv_leave(env);
    *sure = !r->missing[0] && !r->missing[1] && !r->missing[2];
    mem_free(r);
    return st;
}
