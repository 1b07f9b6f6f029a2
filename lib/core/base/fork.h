/* SPDX-License-Identifier: Apache-2.0 */
/* fork.h - forks of this process: their number, and what is locked meanwhile.
 *
 * A child has one thread. A driver's threads do not exist in it, and locks that
 * they held stay locked. A device of such a backend is lost to the child: calls
 * on it return SSQ_ERR_DEVICE, except calls that destroy objects. Devices that
 * are host code stay usable: all their locks are taken before the process is
 * copied. */
#ifndef LIB_CORE_BASE_FORK_H
#define LIB_CORE_BASE_FORK_H

#include <stdbool.h>

/** Return the number of forks between the process that first used the library
 *  and this process. */
unsigned fork_count(void);

/** Install the handlers of forks, which call forked in each child. False
 *  without memory. Called by the registry, from one thread at a time. */
bool fork_ready(void (*forked)(void));

/** Locks that are taken before the process is copied, and released after it,
 *  in the parent and in the child. */
struct fork_locks {
    void (*hold)(void);
    void (*let_go)(void);
};
/** Take these, too, from now on, before all others. locks must be static.
 *  Called by the first device, whose locks the base does not know. */
void fork_locks_first(const struct fork_locks *locks);

#endif
