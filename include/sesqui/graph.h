/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h - capture a sequence of ops once, launch it many times. */
#ifndef SESQUI_GRAPH_H
#define SESQUI_GRAPH_H

#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ssq_graph ssq_graph;

/** Begin capturing: ops on the queue are checked and recorded, not run.
 *  Until ssq_graph_end these are SSQ_ERR_INVALID: on this queue sync, copies
 *  from or to host memory, events; on its device buffers and tensors made by
 *  this thread. A capture belongs to its queue and to the thread that began it,
 *  which ends it: what other threads do with the device on other queues goes
 *  on, theirs on this queue is refused.
 *  @return SSQ_ERR_INVALID NULL, or a capture is under way. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_graph_begin(ssq_queue *queue);

/** Begin a capture that keeps nothing, to ask what a device does: every op on
 *  the queue is checked, and taken by an implementation or refused, as always;
 *  no kernel is compiled and no scratch is made. The rules and the end are
 *  those of a capture, but that buffers and tensors may be made.
 *  @return as ssq_graph_begin. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_graph_begin_dry(ssq_queue *queue);

/** End the capture; after ssq_graph_begin_dry *graph is NULL. Nothing of it has
 *  run, so scalers and optimizers are at the stage that they had at the begin,
 *  whether this succeeds or not; the same holds where the queue is destroyed
 *  before it.
 *  @return SSQ_ERR_INVALID no capture is under way, or it is another thread's
 *          (it goes on then), or a scaler's or optimizer's stage at the end is
 *          not the one it had at the begin (a step without its update); the
 *          queue's error. The capture is dropped then, unless graph is NULL.
 *          Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_graph_end(ssq_queue *queue,
                                                ssq_graph **graph);

/** Run the captured ops in order on a queue of the same device. A graph holds
 *  its buffers, so that a launch reads and writes the memory of the tensors
 *  that were captured, with what is in it then. A scaler takes a launch as the
 *  calls that were captured: its scale was used, or moved by an update.
 *  Asynchronous.
 *  @return SSQ_ERR_INVALID a NULL, another device, or a capture; the queue's
 *          error. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_graph_launch(ssq_queue *queue,
                                                   ssq_graph *graph);

/** Ops recorded in the graph; 0 for NULL. */
SSQ_API size_t ssq_graph_ops(const ssq_graph *graph);

/** Drop a graph; launches already enqueued are not disturbed. */
SSQ_API void ssq_graph_destroy(ssq_graph **graph);

#ifdef __cplusplus
}
#endif

#endif
