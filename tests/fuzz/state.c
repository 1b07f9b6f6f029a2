/* SPDX-License-Identifier: Apache-2.0 */
/* state.c - fuzz target: states that a program restores.
 *
 * machine    any options and any state: if state_set accepts them, the
 *            simulator does, too, and both continue with the same trace
 * torch      what torch_load takes, torch_save gives back
 * blobs      what was saved is loaded and is the same state; changed, cut off
 *            or lengthened it is refused, and nothing has changed
 * optimizer  any bytes in the state tensors, control words too: steps end, and
 *            a second optimizer with a copy of the state does the same */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/amp/kinds.h"
#include "tests/fuzz/pair.h"

enum { STEPS = 8, ELEMENTS = 6, STATE_BYTES = 4096 };

/* The parameter, its gradient, and what belongs to them. */
struct world {
    ssq_device *device;
    ssq_queue *queue;
    ssq_tensor *param[2], *grad;
};

static void must(ssq_status st, const char *what)
{
    if (st != SSQ_OK)
        fuzz_fail("%s: %s", what, ssq_status_name(st));
}

static void world_open(struct world *w)
{
    static ssq_device *device;
    const int64_t shape[] = {ELEMENTS};
    if (device == NULL)
        must(ssq_device_open("reference", NULL, &device), "open");
    w->device = device;
    must(ssq_queue_create(device, NULL, &w->queue), "queue");
    for (int i = 0; i < 2; i++)
        must(ssq_tensor_create(device, SSQ_BF16, 1, shape, &w->param[i]),
             "param");
    must(ssq_tensor_create(device, SSQ_F32, 1, shape, &w->grad), "grad");
}

static void world_close(struct world *w)
{
    ssq_memory_info info = SSQ_MEMORY_INFO_INIT;
    for (int i = 0; i < 2; i++)
        ssq_tensor_destroy(&w->param[i]);
    ssq_tensor_destroy(&w->grad);
    ssq_queue_destroy(&w->queue);
    must(ssq_device_memory(w->device, &info), "memory");
    if (info.buffers != 0)
        fuzz_fail("%llu buffers are left", (unsigned long long)info.buffers);
}

static void write_grad(struct world *w, float first)
{
    float grad[ELEMENTS] = {first, 0.5f, -1.0f, 2.0f, 0.0f, -0.25f};
    must(ssq_tensor_write(w->queue, w->grad, grad, sizeof(grad), SSQ_F32),
         "write");
    must(ssq_queue_sync(w->queue), "sync");
}

static double pick_scale(struct input *in)
{
    static const double list[] = {
        65536.0, 1.0,      2.0, 1024.0, 0x1p-126, 0x1p127, 1e-45, 3e38,
        0.0,     INFINITY, NAN, -1.0,   1.5,      1e300,   0.1,   0x1p-149};
    unsigned b = input_byte(in);
    double any;
    if (b < 240)
        return list[b % 16];
    uint64_t bits = input_u64(in);
    memcpy(&any, &bits, sizeof(any));
    return any;
}

/* Mostly small: streaks end within a program. */
static uint32_t pick_count(struct input *in)
{
    unsigned b = input_byte(in);
    return b < 224   ? b % 5
           : b < 240 ? UINT32_MAX - b % 3
                     : (uint32_t)input_u64(in);
}

static void pick_options(struct input *in, ssq_scaler_options *p)
{
    unsigned i = input_byte(in) % 32;
    const char *name = ssq_scaler_preset_name(i);
    must(ssq_scaler_options_preset(name != NULL ? name : "sesqui", p),
         "preset");
    if (input_byte(in) % 4 == 0)
        return;
    p->growth_interval = 1 + input_byte(in) % 4;
    p->first_lag = pick_count(in) % 3;
    p->repeat_lag = pick_count(in) % 3;
    p->hysteresis = 1 + pick_count(in) % 4;
    p->refill = input_byte(in) % 8;
    p->floor = (ssq_scale_floor)(input_byte(in) % 6);
    p->cap = (ssq_scale_cap)(input_byte(in) % 4);
    p->tolerance = input_byte(in) % 5 / 4.0;
    p->reset_on_inf = input_byte(in) % 2 != 0;
    p->match_equal = input_byte(in) % 2 != 0;
    p->max_consecutive_skips = input_byte(in) % 4;
    if (input_byte(in) % 2 == 0) {
        p->init_scale = pick_scale(in);
        p->min_scale = pick_scale(in);
        p->max_scale = pick_scale(in);
        p->growth_factor = 1.0 + input_byte(in) % 4;
        p->backoff_factor = 1.0 / (1.0 + input_byte(in) % 4);
    }
}

static void pick_state(struct input *in, ssq_scaler_state *s)
{
    uint32_t *const list[] = {&s->good,    &s->since,    &s->ovf,
                              &s->updates, &s->skipped,  &s->consecutive,
                              &s->growths, &s->backoffs, &s->last_skip,
                              &s->events,  &s->grown};
    s->scale = pick_scale(in);
    s->hyst = (int32_t)pick_count(in);
    s->action = (ssq_scale_action)(pick_count(in) % 9);
    uint64_t which = input_u64(in);
    for (unsigned i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        if (which >> i & 1)
            *list[i] = pick_count(in);
}

static void same_state(const ssq_scaler_state *a, const ssq_scaler_state *b)
{
    const double x[] = {a->scale,   a->good,     a->hyst,        a->grown,
                        a->since,   a->ovf,      a->updates,     a->skipped,
                        a->growths, a->backoffs, a->consecutive, a->last_skip,
                        a->events,  a->action};
    const double y[] = {b->scale,   b->good,     b->hyst,        b->grown,
                        b->since,   b->ovf,      b->updates,     b->skipped,
                        b->growths, b->backoffs, b->consecutive, b->last_skip,
                        b->events,  b->action};
    static const char *const names[] = {
        "scale",       "good",      "hyst",    "grown",   "since",
        "ovf",         "updates",   "skipped", "growths", "backoffs",
        "consecutive", "last_skip", "events",  "action"};
    for (unsigned i = 0; i < sizeof(x) / sizeof(x[0]); i++)
        if (memcmp(&x[i], &y[i], sizeof(x[i])) != 0)
            fuzz_fail("%s is %.17g on the device, %.17g in the simulator",
                      names[i], x[i], y[i]);
}

/* One step of the machine on the device. */
static void step(struct world *w, ssq_scaler *scaler, bool overflow)
{
    const ssq_tensor *grads[] = {w->grad};
    write_grad(w, 1.0f);
    must(ssq_scaler_scale_grad(w->queue, scaler, w->grad, w->grad), "scale");
    write_grad(w, overflow ? INFINITY : 1.0f);
    must(ssq_scaler_check(w->queue, scaler, 1, grads), "check");
    ssq_status st = ssq_scaler_update(w->queue, scaler);
    if (st != SSQ_OK && st != SSQ_ERR_SCALE)
        fuzz_fail("update: %s", ssq_status_name(st));
}

/* The scale on the device is float32: follow it where the simulator is, too. */
static bool in_float32(const ssq_scaler_options *p)
{
    return !p->binary64;
}

/* A simulator in doubles refuses a scale of 0 or infinity that a float32
 * reaches before it. Each refuses counts that have begun again at 0, and the
 * scale of 0 to which a static scale with a small allowance falls: no run has
 * such a state. */
static bool simulator_follows(const ssq_scaler_options *p,
                              const ssq_scaler_state *s, unsigned n)
{
    return s->updates <= UINT32_MAX - n && p->hysteresis < INT32_MAX &&
           (in_float32(p) || (s->scale != 0.0 && !isinf(s->scale)));
}

static void machine(struct world *w, struct input *in)
{
    ssq_scaler *scaler = NULL;
    ssq_scaler_options options = SSQ_SCALER_OPTIONS_INIT;
    ssq_scaler_state state = SSQ_SCALER_STATE_INIT, got = SSQ_SCALER_STATE_INIT;
    uint8_t overflow[STEPS];
    unsigned n = input_byte(in) % (STEPS + 1);
    pick_options(in, &options);
    pick_state(in, &state);
    for (unsigned i = 0; i < n; i++)
        overflow[i] = input_byte(in) % 2;
    fuzz_trace(
        "machine: scale %.9g, %u steps; floor %d at %.9g, cap %d, growth "
        "%.9g, backoff %.9g, hysteresis %u, binary64 %d",
        state.scale, n, (int)options.floor, options.min_scale, (int)options.cap,
        options.growth_factor, options.backoff_factor, options.hysteresis,
        options.binary64);
    if (ssq_scaler_create(w->device, NULL, &options, &scaler) != SSQ_OK) {
        fuzz_trace("    %s", ssq_last_error());
        return;
    }
    fuzz_counts.calls++;
    if (ssq_scaler_state_set(w->queue, scaler, &state) == SSQ_OK) {
        fuzz_counts.done++;
        for (unsigned i = 0; i < n; i++)
            step(w, scaler, overflow[i] != 0);
        ssq_status st = ssq_scaler_state_get(w->queue, scaler, &got);
        if (st != SSQ_OK && st != SSQ_ERR_SCALE)
            fuzz_fail("state_get: %s", ssq_status_name(st));
        const bool follows = simulator_follows(&options, &state, n);
        for (unsigned i = 0; i < n && follows; i++) {
            /* The overflow flag is of the gradient times 1 / scale. Its
             * largest element is 2: see write_grad(). */
            uint8_t bad = overflow[i] != 0 ||
                          !isfinite(2.0f * (1.0f / (float)state.scale));
            must(ssq_scaler_simulate(&options, &state, 1, &bad, NULL, NULL),
                 "simulate what state_set took");
        }
        if (in_float32(&options) && follows)
            same_state(&got, &state);
    } else {
        fuzz_counts.refused++;
        fuzz_trace("    %s", ssq_last_error());
    }
    ssq_scaler_destroy(&scaler);
}

static void torch(struct world *w, struct input *in)
{
    ssq_scaler *scaler = NULL;
    ssq_torch_scaler_state s = SSQ_TORCH_SCALER_STATE_INIT,
                           back = SSQ_TORCH_SCALER_STATE_INIT;
    s.scale = pick_scale(in);
    s.growth_factor = input_byte(in) < 192 ? 2.0 : pick_scale(in);
    s.backoff_factor = input_byte(in) < 192 ? 0.5 : pick_scale(in);
    s.growth_interval = (int64_t)pick_count(in) - (input_byte(in) == 255);
    s._growth_tracker = (int64_t)pick_count(in) - (input_byte(in) == 255);
    must(ssq_scaler_create(w->device, "pytorch", NULL, &scaler), "create");
    fuzz_counts.calls++;
    if (ssq_scaler_torch_load(w->queue, scaler, &s) == SSQ_OK) {
        fuzz_counts.done++;
        must(ssq_scaler_torch_save(w->queue, scaler, &back), "save");
        if (memcmp(&s, &back, sizeof(s)) != 0)
            fuzz_fail("torch: loaded %.17g %.17g %.17g %lld %lld, saved %.17g "
                      "%.17g %.17g %lld %lld",
                      s.scale, s.growth_factor, s.backoff_factor,
                      (long long)s.growth_interval,
                      (long long)s._growth_tracker, back.scale,
                      back.growth_factor, back.backoff_factor,
                      (long long)back.growth_interval,
                      (long long)back._growth_tracker);
    } else {
        fuzz_counts.refused++;
        fuzz_trace("    %s", ssq_last_error());
    }
    ssq_scaler_destroy(&scaler);
}

/* A blob somewhere in memory, and perhaps no longer what was saved. */
struct state_blob {
    uint8_t memory[2 * STATE_BYTES], *at;
    size_t bytes;
    bool damaged;
};

/* Make room for `needed` bytes, of any alignment. */
static void blob_place(struct state_blob *b, struct input *in, size_t needed)
{
    b->at = b->memory + input_byte(in) % 8;
    b->bytes = needed;
    b->damaged = false;
    if (needed > STATE_BYTES)
        fuzz_fail("a blob of %zu bytes", needed);
}

static void blob_damage(struct state_blob *b, struct input *in)
{
    static uint8_t was[STATE_BYTES];
    size_t n = b->bytes;
    memcpy(was, b->at, n);
    memset(b->at + n, 0, STATE_BYTES - n);
    for (int i = 0; i < 8 && input_once(in, 2); i++) {
        uint8_t *at = &b->at[(input_byte(in) << 8 | input_byte(in)) % n];
        *at ^= (uint8_t)(1u << input_byte(in) % 8);
    }
    if (input_once(in, 4))
        b->bytes = (input_byte(in) << 8 | input_byte(in)) % STATE_BYTES;
    b->damaged = b->bytes != n || memcmp(b->at, was, n) != 0;
}

/* Whole: taken. Damaged: refused. */
static bool blob_taken(const struct state_blob *b, const char *what,
                       ssq_status st)
{
    fuzz_trace("%s: %zu bytes, %sdamaged: %s %s", what, b->bytes,
               b->damaged ? "" : "not ", ssq_status_name(st),
               st != SSQ_OK ? ssq_last_error() : "");
    fuzz_counts.calls++;
    fuzz_counts.done += st == SSQ_OK;
    fuzz_counts.refused += st != SSQ_OK;
    if (b->damaged != (st == SSQ_ERR_INVALID) || (!b->damaged && st != SSQ_OK))
        fuzz_fail("%s of a%s blob: %s", what, b->damaged ? " damaged" : "",
                  ssq_status_name(st));
    return st == SSQ_OK;
}

static void get(struct world *w, ssq_scaler *scaler, ssq_scaler_state *state)
{
    ssq_status st = ssq_scaler_state_get(w->queue, scaler, state);
    if (st != SSQ_OK && st != SSQ_ERR_SCALE)
        fuzz_fail("state_get: %s", ssq_status_name(st));
}

static void scaler_blob(struct world *w, struct input *in)
{
    static struct state_blob b;
    ssq_scaler *scaler[2] = {NULL, NULL};
    ssq_scaler_options options = SSQ_SCALER_OPTIONS_INIT;
    ssq_scaler_state state = SSQ_SCALER_STATE_INIT,
                     before = SSQ_SCALER_STATE_INIT,
                     after = SSQ_SCALER_STATE_INIT;
    size_t needed = 0;
    pick_options(in, &options);
    pick_state(in, &state);
    must(ssq_scaler_create(w->device, NULL, NULL, &scaler[1]), "create");
    if (ssq_scaler_create(w->device, NULL, &options, &scaler[0]) == SSQ_OK) {
        (void)!ssq_scaler_state_set(w->queue, scaler[0], &state);
        get(w, scaler[0], &state);
        (void)!ssq_scaler_save(w->queue, scaler[0], NULL, 0, &needed);
        blob_place(&b, in, needed);
        must(ssq_scaler_save(w->queue, scaler[0], b.at, needed, NULL), "save");
        blob_damage(&b, in);
        get(w, scaler[1], &before);
        bool taken =
            blob_taken(&b, "scaler_load",
                       ssq_scaler_load(w->queue, scaler[1], b.at, b.bytes));
        get(w, scaler[1], &after);
        same_state(&after, taken ? &state : &before);
    }
    ssq_scaler_destroy(&scaler[0]);
    ssq_scaler_destroy(&scaler[1]);
}

/* State tensors are read into bytes, spoiled, and written. */
struct state_visit {
    ssq_queue *queue;
    struct input *in; /* NULL: leave the bytes alone */
    uint8_t bytes[STATE_BYTES];
    size_t n;
    bool write;
};

static ssq_status visit(void *user, const char *name, const ssq_tensor *t)
{
    struct state_visit *v = user;
    ssq_dtype dtype = ssq_tensor_dtype(t);
    size_t bytes = (size_t)ssq_tensor_elements(t) * (ssq_dtype_bits(dtype) / 8);
    uint8_t *at = v->bytes + v->n;
    if (v->n + bytes > STATE_BYTES)
        fuzz_fail("%s: more state than there is room for", name);
    v->n += bytes;
    if (v->write)
        return ssq_tensor_write(v->queue, t, at, bytes, dtype);
    ssq_status st = ssq_tensor_read(v->queue, t, at, bytes, dtype);
    if (st == SSQ_OK)
        st = ssq_queue_sync(v->queue);
    while (st == SSQ_OK && v->in != NULL && bytes > 0 && input_once(v->in, 4))
        at[input_byte(v->in) % bytes] = (uint8_t)input_byte(v->in);
    return st;
}

static ssq_optimizer *make(struct world *w, struct input *in, unsigned which)
{
    static const char *const kinds[] = {KIND_NAMES};
    ssq_optimizer_options p = SSQ_OPTIMIZER_INIT;
    ssq_optimizer *o = NULL;
    unsigned kind = input_byte(in) % OPT_KINDS, b = input_byte(in);
    p.master = (ssq_master_kind)(b % 3);
    p.momentum = kind == OPT_sgd && b % 2 == 1 ? 0.9 : 0.0;
    p.amsgrad = (kind == OPT_adam || kind == OPT_adamw) && b % 5 == 1;
    p.clip_norm = b >= 128 ? 1.0 : 0.0;
    must(ssq_optimizer_create(w->device, kinds[kind], &p, &o), "create");
    must(ssq_optimizer_add(o, "p", w->param[which], w->grad, NULL), "add");
    return o;
}

static void read_param(struct world *w, unsigned i, float to[ELEMENTS])
{
    must(ssq_tensor_read(w->queue, w->param[i], to, ELEMENTS * sizeof(float),
                         SSQ_F32),
         "read");
    must(ssq_queue_sync(w->queue), "sync");
}

static void write_param(struct world *w, unsigned i, const float from[ELEMENTS])
{
    must(ssq_tensor_write(w->queue, w->param[i], from, ELEMENTS * sizeof(float),
                          SSQ_F32),
         "write");
    must(ssq_queue_sync(w->queue), "sync");
}

static void optimizer(struct world *w, struct input *in)
{
    static struct state_visit v;
    struct input again = *in;
    float values[2][ELEMENTS] = {{1, 2, -1, 0.5f, 0, -3},
                                 {1, 2, -1, 0.5f, 0, -3}};
    ssq_optimizer *o[2];
    write_param(w, 0, values[0]);
    write_param(w, 1, values[0]);
    o[0] = make(w, in, 0);
    o[1] = make(w, &again, 1);
    memset(&v, 0, sizeof(v));
    v.queue = w->queue;
    v.in = in;
    write_grad(w, 1.0f);
    if (input_byte(in) % 2 == 0)
        must(ssq_optimizer_step(w->queue, o[0], NULL), "step");
    must(ssq_optimizer_visit(w->queue, o[0], visit, &v), "visit");
    read_param(w, 0, values[0]);
    write_param(w, 1, values[0]);
    v.write = true;
    ssq_status st[2];
    for (int i = 0; i < 2; i++) {
        v.n = 0;
        st[i] = ssq_optimizer_visit(w->queue, o[i], visit, &v);
        must(ssq_queue_sync(w->queue), "sync");
    }
    (void)pair_same("visit", st[0], st[1]);
    fuzz_counts.calls++;
    fuzz_counts.done += st[0] == SSQ_OK;
    bool restored = st[0] == SSQ_OK; /* else each keeps its own t */
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 2; i++)
            st[i] = ssq_optimizer_step(w->queue, o[i], NULL);
        (void)pair_same("step", st[0], st[1]);
        for (unsigned i = 0; i < 2; i++)
            read_param(w, i, values[i]);
        if (restored && memcmp(values[0], values[1], sizeof(values[0])) != 0)
            fuzz_fail("step %d after a restored state differs", k);
    }
    for (int i = 0; i < 2; i++)
        ssq_optimizer_destroy(&o[i]);
}

/* Two optimizers of one kind; the second continues from the first's blob. */
static void optimizer_blob(struct world *w, struct input *in)
{
    static struct state_blob b;
    static const float values[ELEMENTS] = {1, 2, -1, 0.5f, 0, -3};
    float got[2][ELEMENTS];
    struct input again = *in;
    ssq_optimizer *o[2];
    size_t needed = 0;
    write_param(w, 0, values);
    write_param(w, 1, values);
    o[0] = make(w, in, 0);
    o[1] = make(w, &again, 1);
    write_grad(w, 1.0f);
    for (unsigned n = input_byte(in) % 3; n > 0; n--)
        must(ssq_optimizer_step(w->queue, o[0], NULL), "step");
    (void)!ssq_optimizer_save(w->queue, o[0], NULL, 0, &needed);
    blob_place(&b, in, needed);
    must(ssq_optimizer_save(w->queue, o[0], b.at, needed, NULL), "save");
    blob_damage(&b, in);
    bool taken = blob_taken(&b, "optimizer_load",
                            ssq_optimizer_load(w->queue, o[1], b.at, b.bytes));
    if (!taken) {
        read_param(w, 1, got[1]);
        if (memcmp(got[1], values, sizeof(values)) != 0)
            fuzz_fail("a refused blob changed the parameter");
    }
    for (int k = 0; taken && k < 3; k++) {
        for (unsigned i = 0; i < 2; i++) {
            must(ssq_optimizer_step(w->queue, o[i], NULL), "step");
            read_param(w, i, got[i]);
        }
        if (memcmp(got[0], got[1], sizeof(got[0])) != 0)
            fuzz_fail("step %d after a loaded blob differs", k);
    }
    ssq_optimizer_destroy(&o[0]);
    ssq_optimizer_destroy(&o[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct input in = {data, data + bytes};
    struct world w;
    world_open(&w);
    if (fuzz_counts.programs++ == 0 && getenv("SSQ_FUZZ_COUNTS") != NULL)
        atexit(fuzz_counts_print);
    for (int i = 0; i < 8 && !input_done(&in); i++) {
        switch (input_byte(&in) % 8) {
        case 2:
            torch(&w, &in);
            break;
        case 3:
            optimizer(&w, &in);
            break;
        case 4:
        case 5:
            scaler_blob(&w, &in);
            break;
        case 6:
            optimizer_blob(&w, &in);
            break;
        default:
            machine(&w, &in);
        }
    }
    world_close(&w);
    return 0;
}
