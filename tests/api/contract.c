/* SPDX-License-Identifier: Apache-2.0 */
/* contract.c - every op, misused: by the names that the headers declare, so
 * that none can be forgotten.
 *
 * A call with an argument that breaks the contract is INVALID with a text that
 * begins with its name, and enqueues nothing. For any tensors in
 * any members, no call crashes; guard, and a sanitizer, see to that. */
#include "tests/core/core.h"

#include <sesqui.h>

struct contract_member {
    const char *name;
    size_t at;
};

struct contract_call {
    const char *name;
    ssq_status (*run)(ssq_queue *queue, const void *args);
    size_t bytes;
    const void *init;
    const struct contract_member *members; /* its tensors, ended by NULL */
};

struct contract_function {
    const char *name;
    ssq_status (*zeros)(void); /* with every argument 0 or NULL */
    bool status;               /* it returns one */
};

#include "tests/api/calls.inc"

#define COUNT(A) (sizeof(A) / sizeof((A)[0]))

/* Arguments of any op. */
union args {
    max_align_t align;
    size_t struct_size;
    unsigned char bytes[512];
};

static union args fresh(const struct contract_call *c)
{
    union args a = {.struct_size = 0};
    memcpy(a.bytes, c->init, c->bytes);
    return a;
}

static void set(union args *a, const struct contract_member *m,
                const ssq_tensor *t)
{
    memcpy(a->bytes + m->at, &t, sizeof(t));
}

/* Does this thread's last text begin with the name? */
static bool named(const char *name)
{
    size_t n = strlen(name);
    const char *text = ssq_last_error();
    return strncmp(text, name, n) == 0 && strncmp(text + n, ": ", 2) == 0;
}

static void refused(const char *name, ssq_status st, const char *how)
{
    if (!tap_ok(st == SSQ_ERR_INVALID && named(name), "%s: %s is INVALID", name,
                how))
        tap_diag("%s: %s", ssq_status_name(st), ssq_last_error());
}

/* ---- functions ---- */

static void test_functions(void)
{
    for (size_t i = 0; i < COUNT(functions); i++) {
        ssq_status st = functions[i].zeros();
        if (strcmp(functions[i].name, "allocator_set") == 0 ||
            strcmp(functions[i].name, "error_set") == 0)
            core_status(st, SSQ_OK, NULL, "%s of NULL", functions[i].name);
        else if (functions[i].status)
            refused(functions[i].name, st, "a call of zeros");
        else
            tap_ok(true, "%s takes zeros", functions[i].name);
    }
}

/* ---- tensors ---- */

#define SHAPES 9
#define TYPES  5
#define POOL   (SHAPES * TYPES)
#define FORMS  4
#define COPIES 16

struct contract_pool {
    ssq_device *dev;
    ssq_queue *q;
    ssq_tensor *t[POOL]; /* all shapes of a dtype, then of the next */
    /* shapes that go together, one for each member; by dtype */
    ssq_tensor *form[TYPES][FORMS][COPIES];
};

struct contract_layout {
    int rank;
    int64_t shape[SSQ_MAX_RANK], strides[SSQ_MAX_RANK];
};
/* The first is as good as any, one has an element 16 times. */
#define REPEATED 3
static const struct contract_layout shapes[SHAPES] = {
    {2, {4, 4}, {4, 1}},
    {2, {4, 4}, {7, 1}},
    {2, {4, 4}, {1, 4}},
    {2, {4, 4}, {0, 0}},
    {1, {4}, {1}},
    {0, {0}, {0}},
    {2, {0, 4}, {4, 1}},
    {4, {2, 2, 4, 4}, {32, 16, 4, 1}},
    {6, {1, 2, 1, 2, 1, 4}, {16, 8, 8, 4, 4, 1}},
};
static const struct contract_layout forms[FORMS] = {
    {2, {4, 4}, {4, 1}},
    {1, {4}, {1}},
    {4, {4, 4, 4, 4}, {64, 16, 4, 1}},
    {0, {0}, {0}},
};
static const ssq_dtype types[TYPES] = {SSQ_F32, SSQ_F16, SSQ_BF16, SSQ_I32,
                                       SSQ_U8};

/* A tensor with small integers: classes and indices too. */
static ssq_tensor *make(const struct contract_pool *p, ssq_dtype dtype,
                        const struct contract_layout *l, bool write)
{
    int32_t words[256];
    ssq_buffer *buffer = NULL;
    ssq_tensor *t = NULL;
    for (int i = 0; i < 256; i++)
        words[i] = i % 4;
    NEED(ssq_buffer_create(p->dev, 1024, &buffer));
    NEED(ssq_tensor_from_buffer(buffer, dtype, l->rank, l->shape, l->strides, 0,
                                &t));
    ssq_buffer_destroy(&buffer);
    if (write)
        NEED(ssq_tensor_write(p->q, t, words, sizeof(words), SSQ_I32));
    NEED(ssq_queue_sync(p->q));
    return t;
}

static struct contract_pool pool_make(const char *name)
{
    struct contract_pool p = {.dev = core_open(name)};
    p.q = core_queue(p.dev);
    for (size_t i = 0; i < POOL; i++)
        p.t[i] = make(&p, types[i / SHAPES], &shapes[i % SHAPES],
                      i % SHAPES != REPEATED);
    for (size_t d = 0; d < TYPES; d++)
        for (size_t f = 0; f < FORMS; f++)
            for (size_t i = 0; i < COPIES; i++)
                p.form[d][f][i] = make(&p, types[d], &forms[f], true);
    return p;
}

static void pool_drop(struct contract_pool *p)
{
    for (size_t i = 0; i < POOL; i++)
        ssq_tensor_destroy(&p->t[i]);
    for (size_t d = 0; d < TYPES; d++)
        for (size_t f = 0; f < FORMS; f++)
            for (size_t i = 0; i < COPIES; i++)
                ssq_tensor_destroy(&p->form[d][f][i]);
    ssq_queue_destroy(&p->q);
    ssq_device_close(&p->dev);
}

/* ---- ops ---- */

static void test_headers(const struct contract_pool *p,
                         const struct contract_call *c)
{
    union args a = fresh(c);
    refused(c->name, c->run(NULL, &a), "queue NULL");
    refused(c->name, c->run(p->q, NULL), "args NULL");
    refused(c->name, c->run(p->q, &a), "no tensors");
    const size_t sizes[] = {0, c->bytes - 1, c->bytes + 1, SIZE_MAX};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        char how[64];
        a.struct_size = sizes[i];
        snprintf(how, sizeof(how), "struct_size %zu", sizes[i]);
        refused(c->name, c->run(p->q, &a), how);
    }
}

/* One member of another device, the others of this one. */
static void test_devices(const struct contract_pool *p,
                         const struct contract_pool *other,
                         const struct contract_call *c)
{
    for (const struct contract_member *m = c->members; m->name != NULL; m++) {
        union args a = fresh(c);
        char how[64];
        size_t i = 0;
        for (const struct contract_member *k = c->members; k->name != NULL;
             k++, i++)
            set(&a, k, k == m ? other->t[i] : p->t[i]);
        snprintf(how, sizeof(how), "%s on another device", m->name);
        refused(c->name, c->run(p->q, &a), how);
    }
}

static uint64_t seed;

static size_t below(size_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(seed >> 33) % n;
}

/* For member k where the others have dtype d and form f: mostly the same, a
 * relative now and then, NULL or anything now and then. */
static const ssq_tensor *any(const struct contract_pool *p, size_t k, size_t d,
                             size_t f)
{
    switch (below(12)) {
    case 0:
    case 1:
        return NULL;
    case 2:
        return p->t[below(POOL)];
    case 3:
        return p->form[below(TYPES)][f][k % COPIES];
    case 4:
    case 5:
        return p->form[d][below(FORMS)][k % COPIES];
    default:
        return p->form[d][f][k % COPIES];
    }
}

/* Any tensors anywhere: done, or refused by name with nothing enqueued. */
static void test_any(const struct contract_pool *p,
                     const struct contract_call *c, const char *on)
{
    size_t done = 0, wrong = 0, rounds = 2000;
    seed = 1;
    for (size_t i = 0; i < rounds; i++) {
        union args a = fresh(c);
        ssq_graph *graph = NULL;
        size_t d = below(TYPES + 3) % TYPES, f = below(FORMS);
        for (const struct contract_member *m = c->members; m->name != NULL; m++)
            set(&a, m, any(p, (size_t)(m - c->members), d, f));
        NEED(ssq_graph_begin(p->q));
        ssq_status st = c->run(p->q, &a);
        bool right = st == SSQ_OK ||
                     ((st == SSQ_ERR_INVALID || st == SSQ_ERR_UNSUPPORTED) &&
                      named(c->name));
        if (!right)
            tap_diag("%s: %s: %s", c->name, ssq_status_name(st),
                     ssq_last_error());
        NEED(ssq_graph_end(p->q, &graph));
        if (st != SSQ_OK && ssq_graph_ops(graph) != 0)
            right = false;
        if (st == SSQ_OK)
            NEED(ssq_graph_launch(p->q, graph));
        done += st == SSQ_OK;
        wrong += !right;
        ssq_graph_destroy(&graph);
    }
    ssq_status st = ssq_queue_sync(p->q);
    if (!tap_ok(wrong == 0 && done < rounds && st == SSQ_OK,
                "%s: %s of any tensors: %zu of %zu calls are done, the others "
                "are refused and leave nothing: %zu do not",
                on, c->name, done, rounds, wrong))
        tap_diag("sync: %s: %s", ssq_status_name(st), ssq_last_error());
}

int main(void)
{
    test_functions();
    struct contract_pool reference = pool_make("reference");
    struct contract_pool guard = pool_make("guard");
    for (size_t i = 0; i < COUNT(calls); i++) {
        test_headers(&reference, &calls[i]);
        test_devices(&reference, &guard, &calls[i]);
        test_any(&reference, &calls[i], "reference");
        test_any(&guard, &calls[i], "guard");
    }
    pool_drop(&reference);
    pool_drop(&guard);
    return tap_done(1200);
}
