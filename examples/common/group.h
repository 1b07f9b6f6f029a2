/* SPDX-License-Identifier: Apache-2.0 */
/* group.h - a training by several ranks: processes that mpirun has started, or
 * threads of this one. */
#ifndef EXAMPLES_COMMON_GROUP_H
#define EXAMPLES_COMMON_GROUP_H

#include "examples/common/run.h"

/** One rank of a run; alone it is rank 0 of 1. */
struct member {
    const struct run_options *o; /* this rank's: others than 0 are quiet, write
                                    no log, and save only where they hold a
                                    part of the optimizer */
    unsigned rank, size;
    ssq_device *device;
    ssq_queue *queue;      /* for group_sum; programs have their own */
    ssq_comm *comm;        /* NULL: alone */
    const double *weights; /* of all ranks; NULL: all the same */
    struct run_options own;
    double weight[64];
};

/** What a rank does; false after saying what failed. user is of all ranks. */
typedef bool group_main(struct member *member, const void *user);

/** Run main once for each rank that the options ask for and this process has.
 *  @return the program's exit status: 0, 1 failed, 2 the number of ranks is
 *          wrong or there is no MPI. Does not return where other processes
 *          could not be waited for */
int group_run(const struct run_options *o, group_main *main, const void *user);

/** Sums over all ranks, in float32; waits for them. Alone they stay as they
 *  are. At most 8. */
bool group_sum(struct member *member, double *values, size_t n);

/** Training losses, as they are shown. */
struct shown_loss {
    double rows;          /* of this rank, since the last was shown */
    double sum, sum_rows; /* of all ranks, since the epoch began */
};
/** Make *mean, the mean loss of this rank since the last was shown, that of all
 *  ranks; waits for them. */
bool group_loss(struct member *member, struct shown_loss *shown, double *mean);
/** The mean of an epoch, which ends: of each batch by its rows. */
double group_epoch_loss(struct shown_loss *shown);

/** This rank's part of a batch that all ranks take as large a part of; false,
 *  after saying so, where that is no whole number. */
bool group_part(const struct member *member, int64_t rows, int64_t *part);

/** With --shard: how much of an optimizer, which has stepped, rank 0 holds, as
 *  a line where the run is not quiet. */
bool group_show(const struct member *member, const ssq_optimizer *optimizer);

/* ---- mpi.c, or no_mpi.c where there is none ---- */

/** False after saying why there is none. */
bool mpi_begin(const struct run_options *o);
/** This process's communicator. */
bool mpi_comm(ssq_device *device, const ssq_comm_options *options,
              ssq_comm **comm);
/** The end of a process; after a failure it ends here and now, with status 1,
 *  since others may not come any more. */
void mpi_end(bool good);

#endif
