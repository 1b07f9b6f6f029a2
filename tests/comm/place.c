/* SPDX-License-Identifier: Apache-2.0 */
/* place.c - what launchers say in the environment, and the device of a rank. */
#include <sesqui/comm.h>

#include "tests/core/core.h"

#include <stdlib.h>

static const char *const words[] = {"OMPI_COMM_WORLD_RANK",
                                    "OMPI_COMM_WORLD_SIZE",
                                    "OMPI_COMM_WORLD_LOCAL_RANK",
                                    "OMPI_COMM_WORLD_LOCAL_SIZE",
                                    "PMI_RANK",
                                    "PMI_SIZE",
                                    "MPI_LOCALRANKID",
                                    "MPI_LOCALNRANKS",
                                    "SLURM_PROCID",
                                    "SLURM_NTASKS",
                                    "SLURM_LOCALID",
                                    "SLURM_NODEID",
                                    "SLURM_STEP_TASKS_PER_NODE",
                                    "SLURM_TASKS_PER_NODE",
                                    "SSQ_DEVICE"};

/* "NAME=VALUE NAME=VALUE": these, and none of the others. */
static void say(const char *text)
{
    char copy[512];

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        unsetenv(words[i]);
    snprintf(copy, sizeof(copy), "%s", text);
    for (char *save, *s = strtok_r(copy, " ", &save); s != NULL;
         s = strtok_r(NULL, " ", &save)) {
        char *value = strchr(s, '=');
        *value = '\0';
        setenv(s, value + 1, 1);
    }
}

static void is(const char *text, const char *launcher, unsigned rank,
               unsigned size, unsigned local_rank, unsigned local_size,
               const char *device)
{
    ssq_comm_place p = SSQ_COMM_PLACE_INIT;

    say(text);
    NEED(ssq_comm_place_get(&p));
    tap_ok(strcmp(p.launcher, launcher) == 0 && p.rank == rank &&
               p.size == size && p.local_rank == local_rank &&
               p.local_size == local_size &&
               (device == NULL || strcmp(p.device, device) == 0),
           "%s: \"%s\" rank %u of %u, %u of %u here, %s", text, p.launcher,
           p.rank, p.size, p.local_rank, p.local_size, p.device);
}

static void refused(const char *text, ssq_status want, const char *parts)
{
    ssq_comm_place p = SSQ_COMM_PLACE_INIT;

    say(text);
    p.rank = 77;
    core_status(ssq_comm_place_get(&p), want, parts, "%s", text);
    tap_ok(p.rank == 77, "and nothing is written");
}

/* The list's own order, by local rank. False: OpenCL is missing. */
static bool test_devices(void)
{
    ssq_device_entry e = SSQ_DEVICE_ENTRY_INIT;
    char first[32] = "";
    unsigned n = 0;

    say("SSQ_DEVICE=reference");
    for (size_t i = 0; ssq_device_list(i, &e) == SSQ_OK; i++)
        if (e.available && strcmp(e.backend, "opencl") == 0 && n++ == 0)
            snprintf(first, sizeof(first), "%s", e.name);
    if (n == 0) {
        tap_skip("no opencl device", "ranks take opencl's devices in turn");
        return false;
    }
    char text[128];
    snprintf(text, sizeof(text),
             "SSQ_DEVICE=opencl PMI_RANK=%u PMI_SIZE=99 MPI_LOCALRANKID=%u", n,
             n);
    is(text, "MPICH", n, 99, n, n + 1, first);
    return true;
}

int main(void)
{
    ssq_comm_place p = SSQ_COMM_PLACE_INIT;
    const char *const ompi =
        "SSQ_DEVICE=reference OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=8 "
        "OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_LOCAL_SIZE=4 "
        "SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_LOCALID=0";

    is("SSQ_DEVICE=reference", "", 0, 1, 0, 1, "reference");
    is(ompi, "Open MPI", 5, 8, 1, 4, "reference");
    is("SSQ_DEVICE=cpu PMI_RANK=2 PMI_SIZE=3 MPI_LOCALRANKID=0 "
       "MPI_LOCALNRANKS=1 SLURM_PROCID=0 SLURM_NTASKS=9 SLURM_LOCALID=0",
       "MPICH", 2, 3, 0, 1, "cpu");
    is("SSQ_DEVICE=cpu PMI_RANK=2 PMI_SIZE=3", "", 0, 1, 0, 1, "cpu");
    is("SSQ_DEVICE=guard SLURM_PROCID=10 SLURM_NTASKS=11 SLURM_LOCALID=2 "
       "SLURM_NODEID=2 SLURM_STEP_TASKS_PER_NODE=4(x2),3",
       "Slurm", 10, 11, 2, 3, "guard");
    is("SSQ_DEVICE=guard SLURM_PROCID=1 SLURM_NTASKS=2 SLURM_LOCALID=1 "
       "SLURM_TASKS_PER_NODE=x",
       "Slurm", 1, 2, 1, 2, "guard");
    refused("SSQ_DEVICE=guard SLURM_PROCID=one SLURM_NTASKS=2 SLURM_LOCALID=1",
            SSQ_ERR_INVALID, "SLURM_PROCID|one");
    refused("SSQ_DEVICE=guard PMI_RANK=4 PMI_SIZE=4 MPI_LOCALRANKID=1",
            SSQ_ERR_INVALID, "PMI_RANK is 4|PMI_SIZE 4");
    refused("SSQ_DEVICE=guard SLURM_PROCID=3 SLURM_NTASKS= SLURM_LOCALID=1",
            SSQ_ERR_INVALID, "SLURM_NTASKS is empty");
    refused("SSQ_DEVICE=nonsense", SSQ_ERR_NOT_FOUND, "nonsense");
    bool listed = test_devices();
    say("");
    core_status(ssq_comm_place_get(NULL), SSQ_ERR_INVALID, "NULL", "NULL");
    p.struct_size--;
    core_status(ssq_comm_place_get(&p), SSQ_ERR_INVALID, "struct_size",
                "another struct_size");
    return tap_done(listed ? 16 : 15);
}
