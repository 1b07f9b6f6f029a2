/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c - scale, check, unscale and update as a step calls them: lists of
 * gradients, several optimizers and losses, ranks, accumulation, refusals. */
#include "tests/amp/amp.h"

#define MANY 1000

static float half_or_float(ssq_dtype dtype)
{
    return dtype == SSQ_F32   ? 0x1p-149f
           : dtype == SSQ_F16 ? 0x1p-24f
                              : 0x1p-133f;
}

/* x = scale y in every float dtype, subnormals and infinities too. */
static void scaled(const struct rig *r, ssq_dtype dtype)
{
    float x[] = {1.0f,
                 -0.0f,
                 1.5f,
                 -3.0f,
                 60000.0f,
                 (float)NAN,
                 half_or_float(dtype),
                 (float)-INFINITY};
    float y[8], scale = 0x1p7f;
    ssq_scaler_options o = rig_preset("fixed");
    o.init_scale = scale;
    ssq_scaler *scaler = NULL;
    NEED(ssq_scaler_create(r->device, NULL, &o, &scaler));
    ssq_tensor *t = core_vector(r->device, dtype, 8);
    NEED(ssq_tensor_write(r->queue, t, x, sizeof(x), SSQ_F32));
    NEED(ssq_tensor_read(r->queue, t, x, sizeof(x),
                         SSQ_F32)); /* the stored values */
    if (dtype == SSQ_F16)
        NEED(ssq_scaler_scale_value(r->queue, scaler, t, t));
    else
        NEED(ssq_scaler_scale_grad(r->queue, scaler, t, t));
    NEED(ssq_tensor_read(r->queue, t, y, sizeof(y), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    bool ok = true;
    for (int i = 0; i < 8; i++) {
        float want = x[i] * scale;
        if (dtype == SSQ_F16 && fabsf(want) >= 65520.0f)
            want = copysignf((float)INFINITY, want);
        ok = ok && (isnan(want) ? isnan(y[i])
                                : memcmp(&want, &y[i], sizeof(want)) == 0);
    }
    tap_ok(ok, "%s: scale in place in %s", r->name, ssq_dtype_name(dtype));
    ssq_tensor_destroy(&t);
    ssq_scaler_destroy(&scaler);
}

/* One bad element in one of many gradients is found wherever it is. */
static void anywhere(const struct rig *r, ssq_dtype dtype, uint32_t bits,
                     const char *what)
{
    static ssq_tensor *grads[MANY];
    static const size_t at[] = {0, 1, MANY / 2, MANY - 2, MANY - 1};
    static const int64_t element[] = {0, 3, 6};
    ssq_scaler *scaler = rig_scaler(r, "check", NULL);
    const float zeros[7] = {0};
    uint32_t found = 0, runs = 0;
    for (size_t i = 0; i < MANY; i++) {
        grads[i] = core_vector(r->device, dtype, 7);
        NEED(ssq_tensor_write(r->queue, grads[i], zeros, sizeof(zeros),
                              SSQ_F32));
    }
    const ssq_tensor *const *list = (const ssq_tensor *const *)grads;
    NEED(ssq_scaler_check(r->queue, scaler, MANY, list));
    NEED(update_used(r->queue, scaler));
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < 3; k++, runs++) {
            uint16_t h[7] = {0};
            uint32_t w[7] = {0};
            h[element[k]] = (uint16_t)bits;
            w[element[k]] = bits;
            const void *data = dtype == SSQ_F32 ? (const void *)w : h;
            NEED(ssq_tensor_write(r->queue, grads[at[i]], data,
                                  7 * ssq_dtype_bits(dtype) / 8, dtype));
            NEED(ssq_scaler_check(r->queue, scaler, MANY, list));
            NEED(update_used(r->queue, scaler));
            NEED(ssq_tensor_write(r->queue, grads[at[i]], zeros, sizeof(zeros),
                                  SSQ_F32));
            found += rig_state(r, scaler).skipped == runs + 1;
        }
    tap_ok(found == runs && rig_state(r, scaler).updates == runs + 1,
           "%s: one %s %s among %d gradients found at %u of %u places", r->name,
           ssq_dtype_name(dtype), what, MANY, found, runs);
    for (size_t i = 0; i < MANY; i++)
        ssq_tensor_destroy(&grads[i]);
    ssq_scaler_destroy(&scaler);
}

/* torch's unscale kernel: v * (1 / scale), written even when not finite. */
static void unscaled(const struct rig *r, ssq_dtype in, ssq_dtype out,
                     double scale, bool in_place)
{
    float x[] = {1.0f,   -0.0f, 3.0f, 100.0f, half_or_float(in),
                 -7.25f, 0.1f,  0.0f};
    float y[8];
    ssq_scaler_options o = rig_preset("fixed");
    o.init_scale = scale;
    ssq_scaler *scaler = rig_scaler(r, NULL, &o);
    ssq_tensor *g = core_vector(r->device, in, 8);
    ssq_tensor *t = in_place ? g : core_vector(r->device, out, 8);
    NEED(ssq_tensor_write(r->queue, g, x, sizeof(x), SSQ_F32));
    NEED(ssq_tensor_read(r->queue, g, x, sizeof(x), SSQ_F32));
    const ssq_tensor *grads = g, *outs = t;
    NEED(ssq_scaler_unscale(r->queue, scaler, 1, &grads, &outs));
    NEED(ssq_tensor_read(r->queue, t, y, sizeof(y), SSQ_F32));
    NEED(update_used(r->queue, scaler));
    NEED(ssq_queue_sync(r->queue));
    float inverse = (float)(1.0 / (double)(float)scale);
    bool ok = true;
    for (int i = 0; i < 8; i++) {
        float want = inverse == 1.0f ? x[i] : x[i] * inverse;
        uint16_t h;
        if (out == SSQ_BF16) {
            NEED(ssq_convert(&h, SSQ_BF16, &want, SSQ_F32, 1, SSQ_ROUND_NEAREST,
                             0));
            NEED(ssq_convert(&want, SSQ_F32, &h, SSQ_BF16, 1, SSQ_ROUND_NEAREST,
                             0));
        }
        ok = ok && memcmp(&want, &y[i], sizeof(want)) == 0;
    }
    tap_ok(ok && rig_state(r, scaler).skipped == 0,
           "%s: unscale %s to %s%s by 1 / %g", r->name, ssq_dtype_name(in),
           ssq_dtype_name(out), in_place ? " in place" : "", scale);
    if (!in_place)
        ssq_tensor_destroy(&t);
    ssq_tensor_destroy(&g);
    ssq_scaler_destroy(&scaler);
}

/* Not finite: written, and the step is skipped. */
static void unscaled_bad(const struct rig *r)
{
    float x[] = {1.0f, (float)INFINITY, (float)NAN, (float)-INFINITY}, y[4];
    ssq_scaler *scaler = rig_scaler(r, "pytorch", NULL);
    ssq_tensor *g = core_vector(r->device, SSQ_F16, 4);
    ssq_tensor *t = core_vector(r->device, SSQ_F32, 4);
    const ssq_tensor *grads = g, *outs = t;
    NEED(ssq_tensor_write(r->queue, g, x, sizeof(x), SSQ_F32));
    NEED(ssq_scaler_unscale(r->queue, scaler, 1, &grads, &outs));
    NEED(update_used(r->queue, scaler));
    NEED(ssq_tensor_read(r->queue, t, y, sizeof(y), SSQ_F32));
    ssq_scaler_state s = rig_state(r, scaler);
    tap_ok(y[0] == 0x1p-16f && isinf(y[1]) && y[1] > 0 && isnan(y[2]) &&
               isinf(y[3]) && y[3] < 0 && s.skipped == 1,
           "%s: unscale writes what is not finite, and skips", r->name);
    ssq_tensor_destroy(&g);
    ssq_tensor_destroy(&t);
    ssq_scaler_destroy(&scaler);
}

/* Strides, empty tensors, empty lists. */
static void shapes(const struct rig *r)
{
    const int64_t shape[] = {3, 4}, none[] = {0, 4};
    ssq_tensor *matrix = NULL, *column = NULL, *empty = NULL, *rank0 = NULL;
    ssq_scaler *scaler = rig_scaler(r, "check", NULL);
    float x[12] = {0};
    x[6] = (float)NAN; /* row 1, column 2 */
    NEED(ssq_tensor_create(r->device, SSQ_F32, 2, shape, &matrix));
    NEED(ssq_tensor_create(r->device, SSQ_F16, 2, none, &empty));
    NEED(ssq_tensor_create(r->device, SSQ_F32, 0, NULL, &rank0));
    NEED(ssq_tensor_write(r->queue, matrix, x, sizeof(x), SSQ_F32));
    NEED(ssq_tensor_write(r->queue, rank0, x, sizeof(x), SSQ_F32));
    for (int64_t i = 0; i < 4; i++) {
        NEED(ssq_tensor_slice(matrix, 1, i, i + 1, 1, &column));
        const ssq_tensor *list[] = {empty, column, rank0, empty};
        NEED(ssq_scaler_check(r->queue, scaler, 4, list));
        NEED(update_used(r->queue, scaler));
        ssq_tensor_destroy(&column);
    }
    ssq_scaler_state s = rig_state(r, scaler);
    tap_ok(s.updates == 4 && s.skipped == 1 && s.last_skip == 3,
           "%s: strided, empty and scalar gradients: column 3 of 4 is bad",
           r->name);
    const ssq_tensor *only = empty;
    NEED(ssq_scaler_check(r->queue, scaler, 1, &only));
    NEED(update_used(r->queue, scaler));
    NEED(ssq_scaler_check(r->queue, scaler, 0, NULL));
    NEED(update_used(r->queue, scaler));
    NEED(ssq_scaler_unscale(r->queue, scaler, 0, NULL, NULL));
    NEED(update_used(r->queue, scaler));
    s = rig_state(r, scaler);
    tap_ok(s.updates == 7 && s.skipped == 1,
           "%s: an empty gradient, and empty lists, are clean", r->name);
    ssq_tensor_destroy(&matrix);
    ssq_tensor_destroy(&empty);
    ssq_tensor_destroy(&rank0);
    ssq_scaler_destroy(&scaler);
}

/* Several checks: one verdict. Two losses: two scalers. */
static void verdicts(const struct rig *r)
{
    ssq_scaler *a = rig_scaler(r, "sesqui", NULL);
    ssq_scaler *b = rig_scaler(r, "pytorch", NULL);
    const ssq_tensor *clean = r->clean, *bad = r->bad;
    bool ok = true;
    for (unsigned bits = 0; bits < 8; bits++) {
        for (unsigned i = 0; i < 3; i++)
            NEED(ssq_scaler_check(r->queue, a, 1,
                                  (bits >> i & 1) != 0 ? &bad : &clean));
        NEED(update_used(r->queue, a));
        ssq_scaler_state s = rig_state(r, a);
        ok = s.skipped == bits && s.updates == bits + 1 && ok;
    }
    tap_ok(ok, "%s: the verdict of three checks is their OR: 8 cases", r->name);
    ssq_scaler_state s = rig_state(r, b);
    tap_ok(s.updates == 0 && s.scale == 65536,
           "%s: another scaler has heard nothing of it", r->name);
    rig_step(r, b, true);
    rig_step(r, a, false);
    s = rig_state(r, b);
    tap_ok(s.scale == 32768 && rig_state(r, a).consecutive == 0,
           "%s: two losses have two scales", r->name);
    ssq_scaler_destroy(&a);
    ssq_scaler_destroy(&b);
}

struct steps_ranks {
    const ssq_tensor *other; /* the verdict of the other rank */
    ssq_status answer;
    int calls;
    const char *text; /* of its error; NULL: it has none */
};

/* MAX with another rank's verdict. */
static ssq_status reduce(ssq_queue *queue, const ssq_tensor *verdict,
                         void *user)
{
    struct steps_ranks *ranks = user;
    ranks->calls++;
    if (ranks->answer != SSQ_OK)
        return ranks->text == NULL ? ranks->answer
                                   : ssq_error_set(ranks->answer, ranks->text);
    ssq_binary_args args = SSQ_BINARY_INIT;
    args.a = verdict;
    args.b = ranks->other;
    args.y = verdict;
    return ssq_maximum(queue, &args);
}

static void rank_hook(const struct rig *r)
{
    const int32_t zero = 0, one = 1;
    const ssq_tensor *clean = r->clean, *bad = r->bad;
    ssq_tensor *other = core_vector(r->device, SSQ_I32, 1);
    struct steps_ranks ranks = {other, SSQ_OK, 0, NULL};
    ssq_scaler *scaler = rig_scaler(r, "check", NULL);
    NEED(ssq_scaler_rank_hook_set(scaler, reduce, &ranks));
    NEED(ssq_tensor_write(r->queue, other, &zero, sizeof(zero), SSQ_I32));
    rig_step(r, scaler, false);
    rig_step(r, scaler, true);
    ssq_scaler_state s = rig_state(r, scaler);
    tap_ok(s.skipped == 1 && ranks.calls == 2,
           "%s: ranks: the other is clean, so this one decides", r->name);
    NEED(ssq_tensor_write(r->queue, other, &one, sizeof(one), SSQ_I32));
    rig_step(r, scaler, false);
    s = rig_state(r, scaler);
    tap_ok(s.skipped == 2 && s.updates == 3,
           "%s: ranks: the other overflowed, so this one skips", r->name);
    ranks.answer = SSQ_ERR_DEVICE;
    core_status(ssq_scaler_check(r->queue, scaler, 1, &clean), SSQ_ERR_DEVICE,
                "rank hook|SSQ_ERR_DEVICE", "%s: ranks: its error is ours",
                r->name);
    core_status(ssq_scaler_update(r->queue, scaler), SSQ_ERR_INVALID,
                "nothing was checked", "%s: ranks: and that check is none",
                r->name);
    ranks.text = "rank 3 is gone";
    core_status(ssq_scaler_check(r->queue, scaler, 1, &clean), SSQ_ERR_DEVICE,
                "rank 3 is gone", "%s: ranks: with its own text", r->name);
    ranks.answer = SSQ_OK;
    NEED(ssq_scaler_rank_hook_set(scaler, NULL, NULL));
    NEED(ssq_scaler_check(r->queue, scaler, 1, &bad));
    NEED(update_used(r->queue, scaler));
    s = rig_state(r, scaler);
    tap_ok(ranks.calls == 5 && s.skipped == 3, "%s: ranks: the hook is gone",
           r->name);
    core_status(ssq_scaler_rank_hook_set(NULL, NULL, NULL), SSQ_ERR_INVALID,
                "scaler is NULL", "a hook without a scaler");
    ssq_tensor_destroy(&other);
    ssq_scaler_destroy(&scaler);
}

static void set_to(const struct rig *r)
{
    ssq_scaler *scaler = rig_scaler(r, "sesqui", NULL);
    const ssq_tensor *bad = r->bad;
    rig_step(r, scaler, false);
    NEED(ssq_scaler_check(r->queue, scaler, 1, &bad));
    NEED(ssq_scaler_update_to(r->queue, scaler, 0.1));
    NEED(scale_used(r->queue, scaler));
    ssq_scaler_state s = rig_state(r, scaler);
    tap_ok(s.scale == 0.1f && s.good == 1 && s.hyst == 2 && s.ovf == 0 &&
               s.updates == 2 && s.skipped == 1 && s.action == SSQ_SCALE_HOLD,
           "%s: update_to sets the scale, counts the skip, leaves the machine",
           r->name);
    core_status(ssq_scaler_update(r->queue, scaler), SSQ_ERR_INVALID,
                "nothing was checked", "%s: it was the step's update", r->name);
    NEED(ssq_scaler_update_to(r->queue, scaler, 8.0));
    tap_ok(rig_state(r, scaler).scale == 8.0,
           "%s: update_to needs no check, as in torch", r->name);
    static const double bad_scales[] = {
        0.0, -1.0, (double)NAN, (double)INFINITY, 1e39, 1e-46};
    for (size_t i = 0; i < 6; i++)
        core_status(ssq_scaler_update_to(r->queue, scaler, bad_scales[i]),
                    SSQ_ERR_INVALID, "scaler_update_to: scale is",
                    "%s: update_to %g is refused", r->name, bad_scales[i]);
    ssq_scaler_destroy(&scaler);
}

/* Before the scale was used, everything is refused. */
static void too_early(const struct rig *r)
{
    ssq_scaler *scaler = NULL;
    const ssq_tensor *f32 = r->clean;
    ssq_tensor *i32 = core_vector(r->device, SSQ_I32, 3);
    NEED(ssq_scaler_create(r->device, NULL, NULL, &scaler));
    core_status(ssq_scaler_check(r->queue, scaler, 1, &f32), SSQ_ERR_INVALID,
                "scaler_check|never used", "%s: check before scale", r->name);
    core_status(ssq_scaler_update(r->queue, scaler), SSQ_ERR_INVALID,
                "scaler_update|nothing was checked", "%s: update before scale",
                r->name);
    core_status(ssq_scaler_update_to(r->queue, scaler, 2.0), SSQ_OK, "",
                "%s: update_to needs no scale", r->name);
    core_status(ssq_scaler_scale_grad(r->queue, scaler, f32, i32),
                SSQ_ERR_INVALID, "y is i32", "%s: scale into integers",
                r->name);
    core_status(ssq_scaler_check(r->queue, scaler, 1, &f32), SSQ_ERR_INVALID,
                "never used since update 1", "%s: a refused scale is no use",
                r->name);
    (void)ssq_scaler_scale_tensor(scaler);
    core_status(ssq_scaler_check(r->queue, scaler, 1, &f32), SSQ_ERR_INVALID,
                "never used", "%s: nor is asking for the tensor", r->name);
    ssq_tensor_destroy(&i32);
    ssq_scaler_destroy(&scaler);
}

static void misuse(const struct rig *r, const struct rig *elsewhere)
{
    const ssq_tensor *f32 = r->clean, *foreign = elsewhere->clean;
    ssq_scaler *scaler = rig_scaler(r, NULL, NULL);
    ssq_tensor *f16 = core_vector(r->device, SSQ_F16, 3);
    ssq_tensor *i32 = core_vector(r->device, SSQ_I32, 3);
    ssq_tensor *other = core_vector(r->device, SSQ_F32, 4);
    const ssq_tensor *half = f16, *integer = i32, *longer = other;
    const ssq_tensor *pair[] = {f32, f32}, *no = NULL;
    core_status(ssq_scaler_check(r->queue, scaler, 1, &integer),
                SSQ_ERR_INVALID, "grads[0] is i32", "%s: check integers",
                r->name);
    core_status(ssq_scaler_check(r->queue, scaler, 1, &no), SSQ_ERR_INVALID,
                "grads[0] is NULL", "%s: check nothing", r->name);
    core_status(ssq_scaler_check(r->queue, scaler, 2, NULL), SSQ_ERR_INVALID,
                "grads is NULL, n is 2", "%s: check no list", r->name);
    core_status(ssq_scaler_check(r->queue, scaler, 1, &foreign),
                SSQ_ERR_INVALID, "grads[0] is on", "%s: check elsewhere",
                r->name);
    core_status(ssq_scaler_check(elsewhere->queue, scaler, 1, &f32),
                SSQ_ERR_INVALID, "the scaler is of|the queue of",
                "%s: a scaler of another device", r->name);
    core_status(ssq_scaler_check(NULL, scaler, 1, &f32), SSQ_ERR_INVALID,
                "queue is NULL", "%s: no queue", r->name);
    core_status(ssq_scaler_check(r->queue, NULL, 1, &f32), SSQ_ERR_INVALID,
                "scaler is NULL", "%s: no scaler", r->name);
    core_status(ssq_scaler_unscale(r->queue, scaler, 1, &half, &half),
                SSQ_ERR_INVALID, "grads[0] is f16", "%s: unscale f16 in place",
                r->name);
    core_status(ssq_scaler_unscale(r->queue, scaler, 1, &half, &longer),
                SSQ_ERR_INVALID, "grads[0] is [3], outs[0] is [4]",
                "%s: unscale into another shape", r->name);
    core_status(ssq_scaler_unscale(r->queue, scaler, 2, pair, pair),
                SSQ_ERR_INVALID, "grads[0] overlaps grads[1]",
                "%s: unscale one tensor twice", r->name);
    core_status(ssq_scaler_unscale(r->queue, scaler, 1, &f32, NULL),
                SSQ_ERR_INVALID, "outs is NULL", "%s: unscale to nowhere",
                r->name);
    core_status(ssq_scaler_poll(NULL, NULL), SSQ_ERR_INVALID, "scaler is NULL",
                "%s: poll no scaler", r->name);
    core_status(ssq_scaler_poll(scaler, NULL), SSQ_ERR_INVALID, "state is NULL",
                "%s: poll into nothing", r->name);
    tap_ok(ssq_scaler_scale_tensor(NULL) == NULL, "no scaler has no scale");
    tap_ok(rig_state(r, scaler).updates == 0, "%s: refused calls do nothing",
           r->name);
    ssq_tensor_destroy(&f16);
    ssq_tensor_destroy(&i32);
    ssq_tensor_destroy(&other);
    ssq_scaler_destroy(&scaler);
}

static void all(const struct rig *r, const struct rig *elsewhere)
{
    scaled(r, SSQ_F32);
    scaled(r, SSQ_F16);
    scaled(r, SSQ_BF16);
    anywhere(r, SSQ_F32, 0x7f800000u, "+Inf");
    anywhere(r, SSQ_F32, 0xff800001u, "signalling NaN");
    anywhere(r, SSQ_F16, 0xfc00u, "-Inf");
    anywhere(r, SSQ_F16, 0x7c01u, "NaN with one low bit");
    anywhere(r, SSQ_BF16, 0xffffu, "NaN with all bits");
    unscaled(r, SSQ_F32, SSQ_F32, 65536.0, true);
    unscaled(r, SSQ_F32, SSQ_F32, 1.0, true);
    unscaled(r, SSQ_F32, SSQ_F32, 3.0, false);
    unscaled(r, SSQ_F16, SSQ_F32, 1000.0, false);
    unscaled(r, SSQ_BF16, SSQ_BF16, 4096.0, true);
    unscaled(r, SSQ_BF16, SSQ_F32, 7.0, false);
    unscaled(r, SSQ_F16, SSQ_BF16, 10.0, false);
    unscaled_bad(r);
    shapes(r);
    verdicts(r);
    rank_hook(r);
    set_to(r);
    too_early(r);
    misuse(r, elsewhere);
}

int main(void)
{
    struct rig a = rig_open(core_device(0)), b = rig_open(core_device(1));
    all(&a, &b);
    all(&b, &a);
    rig_close(&a);
    rig_close(&b);
    return tap_done(114);
}
