/* SPDX-License-Identifier: Apache-2.0 */
/* start.c - starts the threads of a communicator. */
#include "lib/comm/comm.h"

#include <signal.h>
#include <string.h>

/* Signals must reach the program's own threads only. */
ssq_status comm_thread_start(pthread_t *thread, void *(*fn)(void *user),
                             void *user)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(thread, NULL, fn, user);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0
               ? SSQ_OK
               : error_set(SSQ_ERR_NOMEM, "comm: no thread can be started: %s",
                           strerror(error));
}
