/* SPDX-License-Identifier: Apache-2.0 */
/* start.c - threads of a communicator. */
#include "lib/comm/comm.h"

#include <signal.h>
#include <string.h>

/* Signals are for the program's own threads. */
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
