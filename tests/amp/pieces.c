/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.c - parameters longer than a launch sees: steps, reports and scalers
 * give the bits that they give when a launch sees everything. */
#include "tests/amp/amp.h"
#include "tests/amp/kinds.h"

/* A piece is a chunk of 16384 elements: three, one, four and a little. */
#define LIMIT   "70000"
#define TENSORS 3
static const int64_t sizes[TENSORS] = {40000, 100, 65540};
#define LONGEST 65540

/* The ways of the cases; each kind of optimizer takes the next one. */
static const struct way {
    ssq_dtype dtype;
    ssq_master_kind master;
    bool flat, accumulate, unscale;
} ways[] = {
    {SSQ_F32, SSQ_MASTER_F32, true, true, false},
    {SSQ_BF16, SSQ_MASTER_NONE, false, false, false},
    {SSQ_F16, SSQ_MASTER_F32, false, false, false},
    {SSQ_BF16, SSQ_MASTER_F32, true, true, true},
    {SSQ_BF16, SSQ_MASTER_SPLIT, false, false, false},
    {SSQ_F16, SSQ_MASTER_F32, false, true, false},
    {SSQ_F32, SSQ_MASTER_F32, false, false, true},
};
#define WAYS  (sizeof(ways) / sizeof(ways[0]))
#define CASES (OPT_KINDS > WAYS ? OPT_KINDS : WAYS)

static const struct way *way_of(size_t c)
{
    return &ways[c % WAYS];
}

static const char *kind_of(size_t c)
{
    static const char *const kinds[] = {KIND_NAMES};
    return kinds[c % OPT_KINDS];
}

struct amp_pieces_run {
    ssq_device *dev;
    ssq_queue *q;
    ssq_tensor *param[TENSORS], *grad[TENSORS];
    ssq_optimizer *o;
    ssq_scaler *scaler;
    size_t bytes;
    unsigned char *image; /* parameters, gradients, state */
    ssq_overflow_report report;
    ssq_statistics all, last;
    float norm;
};

static float values[LONGEST];

static uint64_t seed;

static float draw(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (float)((int)(seed >> 40 & 0xfff) - 2048) / 2048.0f;
}

/* Gradients times the scale, one of them with an infinity late in it. */
static void send(struct amp_pieces_run *r, bool overflow)
{
    for (int k = 0; k < TENSORS; k++) {
        for (int64_t i = 0; i < sizes[k]; i++)
            values[i] = draw() * 64.0f;
        if (overflow && k == 2)
            values[40000] = values[50000] = INFINITY;
        NEED(ssq_tensor_write(r->q, r->grad[k], values, sizeof(values),
                              SSQ_F32));
        NEED(ssq_queue_sync(r->q));
    }
    NEED(scale_used(r->q, r->scaler));
}

/* How a device is opened. */
enum sight { WHOLE, PIECES, HELPED /* by the host: below a chunk */ };

static ssq_device *see(const char *name, enum sight sight)
{
    ssq_device_options options = SSQ_DEVICE_OPTIONS_INIT;
    ssq_device *dev = NULL;

    options.host_fallback = sight == HELPED;
    if (sight != WHOLE)
        setenv("SSQ_LIMIT_BINDING", sight == PIECES ? LIMIT : "60000", 1);
    NEED(ssq_device_open(name, &options, &dev));
    unsetenv("SSQ_LIMIT_BINDING");
    return dev;
}

static void start(struct amp_pieces_run *r, size_t c, const char *name,
                  enum sight sight)
{
    ssq_optimizer_options options = SSQ_OPTIMIZER_INIT;
    ssq_scaler_options fixed = SSQ_SCALER_OPTIONS_INIT;

    r->dev = see(name, sight);
    r->q = core_queue(r->dev);
    options.lr = 0.01;
    options.master = way_of(c)->master;
    options.flat_master = way_of(c)->flat;
    options.clip_norm = 2.0;
    options.weight_decay = 0.1;
    options.statistics = true;
    fixed.init_scale = 64.0;
    NEED(ssq_optimizer_create(r->dev, kind_of(c), &options, &r->o));
    NEED(ssq_scaler_create(r->dev, "fixed", &fixed, &r->scaler));
    seed = c;
    for (int k = 0; k < TENSORS; k++) {
        static const char *const names[TENSORS] = {"a", "b", "c"};
        r->param[k] = core_vector(r->dev, way_of(c)->dtype, sizes[k]);
        r->grad[k] = core_vector(r->dev, way_of(c)->dtype, sizes[k]);
        for (int64_t i = 0; i < sizes[k]; i++)
            values[i] = draw();
        NEED(ssq_tensor_write(r->q, r->param[k], values, sizeof(values),
                              SSQ_F32));
        NEED(ssq_queue_sync(r->q));
        NEED(ssq_optimizer_add(r->o, names[k], r->param[k], r->grad[k], NULL));
    }
}

static ssq_status keep(void *user, const char *name, const ssq_tensor *t)
{
    struct amp_pieces_run *r = user;
    ssq_dtype dtype = ssq_tensor_dtype(t);
    size_t n = (size_t)ssq_tensor_elements(t) * ssq_dtype_bits(dtype) / 8;

    (void)name;
    r->image = realloc(r->image, r->bytes + n);
    ssq_status st = ssq_tensor_read(r->q, t, r->image + r->bytes, n, dtype);
    if (st == SSQ_OK)
        st = ssq_queue_sync(r->q);
    r->bytes += n;
    return st;
}

/* One step in the case's way. */
static void step(struct amp_pieces_run *r, size_t c, bool overflow)
{
    for (int i = way_of(c)->accumulate ? 2 : 1; i > 0; i--) {
        send(r, overflow);
        if (way_of(c)->accumulate)
            NEED(ssq_optimizer_accumulate(r->q, r->o, 0.5));
    }
    if (way_of(c)->unscale && way_of(c)->dtype != SSQ_F16)
        NEED(ssq_optimizer_unscale(r->q, r->o, r->scaler));
    NEED(ssq_optimizer_step(r->q, r->o, r->scaler));
    NEED(ssq_scaler_update(r->q, r->scaler));
}

/* Steps without an optimizer: check, and unscale into others. */
static void scale_only(struct amp_pieces_run *r)
{
    ssq_tensor *outs[TENSORS];

    for (int k = 0; k < TENSORS; k++)
        outs[k] = core_vector(r->dev, SSQ_F32, sizes[k]);
    send(r, false);
    NEED(ssq_scaler_unscale(r->q, r->scaler, TENSORS,
                            (const ssq_tensor *const *)r->grad,
                            (const ssq_tensor *const *)outs));
    NEED(ssq_scaler_update(r->q, r->scaler));
    for (int k = 0; k < TENSORS; k++) {
        NEED(keep(r, "", outs[k]));
        ssq_tensor_destroy(&outs[k]);
    }
}

static void train(struct amp_pieces_run *r, size_t c, const char *name,
                  enum sight sight)
{
    *r = (struct amp_pieces_run){.report = SSQ_OVERFLOW_REPORT_INIT,
                                 .all = SSQ_STATISTICS_INIT,
                                 .last = SSQ_STATISTICS_INIT};
    start(r, c, name, sight);
    step(r, c, false);
    step(r, c, true);
    NEED(ssq_optimizer_overflow(r->q, r->o, &r->report));
    step(r, c, false);
    NEED(ssq_optimizer_norm(r->q, r->o, &r->norm, NULL));
    NEED(ssq_optimizer_statistics(r->q, r->o, NULL, &r->all));
    NEED(ssq_optimizer_statistics(r->q, r->o, "c", &r->last));
    for (int k = 0; k < TENSORS; k++) {
        NEED(keep(r, "", r->param[k]));
        NEED(keep(r, "", r->grad[k]));
    }
    NEED(ssq_optimizer_visit(r->q, r->o, keep, r));
    scale_only(r);
    NEED(ssq_optimizer_zero_grad(r->q, r->o));
    NEED(keep(r, "", r->grad[2]));
    if (way_of(c)->master == SSQ_MASTER_F32) {
        NEED(ssq_optimizer_model_to_master(r->q, r->o));
        NEED(ssq_optimizer_master_to_model(r->q, r->o));
        NEED(keep(r, "", r->param[2]));
    }
}

static void drop(struct amp_pieces_run *r)
{
    for (int k = 0; k < TENSORS; k++) {
        ssq_tensor_destroy(&r->param[k]);
        ssq_tensor_destroy(&r->grad[k]);
    }
    ssq_optimizer_destroy(&r->o);
    ssq_scaler_destroy(&r->scaler);
    ssq_queue_destroy(&r->q);
    ssq_device_close(&r->dev);
    free(r->image);
}

static bool same_report(const ssq_overflow_report *a,
                        const ssq_overflow_report *b)
{
    return strcmp(a->name, b->name) == 0 && a->index == b->index &&
           a->nan == b->nan && a->infs == b->infs && a->nans == b->nans &&
           a->tensors == b->tensors && a->check == b->check;
}

static bool same_statistics(const ssq_statistics *a, const ssq_statistics *b)
{
    return a->elements == b->elements && a->zeros == b->zeros &&
           a->subnormals == b->subnormals &&
           a->max_exponent == b->max_exponent &&
           a->rounded_away == b->rounded_away;
}

static void test(size_t c, const char *name)
{
    struct amp_pieces_run whole, cut;

    train(&whole, c, name, WHOLE);
    train(&cut, c, name, PIECES);
    const char *way = way_of(c)->accumulate ? ", accumulated" : "";
    tap_ok(whole.bytes == cut.bytes &&
               memcmp(whole.image, cut.image, cut.bytes) == 0,
           "%s: %s %s%s: %zu bytes of state are the same in pieces", name,
           kind_of(c), ssq_dtype_name(way_of(c)->dtype), way, cut.bytes);
    tap_ok(strcmp(cut.report.name, "c") == 0 && cut.report.index == 40000 &&
               cut.report.tensors == 1 && cut.report.infs == 2 &&
               same_report(&whole.report, &cut.report),
           "%s: %s: %u infinities in %u gradient, the first in %s at %llu",
           name, kind_of(c), cut.report.infs, cut.report.tensors,
           cut.report.name, (unsigned long long)cut.report.index);
    tap_ok(memcmp(&whole.norm, &cut.norm, sizeof(cut.norm)) == 0 &&
               cut.norm > 1.0f,
           "%s: %s: the norm is %.9g", name, kind_of(c), (double)cut.norm);
    tap_ok(same_statistics(&whole.all, &cut.all) &&
               same_statistics(&whole.last, &cut.last) &&
               cut.last.elements == LONGEST && cut.last.zeros > 0,
           "%s: %s: %llu of %llu gradients are 0", name, kind_of(c),
           (unsigned long long)cut.last.zeros,
           (unsigned long long)cut.last.elements);
    drop(&whole);
    drop(&cut);
}

/* Lists that are refused may be done by the host. */
static void test_helped(const char *name)
{
    ssq_memory_info info = SSQ_MEMORY_INFO_INIT;
    struct amp_pieces_run whole, helped;

    train(&whole, 0, name, WHOLE);
    train(&helped, 0, name, HELPED);
    NEED(ssq_device_memory(helped.dev, &info));
    tap_ok(whole.bytes == helped.bytes && info.fallbacks > 3 &&
               memcmp(whole.image, helped.image, helped.bytes) == 0,
           "%s: %s: %zu bytes of state are the same by %llu ops of the host",
           name, kind_of(0), helped.bytes, (unsigned long long)info.fallbacks);
    drop(&whole);
    drop(&helped);
}

/* A limit below a chunk is refused. */
static void test_refused(const char *name)
{
    setenv("SSQ_LIMIT_BINDING", "60000", 1);
    ssq_device *dev = core_open(name);
    unsetenv("SSQ_LIMIT_BINDING");
    ssq_queue *q = core_queue(dev);
    ssq_tensor *g = core_vector(dev, SSQ_F32, LONGEST);
    const ssq_tensor *list[] = {g};
    ssq_scaler *scaler = NULL;

    NEED(ssq_scaler_create(dev, "sesqui", NULL, &scaler));
    NEED(scale_used(q, scaler));
    core_status(ssq_scaler_check(q, scaler, 1, list), SSQ_ERR_UNSUPPORTED,
                "check: operand|65540 elements|60000 bytes",
                "%s: no pieces within 60000 bytes", name);
    ssq_scaler_destroy(&scaler);
    ssq_tensor_destroy(&g);
    ssq_queue_destroy(&q);
    ssq_device_close(&dev);
}

int main(void)
{
    for (size_t d = 0; d < core_device_count(); d++) {
        /* devices with a driver: every second case */
        const bool driver = strchr(core_device(d), ':') != NULL;
        for (size_t c = 0; c < CASES; c += driver && !tap_full() ? 2 : 1)
            test(c, core_device(d));
        test_helped(core_device(d));
        test_refused(core_device(d));
    }
    return tap_done(2 * (4 * (long)CASES + 2));
}
