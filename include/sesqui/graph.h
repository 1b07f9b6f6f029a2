/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h - capture a sequence of ops once, launch it many times.
 *
 *     ssq_graph_begin(queue);
 *     ssq_gemm(queue, ..);                  recorded, not run
 *     ssq_graph_end(queue, &graph);
 *     for each step:
 *         ssq_tensor_write(queue, x, ..);   new data in the same tensors
 *         ssq_graph_launch(queue, graph);
 *     ssq_graph_destroy(&graph);
 *
 * A capture belongs to one queue and to the thread that began it, which can
 * capture on other queues, too. Calls on this queue check their arguments and
 * record their ops. A call that fails records nothing, and the capture
 * continues without it: ssq_graph_end does not report it. Exception: a call of
 * several ops may have recorded some of them when it fails, for example
 * ssq_tape_backward. Destroy the graph then. If ssq_optimizer_step or
 * ssq_optimizer_unscale fails after its check, the check is recorded and
 * counts.
 *
 * Until ssq_graph_end:
 *
 *  - On this queue ssq_queue_sync, ssq_tensor_read, ssq_tensor_write,
 *    ssq_event_record, ssq_queue_wait and ssq_graph_launch return
 *    SSQ_ERR_INVALID. So do query, sync and elapsed of events that were
 *    recorded on it, and calls of other headers that say so.
 *  - On this device, ssq_buffer_create and ssq_tensor_create return
 *    SSQ_ERR_INVALID in this thread. Make buffers and optimizer states before:
 *    for example, run one step uncaptured. Queues, events, views, and buffers
 *    that are imported or exported may be made.
 *  - An op that the device would run on the host (host_fallback in device.h)
 *    returns SSQ_ERR_UNSUPPORTED. In a dry capture it is accepted.
 *  - Other threads may use the device on other queues. On this queue their ops
 *    return SSQ_ERR_INVALID, unless they would record nothing.
 *
 * In a dry capture buffers and tensors may be made. The other rules hold, also
 * that the first use of an optimizer is refused.
 *
 * @sync host
 * @threads object */
#ifndef SESQUI_GRAPH_H
#define SESQUI_GRAPH_H

#include <sesqui/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ssq_graph ssq_graph;

/** Begin a capture on a queue. Work that a trainer's replay holds back is first
 *  handed to the device.
 *  @return SSQ_ERR_INVALID  a graph is being captured on the queue
 *  @sync async
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_graph_begin(ssq_queue *queue);

/** Begin a dry capture, to find out whether a device supports a sequence of
 *  ops. Each op on the queue is checked and its implementation is chosen, as in
 *  a capture. Nothing is recorded, no kernel is compiled, and no scratch is
 *  allocated. An op that the device does not support returns its usual error,
 *  and the capture continues. Exception: a refusal that is found only when a
 *  kernel is compiled or runs is not returned, for example if a Vulkan device
 *  was made without SSQ_VULKAN_INT16 (vulkan.h). End it with ssq_graph_end.
 *  Work that a trainer's replay holds back is first handed to the device.
 *  @return SSQ_ERR_INVALID  a graph is being captured on the queue
 *  @sync async
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_graph_begin_dry(ssq_queue *queue);

/** End a capture and return its graph. No op of it has run. Scalers and
 *  optimizers are at the stage that they had at the begin, also if the capture
 *  is dropped. Gradients of parameters are clean or written as at the begin
 *  (but see ssq_params_clean).
 *
 *  If the queue is destroyed during a capture, the capture is dropped in the
 *  same way.
 *  @param graph  out, not NULL; owned by the caller; release it with
 *                ssq_graph_destroy(). After a dry capture *graph is NULL.
 *  @return
 *   - SSQ_ERR_INVALID  graph is NULL, no capture has begun, or another thread
 *                      began it: a capture continues
 *   - SSQ_ERR_INVALID  a scaler or an optimizer is not at the stage that it had
 *                      at the begin, for example after a step without
 *                      ssq_scaler_update: the capture is dropped
 *   - SSQ_ERR_NOMEM    the capture is dropped
 *   - the queue's error: the capture is dropped, also if another thread began
 *     it
 *  @note If the driver cannot record the graph, for example for lack of memory,
 *        the call succeeds; launches are slower then. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_graph_end(ssq_queue *queue,
                                                ssq_graph **graph);

/** Run the ops of a graph, in order, on a queue of the graph's device. The
 *  graph holds its buffers: a launch reads and writes the memory of the
 *  captured tensors, with its contents at that time. Launches of one graph use
 *  the same memory: order launches on different queues, for example with an
 *  event.
 *
 *  A scaler takes a launch as the captured calls: the scale counts as used, and
 *  as updated if the graph contains an update. A graph that contains an update
 *  or an optimizer's step must be launched between whole steps. For example, do
 *  not launch it between ssq_scaler_check and ssq_scaler_update, or after
 *  ssq_optimizer_accumulate.
 *  @return SSQ_ERR_INVALID  the graph is of another device; a graph is being
 *                           captured on the queue; the graph's scaler or
 *                           optimizer is at another stage than at the begin of
 *                           the capture, for example in a step that calls have
 *                           begun; the graph adds to a gradient that is clean.
 *                           Nothing was enqueued.
 *          If another error comes after the first ops of the graph, for example
 *          SSQ_ERR_NOMEM of an op on cpu, these have run and the queue has
 *          failed: every later call on it returns this error.
 *  @sync async
 *  @threads object */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_graph_launch(ssq_queue *queue,
                                                   ssq_graph *graph);

/** Return the number of ops recorded in a graph; 0 for NULL. A call can record
 *  several ops. An op that is split (binding_bytes in device.h) can count once
 *  for each window.
 *  @threads any */
SSQ_API size_t ssq_graph_ops(const ssq_graph *graph);

/** Release a graph, and what it holds: buffers, scalers and optimizers.
 *  Launches that have been enqueued still run.
 *  @param graph  set to NULL; NULL, or a pointer to NULL: does nothing
 *  @sync host, except that memory may be freed (ssq_buffer_destroy) */
SSQ_API void ssq_graph_destroy(ssq_graph **graph);

#ifdef __cplusplus
}
#endif

#endif
