/* SPDX-License-Identifier: Apache-2.0 */
/* state.c - a scaler's state saved, restored, moved from torch, refused; its
 * options, presets and simulator. */
#include "tests/amp/amp.h"

#include <float.h>

#define STEPS 48

/* A bitmap with everything in it: streaks, single and double overflows. */
static void draw(uint8_t overflow[STEPS], uint64_t seed)
{
    for (size_t i = 0; i < STEPS; i++)
        overflow[i] = amp_uniform(&seed) < 0.3;
}

static bool run(const struct rig *r, ssq_scaler *scaler, size_t from,
                const uint8_t *overflow, ssq_scaler_state *states, bool compare)
{
    bool ok = true;
    for (size_t i = from; i < STEPS && ok; i++) {
        rig_step(r, scaler, overflow[i]);
        ssq_scaler_state now = rig_state(r, scaler);
        ok = !compare || same_state(&now, &states[i]);
        if (!ok) {
            say_state("restored", &now);
            say_state("uninterrupted", &states[i]);
        }
        states[i] = now;
    }
    return ok;
}

/* Save after every step into a scaler that has seen other things. */
static void save_restore(const struct rig *r, const char *preset, size_t every)
{
    ssq_scaler_options o = rig_preset(preset);
    uint8_t overflow[STEPS];
    ssq_scaler_state states[STEPS];
    size_t saved = 0, ok = 0;
    if (o.growth_interval != UINT32_MAX)
        o.growth_interval = 4;
    o.max_consecutive_skips = 3;
    if (strcmp(preset, "fairseq") == 0)
        o.tolerance = 0.3;
    draw(overflow, 99);
    ssq_scaler *scaler = rig_scaler(r, NULL, &o);
    (void)run(r, scaler, 0, overflow, states, false);
    ssq_scaler_destroy(&scaler);
    for (size_t i = 0; i < STEPS; i += every, saved++) {
        ssq_scaler *other = rig_scaler(r, NULL, &o);
        rig_step(r, other, i % 2 == 0);
        NEED(ssq_scaler_state_set(r->queue, other, &states[i]));
        ssq_scaler_state loaded = rig_state(r, other);
        ok += same_state(&loaded, &states[i]) &&
              run(r, other, i + 1, overflow, states, true);
        ssq_scaler_destroy(&other);
    }
    tap_ok(ok == saved, "%s: %s saved at %zu of %d steps goes on as it was",
           r->name, preset, saved, STEPS);
}

/* The simulator's state is the same thing. */
static void simulator_state(const struct rig *r)
{
    ssq_scaler_options o = rig_preset("sesqui");
    o.growth_interval = 3;
    uint8_t overflow[STEPS];
    draw(overflow, 7);
    ssq_scaler_state s = SSQ_SCALER_STATE_INIT, end = SSQ_SCALER_STATE_INIT;
    NEED(ssq_scaler_simulate(&o, &s, STEPS / 2, overflow, NULL, NULL));
    NEED(ssq_scaler_simulate(&o, &end, STEPS, overflow, NULL, NULL));
    ssq_scaler *scaler = rig_scaler(r, NULL, &o);
    NEED(ssq_scaler_state_set(r->queue, scaler, &s));
    for (size_t i = STEPS / 2; i < STEPS; i++)
        rig_step(r, scaler, overflow[i]);
    ssq_scaler_state got = rig_state(r, scaler);
    tap_ok(same_state(&got, &end),
           "%s: a simulated state goes on on the device", r->name);
    ssq_scaler_destroy(&scaler);
}

static ssq_scaler_state good_state(void)
{
    ssq_scaler_state s = SSQ_SCALER_STATE_INIT;
    s.scale = 1024.0;
    s.hyst = 1;
    s.updates = 10;
    s.skipped = 4;
    s.consecutive = 2;
    s.last_skip = 10;
    s.since = 3;
    s.action = SSQ_SCALE_BACKOFF;
    return s;
}

/* Between a check and its update the state cannot be saved. */
static void half_step(const struct rig *r)
{
    ssq_scaler_state s = good_state();
    ssq_scaler *scaler = rig_scaler(r, "sesqui", NULL);
    NEED(ssq_scaler_check(r->queue, scaler, 0, NULL));
    core_status(ssq_scaler_state_set(r->queue, scaler, &s), SSQ_ERR_INVALID,
                "set it at the start of a step",
                "%s: no loading between check and update", r->name);
    core_status(ssq_scaler_save(r->queue, scaler, NULL, 0, NULL),
                SSQ_ERR_INVALID, "scaler_save: |save at the start of a step",
                "%s: no saving there", r->name);
    NEED(update_used(r->queue, scaler));
    core_status(ssq_scaler_state_set(r->queue, scaler, &s), SSQ_OK, "",
                "%s: loading after it", r->name);
    ssq_scaler_destroy(&scaler);
}

static void corrupt(const struct rig *r)
{
    static const double bad[] = {
        0.0, -1.0, (double)INFINITY, (double)NAN, 0.1, 1e39, 1e-46, -0.0};
    ssq_scaler *scaler = rig_scaler(r, "sesqui", NULL);
    rig_step(r, scaler, true);
    ssq_scaler_state before = rig_state(r, scaler);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ssq_scaler_state s = good_state();
        s.scale = bad[i];
        core_status(ssq_scaler_state_set(r->queue, scaler, &s), SSQ_ERR_INVALID,
                    "scaler_state_set|scale is", "%s: a scale of %g is refused",
                    r->name, bad[i]);
    }
    static const struct {
        size_t offset;
        uint32_t value;
        const char *text;
    } fields[] = {
        {offsetof(ssq_scaler_state, hyst), 3, "hyst is 3|hysteresis is 2"},
        {offsetof(ssq_scaler_state, grown), 2, "grown is 2"},
        {offsetof(ssq_scaler_state, since), 11, "since is 11"},
        {offsetof(ssq_scaler_state, skipped), 11, "skipped is 11"},
        {offsetof(ssq_scaler_state, consecutive), 5, "consecutive is 5"},
        {offsetof(ssq_scaler_state, last_skip), 11, "last_skip is 11"},
        {offsetof(ssq_scaler_state, events), 4, "events is 4"},
        {offsetof(ssq_scaler_state, action), 8, "action is 8"},
        {offsetof(ssq_scaler_state, action), 1, "action is 1|consecutive is 2"},
        {offsetof(ssq_scaler_state, last_skip), 9,
         "consecutive is 2|last_skip is 9"},
        {offsetof(ssq_scaler_state, last_skip), 0, "last_skip is 0"},
        {offsetof(ssq_scaler_state, consecutive), 0, "consecutive is 0"},
        {offsetof(ssq_scaler_state, ovf), 5, "ovf is 5|skipped is 4"},
        {offsetof(ssq_scaler_state, backoffs), 5, "backoffs is 5"},
        {offsetof(ssq_scaler_state, growths), 7, "growths is 7"},
        {offsetof(ssq_scaler_state, grown), 1, "grown is 1|growths is 0"},
        {offsetof(ssq_scaler_state, hyst), 0xfffffffbu,
         "hyst is -5|skipped is 4"},
    };
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        ssq_scaler_state s = good_state();
        memcpy((char *)&s + fields[i].offset, &fields[i].value, 4);
        core_status(ssq_scaler_state_set(r->queue, scaler, &s), SSQ_ERR_INVALID,
                    fields[i].text, "%s: a state where %s is refused", r->name,
                    fields[i].text);
    }
    ssq_scaler_state after = rig_state(r, scaler), s = good_state();
    tap_ok(same_state(&before, &after), "%s: refused states change nothing",
           r->name);
    s.struct_size = 1;
    core_status(ssq_scaler_state_set(r->queue, scaler, &s), SSQ_ERR_INVALID,
                "struct_size is 1", "%s: a state of another size", r->name);
    ssq_scaler_destroy(&scaler);
}

static void torch(const struct rig *r)
{
    ssq_torch_scaler_state t = SSQ_TORCH_SCALER_STATE_INIT, back = t;
    ssq_scaler *scaler = rig_scaler(r, "pytorch", NULL);
    t.scale = 0.125;
    t.growth_factor = 1.1;
    t.backoff_factor = 0.3;
    t.growth_interval = 3;
    t._growth_tracker = 1;
    rig_step(r, scaler, true);
    NEED(ssq_scaler_torch_load(r->queue, scaler, &t));
    NEED(ssq_scaler_torch_save(r->queue, scaler, &back));
    tap_ok(back.scale == t.scale && back.growth_factor == t.growth_factor &&
               back.backoff_factor == t.backoff_factor &&
               back.growth_interval == 3 && back._growth_tracker == 1,
           "%s: torch's five fields come back as they went in", r->name);
    float want = 0.125f;
    rig_step(r, scaler, false);
    rig_step(r, scaler, false); /* the third clean one: growth */
    want = (float)((double)want * 1.1);
    rig_step(r, scaler, true);
    want = (float)((double)want * 0.3);
    NEED(ssq_scaler_torch_save(r->queue, scaler, &back));
    ssq_scaler_state s = rig_state(r, scaler);
    tap_ok(back.scale == want && s.growths == 1 && s.updates == 3,
           "%s: a machine loaded from torch takes over factors, interval and "
           "streak: scale %a",
           r->name, (double)want);
    static const struct {
        ssq_torch_scaler_state t;
        const char *text;
    } bad[] = {
        {{sizeof(t), 0.0, 2, 0.7, 1, 0}, "scale is 0|reaches"},
        {{sizeof(t), (double)INFINITY, 2, 0.5, 1, 0}, "scale is inf|reaches"},
        {{sizeof(t), (double)NAN, 2, 0.5, 1, 0}, "scale is"},
        {{sizeof(t), -1.0, 2, 0.5, 1, 0}, "scale is -1"},
        {{sizeof(t), 1.0, 0.5, 0.5, 1, 0}, "growth_factor is 0.5"},
        {{sizeof(t), 1.0, 2, 1.5, 1, 0}, "backoff_factor is 1.5"},
        {{sizeof(t), 1.0, 2, 0.5, 0, 0}, "growth_interval is 0"},
        {{sizeof(t), 1.0, 2, 0.5, (int64_t)1 << 32, 0}, "growth_interval is"},
        {{sizeof(t), 1.0, 2, 0.5, 1, -1}, "_growth_tracker is -1"},
        {{3, 1.0, 2, 0.5, 1, 0}, "struct_size is 3"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        core_status(ssq_scaler_torch_load(r->queue, scaler, &bad[i].t),
                    SSQ_ERR_INVALID, bad[i].text,
                    "%s: torch fields where %s are refused", r->name,
                    bad[i].text);
    ssq_scaler_destroy(&scaler);
    scaler = rig_scaler(r, "fastai", NULL);
    core_status(ssq_scaler_torch_load(r->queue, scaler, &t), SSQ_ERR_INVALID,
                "growth_factor|power of two",
                "%s: a binary64 machine on a device refuses a factor of 1.1",
                r->name);
    ssq_scaler_destroy(&scaler);
}

/* Scales from which overflows or clean steps lead to 0 or infinity, if to
 * there. */
static size_t edges(const ssq_scaler_options *o, bool wide, double *x)
{
    size_t n = 0;
    x[n++] = wide ? DBL_MAX : (double)FLT_MAX;
    x[n++] = wide ? DBL_TRUE_MIN : 0x1p-149;
    x[n++] = 1.5;
    x[n++] = (double)nextafterf(1.5f, 2.0f);
    if (o->floor != SSQ_FLOOR_NONE) {
        x[n++] = wide ? o->min_scale : (double)(float)o->min_scale;
        x[n++] = wide ? nextafter(o->min_scale, 2e38)
                      : (double)nextafterf((float)o->min_scale, 2e38f);
    }
    if (o->cap >= SSQ_CEILING_CLAMP)
        x[n++] = wide ? nextafter(o->max_scale, 0.0)
                      : (double)nextafterf((float)o->max_scale, 0.0f);
    return n;
}

/* Does the machine come to this scale, by its own steps? */
static bool reaches(const struct rig *r, const ssq_scaler_options *o,
                    double scale, ssq_scaler_state *at)
{
    double from[8];
    size_t n = edges(o, r == NULL && o->binary64, from);
    for (size_t i = 0; i < 2 * n; i++) {
        const uint8_t inf[4] = {i % 2, i % 2, i % 2, i % 2};
        ssq_scaler_state s = SSQ_SCALER_STATE_INIT;
        s.scale = from[i / 2];
        s.hyst = (int32_t)o->hysteresis;
        if (r == NULL) {
            NEED(ssq_scaler_simulate(o, &s, 4, inf, NULL, NULL));
        } else {
            ssq_scaler *scaler = rig_scaler(r, NULL, o);
            NEED(ssq_scaler_state_set(r->queue, scaler, &s));
            for (int k = 0; k < 4; k++)
                rig_step(r, scaler, inf[k] != 0);
            s = rig_state(r, scaler);
            ssq_scaler_destroy(&scaler);
        }
        *at = s;
        if (s.scale == scale)
            return true;
    }
    return false;
}

/* 0 and infinity are restored exactly where a machine reaches them, and the run
 * continues. r NULL: the simulator's. */
static void reached(const struct rig *r, ssq_scaler_options *o,
                    const char *name)
{
    const double ends[2] = {0.0, (double)INFINITY};
    bool ok = true, can[2];
    if (o->growth_interval != UINT32_MAX)
        o->growth_interval = 1;
    for (int i = 0; i < 2; i++) {
        const uint8_t inf = 1;
        ssq_scaler_state s = SSQ_SCALER_STATE_INIT, t;
        can[i] = reaches(r, o, ends[i], &s);
        if (!can[i]) {
            s = (ssq_scaler_state)SSQ_SCALER_STATE_INIT;
            s.hyst = (int32_t)o->hysteresis;
            s.scale = ends[i];
        }
        t = s;
        ssq_status st;
        if (r == NULL) {
            st = ssq_scaler_simulate(o, &t, 1, &inf, NULL, NULL);
        } else {
            ssq_scaler *scaler = rig_scaler(r, NULL, o);
            st = ssq_scaler_state_set(r->queue, scaler, &s);
            if (st == SSQ_OK)
                rig_step(r, scaler, true);
            t = rig_state(r, scaler);
            ssq_scaler_destroy(&scaler);
        }
        ok = ok && (can[i] ? st == SSQ_OK && t.scale == ends[i] &&
                                 t.updates == s.updates + 1
                           : st == SSQ_ERR_INVALID);
    }
    tap_ok(ok, "%s: %s reaches %s, and is restored there and nowhere else",
           r == NULL ? "simulator" : r->name, name,
           can[0] && can[1] ? "0 and infinity"
           : can[0]         ? "0"
           : can[1]         ? "infinity"
                            : "neither 0 nor infinity");
}

static void all_reached(const struct rig *r)
{
    ssq_scaler_options o = rig_preset("sesqui");
    for (size_t i = 0; ssq_scaler_preset_name(i) != NULL; i++) {
        o = rig_preset(ssq_scaler_preset_name(i));
        reached(r, &o, ssq_scaler_preset_name(i));
    }
    o = rig_preset("keras3");
    o.growth_factor = 1.0 + 0x1p-30;
    o.backoff_factor = 0.7;
    reached(r, &o, "keras3 with factors that round away");
    o = rig_preset("keras3");
    o.cap = SSQ_CEILING_STOP;
    o.max_scale = 0x1p127;
    o.growth_factor = 8.0;
    reached(r, &o, "a growth over its stop");
    o = rig_preset("fastai");
    o.binary64 = false;
    o.backoff_factor = 1e-50;
    reached(r, &o, "a fall over its floor");
}

/* Torch's fields of such a scaler. */
static void torch_zero(const struct rig *r)
{
    ssq_torch_scaler_state t = SSQ_TORCH_SCALER_STATE_INIT;
    ssq_scaler *a = rig_scaler(r, "pytorch", NULL);
    ssq_scaler *b = rig_scaler(r, "pytorch", NULL);
    ssq_scaler_state s = SSQ_SCALER_STATE_INIT;
    s.scale = 0x1p-149;
    s.hyst = 1;
    NEED(ssq_scaler_state_set(r->queue, a, &s));
    rig_step(r, a, true);
    rig_step(r, a, false);
    NEED(ssq_scaler_torch_save(r->queue, a, &t));
    NEED(ssq_scaler_torch_load(r->queue, b, &t));
    s = rig_state(r, b);
    tap_ok(t.scale == 0.0 && s.scale == 0.0 && s.good == 0,
           "%s: torch's scale of 0 comes back", r->name);
    ssq_scaler_destroy(&a);
    ssq_scaler_destroy(&b);
}

/* Each line breaks one option. */
static void options(const struct rig *r)
{
    ssq_scaler_options base = rig_preset("sesqui"), o;
    ssq_scaler *scaler;
#define REFUSED(FIELD, VALUE, TEXT)                                            \
    o = base;                                                                  \
    o.FIELD = VALUE;                                                           \
    scaler = NULL;                                                             \
    core_status(ssq_scaler_create(r->device, NULL, &o, &scaler),               \
                SSQ_ERR_INVALID, TEXT, "%s of %s is refused", #FIELD, #VALUE); \
    if (scaler != NULL)                                                        \
    tap_bail("a refused call made a scaler")
    REFUSED(struct_size, 8, "struct_size of options is 8");
    REFUSED(init_scale, 0.0, "init_scale is 0");
    REFUSED(init_scale, -2.0, "init_scale is -2");
    REFUSED(init_scale, (double)NAN, "init_scale is");
    REFUSED(init_scale, 1e39, "init_scale is 9.99");
    REFUSED(init_scale, 1e-46, "init_scale is 1e-46");
    REFUSED(init_scale, 0.5, "min_scale is 1");
    REFUSED(growth_factor, 0.99, "growth_factor is 0.98");
    REFUSED(growth_factor, (double)INFINITY, "growth_factor is inf");
    REFUSED(backoff_factor, 0.0, "backoff_factor is 0");
    REFUSED(backoff_factor, 1.01, "backoff_factor is 1.01");
    REFUSED(growth_interval, 0, "growth_interval is 0");
    REFUSED(first_lag, UINT32_MAX, "first_lag is 4294967295");
    REFUSED(repeat_lag, UINT32_MAX - 1000, "repeat_lag is");
    REFUSED(floor, (ssq_scale_floor)6, "floor is 6");
    REFUSED(min_scale, 0.0, "min_scale is 0");
    REFUSED(cap, (ssq_scale_cap)4, "cap is 4");
    REFUSED(cap, SSQ_CEILING_STOP, "max_scale is 0");
    REFUSED(hysteresis, 0, "hysteresis is 0");
    REFUSED(hysteresis, 0x80000000u, "hysteresis is 2147483648");
    REFUSED(refill, 8, "refill is 8");
    REFUSED(tolerance, 1.5, "tolerance is 1.5");
    REFUSED(tolerance, -0.1, "tolerance is -0.1");
    base.cap = SSQ_CEILING_CLAMP;
    REFUSED(max_scale, 32768.0, "max_scale is 32768");
    REFUSED(max_scale, 1e39, "max_scale is 9.99");
    base = rig_preset("nntrainer");
    base.init_scale = 8;
    REFUSED(min_scale, 2.0, "min_scale is 2|ERROR_SNAP");
    base = rig_preset("ort");
    REFUSED(growth_factor, 3.0, "power of two");
    REFUSED(backoff_factor, 0.3, "power of two");
    REFUSED(init_scale, 65536.1, "binary64");
    REFUSED(min_scale, 0.1, "binary64");
    REFUSED(max_scale, 1e7 + 0.3, "binary64");
#undef REFUSED
    core_status(ssq_scaler_create(r->device, "adam", NULL, &scaler),
                SSQ_ERR_NOT_FOUND, "\"adam\"|sesqui|nntrainer|tiny-cuda-nn",
                "an unknown preset answers with all names");
    core_status(ssq_scaler_options_preset(NULL, &o), SSQ_ERR_INVALID,
                "preset is NULL", "options of no preset");
    core_status(ssq_scaler_options_preset("apex", NULL), SSQ_ERR_INVALID,
                "options is NULL", "a preset into nothing");
    o.struct_size = 9;
    core_status(ssq_scaler_options_preset("apex", &o), SSQ_ERR_INVALID,
                "struct_size is 9", "a preset into options of another size");
    core_status(ssq_scaler_create(NULL, NULL, NULL, &scaler), SSQ_ERR_INVALID,
                "device", "no device");
    core_status(ssq_scaler_create(r->device, NULL, NULL, NULL), SSQ_ERR_INVALID,
                "scaler", "nowhere to put the scaler");
}

static void simulator_misuse(void)
{
    ssq_scaler_options o = rig_preset("pytorch");
    ssq_scaler_state s = SSQ_SCALER_STATE_INIT;
    const uint8_t one = 1;
    core_status(ssq_scaler_simulate(NULL, NULL, 1, &one, NULL, NULL),
                SSQ_ERR_INVALID, "options", "simulate without options");
    core_status(ssq_scaler_simulate(&o, NULL, 1, NULL, NULL, NULL),
                SSQ_ERR_INVALID, "overflow", "simulate without a bitmap");
    core_status(ssq_scaler_simulate(&o, NULL, 0, NULL, NULL, NULL), SSQ_OK, "",
                "simulate no steps");
    s.scale = (double)NAN;
    core_status(ssq_scaler_simulate(&o, &s, 1, &one, NULL, NULL),
                SSQ_ERR_INVALID, "scale is", "simulate from a scale of NaN");
    s.scale = 0.1;
    core_status(ssq_scaler_simulate(&o, &s, 1, &one, NULL, NULL),
                SSQ_ERR_INVALID, "float32", "simulate from no float32");
    o.binary64 = true;
    core_status(ssq_scaler_simulate(&o, &s, 1, &one, NULL, NULL), SSQ_OK, "",
                "simulate it in binary64");
    tap_ok(s.scale == 0.05, "which halves it: %g", s.scale);
    o.growth_factor = 0;
    core_status(ssq_scaler_simulate(&o, NULL, 1, &one, NULL, NULL),
                SSQ_ERR_INVALID, "growth_factor", "simulate a bad machine");
    s.struct_size = 5;
    o = rig_preset("pytorch");
    core_status(ssq_scaler_simulate(&o, &s, 1, &one, NULL, NULL),
                SSQ_ERR_INVALID, "struct_size", "a state of another size");
}

/* Lowering the interval below the streak: == never grows, >= does. */
static void interval(const struct rig *r, const char *preset, bool grows)
{
    ssq_scaler *scaler = rig_scaler(r, preset, NULL);
    for (int i = 0; i < 6; i++)
        rig_step(r, scaler, false);
    NEED(ssq_scaler_set_growth_interval(r->queue, scaler, 4));
    rig_step(r, scaler, false);
    ssq_scaler_state s = rig_state(r, scaler);
    tap_ok(s.growths == grows,
           "%s: %s with its interval lowered below the streak: %u growths",
           r->name, preset, s.growths);
    rig_step(r, scaler, true);
    for (int i = 0; i < 4; i++)
        rig_step(r, scaler, false);
    s = rig_state(r, scaler);
    tap_ok(s.growths == 1u + grows, "%s: %s grows after the next overflow",
           r->name, preset);
    core_status(ssq_scaler_set_growth_interval(r->queue, scaler, 0),
                SSQ_ERR_INVALID, "growth_interval is 0",
                "%s: an interval of 0 is refused", r->name);
    ssq_scaler_destroy(&scaler);
}

int main(void)
{
    for (size_t d = 0; d < core_device_count(); d++) {
        struct rig r = rig_open(core_device(d));
        for (size_t i = 0; ssq_scaler_preset_name(i) != NULL; i++)
            save_restore(&r, ssq_scaler_preset_name(i), d == 0 ? 1 : 7);
        simulator_state(&r);
        half_step(&r);
        corrupt(&r);
        torch(&r);
        torch_zero(&r);
        all_reached(&r);
        interval(&r, "pytorch", false);
        interval(&r, "sesqui", true);
        if (d == 0)
            options(&r);
        rig_close(&r);
    }
    simulator_misuse();
    all_reached(NULL);
    return tap_done(247);
}
