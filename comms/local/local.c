/* SPDX-License-Identifier: Apache-2.0 */
/* local.c - transport between the ranks of one process: the receiver copies a
 * message directly from the sender's memory.
 *
 * A group has one lock, and one post for each ordered pair of ranks. The sender
 * posts a message. The receiver takes the post, copies the bytes without the
 * lock, and marks the post as done. Then the sender continues. No message is
 * buffered, and no message remains after an exchange. */
#include "lib/comm/comm.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum post_state { POST_EMPTY = 0, POST_SENT, POST_TAKEN, POST_DONE };

struct post {
    const void *bytes;
    size_t size;
    enum post_state state;
};

struct local_group {
    struct object object;
    pthread_mutex_t lock; /* for all members that follow */
    pthread_cond_t changed;
    unsigned size;
    bool dead;             /* a rank has given up */
    char text[ERROR_TEXT]; /* which rank, and why */
    bool *gone;            /* [size]: the rank was destroyed */
    struct post *posts;    /* [from * size + to] */
};

struct comm_link {
    struct local_group *group;
    unsigned rank;
};

/* ---- one message, with the lock ---- */

static struct post *post_of(const struct comm_link *link,
                            const struct comm_message *m)
{
    unsigned size = link->group->size;
    return &link->group->posts[m->send ? link->rank * size + m->peer
                                       : m->peer * size + link->rank];
}

/* Copy a message and mark its post as done. The lock is released during the
 * copy; the sender keeps the bytes valid while the post is TAKEN. Other state
 * may change meanwhile, so the caller must check it again. */
static void local_receive(struct local_group *g, struct comm_message *m,
                          struct post *p)
{
    size_t n = p->size < m->size ? p->size : m->size;
    p->state = POST_TAKEN;
    pthread_mutex_unlock(&g->lock);
    memcpy(m->bytes, p->bytes, n);
    pthread_mutex_lock(&g->lock);
    m->got = p->size;
    m->done = true;
    p->state = POST_DONE;
    pthread_cond_broadcast(&g->changed);
}

/* Advance a message as far as possible. Returns true if it is done now and was
 * not done before. */
static bool local_advance(const struct comm_link *link, struct comm_message *m)
{
    struct post *p = post_of(link, m);
    if (m->done)
        return false;
    if (!m->send && p->state == POST_SENT) {
        local_receive(link->group, m, p);
    } else if (m->send && p->state == POST_DONE) {
        p->state = POST_EMPTY;
        m->done = true;
    }
    return m->done;
}

/* ---- errors, with the lock ---- */

/* Write the numbers of the peers whose messages have not passed, each once. For
 * example "1, 3". */
static void local_peers_text(const struct comm_message *m, size_t n, char *text,
                             size_t bytes)
{
    size_t at = 0;
    text[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        bool named = m[i].done;
        for (size_t k = 0; k < i && !named; k++)
            named = !m[k].done && m[k].peer == m[i].peer;
        if (!named && at < bytes)
            at += (size_t)snprintf(text + at, bytes - at, "%s%u",
                                   at == 0 ? "" : ", ", m[i].peer);
    }
}

/* Return the first reason why the remaining messages cannot pass; SSQ_OK if
 * they still may. */
static ssq_status local_hopeless(const struct comm_link *link,
                                 const struct comm_message *m, size_t n)
{
    const struct local_group *g = link->group;
    if (g->gone[link->rank])
        return error_set(SSQ_ERR_COMM, "rank %u was destroyed", link->rank);
    if (g->dead)
        return error_set(SSQ_ERR_COMM, "%s", g->text);
    for (size_t i = 0; i < n; i++)
        if (!m[i].done && g->gone[m[i].peer] &&
            post_of(link, &m[i])->state != POST_TAKEN)
            return error_set(SSQ_ERR_COMM, "rank %u was destroyed", m[i].peer);
    return SSQ_OK;
}

/* Withdraw the sends that have not passed, so that no peer reads this rank's
 * memory later. Waits for peers that are copying. */
static void withdraw(const struct comm_link *link, const struct comm_message *m,
                     size_t n)
{
    struct local_group *g = link->group;
    for (size_t i = 0; i < n; i++) {
        struct post *p = post_of(link, &m[i]);
        if (!m[i].send || m[i].done)
            continue;
        while (p->state == POST_TAKEN)
            pthread_cond_wait(&g->changed, &g->lock);
        p->state = POST_EMPTY;
    }
}

/* ---- an exchange ---- */

static struct timespec deadline(double seconds)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    double whole = floor(seconds);
    t.tv_sec += (time_t)whole;
    t.tv_nsec += (long)((seconds - whole) * 1e9);
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    return t;
}

static void post_all(const struct comm_link *link, const struct comm_message *m,
                     size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (m[i].send)
            *post_of(link, &m[i]) =
                (struct post){m[i].bytes, m[i].size, POST_SENT};
    pthread_cond_broadcast(&link->group->changed);
}

/* Advance messages until all have passed, one of them cannot pass any more, or
 * the timeout is over. A peer that arrives, leaves or gives up wakes this
 * rank. */
static ssq_status local_pass_all(const struct comm_link *link,
                                 struct comm_message *m, size_t n,
                                 double timeout)
{
    struct local_group *g = link->group;
    struct timespec until = deadline(timeout);
    char peers[128];
    for (int error = 0;;) {
        bool moved = false, all = true;
        for (size_t i = 0; i < n; i++) {
            moved = local_advance(link, &m[i]) || moved;
            all = all && m[i].done;
        }
        if (all)
            return SSQ_OK;
        if (moved)
            continue;
        ssq_status st = local_hopeless(link, m, n);
        if (st != SSQ_OK)
            return st;
        if (error == ETIMEDOUT) {
            local_peers_text(m, n, peers, sizeof(peers));
            return error_set(
                SSQ_ERR_COMM,
                "rank %u has waited %g seconds for rank %s, which made no call",
                link->rank, timeout, peers);
        }
        error = pthread_cond_timedwait(&g->changed, &g->lock, &until);
    }
}

static ssq_status local_exchange(struct comm_link *link,
                                 struct comm_message *messages, size_t n,
                                 double timeout)
{
    struct local_group *g = link->group;
    pthread_mutex_lock(&g->lock);
    post_all(link, messages, n);
    ssq_status st = local_pass_all(link, messages, n, timeout);
    if (st != SSQ_OK)
        withdraw(link, messages, n);
    pthread_mutex_unlock(&g->lock);
    return st;
}

/* Record why the group ends. Only the first rank that gives up knows the cause,
 * so later texts are ignored. */
static void local_abandon(struct comm_link *link, const char *text)
{
    struct local_group *g = link->group;
    pthread_mutex_lock(&g->lock);
    if (!g->dead) {
        (void)snprintf(g->text, sizeof(g->text), "rank %u gave up: %.900s",
                       link->rank, text);
        g->dead = true;
        pthread_cond_broadcast(&g->changed);
    }
    pthread_mutex_unlock(&g->lock);
}

static void local_leave(struct comm_link *link)
{
    struct local_group *g = link->group;
    pthread_mutex_lock(&g->lock);
    g->gone[link->rank] = true;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

static void local_close_link(struct comm_link *link)
{
    object_put(&link->group->object);
    mem_free(link);
}

static const struct comm_transport local_transport = {
    .abi = SSQ_COMM_ABI,
    .name = "local",
    .exchange = local_exchange,
    .abandon = local_abandon,
    .leave = local_leave,
    .close = local_close_link,
};

/* ---- groups ---- */

static void local_group_free(struct object *o)
{
    struct local_group *g = (struct local_group *)o;
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->lock);
    mem_free(g->gone);
    mem_free(g->posts);
    mem_free(g);
}

/* Waits use the monotonic clock: a change of the system time does not affect
 * them. */
static struct local_group *group_create(unsigned n)
{
    struct local_group *g = mem_alloc(sizeof(*g));
    if (g == NULL)
        return NULL;
    pthread_condattr_t clock;
    object_init(&g->object, local_group_free);
    pthread_mutex_init(&g->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&g->changed, &clock);
    pthread_condattr_destroy(&clock);
    g->size = n;
    g->gone = mem_alloc_array(n, sizeof(*g->gone));
    g->posts = mem_alloc_array((size_t)n * n, sizeof(*g->posts));
    if (g->gone != NULL && g->posts != NULL)
        return g;
    object_put(&g->object);
    return NULL;
}

static ssq_status local_check(ssq_device *const *devices, unsigned n,
                              ssq_comm **comms)
{
    static const char what[] = "comm_local_create";
    if (devices == NULL || comms == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %s is NULL", what,
                         devices == NULL ? "devices" : "comms");
    if (n < 1 || n > SSQ_COMM_MAX_SIZE)
        return error_set(SSQ_ERR_INVALID, "%s: n is %u, expected 1 to %d", what,
                         n, SSQ_COMM_MAX_SIZE);
    for (unsigned i = 0; i < n; i++) {
        if (devices[i] == NULL)
            return error_set(SSQ_ERR_INVALID, "%s: devices[%u] is NULL", what,
                             i);
        ssq_status st = device_check(devices[i], what);
        if (st != SSQ_OK)
            return st;
    }
    return SSQ_OK;
}

static ssq_status make_rank(struct local_group *g, ssq_device *device,
                            unsigned rank, const ssq_comm_options *options,
                            ssq_comm **comm)
{
    struct comm_link *link = mem_alloc(sizeof(*link));
    if (link == NULL)
        return error_nomem("comm_local_create", sizeof(*link));
    object_get(&g->object);
    link->group = g;
    link->rank = rank;
    return comm_create(device, rank, g->size, &local_transport, link, options,
                       comm);
}

ssq_status ssq_comm_local_create(ssq_device *const *devices, unsigned n,
                                 const ssq_comm_options *options,
                                 ssq_comm **comms)
{
    ssq_comm_options chosen;
    ssq_status st = local_check(devices, n, comms);
    if (st == SSQ_OK)
        st = comm_options(options, "comm_local_create", &chosen);
    if (st != SSQ_OK)
        return st;
    ssq_comm **made = mem_alloc_array(n, sizeof(ssq_comm *));
    struct local_group *g = group_create(n);
    if (made == NULL || g == NULL) {
        mem_free(made);
        if (g != NULL)
            object_put(&g->object);
        return error_nomem("comm_local_create", n * sizeof(*g->posts));
    }
    for (unsigned i = 0; i < n && st == SSQ_OK; i++)
        st = make_rank(g, devices[i], i, &chosen, &made[i]);
    for (unsigned i = 0; i < n; i++)
        if (st == SSQ_OK)
            comms[i] = made[i];
        else
            ssq_comm_destroy(&made[i]);
    object_put(&g->object);
    mem_free(made);
    return st;
}
