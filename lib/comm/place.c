/* SPDX-License-Identifier: Apache-2.0 */
/* place.c - finds out where a launcher has put this process, and which device
 * suits it.
 *
 * Each launcher sets different environment variables. A launcher that runs
 * within another one's job keeps the other one's variables. So the list below
 * begins with the innermost. */
#include <sesqui/comm.h>

#include "lib/core/core.h"
#include "lib/core/base/env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of ranks of a job and of a node. */
#define MOST UINT32_MAX

/* ---- launchers ---- */

struct words {
    const char *launcher;
    const char *rank, *size, *local_rank, *local_size;
};

static const struct words launchers[] = {
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", NULL}};

static const struct words *launcher(void)
{
    for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
        const struct words *w = &launchers[i];
        if (env_text(w->rank) != NULL && env_text(w->size) != NULL &&
            env_text(w->local_rank) != NULL)
            return w;
    }
    return NULL;
}

static ssq_status place_number(const char *name, uint64_t least,
                               unsigned *value)
{
    uint64_t v = *value;
    ssq_status st = env_number(name, least, MOST, &v);
    if (st == SSQ_OK)
        *value = (unsigned)v;
    return st;
}

/* Return the number of tasks of a node; 0 if text does not say. For example
 * "4(x2),3": 4 tasks on each of two nodes, 3 on the next. */
static unsigned slurm_tasks(const char *text, uint64_t node)
{
    while (text != NULL && *text >= '0' && *text <= '9') {
        char *end;
        unsigned long tasks = strtoul(text, &end, 10), nodes = 1;
        if (strncmp(end, "(x", 2) == 0) {
            nodes = strtoul(end + 2, &end, 10);
            end += *end == ')';
        }
        if (node < nodes)
            return (unsigned)tasks;
        node -= nodes;
        text = *end == ',' ? end + 1 : NULL;
    }
    return 0;
}

static ssq_status slurm_size(unsigned *size)
{
    uint64_t node = 0;
    const char *text = env_text("SLURM_STEP_TASKS_PER_NODE");
    if (text == NULL)
        text = env_text("SLURM_TASKS_PER_NODE");
    ssq_status st = env_number("SLURM_NODEID", 0, MOST, &node);
    if (st == SSQ_OK)
        *size = slurm_tasks(text, node);
    return st;
}

/* An empty number counts as unset, and then each rank would believe that it is
 * alone. */
static ssq_status check_set(const struct words *w)
{
    const char *const names[] = {w->rank, w->size, w->local_rank};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *text = env_text(names[i]);
        if (text != NULL && *text == '\0')
            return error_set(SSQ_ERR_INVALID,
                             "comm_place_get: %s is empty, expected a number",
                             names[i]);
    }
    return SSQ_OK;
}

static ssq_status place_read_words(const struct words *w, ssq_comm_place *p)
{
    (void)snprintf(p->launcher, sizeof(p->launcher), "%s", w->launcher);
    ssq_status st = check_set(w);
    if (st == SSQ_OK)
        st = place_number(w->size, 1, &p->size);
    if (st == SSQ_OK)
        st = place_number(w->rank, 0, &p->rank);
    if (st == SSQ_OK)
        st = place_number(w->local_rank, 0, &p->local_rank);
    if (st == SSQ_OK)
        st = w->local_size != NULL
                 ? place_number(w->local_size, 1, &p->local_size)
                 : slurm_size(&p->local_size);
    if (st == SSQ_OK && p->local_size <= p->local_rank)
        p->local_size = p->local_rank + 1; /* the launcher did not set it */
    if (st == SSQ_OK && p->rank >= p->size)
        st = error_set(SSQ_ERR_INVALID, "comm_place_get: %s is %u, and %s %u",
                       w->rank, p->rank, w->size, p->size);
    return st;
}

/* ---- devices ---- */

/* Choose "auto", or number local_rank of the devices that are equally good. If
 * SSQ_DEVICE names a single device, choose that. */
static ssq_status place_choose(ssq_comm_place *p)
{
    ssq_device *device = NULL;
    const char *named = env_text("SSQ_DEVICE");
    ssq_status st = ssq_device_open("auto", NULL, &device);
    if (st != SSQ_OK)
        return st;
    if (named == NULL || strchr(named, ':') == NULL)
        device_peer(device, p->local_rank, p->device, sizeof(p->device));
    else
        (void)snprintf(p->device, sizeof(p->device), "%s", device->props.name);
    ssq_device_close(&device);
    return SSQ_OK;
}

ssq_status ssq_comm_place_get(ssq_comm_place *place)
{
    static const char what[] = "comm_place_get";
    ssq_comm_place p = SSQ_COMM_PLACE_INIT;
    if (place == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: place is NULL", what);
    if (place->struct_size != sizeof(*place))
        return error_set(SSQ_ERR_INVALID,
                         "%s: struct_size is %zu, expected %zu", what,
                         place->struct_size, sizeof(*place));
    const struct words *w = launcher();
    ssq_status st = w == NULL ? SSQ_OK : place_read_words(w, &p);
    if (st == SSQ_OK)
        st = place_choose(&p);
    if (st == SSQ_OK)
        *place = p;
    return st;
}
