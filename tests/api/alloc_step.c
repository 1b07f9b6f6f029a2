/* SPDX-License-Identifier: Apache-2.0 */
/* alloc_step.c - a training program in which the Nth of the library's
 * allocations fails, once, and from then on, for every N.
 *
 * A call that finds no memory says so in a text and changes nothing that was
 * learnt; made again when there is memory, it does what it would have done: the
 * program ends with the same bits. Where memory does not return, everything
 * can be destroyed. Nothing leaks. */
#include "tests/api/training.h"
#include "tests/core/core.h"

static struct {
    long live, calls;
    long fail_at; /* which call fails; 0 none */
    bool for_ever, paused;
    long refused;
} heap;

static void *heap_alloc(void *user, size_t bytes)
{
    void *p;

    if (user != &heap || bytes == 0)
        abort();
    if (!heap.paused) {
        long i = ++heap.calls;

        if (heap.fail_at != 0 &&
            (i == heap.fail_at || (heap.for_ever && i > heap.fail_at))) {
            heap.refused++;
            return NULL;
        }
    }
    p = malloc(bytes);
    heap.live += p != NULL;
    return p;
}

static void heap_free(void *user, void *p)
{
    if (user != &heap || p == NULL)
        abort();
    heap.live--;
    free(p);
}

/* The errors in all trials of a test. */
struct alloc_step_faults {
    long status, text, changed, retry, result, leak;
};

/* A failed call: does it say so, and are the weights unchanged? */
static void judge(struct training *p, size_t i, ssq_status st,
                  const struct learnt *before, struct alloc_step_faults *f)
{
    struct learnt now;

    if (st != SSQ_ERR_NOMEM) {
        f->status++;
        tap_diag("%s: allocation %ld, %s: %s: %s", p->name, heap.fail_at,
                 training_stages[i].name, ssq_status_name(st),
                 ssq_last_error());
    }
    if (!core_has(ssq_last_error(), "memory")) {
        f->text++;
        tap_diag("%s: allocation %ld, %s: \"%s\"", p->name, heap.fail_at,
                 training_stages[i].name, ssq_last_error());
    }
    if (!training_stages[i].learns)
        return;
    heap.paused = true;
    st = learnt_take(p, &now);
    heap.paused = false;
    if (st != SSQ_OK || !learnt_same(&now, before)) {
        f->changed++;
        tap_diag("%s: allocation %ld, %s changed the state (%s)", p->name,
                 heap.fail_at, training_stages[i].name,
                 st == SSQ_OK ? "" : ssq_last_error());
    }
}

/* The program, until a call fails for the second time. */
static bool run(struct training *p, struct alloc_step_faults *f)
{
    static struct learnt before;

    for (size_t i = 0; i < TRAINING_STAGES; i++) {
        if (training_stages[i].learns) {
            heap.paused = true;
            NEED(learnt_take(p, &before));
            heap.paused = false;
        }
        long refused = heap.refused;
        ssq_status st = training_stages[i].run(p);
        if (st == SSQ_OK)
            continue;
        if (heap.refused == refused)
            st = SSQ_ERR_INVALID; /* without a request */
        judge(p, i, st, &before, f);
        if (heap.for_ever)
            return false;
        st = training_stages[i].run(p);
        if (st == SSQ_OK)
            continue;
        f->retry++;
        tap_diag("%s: allocation %ld, %s again: %s", p->name, heap.fail_at,
                 training_stages[i].name, ssq_last_error());
        return false;
    }
    return true;
}

static bool same_end(const struct training *p, const struct training *want,
                     const struct learnt *a, const struct learnt *b)
{
    return memcmp(&p->loss, &want->loss, sizeof(p->loss)) == 0 &&
           p->state.updates == want->state.updates && learnt_same(a, b);
}

static void test(const char *name, bool for_ever)
{
    struct training want = {.name = name}, p;
    static struct learnt end, now;
    struct alloc_step_faults f = {0, 0, 0, 0, 0, 0};
    long n = 1, step = strchr(name, ':') == NULL ? 1 : 149; /* a driver's */

    memset(&heap, 0, sizeof(heap));
    bool learnt = run(&want, &f) && want.state.updates == 4 &&
                  want.state.skipped == 0 && want.loss < 1.6f;
    if (!tap_ok(learnt, "%s: the program learns: loss %g after %u steps", name,
                (double)want.loss, want.state.updates))
        return;
    NEED(learnt_take(&want, &end));
    training_close(&want);
    tap_ok(heap.live == 0, "%s: %ld allocations, %ld are left", name,
           heap.calls, heap.live);
    for (bool refused = true; refused; n += step) {
        p = (struct training){.name = name};
        heap.calls = heap.refused = 0;
        heap.fail_at = n;
        heap.for_ever = for_ever;
        bool done = run(&p, &f);
        heap.fail_at = 0;
        if (done) {
            NEED(learnt_take(&p, &now));
            if (!same_end(&p, &want, &now, &end)) {
                f.result++;
                tap_diag("%s: allocation %ld: another result", name, n);
            }
        }
        training_close(&p);
        if (heap.live != 0) {
            f.leak++;
            tap_diag("%s: allocation %ld: %ld blocks are left", name, n,
                     heap.live);
            heap.live = 0;
        }
        refused = heap.refused != 0;
    }
    const char *how = for_ever ? "with all after them" : "one by one";
    tap_ok(n > 100, "%s: each of %ld allocations, or every %ldth, fails %s",
           name, n - step, step, how);
    tap_ok(f.status == 0, "%s: %s: %ld of the calls are not NOMEM", name, how,
           f.status);
    tap_ok(f.text == 0, "%s: %s: %ld have no text of it", name, how, f.text);
    tap_ok(f.changed == 0, "%s: %s: %ld change what was learnt", name, how,
           f.changed);
    tap_ok(f.retry == 0, "%s: %s: %ld cannot be made again", name, how,
           f.retry);
    tap_ok(f.result == 0, "%s: %s: %ld end with other bits", name, how,
           f.result);
    tap_ok(f.leak == 0, "%s: %s: %ld leak", name, how, f.leak);
}

int main(void)
{
    static const ssq_allocator allocator = {sizeof(allocator), heap_alloc,
                                            heap_free, &heap};

    NEED(ssq_allocator_set(&allocator));
    for (size_t i = 0; i < core_device_count(); i++) {
        if (strchr(core_device(i), ':') != NULL && !tap_full())
            continue; /* it takes its time to open: check-full has them */
        test(core_device(i), false);
        test(core_device(i), true);
    }
    return tap_done(36);
}
