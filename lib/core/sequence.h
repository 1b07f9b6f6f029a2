/* SPDX-License-Identifier: Apache-2.0 */
/* sequence.h - ops that were enqueued one behind the other, as they were asked
 * for and as commands, to be compared with others and launched again. */
#ifndef LIB_CORE_SEQUENCE_H
#define LIB_CORE_SEQUENCE_H

#include "lib/core/graph.h"
#include "lib/core/queue.h"

/** An op, and where its commands end in the part's graph: windows of it are
 *  several. */
struct entry {
    struct op *op; /* owned */
    size_t end;
};

/** Ops between which nothing happened that a graph cannot have. Sequences that
 *  begin alike share their first parts. */
struct part {
    struct object object;
    ssq_graph *graph;
    struct entry *entry;
    size_t n, room;
    bool compiled; /* the backend was asked for its own form of the graph */
};

struct sequence {
    struct sequence *next;  /* of all that a queue has */
    struct sequence *after; /* which came behind it the last time, or NULL */
    uint64_t used;          /* the span that it was seen in last */
    struct part **part;
    size_t n, room;
    bool open;            /* the last part may grow */
    ssq_buffer **scratch; /* that calls got on the way, in order; held */
    size_t n_scratch, scratch_room;
};

/** How far in a sequence: the entry that comes next. */
struct place {
    size_t part, entry, scratch;
};

/** Would two ops do the same? Operands by their memory and form, not by what is
 *  in it. */
bool op_same(const struct op *a, const struct op *b);

struct sequence *sequence_create(void);
void sequence_free(struct sequence *s);
/** What comes before a place of another, with its commands, open to grow; whole
 *  parts are shared. NULL: no memory. */
struct sequence *sequence_fork(const struct sequence *s,
                               const struct place *to);
/** The entry at a place; NULL: the sequence has ended. */
const struct entry *sequence_at(const struct sequence *s,
                                const struct place *at);
/** Do two begin with the same ops, up to a place of both? */
bool sequence_alike(const struct sequence *a, const struct sequence *b,
                    const struct place *to);

/** Add to the end; false: no memory. A copy of the op comes first, then a copy
 *  of each of its commands. */
bool sequence_add(struct sequence *s, ssq_device *device, const struct op *op);
bool sequence_command(struct sequence *s, const struct command *c);
/** Has the op that was added last a command? */
bool sequence_has_command(const struct sequence *s);
bool sequence_scratch(struct sequence *s, ssq_buffer *buffer);
/** What comes next is in another part. */
void sequence_close(struct sequence *s);

/** A copy of a command that holds what it has, at the end of a graph. */
ssq_status command_copy(ssq_graph *graph, const struct command *c);

#endif
