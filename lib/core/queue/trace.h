/* SPDX-License-Identifier: Apache-2.0 */
/* trace.h - a recorded trace: ops in the order in which they were enqueued,
 * with their commands, to be compared with other ops and launched again. */
#ifndef LIB_CORE_QUEUE_TRACE_H
#define LIB_CORE_QUEUE_TRACE_H

#include "lib/core/queue/graph.h"

/** An op, and the end of its commands in the part's graph. An op that is split
 *  into windows has several commands. */
struct trace_entry {
    struct op *op; /* owned */
    size_t end;
};

/** Consecutive ops without other work between them, so that one graph can
 *  contain them. Traces with the same beginning share their first parts. */
struct trace_part {
    struct object object;
    ssq_graph *graph;
    struct trace_entry *entry;
    size_t n, room;
    bool compiled; /* the backend was asked for its own form of the graph */
};

struct trace {
    struct trace *next;  /* in the queue's list */
    struct trace *after; /* the one that came next the last time, or NULL */
    uint64_t used;       /* the last iteration that recorded or replayed it */
    struct trace_part **part;
    size_t n, room;
    bool open;            /* the last part may grow */
    ssq_buffer **scratch; /* that calls got, in order; references */
    size_t n_scratch, scratch_room;
};

/** A position in a trace: the entry that comes next. */
struct trace_position {
    size_t part, entry, scratch;
};

/** True if two ops do the same. Operands are compared by their memory and
 *  layout, not by their contents. */
bool op_same(const struct op *a, const struct op *b);

struct trace *trace_create(void);
void trace_free(struct trace *t);
/** Copy a trace up to a position, with its commands, and leave the copy open to
 *  grow. Whole parts are shared. NULL without memory. */
struct trace *trace_fork(const struct trace *t,
                         const struct trace_position *to);
/** Return the entry at a position; NULL if the trace has none there. */
const struct trace_entry *trace_entry_at(const struct trace *t,
                                         const struct trace_position *at);
/** True if two traces have the same ops up to a position. */
bool trace_equal(const struct trace *a, const struct trace *b,
                 const struct trace_position *to);

/** Append to a trace; false without memory. First add the op, then each of
 *  its commands. Both are copied. */
bool trace_add_op(struct trace *t, ssq_device *device, const struct op *op);
bool trace_add_command(struct trace *t, const struct command *c);
/** True if the op that was added last has a command. */
bool trace_has_command(const struct trace *t);
bool trace_add_scratch(struct trace *t, ssq_buffer *buffer);
/** Let the next op begin another part. */
void trace_close_part(struct trace *t);

#endif
