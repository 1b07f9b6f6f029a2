/* SPDX-License-Identifier: Apache-2.0 */
/* lost.c - a program whose device is lost at the Nth call that can tell:
 * every call then reports it immediately, and all can be destroyed. Every N
 * with SSQ_TEST_FULL=1. */

#include "tests/vulkan/fake.h"

struct losses {
    long seen, status, later, names, leak;
    double slowest;
};

/* The device was lost in a stage: every call now reports it immediately. */
static void judge_lost(struct training *p, const char *stage, ssq_status st,
                       struct losses *l)
{
    char text[1100];
    ssq_queue *other = NULL;
    ssq_tensor *t = NULL;
    const int64_t n = 1 << 20;

    snprintf(text, sizeof(text), "%s", ssq_last_error());
    l->seen++;
    l->names += core_has(text, "last submitted: ");
    if (st != SSQ_ERR_DEVICE || !core_has(text, "VK_ERROR_DEVICE_LOST (-4)") ||
        !core_has(text, fault.failed)) {
        l->status++;
        tap_diag("lost at %ld (%s), %s: %s: %s", vk.lose_at, fault.failed,
                 stage, ssq_status_name(st), text);
    }
    vk.after = 0;
    double began = tap_seconds();
    ssq_status later[] = {
        p->q == NULL ? SSQ_ERR_DEVICE : ssq_queue_sync(p->q),
        p->q == NULL ? SSQ_ERR_DEVICE : training_read(p),
        ssq_queue_create(p->dev, NULL, &other),
        ssq_tensor_create(p->dev, SSQ_F32, 1, &n, &t),
    };
    for (size_t i = 0; i < 3; i++)
        if (later[i] != SSQ_ERR_DEVICE) {
            l->later++;
            tap_diag("lost at %ld (%s), %s, later call %zu: %s: %s", vk.lose_at,
                     fault.failed, stage, i, ssq_status_name(later[i]),
                     ssq_last_error());
        }
    if (vk.after > 4) { /* each queue may look once for its result */
        l->later++;
        tap_diag("lost at %ld (%s), %s: %ld calls since", vk.lose_at,
                 fault.failed, stage, vk.after);
    }
    ssq_tensor_destroy(&t);
    ssq_queue_destroy(&other);
    training_close(p);
    double seconds = tap_seconds() - began;
    l->slowest = seconds > l->slowest ? seconds : l->slowest;
}

/* Stages that need only the kernels of one product: a new device compiles
 * them again. */
static bool takes_part(const char *stage)
{
    return !core_has(stage, "gemm: d") && !core_has(stage, "relu") &&
           !core_has(stage, "sum") && !core_has(stage, "cross_entropy") &&
           !core_has(stage, "optimizer_step") &&
           !core_has(stage, "scaler_update");
}

/* Submission after submission, some in progress while others are idle. */
static ssq_status go_on(struct training *p)
{
    ssq_status st = SSQ_OK;

    for (int i = 0; i < 8 && st == SSQ_OK; i++) {
        st = training_hidden(p);
        if (st == SSQ_OK)
            st = training_record(p);
    }
    return st == SSQ_OK ? training_wait(p) : st;
}

/* The first that fails. */
static ssq_status run(struct training *p, const char **stage)
{
    for (size_t i = 0; i < TRAINING_STAGES; i++) {
        *stage = training_stages[i].name;
        ssq_status st = takes_part(*stage) ? training_stages[i].run(p) : SSQ_OK;
        if (st != SSQ_OK && st != SSQ_ERR_NOT_READY)
            return st;
    }
    *stage = "more products";
    return go_on(p);
}

static void lose(struct losses *l)
{
    struct training p = {.name = "vulkan:0"};
    const long live = fault.live;
    const char *stage;

    ssq_status st = run(&p, &stage);
    if (st != SSQ_OK && p.dev != NULL)
        judge_lost(&p, stage, st, l);
    training_close(&p);
    if (fault.live != live) {
        l->leak++;
        tap_diag("lost at %ld (%s): %ld objects are left", vk.lose_at,
                 fault.failed, fault.live - live);
        fault.live = live;
    }
}

/* At the Nth call that can tell, for every `stride`th N after the first ten. */
static void test_lost(const char *what, long stride)
{
    struct losses l = {0};
    long n = 0, tried = 0;

    do {
        fake_begin();
        fault.failed = NULL;
        vk.lost = false;
        vk.can_tell = 0;
        n += n < 10 ? 1 : stride;
        tried++;
        vk.lose_at = n;
        lose(&l);
    } while (vk.lost);
    vk.lose_at = 0;
    tap_ok(n > 30 && l.seen > tried / 2 && l.status == 0,
           "%s: lost at %ld of %ld calls, told of %ld, with another text %ld",
           what, tried - 1, n - 1, l.seen, l.status);
    tap_ok(l.names > 0, "%s: %ld texts name the last kernels", what, l.names);
    tap_ok(l.later == 0, "%s: later calls say so too, but %ld", what, l.later);
    tap_ok(l.slowest < 20, "%s: and at once: in %g seconds, with the end", what,
           l.slowest);
    tap_ok(l.leak == 0, "%s: everything is destroyed, but %ld times", what,
           l.leak);
}

int main(void)
{
    if (driver_missing("vulkan"))
        return tap_done(0);
    fake_between();
    setenv("SSQ_VULKAN_SUBMIT_MS", "100000", 1);
    test_lost("timelines", tap_full() ? 1 : 7);
    setenv("SSQ_VULKAN_TIMELINE", "0", 1);
    test_lost("fences", tap_full() ? 1 : 8);
    tap_ok(fault.live == 0, "no object is left in the end, but %ld",
           fault.live);
    return tap_done(11);
}
