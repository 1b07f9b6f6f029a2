/* SPDX-License-Identifier: Apache-2.0 */
/* faults.h - a training program in which the Nth thing that is asked of a
 * driver fails, for every N.
 *
 * The call that needs it answers SSQ_ERR_DEVICE or SSQ_ERR_NOMEM with the name
 * of the driver's call, or does without it and ends with the same loss. A queue
 * that failed stays as it is. Afterwards everything can be destroyed, and all
 * objects are. */
#ifndef TESTS_API_FAULTS_H
#define TESTS_API_FAULTS_H

#include <limits.h>
#include <time.h>

#include "tests/api/stages.h"

/* The layer between the library and the driver keeps this. */
static struct {
    long n;             /* how many it has counted */
    long fail_at;       /* which fails; 0 none */
    bool hit;           /* it did */
    const char *failed; /* the call that failed of it, when one did */
    long live;          /* objects created, less those destroyed */
    long blocks;        /* of host memory that the driver has of us */
} fault;

/* Of one test program. */
struct faults_of {
    const char *device;
    const char *what; /* is counted */
    /** Does the text name fault.failed? */
    bool (*told)(const char *text);
    void (*begin)(void); /* before each trial; optional */
    long (*live)(void);  /* fault.live, where it is counted there; optional */
    /** Each fails up to here, then one in stride of them. */
    long dense, stride;
    long told_share; /* at least one in this many is told of */
};

/* The errors in all trials of a sweep. */
struct faults {
    long trials, refused, status, text, sticky, result, leak;
};

/* Does the next one fail, all of the call itself? */
static inline bool faults_next(const char *name)
{
    if (++fault.n != fault.fail_at)
        return false;
    fault.hit = true;
    fault.failed = name;
    return true;
}

static inline bool faults_is_error(ssq_status st)
{
    return st == SSQ_ERR_DEVICE || st == SSQ_ERR_NOMEM;
}

/* A failed call: does it say so, and does its queue remember? */
static inline void faults_judge(const struct faults_of *of, struct training *p,
                                size_t stage, ssq_status st, struct faults *f)
{
    char text[1100], where[200];

    f->refused++;
    snprintf(text, sizeof(text), "%s", ssq_last_error());
    snprintf(where, sizeof(where), "%ld (%s), %s", fault.fail_at,
             fault.failed == NULL ? "no call" : fault.failed,
             training_stages[stage].name);
    if (fault.failed == NULL || !faults_is_error(st)) {
        f->status++;
        tap_diag("%s: %s: %s", where, ssq_status_name(st), text);
    } else if (!of->told(text)) {
        f->text++;
        tap_diag("%s: \"%s\"", where, text);
    }
    ssq_status now = p->q == NULL ? SSQ_OK : ssq_queue_sync(p->q);
    if (now != SSQ_OK && now != SSQ_ERR_INVALID &&
        (!faults_is_error(now) || ssq_queue_sync(p->q) != now)) {
        f->sticky++;
        tap_diag("%s: sync: %s: %s", where, ssq_status_name(now),
                 ssq_last_error());
    }
}

/* Stages first .. end - 1, until one fails. */
static inline bool faults_run(const struct faults_of *of, struct training *p,
                              size_t first, size_t end, struct faults *f)
{
    for (size_t i = first; i < end; i++) {
        ssq_status st = training_stages[i].run(p);

        if (st == SSQ_ERR_NOT_READY)
            continue;
        if (st != SSQ_OK) {
            faults_judge(of, p, i, st, f);
            return false;
        }
    }
    return true;
}

/* With everything new: from the device on, or on an existing device. */
static inline void faults_close(const struct faults_of *of, struct training *p,
                                ssq_device *shared)
{
    if (shared != NULL)
        p->dev = NULL;
    training_close(p);
    if (shared != NULL)
        ssq_device_trim(shared);
    if (of->live != NULL)
        fault.live = of->live();
}

/* A driver's own thread may still be about to give back what it worked with:
 * before a sweep it may have more than at rest, and after a trial it gets two
 * seconds. */
static inline bool faults_all_back(long *blocks)
{
    const struct timespec pause = {0, 1000000};

    for (int i = 0; i < 2000; i++) {
        long now = __atomic_load_n(&fault.blocks, __ATOMIC_ACQUIRE);

        if (now < *blocks)
            *blocks = now;
        if (now == *blocks)
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static inline void faults_report(const struct faults_of *of, const char *how,
                                 long n, const struct faults *f)
{
    if (n > of->dense)
        tap_diag("%s: of %ld %s the first %ld fail, then every %ldth", how, n,
                 of->what, of->dense, of->stride);
    tap_ok(f->refused > f->trials / of->told_share,
           "%s: %ld %s failed, %ld were told of", how, f->trials, of->what,
           f->refused);
    tap_ok(f->status == 0 && f->text == 0,
           "%s: as device or memory errors that name the call, but %ld and %ld",
           how, f->status, f->text);
    tap_ok(f->sticky == 0, "%s: queues that failed stay so, but %ld", how,
           f->sticky);
    tap_ok(f->result == 0, "%s: the others end with the same loss, but %ld",
           how, f->result);
    tap_ok(f->leak == 0, "%s: everything is released, but %ld times", how,
           f->leak);
}

/* The Nth of stages first .. end - 1 fails, for all N. */
static inline void faults_sweep(const struct faults_of *of, const char *how,
                                ssq_device *shared, size_t first, size_t end)
{
    struct training p = {.name = of->device, .dev = shared};
    struct faults f = {0};
    long n = 0;

    fault.fail_at = 0;
    if (of->begin != NULL)
        of->begin();
    if (!faults_run(of, &p, first, end, &f))
        tap_bail("%s: %s", how, ssq_last_error());
    const float loss = p.loss;
    faults_close(of, &p, shared);
    const long live = fault.live;
    long blocks = fault.blocks;
    for (;;) {
        n += n < of->dense ? 1 : of->stride;
        p = (struct training){.name = of->device, .dev = shared};
        fault.n = 0;
        fault.hit = false;
        fault.failed = NULL;
        fault.fail_at = n;
        if (of->begin != NULL)
            of->begin();
        bool done = faults_run(of, &p, first, end, &f);
        if (done && memcmp(&p.loss, &loss, sizeof(loss)) != 0) {
            f.result++;
            tap_diag("%ld (%s): loss %g, not %g", n,
                     fault.failed == NULL ? "no call" : fault.failed,
                     (double)p.loss, (double)loss);
        }
        faults_close(of, &p, shared);
        if (!faults_all_back(&blocks) || fault.live != live) {
            f.leak++;
            tap_diag("%ld (%s): %ld objects and %ld blocks are left", n,
                     fault.failed == NULL ? "no call" : fault.failed,
                     fault.live - live, fault.blocks - blocks);
            fault.live = live;
            blocks = fault.blocks;
        }
        if (!fault.hit)
            break;
        f.trials++;
    }
    fault.fail_at = 0;
    faults_report(of, how, fault.n, &f);
}

#endif
