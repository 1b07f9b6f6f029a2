/* SPDX-License-Identifier: Apache-2.0 */
/* sequence.h - ops in the order in which they were enqueued, with their
 * commands, to be compared with other ops and launched again. */
#ifndef LIB_CORE_QUEUE_SEQUENCE_H
#define LIB_CORE_QUEUE_SEQUENCE_H

#include "lib/core/queue/graph.h"
#include "lib/core/queue/queue.h"

/** An op, and the end of its commands in the part's graph. An op that is split
 *  into windows has several commands. */
struct sequence_entry {
    struct op *op; /* owned */
    size_t end;
};

/** Consecutive ops without other work between them, so that one graph can
 *  contain them. Sequences with the same beginning share their first parts. */
struct part {
    struct object object;
    ssq_graph *graph;
    struct sequence_entry *entry;
    size_t n, room;
    bool compiled; /* the backend was asked for its own form of the graph */
};

struct sequence {
    struct sequence *next;  /* in the queue's list */
    struct sequence *after; /* the one that came next the last time, or NULL */
    uint64_t used;          /* the last span in which it was seen */
    struct part **part;
    size_t n, room;
    bool open;            /* the last part may grow */
    ssq_buffer **scratch; /* that calls got, in order; references */
    size_t n_scratch, scratch_room;
};

/** A position in a sequence: the entry that comes next. */
struct place {
    size_t part, entry, scratch;
};

/** True if two ops do the same. Operands are compared by their memory and
 *  layout, not by their contents. */
bool op_same(const struct op *a, const struct op *b);

struct sequence *sequence_create(void);
void sequence_free(struct sequence *s);
/** Copy a sequence up to a place, with its commands, and leave the copy open to
 *  grow. Whole parts are shared. NULL without memory. */
struct sequence *sequence_fork(const struct sequence *s,
                               const struct place *to);
/** Return the entry at a place; NULL if the sequence has none there. */
const struct sequence_entry *sequence_at(const struct sequence *s,
                                         const struct place *at);
/** True if two sequences have the same ops up to a place. */
bool sequence_alike(const struct sequence *a, const struct sequence *b,
                    const struct place *to);

/** Append to a sequence; false without memory. First add the op, then each of
 *  its commands. Both are copied. */
bool sequence_add(struct sequence *s, ssq_device *device, const struct op *op);
bool sequence_command(struct sequence *s, const struct command *c);
/** True if the op that was added last has a command. */
bool sequence_has_command(const struct sequence *s);
bool sequence_scratch(struct sequence *s, ssq_buffer *buffer);
/** Let the next op begin another part. */
void sequence_close(struct sequence *s);

/** Append a copy of a command to a graph. The copy holds its op and plan. */
ssq_status command_copy(ssq_graph *graph, const struct command *c);

#endif
