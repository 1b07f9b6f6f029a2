/* SPDX-License-Identifier: Apache-2.0 */
/* parallel.h - the threads of a cpu device, and the one loop that they run.
 *
 * A team has its own threads or the program's. Its own do not exist
 * before the first loop that has work for it. Between loops they look for the
 * next one for a few microseconds and then sleep. They have one loop at a time;
 * a thread with another loop waits for its turn. On the program's threads there
 * are as many loops as the program lets run, one even within another: no one
 * waits (lent.h). */
#ifndef BACKENDS_CPU_THREADS_PARALLEL_H
#define BACKENDS_CPU_THREADS_PARALLEL_H

#include <sesqui/cpu.h>

struct team;

/** Most threads of a team. */
#define TEAM_MOST ((uint32_t)SSQ_CPU_THREADS)

/** One task of a loop: worker is below team_size(), and no two tasks run with
 *  the same worker at a time. */
typedef void (*team_task)(void *context, uint32_t i, uint32_t worker);

/** Of this many threads, the caller's among them: 1..TEAM_MOST. lent is copied:
 *  the program's threads, of which only parallel_for, user and survives_fork
 *  are read; without a parallel_for, or NULL: the team's own.
 *  @return SSQ_ERR_NOMEM, text set */
ssq_status team_create(uint32_t size, const ssq_cpu_options *lent,
                       struct team **team);
/** Not while a loop runs. */
void team_destroy(struct team **team);
uint32_t team_size(const struct team *team);
/** True if its threads are the program's. */
bool team_lent(const struct team *team);

/** task(context, i, ..) for i = 0 .. n - 1. Returns when all are done, with
 *  all that they wrote seen by the caller. Which thread gets which i is not
 *  determined; a task must not start a loop of the same team. Where the system
 *  gives no more threads there are fewer: results never depend on how many. */
void parallel_for(struct team *team, uint32_t n, team_task task, void *context);

/** Keep loops out while the process is copied, and let them in again, in the
 *  parent and in the child, which starts its own threads. */
void team_hold(struct team *team);
void team_let_go(struct team *team);

/** threads.c: how many threads a device has unless it is told, 1..TEAM_MOST. */
uint32_t team_default_size(void);
/** Whole processors' worth of time that control groups grant a process at
 *  least, or UINT32_MAX: group is its /proc/PID/cgroup, root where hierarchies
 *  are mounted, /sys/fs/cgroup. */
uint32_t team_granted(const char *group, const char *root);

#endif
