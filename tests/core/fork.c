/* SPDX-License-Identifier: Apache-2.0 */
/* fork.c - a child of fork and its parent's objects: on
 * reference, guard and cpu it may do everything, with a driver nothing, which
 * is reported immediately. */
#include <pthread.h>
#include <stdatomic.h>

#include "tests/api/training.h"
#include "tests/core/core.h"

/** Seconds after which a child hangs. */
#define HANGS 60

/* A training program up to its first graph, and its other objects. */
struct family {
    struct training p;
    ssq_buffer *buffer;
    ssq_event *fresh;
    bool driver;
};

static bool run_stages(struct training *p, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (training_stages[i].run(p) != SSQ_OK) {
            fprintf(stderr, "# %s: %s: %s\n", p->name, training_stages[i].name,
                    ssq_last_error());
            return false;
        }
    return true;
}

static size_t stage_of(const char *name)
{
    size_t i = 0;

    while (i < TRAINING_STAGES && strcmp(training_stages[i].name, name) != 0)
        i++;
    return i;
}

/* SSQ_ERR_DEVICE, with the reason. */
static int lost(ssq_status st, const char *call)
{
    if (st == SSQ_ERR_DEVICE && core_has(ssq_last_error(), "forked"))
        return 0;
    fprintf(stderr, "# %s: %s: %s\n", call, ssq_status_name(st),
            ssq_last_error());
    return 1;
}
#define LOST(CALL) lost(CALL, #CALL)

static int refused(struct family *f)
{
    struct training *p = &f->p;
    ssq_device *dev = NULL;
    ssq_queue *q = NULL;
    ssq_tensor *t = NULL;
    ssq_event *e = NULL;
    ssq_scaler *s = NULL;
    ssq_optimizer *o = NULL;
    ssq_graph *g = NULL;
    ssq_buffer *b = NULL;
    ssq_memory_info info = SSQ_MEMORY_INFO_INIT;
    ssq_device_props props = SSQ_DEVICE_PROPS_INIT;
    double seconds;
    int64_t n = 3;
    int bad = 0;

    bad += LOST(ssq_device_open(p->name, NULL, &dev));
    bad += LOST(ssq_queue_create(p->dev, NULL, &q));
    bad += LOST(ssq_tensor_create(p->dev, SSQ_F32, 1, &n, &t));
    bad += LOST(ssq_buffer_create(p->dev, 100, &b));
    bad += LOST(ssq_event_create(p->dev, &e));
    bad += LOST(ssq_scaler_create(p->dev, "sesqui", NULL, &s));
    bad += LOST(ssq_optimizer_create(p->dev, "sgd", NULL, &o));
    bad += LOST(ssq_device_memory(p->dev, &info));
    bad += LOST(ssq_queue_sync(p->q));
    bad += LOST(ssq_queue_status(p->q));
    bad += LOST(ssq_event_record(f->fresh, p->q));
    bad += LOST(ssq_event_sync(p->event));
    bad += LOST(ssq_event_query(p->event));
    bad += LOST(ssq_queue_wait(p->q, p->event));
    bad += LOST(ssq_event_elapsed(p->event, p->event, &seconds));
    bad += LOST(ssq_graph_begin(p->q));
    bad += LOST(ssq_graph_launch(p->q, p->graph));
    bad += LOST(ssq_graph_end(p->q, &g));
    bad += LOST(training_hidden(p));
    bad += LOST(training_read(p));
    bad += LOST(training_step(p));
    bad += LOST(training_update(p));
    bad += LOST(training_poll(p));
    bad += LOST(training_state(p));
    ssq_device_trim(p->dev);
    bad += ssq_device_props_get(p->dev, &props) != SSQ_OK;
    bad += dev != NULL || q != NULL || t != NULL || b != NULL || e != NULL ||
           s != NULL || g != NULL;
    return bad;
}

static void let_go(struct family *f)
{
    ssq_event_destroy(&f->fresh);
    ssq_buffer_destroy(&f->buffer);
    training_close(&f->p);
}

/* A whole program on a device that the child opens. */
static int train(const char *name)
{
    struct training p = {.name = name};
    bool ok = run_stages(&p, 0, TRAINING_STAGES);

    training_close(&p);
    return ok ? 0 : 1;
}

static int go_on(struct family *f)
{
    int bad = !run_stages(&f->p, stage_of("graph_launch"), TRAINING_STAGES);

    return bad + train(f->p.name);
}

/* In the child: the inherited objects, then their end, then the host's. */
static int live(void *arg)
{
    struct family *f = arg;
    int bad = f->driver ? refused(f) : go_on(f);

    let_go(f);
    bad += train("reference") + train("cpu");
    return bad + train("guard");
}

/* The same, except for the parent's devices. */
static int end_only(void *arg)
{
    let_go(arg);
    return 0;
}

static void family_open(struct family *f, const char *name)
{
    memset(f, 0, sizeof(*f));
    f->p.name = name;
    f->driver = strchr(name, ':') != NULL;
    if (!run_stages(&f->p, 0, stage_of("graph_launch")))
        tap_bail("no program on %s", name);
    NEED(ssq_buffer_create(f->p.dev, 1000, &f->buffer));
    NEED(ssq_event_create(f->p.dev, &f->fresh));
}

static void test(const char *name)
{
    struct family f;
    int st;

    family_open(&f, name);
    st = tap_fork(live, &f, HANGS);
    tap_ok(tap_exited(st, 0), "%s: a child %s: %s", name,
           f.driver ? "is told of every call that it cannot have it"
                    : "goes on with what it inherits",
           tap_status(st));
    if (f.driver) /* work is in progress */
        NEED(training_launch(&f.p));
    st = tap_fork(end_only, &f, HANGS);
    tap_ok(tap_exited(st, 0), "%s: a child destroys what it inherits: %s", name,
           tap_status(st));
    bool ok = run_stages(&f.p, stage_of("graph_launch"), TRAINING_STAGES);
    tap_ok(ok, "%s: the parent goes on", name);
    let_go(&f);
}

/* ---- other threads at the fork ---- */

static atomic_bool stop;
static atomic_int failed;

static void *busy(void *name)
{
    while (!atomic_load(&stop))
        atomic_fetch_add(&failed, train(name));
    return NULL;
}

static int train_host(void *unused)
{
    (void)unused;
    return train("reference") + train("guard") + train("cpu");
}

static void test_busy(void)
{
    static char names[3][16] = {"reference", "guard", "cpu"};
    pthread_t thread[3];
    int bad = 0;

    for (int i = 0; i < 3; i++)
        if (pthread_create(&thread[i], NULL, busy, names[i]) != 0)
            tap_bail("no thread %d", i);
    for (int i = 0; i < 30; i++)
        bad += !tap_exited(tap_fork(train_host, NULL, HANGS), 0);
    atomic_store(&stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    tap_ok(bad == 0 && atomic_load(&failed) == 0,
           "of 30 children forked while three threads train %d fail, of the "
           "threads' programs %d",
           bad, atomic_load(&failed));
}

/* ---- "auto", and forks before it ---- */

static int open_auto(void *arg)
{
    ssq_device *dev = NULL;
    ssq_status st = ssq_device_open("auto", NULL, &dev);
    int bad = *(bool *)arg ? lost(st, "auto") : st != SSQ_OK;

    ssq_device_close(&dev);
    return bad;
}

static int grandchild(void *arg)
{
    int st = tap_fork(open_auto, arg, HANGS);

    return tap_exited(st, 0) ? 0 : 1;
}

/* Before this process has loaded a driver. */
static int train_first(void *name)
{
    return train(name);
}

int main(void)
{
    char first[] = "opencl:0";
    bool driver = false;
    int st = tap_fork(train_first, first, HANGS);
    bool there = tap_exited(st, 0);

    for (size_t i = 0; i < core_device_count(); i++) {
        test(core_device(i));
        driver = driver || strchr(core_device(i), ':') != NULL;
    }
    if (driver)
        tap_ok(there || core_device_count() == 2 || !tap_required("opencl"),
               "who forks before all calls has the driver in the child: %s",
               tap_status(st));
    st = tap_fork(open_auto, &driver, HANGS);
    tap_ok(tap_exited(st, 0), "auto in a child %s: %s",
           driver ? "does not fall back to another device" : "opens one",
           tap_status(st));
    st = tap_fork(grandchild, &driver, HANGS);
    tap_ok(tap_exited(st, 0), "nor in a child's child: %s", tap_status(st));
    test_busy();
    return tap_done(9);
}
