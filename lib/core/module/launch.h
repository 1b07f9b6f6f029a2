/* SPDX-License-Identifier: Apache-2.0 */
/* launch.h - one launch of a kernel, in the form that a plan passes to a
 * backend.
 *
 * A kernel is a source file, kernels/<name>.k. A variant assigns a value to
 * each of its keys. For a kernel and a variant a backend returns a
 * backend_kernel, the compiled form. The host and all kernel languages use the
 * same block of 4-byte parameters. They also use the same operands, plain
 * arrays of elements, in the order of the kernel's BUF_ lines. */
#ifndef LIB_CORE_MODULE_LAUNCH_H
#define LIB_CORE_MODULE_LAUNCH_H

#include "lib/core/base/view.h"

struct backend_mem;
struct backend_kernel;

/** Most keys of a kernel, and most operands and parameter words of a launch. Up
 *  to LAUNCH_PUSH words are push constants on devices that have them. If a
 *  launch has more words, the backend puts them into a buffer. */
#define LAUNCH_KEYS     6
#define LAUNCH_BINDINGS 16
#define LAUNCH_WORDS    64
#define LAUNCH_PUSH     32
/** Most groups of a launch on every device. Only one dimension is used. */
#define LAUNCH_GROUPS 65535u

/** Description of a kernel, generated from the first comment of its source. */
struct kernel {
    const char *name;
    uint32_t id; /* enum kernel_id */
    uint32_t nkeys;
    const char *keys[LAUNCH_KEYS]; /* macros defined for the compiler */
    uint32_t nvariants;
    const uint8_t (*variants)[LAUNCH_KEYS]; /* all valid ones */
};

/** One operand. All its elements are in the `bytes` bytes that begin at
 *  offset. */
struct binding {
    struct backend_mem *mem;
    uint64_t offset, bytes; /* in mem */
    uint32_t unit;          /* bytes of an element, as the kernel sees it */
    enum access access;     /* for barriers */
};

/** The backend sets the first nbindings words of param: the offset of each
 *  operand, in units, from the place where the backend binds mem. */
struct launch {
    const struct backend_kernel *code;
    uint32_t groups; /* 1..LAUNCH_GROUPS, of backend_limits.group work-items */
    uint32_t nbindings, nwords;
    struct binding binding[LAUNCH_BINDINGS];
    uint32_t param[LAUNCH_WORDS];
};

#endif
