/* SPDX-License-Identifier: Apache-2.0 */
/* group.c - a training by several ranks. */
#include "examples/common/group.h"

#include <sesqui/cpu.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_RANKS 64

/* ---- devices ---- */

/* Entry i of "a,b,c", from the first again behind the last. */
static void pick(const char *list, unsigned i, char *name, size_t bytes)
{
    unsigned n = 1;
    for (const char *c = list; *c != '\0'; c++)
        n += *c == ',';
    for (i %= n; i > 0; i--)
        list = strchr(list, ',') + 1;
    snprintf(name, bytes, "%.*s", (int)strcspn(list, ","), list);
}

/* Ranks of this process take the devices of auto's backend in turn, as
 * processes do. */
static bool neighbour(unsigned i, char *name, size_t bytes)
{
    ssq_comm_place place = SSQ_COMM_PLACE_INIT;
    ssq_device_entry e = SSQ_DEVICE_ENTRY_INIT;
    char list[1024] = "";
    if (!run_ok(ssq_comm_place_get(&place), "device"))
        return false;
    const size_t kind = strcspn(place.device, ":");
    for (size_t k = 0; ssq_device_list(k, &e) == SSQ_OK; k++)
        if (e.available && strlen(e.backend) == kind &&
            strncmp(e.backend, place.device, kind) == 0)
            snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s",
                     list[0] == '\0' ? "" : ",", e.name);
    pick(list, i, name, bytes);
    return true;
}

/* Whoever computes on the processor gets one part of as many as there are
 * ranks, whatever the others are on. */
static bool share_out(struct member *m, unsigned sharing)
{
    ssq_cpu_info info = SSQ_CPU_INFO_INIT;
    ssq_cpu_options options = SSQ_CPU_OPTIONS_INIT;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (sharing < 2 || processors < 1 ||
        ssq_cpu_info_get(m->device, &info) != SSQ_OK ||
        (long)(info.threads * sharing) <= processors)
        return true;
    options.threads = (uint32_t)(processors / sharing);
    options.threads += options.threads == 0;
    ssq_device_close(&m->device);
    return run_ok(ssq_cpu_device_open(&options, NULL, &m->device), "device");
}

/* The device of number i among those that share this machine. */
static bool open_device(struct member *m, unsigned i, unsigned sharing,
                        bool of_place)
{
    char name[64];
    ssq_comm_place place = SSQ_COMM_PLACE_INIT;
    bool automatic = strcmp(m->o->device, "auto") == 0;
    pick(m->o->device, i, name, sizeof(name));
    if (automatic && of_place) {
        if (!run_ok(ssq_comm_place_get(&place), "device"))
            return false;
        snprintf(name, sizeof(name), "%s", place.device);
    } else if (automatic && sharing > 1 && !neighbour(i, name, sizeof(name)))
        return false;
    return run_ok(ssq_device_open(name, NULL, &m->device), "device") &&
           (getenv("SSQ_NUM_THREADS") != NULL || share_out(m, sharing));
}

/* ---- members ---- */

/* As the ranks' devices were timed to train in the policy's dtype. */
static bool measured_weights(struct member *m)
{
    ssq_policy policy = SSQ_POLICY_INIT;
    if (!run_ok(ssq_policy_from_name(m->o->policy, &policy), "policy") ||
        !run_ok(ssq_comm_weights(m->queue, m->comm, policy.compute, m->weight),
                "weights"))
        return false;
    m->weights = m->weight;
    if (m->o->quiet)
        return true;
    for (unsigned r = 0; r < m->size; r++)
        printf("%s%.4g", r == 0 ? "weights " : ",", m->weight[r]);
    printf("\n");
    return true;
}

/* "measured", or "3,1,1": as many as there are ranks. */
static bool read_weights(struct member *m)
{
    const char *at = m->o->weights;
    if (at == NULL)
        return true;
    bool good = m->size <= MOST_RANKS;
    if (good && strcmp(at, "measured") == 0)
        return measured_weights(m);
    for (unsigned r = 0; r < m->size && good; r++) {
        char *end;
        m->weight[r] = strtod(at, &end);
        good = end > at && *end == (r + 1 < m->size ? ',' : '\0');
        at = end + 1;
    }
    m->weights = m->weight;
    if (!good)
        fprintf(stderr,
                "%s: --weights %s is not one number for each of %u "
                "ranks\n",
                m->o->program, m->o->weights, m->size);
    return good;
}

static void be(struct member *m, const struct run_options *o, unsigned rank,
               unsigned size)
{
    *m = (struct member){.rank = rank, .size = size, .own = *o};
    m->o = &m->own;
    if (size > 1)
        run_as(rank);
    if (rank == 0)
        return;
    m->own.quiet = true;
    m->own.log = NULL;
    if (!o->shard) /* else it has a part of what rank 0 saves */
        m->own.save = NULL;
}

static ssq_comm_options comm_options(const struct run_options *o)
{
    ssq_comm_options options = SSQ_COMM_OPTIONS_INIT;
    if (o->timeout > 0.0)
        options.timeout = o->timeout;
    return options;
}

/* Whoever has failed leaves the others, who are told; whoever has not waits for
 * them. */
static bool part(struct member *m, bool good)
{
    if (good && m->comm != NULL)
        good = run_ok(ssq_comm_barrier(m->queue, m->comm, "end"), "end") &&
               run_ok(ssq_queue_sync(m->queue), "end");
    ssq_comm_destroy(&m->comm);
    ssq_queue_destroy(&m->queue);
    ssq_device_close(&m->device);
    return good;
}

static bool run_member(struct member *m, group_main *main, const void *user)
{
    bool good = run_ok(ssq_queue_create(m->device, NULL, &m->queue), "queue") &&
                read_weights(m) && main(m, user);
    return part(m, good);
}

/* ---- one process of several ---- */

static int run_process(const struct run_options *o, group_main *main,
                       const void *user)
{
    struct member m;
    ssq_comm_place place = SSQ_COMM_PLACE_INIT;
    const ssq_comm_options options = comm_options(o);
    if (!mpi_begin(o))
        return 2;
    be(&m, o, 0, 1);
    bool good = run_ok(ssq_comm_place_get(&place), "rank") &&
                open_device(&m, place.local_rank, place.local_size, true);
    ssq_device *device = m.device;
    ssq_comm *comm = NULL;
    good = good && mpi_comm(device, &options, &comm);
    if (good) {
        be(&m, o, ssq_comm_rank(comm), ssq_comm_size(comm));
        m.device = device;
        m.comm = comm;
        good = run_member(&m, main, user);
    }
    mpi_end(good);
    return good ? 0 : 1;
}

/* ---- several threads of one ---- */

struct thread {
    struct member m;
    group_main *main;
    const void *user;
    bool good;
    pthread_t id;
};

static void *run_thread(void *thread)
{
    struct thread *t = thread;
    if (t->m.size > 1)
        run_as(t->m.rank);
    t->good = run_member(&t->m, t->main, t->user);
    return NULL;
}

static bool open_group(struct thread *t, const struct run_options *o,
                       unsigned n)
{
    ssq_device *devices[MOST_RANKS] = {NULL};
    ssq_comm *comms[MOST_RANKS] = {NULL};
    const ssq_comm_options options = comm_options(o);
    bool good = true;
    for (unsigned r = 0; r < n && good; r++) {
        be(&t[r].m, o, r, n);
        good = open_device(&t[r].m, r, n, false);
        devices[r] = t[r].m.device;
    }
    if (good && n > 1)
        good = run_ok(ssq_comm_local_create(devices, n, &options, comms),
                      "communicators");
    for (unsigned r = 0; r < n; r++)
        t[r].m.comm = comms[r];
    return good;
}

/* Rank 0 is the program's own thread. Where no thread can be started its rank
 * leaves, and the others hear of it. */
static bool run_group(struct thread *t, unsigned n)
{
    unsigned started = 1;
    while (started < n &&
           pthread_create(&t[started].id, NULL, run_thread, &t[started]) == 0)
        started++;
    for (unsigned r = started; r < n; r++)
        (void)part(&t[r].m, false);
    if (n > 1)
        run_as(0);
    run_thread(&t[0]);
    bool good = t[0].good && started == n;
    for (unsigned r = 1; r < started; r++) {
        pthread_join(t[r].id, NULL);
        good = good && t[r].good;
    }
    return good;
}

static int run_threads(const struct run_options *o, group_main *main,
                       const void *user)
{
    const unsigned n = o->ranks > 1 ? o->ranks : 1;
    struct thread *t = calloc(n, sizeof(*t));
    bool good = t != NULL && open_group(t, o, n);
    for (unsigned r = 0; r < n && t != NULL; r++) {
        t[r].main = main;
        t[r].user = user;
    }
    if (good)
        good = run_group(t, n);
    else
        for (unsigned r = 0; r < n && t != NULL; r++)
            (void)part(&t[r].m, false);
    free(t);
    return good ? 0 : 1;
}

int group_run(const struct run_options *o, group_main *main, const void *user)
{
    if (o->ranks > MOST_RANKS || (o->ranks > 1 && o->data_parallel)) {
        fprintf(stderr, "%s: %u ranks%s, expected at most %d\n", o->program,
                o->ranks, o->data_parallel ? " in each process" : "",
                o->data_parallel ? 1 : MOST_RANKS);
        return 2;
    }
    if (o->shard && o->ranks < 2 && !o->data_parallel) {
        fprintf(stderr,
                "%s: --shard: there is one rank, expected --data-parallel or "
                "--ranks\n",
                o->program);
        return 2;
    }
    return o->data_parallel ? run_process(o, main, user)
                            : run_threads(o, main, user);
}

/* ---- what ranks do together ---- */

bool group_sum(struct member *member, double *values, size_t n)
{
    float host[8];
    ssq_tensor *t = NULL;
    const int64_t size = (int64_t)n;
    if (member->comm == NULL)
        return true;
    for (size_t i = 0; i < n; i++)
        host[i] = (float)values[i];
    bool good =
        run_ok(ssq_tensor_create(member->device, SSQ_F32, 1, &size, &t),
               "sum") &&
        run_ok(ssq_tensor_write(member->queue, t, host, n * sizeof(*host),
                                SSQ_F32),
               "sum") &&
        run_ok(
            ssq_comm_all_reduce(
                member->queue, member->comm,
                SSQ_COMM_ALL_REDUCE(.tensors = (const ssq_tensor *const[]){t},
                                    .n = 1, .tag = "shown")),
            "sum") &&
        run_ok(
            ssq_tensor_read(member->queue, t, host, n * sizeof(*host), SSQ_F32),
            "sum") &&
        run_ok(ssq_queue_sync(member->queue), "sum");
    for (size_t i = 0; i < n && good; i++)
        values[i] = (double)host[i];
    ssq_tensor_destroy(&t);
    return good;
}

bool group_loss(struct member *member, struct shown_loss *shown, double *mean)
{
    double sum[2] = {shown->rows > 0.0 ? *mean * shown->rows : 0.0,
                     shown->rows};
    shown->rows = 0.0;
    if (!group_sum(member, sum, 2))
        return false;
    shown->sum += sum[0];
    shown->sum_rows += sum[1];
    if (member->comm != NULL)
        *mean = sum[0] / sum[1];
    return true;
}

double group_epoch_loss(struct shown_loss *shown)
{
    double mean = shown->sum / shown->sum_rows;
    shown->sum = shown->sum_rows = 0.0;
    return mean;
}

bool group_part(const struct member *member, int64_t rows, int64_t *part)
{
    *part = rows / member->size;
    if (member->weights != NULL) {
        fprintf(stderr, "%s: --weights: all ranks have to take as many rows\n",
                member->o->program);
        return false;
    }
    if (*part * member->size == rows)
        return true;
    fprintf(stderr,
            "%s: %lld rows a batch over %u ranks, which all have to "
            "take as many\n",
            member->o->program, (long long)rows, member->size);
    return false;
}

bool group_show(const struct member *member, const ssq_optimizer *optimizer)
{
    ssq_memory_report m = SSQ_MEMORY_REPORT_INIT;
    if (!member->o->shard || member->o->quiet)
        return true;
    if (!run_ok(ssq_optimizer_memory(optimizer, &m), "memory"))
        return false;
    printf("rank %u of %u holds masters and moments of %.1f%% of %llu "
           "parameters\n",
           member->rank, member->size,
           100.0 * (double)m.own / (double)m.elements,
           (unsigned long long)m.elements);
    return true;
}
