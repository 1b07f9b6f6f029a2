/* SPDX-License-Identifier: Apache-2.0 */
/* capture.h - the capture of a queue: its ops are recorded in a graph, and do
 * not run. */
#ifndef LIB_CORE_QUEUE_CAPTURE_H
#define LIB_CORE_QUEUE_CAPTURE_H

#include <sesqui/graph.h>

#include "lib/core/core.h"

/** The capture of a queue. */
struct capture {
    ssq_graph *graph; /* NULL: no capture; changed under the queue's lock */
    bool active;      /* the same, under the device's queues_lock */
    bool dry;         /* the capture checks ops and keeps no command */
    pthread_t thread; /* the thread that captures; valid while active */
};

/** Begin (on) or end a capture by this thread. Other threads that use the
 *  device are not affected. */
void capture_set_thread(ssq_queue *queue, bool on);
/** SSQ_ERR_INVALID if another thread captures on the queue. */
ssq_status capture_check_thread(const ssq_queue *queue, const char *what);
/** End the capture, if there is one, and drop all that it has recorded. */
void capture_drop(ssq_queue *queue);

#endif
