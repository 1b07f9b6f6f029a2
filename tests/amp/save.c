/* SPDX-License-Identifier: Apache-2.0 */
/* save.c - scalers and optimizers as blobs: they continue as they were, and no
 * blob that was damaged, cut, or made elsewhere is believed. */
#include "tests/amp/train.h"

#include "lib/amp/common/blob.h"
#include "lib/core/core.h"

#define STEPS 40

/* Where fields of the header are. */
#define AT_ORDER   8
#define AT_VERSION 12
#define AT_BODY    32

struct save_bytes {
    size_t n;
    unsigned char *data;
};

static struct save_bytes scaler_bytes(const struct rig *r, ssq_scaler *scaler)
{
    struct save_bytes b = {0, NULL};
    NEED(ssq_scaler_save(r->queue, scaler, NULL, 0, &b.n));
    b.data = malloc(b.n);
    NEED(ssq_scaler_save(r->queue, scaler, b.data, b.n, NULL));
    return b;
}

static struct save_bytes optimizer_bytes(const struct train *t)
{
    struct save_bytes b = {0, NULL};
    NEED(ssq_optimizer_save(t->r->queue, t->o, NULL, 0, &b.n));
    b.data = malloc(b.n);
    NEED(ssq_optimizer_save(t->r->queue, t->o, b.data, b.n, NULL));
    return b;
}

/* Make header and checksum right again. */
static void reseal(struct save_bytes *b, uint32_t kind)
{
    struct blob blob;
    blob_write(&blob, b->data, b->n, kind);
    blob.at = b->n - 8;
    blob_seal(&blob, kind);
}

/* The loaded object: one of the two. */
struct target {
    ssq_queue *queue;
    ssq_scaler *scaler;
    ssq_optimizer *optimizer;
    uint32_t kind;
};

static ssq_status load(const struct target *t, const void *data, size_t n)
{
    return t->scaler != NULL
               ? ssq_scaler_load(t->queue, t->scaler, data, n)
               : ssq_optimizer_load(t->queue, t->optimizer, data, n);
}

/* A copy that may not be read past its end. */
static ssq_status load_copy(const struct target *t, const void *data, size_t n)
{
    unsigned char *copy = malloc(n + 1); /* +1: malloc(0) may be NULL */
    memcpy(copy, data, n);
    ssq_status st = load(t, copy, n);
    free(copy);
    return st;
}

/* Every blob that is not this one. name: of the device and what is loaded. */
static void damaged(const struct target *t, struct save_bytes *b, size_t every,
                    const char *name)
{
    size_t flips = 0, refused = 0;
    for (size_t bit = 0; bit < 8 * b->n; bit += every, flips++) {
        b->data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        refused += load(t, b->data, b->n) == SSQ_ERR_INVALID;
        b->data[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    tap_ok(refused == flips, "%s: %zu of %zu single bits of %zu bytes refused",
           name, refused, flips, b->n);
    refused = 0;
    for (size_t n = 0; n < b->n; n++)
        refused += load_copy(t, b->data, n) == SSQ_ERR_INVALID;
    unsigned char *longer = calloc(1, b->n + 8);
    memcpy(longer, b->data, b->n);
    for (size_t n = b->n + 1; n <= b->n + 8; n++)
        refused += load(t, longer, n) == SSQ_ERR_INVALID;
    free(longer);
    tap_ok(refused == b->n + 8, "%s: %zu cut off or longer blobs refused", name,
           refused);
    core_status(load(t, NULL, 0), SSQ_ERR_INVALID, "blob is NULL", "%s: none",
                name);
    struct save_bytes x = {b->n, malloc(b->n)};
    uint64_t seed = 11;
    refused = 0;
    for (int i = 0; i < 2000; i++) {
        for (size_t k = 0; k < x.n; k++)
            x.data[k] = (unsigned char)(amp_random(&seed) >> 56);
        if (i % 2 != 0)
            memcpy(x.data, b->data, AT_BODY);
        refused += load(t, x.data, x.n) == SSQ_ERR_INVALID;
    }
    tap_ok(refused == 2000, "%s: 2000 of random bytes refused", name);
    memcpy(x.data, b->data, x.n);
    const unsigned char order[4] = {x.data[AT_ORDER + 3], x.data[AT_ORDER + 2],
                                    x.data[AT_ORDER + 1], x.data[AT_ORDER]};
    memcpy(x.data + AT_ORDER, order, 4);
    core_status(load(t, x.data, x.n), SSQ_ERR_INVALID, "other byte order",
                "%s: of another machine", name);
    memcpy(x.data, b->data, x.n);
    x.data[AT_VERSION] = BLOB_VERSION + 1; /* little-endian */
    core_status(load(t, x.data, x.n), SSQ_ERR_INVALID, "is of version 2",
                "%s: of a later library", name);
    memcpy(x.data, b->data, x.n);
    reseal(&x, t->kind % 2 + 1);
    core_status(load(t, x.data, x.n), SSQ_ERR_INVALID, "the blob is of kind",
                "%s: of the other kind of object", name);
    free(x.data);
    core_status(load(t, b->data, b->n), SSQ_OK, "", "%s: itself", name);
}

/* ---- scalers ---- */

static void scaler_goes_on(const struct rig *r, const char *preset)
{
    ssq_scaler_options o = rig_preset(preset);
    uint64_t seed = 5;
    unsigned same = 0;
    if (o.growth_interval != UINT32_MAX)
        o.growth_interval = 4;
    o.max_consecutive_skips = 3;
    ssq_scaler *a = rig_scaler(r, NULL, &o), *b = rig_scaler(r, "sesqui", NULL);
    for (int i = 0; i < STEPS; i++) {
        bool inf = amp_uniform(&seed) < 0.3;
        rig_step(r, a, inf);
        if (i % 8 == 0) {
            struct save_bytes x = scaler_bytes(r, a);
            NEED(ssq_scaler_load(r->queue, b, x.data, x.n));
            free(x.data);
        } else {
            rig_step(r, b, inf);
        }
        ssq_scaler_state s = rig_state(r, a), t = rig_state(r, b);
        same += same_state(&s, &t);
    }
    tap_ok(same == STEPS,
           "%s: %s, saved and loaded into another machine: %u of %d states",
           r->name, preset, same, STEPS);
    ssq_scaler_destroy(&a);
    ssq_scaler_destroy(&b);
}

static void scaler_damaged(const struct rig *r, size_t every)
{
    ssq_scaler *scaler = rig_scaler(r, "megatron", NULL);
    struct target t = {r->queue, scaler, NULL, BLOB_SCALER};
    char name[64];
    size_t needed = 0;
    unsigned char small[16];
    snprintf(name, sizeof(name), "%s: a scaler's", r->name);
    for (int i = 0; i < 5; i++)
        rig_step(r, scaler, i % 2 == 0);
    struct save_bytes b = scaler_bytes(r, scaler);
    ssq_scaler_state before = rig_state(r, scaler);
    rig_step(r, scaler, true);
    damaged(&t, &b, every, name);
    ssq_scaler_state after = rig_state(r, scaler);
    tap_ok(same_state(&before, &after), "%s: only itself was loaded", name);
    core_status(ssq_scaler_save(r->queue, scaler, small, 16, &needed),
                SSQ_ERR_INVALID, "16 bytes", "%s: save into too little", name);
    tap_ok(needed == b.n, "%s: says what it needs", name);
    NEED(ssq_scaler_check(r->queue, scaler, 0, NULL));
    core_status(ssq_scaler_save(r->queue, scaler, b.data, b.n, NULL),
                SSQ_ERR_INVALID, "scaler_save: gradients were checked",
                "%s: saved in a step", name);
    core_status(ssq_scaler_load(r->queue, scaler, b.data, b.n), SSQ_ERR_INVALID,
                "scaler_load: gradients were checked", "%s: loaded in a step",
                name);
    NEED(update_used(r->queue, scaler));
    /* the checksum is right, the machine is not */
    const double nan = (double)NAN;
    struct save_bytes x = {b.n, malloc(b.n)};
    memcpy(x.data, b.data, b.n);
    memcpy(x.data + AT_BODY + 8, &nan, 8);
    reseal(&x, BLOB_SCALER);
    core_status(ssq_scaler_load(r->queue, scaler, x.data, x.n), SSQ_ERR_INVALID,
                "scaler_load: growth_factor is", "%s: with a factor of NaN",
                name);
    unsigned answered = 0;
    for (size_t bit = 8 * AT_BODY; bit < 8 * (b.n - 8); bit += every) {
        memcpy(x.data, b.data, b.n);
        x.data[bit / 8] ^= (unsigned char)(1u << bit % 8);
        reseal(&x, BLOB_SCALER);
        ssq_status st = ssq_scaler_load(r->queue, scaler, x.data, x.n);
        if (st == SSQ_OK)
            rig_step(r, scaler, true);
        answered += st == SSQ_OK || st == SSQ_ERR_INVALID;
    }
    tap_ok(answered * every >= 8 * (b.n - 8 - AT_BODY),
           "%s: %u blobs that lie have an answer", name, answered);
    free(x.data);
    free(b.data);
    ssq_scaler_destroy(&scaler);
}

/* ---- optimizers ---- */

static void optimizer_goes_on(const struct rig *r, const char *kind,
                              const struct train_storage *s)
{
    ssq_optimizer_options o = train_options(kind, s);
    struct train a, b;
    train_open(&a, r, kind, s, &o);
    train_open(&b, r, kind, s, &o);
    for (unsigned step = 0; step < 3; step++)
        train_step(&a, NULL, step, 1.0, FLAW_NONE);
    train_step(&b, NULL, 9, 1.0, FLAW_NONE);
    struct save_bytes x = optimizer_bytes(&a);
    NEED(ssq_optimizer_load(r->queue, b.o, x.data, x.n));
    struct train_image i = image_take(&a), k = image_take(&b);
    bool same = image_equal(&i, &k) && train_t(&b) == 3;
    image_free(&i);
    image_free(&k);
    for (unsigned step = 3; step < 6; step++) {
        train_step(&a, NULL, step, 1.0, FLAW_NONE);
        train_step(&b, NULL, step, 1.0, FLAW_NONE);
    }
    i = image_take(&a);
    k = image_take(&b);
    tap_ok(same && image_equal(&i, &k) && train_t(&b) == 6,
           "%s: %s %s: saved in %zu bytes, loaded, goes on bit-equal", r->name,
           kind, s->name, x.n);
    image_free(&i);
    image_free(&k);
    free(x.data);
    train_close(&a);
    train_close(&b);
}

static void optimizer_damaged(const struct rig *r, size_t every)
{
    const struct train_storage *s = &storages[1];
    ssq_optimizer_options o = train_options("adamw", s);
    char name[64];
    struct train t;
    snprintf(name, sizeof(name), "%s: an optimizer's", r->name);
    train_open(&t, r, "adamw", s, &o);
    for (unsigned step = 0; step < 3; step++)
        train_step(&t, NULL, step, 1.0, FLAW_NONE);
    struct save_bytes b = optimizer_bytes(&t);
    struct target target = {r->queue, NULL, t.o, BLOB_OPTIMIZER};
    struct train_image before = image_take(&t);
    train_step(&t, NULL, 9, 1.0, FLAW_NONE);
    damaged(&target, &b, every, name);
    struct train_image after = image_take(&t);
    tap_ok(image_equal(&before, &after), "%s: only itself was loaded", name);
    image_free(&before);
    image_free(&after);
    static const uint32_t bad[] = {UINT32_MAX, 0x80000000u};
    struct save_bytes x = {b.n, malloc(b.n)};
    for (int i = 0; i < 2; i++) {
        memcpy(x.data, b.data, b.n);
        memcpy(x.data + AT_BODY + 16, &bad[i], 4);
        reseal(&x, BLOB_OPTIMIZER);
        core_status(load(&target, x.data, x.n), SSQ_ERR_INVALID,
                    i == 0 ? "optimizer_load: t is -1" : "t is -2147483648",
                    "%s: with such a t", name);
    }
    free(x.data);
    NEED(ssq_optimizer_accumulate(r->queue, t.o, 1.0));
    core_status(load(&target, b.data, b.n), SSQ_ERR_INVALID, "were added up",
                "%s: loaded while accumulating", name);
    core_status(ssq_optimizer_save(r->queue, t.o, b.data, b.n, NULL),
                SSQ_ERR_INVALID, "were added up", "%s: saved meanwhile", name);
    NEED(ssq_optimizer_step(r->queue, t.o, NULL));
    free(b.data);
    train_close(&t);
}

/* A blob of one train, loaded into another that differs. */
static void refused(const struct rig *r, const char *kind,
                    const struct train_storage *s, bool amsgrad,
                    const char *parts)
{
    ssq_optimizer_options o = train_options("adamw", &storages[1]);
    ssq_optimizer_options other = train_options(kind, s);
    struct train a, b;
    other.amsgrad = amsgrad;
    train_open(&a, r, "adamw", &storages[1], &o);
    train_open(&b, r, kind, s, &other);
    train_step(&a, NULL, 0, 1.0, FLAW_NONE);
    struct save_bytes x = optimizer_bytes(&a);
    struct train_image before = image_take(&b);
    core_status(ssq_optimizer_load(r->queue, b.o, x.data, x.n), SSQ_ERR_INVALID,
                parts, "%s: into another: %s", r->name, parts);
    struct train_image after = image_take(&b);
    tap_ok(image_equal(&before, &after), "%s: which is as it was", r->name);
    image_free(&before);
    image_free(&after);
    free(x.data);
    train_close(&a);
    train_close(&b);
}

static long fail_at; /* the allocation that fails; 0 none */

static void *heap_alloc(void *user, size_t bytes)
{
    (void)user;
    return fail_at > 0 && --fail_at == 0 ? NULL : malloc(bytes);
}

static void heap_free(void *user, void *p)
{
    (void)user;
    free(p);
}

/* Without memory a load has changed nothing, and may be repeated. */
static void starved(const char *device)
{
    const ssq_allocator heap = {sizeof(heap), heap_alloc, heap_free, NULL};
    NEED(ssq_allocator_set(&heap));
    struct rig r = rig_open(device);
    ssq_optimizer_options o = train_options("adamw", &storages[1]);
    struct train t;
    train_open(&t, &r, "adamw", &storages[1], &o);
    train_step(&t, NULL, 0, 1.0, FLAW_NONE);
    struct save_bytes b = optimizer_bytes(&t);
    struct train_image saved = image_take(&t);
    train_step(&t, NULL, 1, 1.0, FLAW_NONE);
    struct train_image before = image_take(&t);
    bool ok = true;
    long n = 0;
    ssq_status st = SSQ_ERR_NOMEM;
    while (ok && st != SSQ_OK) {
        fail_at = ++n;
        st = ssq_optimizer_load(r.queue, t.o, b.data, b.n);
        fail_at = 0;
        struct train_image after = image_take(&t);
        ok = image_equal(&after, st == SSQ_OK ? &saved : &before);
        image_free(&after);
    }
    tap_ok(ok && st == SSQ_OK && n > 2,
           "%s: a load that lacks one of %ld allocations has changed nothing",
           device, n - 1);
    free(b.data);
    image_free(&saved);
    image_free(&before);
    train_close(&t);
    rig_close(&r);
    NEED(ssq_allocator_set(NULL));
}

struct poke {
    ssq_queue *queue;
    uint32_t words[2];
};

static ssq_status poke(void *user, const char *name, const ssq_tensor *t)
{
    struct poke *p = user;
    if (strcmp(name, "control") != 0)
        return SSQ_OK;
    struct view v = t->view;
    return queue_upload_now(p->queue, &v, p->words, sizeof(p->words));
}

static ssq_status poke_fail(void *user, const char *name, const ssq_tensor *t)
{
    NEED(poke(user, name, t));
    return error_set(SSQ_ERR_NOT_FOUND, "a text of fn");
}

static ssq_status no_text(void *user, const char *name, const ssq_tensor *t)
{
    (void)user;
    (void)t;
    return strcmp(name, "control") == 0 ? SSQ_OK : SSQ_ERR_IO;
}

/* The output of visitors is checked, too. */
static void visited(const struct rig *r)
{
    ssq_optimizer_options o = train_options("adamw", &storages[0]);
    struct poke p = {r->queue, {UINT32_MAX, 0}};
    struct train t;
    train_open(&t, r, "adamw", &storages[0], &o);
    train_step(&t, NULL, 0, 1.0, FLAW_NONE);
    core_status(ssq_optimizer_visit(r->queue, t.o, poke, &p), SSQ_ERR_INVALID,
                "optimizer_visit: t is -1|it stays 1",
                "%s: a visitor's t of -1", r->name);
    p.words[0] = 0x80000000u;
    core_status(ssq_optimizer_visit(r->queue, t.o, poke, &p), SSQ_ERR_INVALID,
                "t is -2147483648", "%s: a visitor's t of INT32_MIN", r->name);
    core_status(ssq_optimizer_visit(r->queue, t.o, poke_fail, &p),
                SSQ_ERR_NOT_FOUND, "a text of fn",
                "%s: a visitor that fails, too, has the word", r->name);
    tap_ok(train_t(&t) == 1, "%s: which are undone", r->name);
    core_status(ssq_optimizer_visit(r->queue, t.o, no_text, NULL), SSQ_ERR_IO,
                "optimizer_visit: fn|SSQ_ERR_IO|.exp_avg",
                "%s: a visitor that fails without a text", r->name);
    p.words[0] = 77;
    NEED(ssq_optimizer_visit(r->queue, t.o, poke, &p));
    train_step(&t, NULL, 1, 1.0, FLAW_NONE);
    tap_ok(train_t(&t) == 78, "%s: a t of 77 goes on", r->name);
    train_close(&t);
}

int main(void)
{
    for (size_t d = 0; d < core_device_count(); d++) {
        struct rig r = rig_open(core_device(d));
        /* all of them on the hosts, some on the others */
        size_t some = d < 2 ? 1 : 5;
        for (size_t i = 0; ssq_scaler_preset_name(i) != NULL; i += some)
            scaler_goes_on(&r, ssq_scaler_preset_name(i));
        scaler_damaged(&r, d == 0 ? 1 : 7);
        for (int k = 0; k < KINDS; k++)
            for (int s = 0; s < STORAGES; s++)
                if (train_tries(&r, k, s))
                    optimizer_goes_on(&r, kinds[k], &storages[s]);
        optimizer_damaged(&r, d == 0 ? 1 : 41);
        refused(&r, "adam", &storages[1], true, "the kind of the optimizer");
        refused(&r, "adamw", &storages[2], true, "the dtype of a");
        refused(&r, "adamw", &storages[4], true, "the kind of master of a");
        refused(&r, "adamw", &storages[1], false, "the set of moments of a");
        visited(&r);
        rig_close(&r);
        starved(core_device(d));
    }
    return tap_done(2 * (20 + 14 + KINDS * STORAGES + 12 + 8 + 7));
}
