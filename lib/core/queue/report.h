/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - errors that ssq_queue_sync returns besides the queue's own.
 *
 * An object that keeps errors in device words adds a report to its queue. Each
 * public sync first calls send() of all reports, then waits, then calls
 * get_error(). Waits within the library call neither. */
#ifndef LIB_CORE_QUEUE_REPORT_H
#define LIB_CORE_QUEUE_REPORT_H

#include "lib/core/core.h"

/** The first member of such an object. Any thread that syncs calls both
 *  functions, without a lock. It holds a reference to the report meanwhile. */
struct report {
    struct object object;
    struct report *next; /* in the queue's list; under its lock */
    /* enqueue copies of the words to the host */
    ssq_status (*send)(struct report *report, ssq_queue *queue);
    /* return an error that has arrived, once, or SSQ_OK */
    ssq_status (*get_error)(struct report *report);
};

/** Add a report; the queue takes a reference. */
void report_add(ssq_queue *queue, struct report *report);
/** Remove a report, and drop that reference. */
void report_remove(ssq_queue *queue, struct report *report);

/** Call send() for all reports, or get_error() until one returns an error.
 *  @return the first error */
ssq_status reports_send(ssq_queue *queue);
ssq_status reports_get_error(ssq_queue *queue);

#endif
