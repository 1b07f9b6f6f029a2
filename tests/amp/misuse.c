/* SPDX-License-Identifier: Apache-2.0 */
/* misuse.c - every sequence of up to five calls on one optimizer, against
 * torch's table of stages (torch/amp/grad_scaler.py).
 *
 *     call              READY           UNSCALED        STEPPED
 *     check, unscale    -> UNSCALED     refused         refused
 *     step              check, STEPPED  -> STEPPED      refused
 *     update            refused unless something was checked, -> READY
 *
 * and check, unscale, step are refused where the scale was not used since the
 * last update (torch: ever). */
#include "tests/amp/amp.h"

#define LENGTH 5

enum call { SCALE, CHECK, UNSCALE, STEP, UPDATE, CALLS };

static const char *const names[CALLS] = {"scale", "check", "unscale", "step",
                                         "update"};

/* The state of torch's object. */
struct misuse_model {
    bool used, checked;
    enum { READY, UNSCALED, STEPPED } stage;
    unsigned applied; /* steps */
};

/* Does torch accept it? If not, set *why to words that our text must have. */
static bool accepts(struct misuse_model *m, enum call call, const char **why)
{
    if (call == SCALE)
        return m->used = true;
    if (call == UPDATE) {
        *why = "nothing was checked";
        bool ok = m->checked;
        m->stage = ok ? READY : m->stage;
        m->used = m->used && !ok;
        m->checked = m->checked && !ok;
        return ok;
    }
    *why = "never used";
    if (!m->used)
        return false;
    *why = "since the last update";
    if (m->stage == STEPPED && call != STEP)
        *why = "after step()";
    if (m->stage == STEPPED || (call != STEP && m->stage == UNSCALED))
        return false;
    m->stage = call == STEP ? STEPPED : UNSCALED;
    m->checked = true;
    m->applied += call == STEP;
    return true;
}

struct misuse_subject {
    const struct rig *r;
    ssq_scaler *scaler;
    ssq_optimizer *optimizer;
    ssq_tensor *param;
};

static ssq_status call_it(const struct misuse_subject *s, enum call call)
{
    ssq_queue *q = s->r->queue;
    switch (call) {
    case SCALE:
        return ssq_scaler_scale_grad(q, s->scaler, s->r->bad, s->r->bad);
    case CHECK:
        return ssq_optimizer_check(q, s->optimizer, s->scaler);
    case UNSCALE:
        return ssq_optimizer_unscale(q, s->optimizer, s->scaler);
    case STEP:
        return ssq_optimizer_step(q, s->optimizer, s->scaler);
    default:
        return ssq_scaler_update(q, s->scaler);
    }
}

static struct misuse_subject begin(const struct rig *r)
{
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    struct misuse_subject s = {.r = r};
    static const float zeros[3];
    o.lr = 1.0;
    NEED(ssq_scaler_create(r->device, "check", NULL, &s.scaler));
    NEED(ssq_optimizer_create(r->device, "sgd", &o, &s.optimizer));
    s.param = core_vector(r->device, SSQ_F32, 3);
    NEED(ssq_tensor_write(r->queue, s.param, zeros, sizeof(zeros), SSQ_F32));
    NEED(ssq_optimizer_add(s.optimizer, "p", s.param, r->clean, NULL));
    return s;
}

static void end(struct misuse_subject *s)
{
    ssq_tensor_destroy(&s->param);
    ssq_optimizer_destroy(&s->optimizer);
    ssq_scaler_destroy(&s->scaler);
}

static void text_of(unsigned sequence, int length, char *text, size_t bytes)
{
    size_t at = 0;
    for (int i = 0; i < length; i++, sequence /= CALLS)
        at += (size_t)snprintf(text + at, bytes - at, "%s%s", i ? ", " : "",
                               names[sequence % CALLS]);
}

/* One sequence: every answer, and in the end the steps that were taken. The
 * gradient is 1, -2, 0.5 and the scale 1. */
static bool run(const struct rig *r, unsigned sequence, int length)
{
    struct misuse_subject s = begin(r);
    struct misuse_model m = {false, false, READY, 0};
    bool ok = true;
    float p[3];
    for (int i = 0; i < length && ok; i++) {
        enum call call = (enum call)(sequence % CALLS);
        const char *why;
        bool accepted = accepts(&m, call, &why);
        ssq_status st = call_it(&s, call);
        ok = accepted ? st == SSQ_OK
                      : st == SSQ_ERR_INVALID &&
                            strstr(ssq_last_error(), why) != NULL;
        if (!ok)
            tap_diag("call %d, %s: %s, expected %s: %s", i + 1, names[call],
                     ssq_status_name(st),
                     accepted ? "SSQ_OK" : "SSQ_ERR_INVALID", ssq_last_error());
        sequence /= CALLS;
    }
    NEED(ssq_tensor_read(r->queue, s.param, p, sizeof(p), SSQ_F32));
    NEED(ssq_queue_sync(r->queue));
    float n = (float)m.applied;
    if (ok && (p[0] != -n || p[1] != 2.0f * n || p[2] != -0.5f * n)) {
        tap_diag("%u steps, parameter is %g", m.applied, (double)p[0]);
        ok = false;
    }
    end(&s);
    return ok;
}

static void all_of(const struct rig *r, int length)
{
    unsigned total = 1, wrong = 0;
    for (int i = 0; i < length; i++)
        total *= CALLS;
    for (unsigned i = 0; i < total && wrong < 5; i++)
        if (!run(r, i, length)) {
            char text[80];
            text_of(i, length, text, sizeof(text));
            tap_diag("%s", text);
            wrong++;
        }
    tap_ok(wrong == 0,
           "%s: all %u sequences of %d calls answer as torch's "
           "table says",
           r->name, total, length);
}

int main(void)
{
    for (size_t d = 0; d < core_device_count(); d++) {
        struct rig r = rig_open(core_device(d));
        for (int length = 1; length <= LENGTH; length++)
            all_of(&r, length);
        rig_close(&r);
    }
    return tap_done(2 * LENGTH);
}
