/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - what ssq_queue_sync returns besides the queue's own errors.
 *
 * An object that keeps errors in device words adds a report to its queue. Each
 * public sync first has all reports send their words, then waits, then asks
 * them for an error. Waits within the library do not ask. */
#ifndef LIB_CORE_REPORT_H
#define LIB_CORE_REPORT_H

#include "lib/core/core.h"

/** The first member of such an object. Both functions are called without a
 *  lock, by any thread that syncs, with a reference of the report held. */
struct report {
    struct object object;
    struct report *next; /* of the queue; under its lock */
    /* enqueue copies to the host */
    ssq_status (*send)(struct report *report, ssq_queue *queue);
    /* the error that has arrived, once; or SSQ_OK */
    ssq_status (*tell)(struct report *report);
};

/** Add a report; the queue takes a reference. */
void report_add(ssq_queue *queue, struct report *report);
/** Take it out, and drop that reference. */
void report_remove(ssq_queue *queue, struct report *report);

/** Call send, or tell, of all reports. @return the first error */
ssq_status reports_send(ssq_queue *queue);
ssq_status reports_tell(ssq_queue *queue);

#endif
