/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h - one launch of a kernel, as a plan hands it to a backend.
 *
 * A kernel is a text in kernels/<name>.k and its variant a value for each of
 * its keys; a backend gives the two a backend_kernel, its own form of them. The
 * host and every language see the same block of 4-byte parameters, and the same
 * operands: plain runs of elements, in the order of the kernel's BUF_ lines. */
#ifndef LIB_PLAN_LAUNCH_H
#define LIB_PLAN_LAUNCH_H

#include "lib/core/view.h"

struct backend_mem;
struct backend_kernel;

/** Most keys of a kernel, operands and words of parameters of a launch. Up to
 *  LAUNCH_PUSH words are push constants wherever there are any; a backend puts
 *  more in a buffer of its own. */
#define LAUNCH_KEYS     6
#define LAUNCH_BINDINGS 16
#define LAUNCH_WORDS    64
#define LAUNCH_PUSH     32
/** What every device takes of groups, in the one dimension that is used. */
#define LAUNCH_GROUPS 65535u

/** What there is of a kernel text: generated from its first comment. */
struct kernel {
    const char *name;
    uint32_t id; /* enum kernel_id */
    uint32_t nkeys;
    const char *keys[LAUNCH_KEYS]; /* macros that a compiler gets */
    uint32_t nvariants;
    const uint8_t (*variants)[LAUNCH_KEYS]; /* all that may be launched */
};

/** One operand. All elements of an operand lie within bytes from offset on. */
struct binding {
    struct backend_mem *mem;
    uint64_t offset, bytes; /* in mem */
    uint32_t unit;          /* bytes of an element, as the kernel sees it */
    enum access access;     /* for barriers */
};

/** The first nbindings words of param are the backend's: where each operand
 *  begins, in units, from where the backend binds mem. */
struct launch {
    const struct backend_kernel *code;
    uint32_t groups; /* 1..LAUNCH_GROUPS, of backend_limits.group work-items */
    uint32_t nbindings, nwords;
    struct binding binding[LAUNCH_BINDINGS];
    uint32_t param[LAUNCH_WORDS];
};

#endif
