/* SPDX-License-Identifier: Apache-2.0 */
/* fakecuda.h - what the stand-in of libcuda has beyond the driver's API: tests
 * find these symbols by dlsym.
 *
 * The environment, read at the first call:
 *   FAKECUDA_DEVICES=2           how many; 1
 *   FAKECUDA_CAPABILITY=80,61    of each device; the last is for the others; 80
 *   FAKECUDA_DRIVER=11080        of cuDriverGetVersion; 13000
 *   FAKECUDA_MEMORY=1048576      bytes of each device; 2 GiB
 *   FAKECUDA_HIDE=cuA,cuB        what cuGetProcAddress does not find; dlsym
 *                                finds it nevertheless, because the loader
 *                                reads the file's symbols and asks no one:
 *                                devices.sh renames them in a copy instead
 *   FAKECUDA_POOLS=0             devices have no memory pools
 *   FAKECUDA_PTX=60              newest PTX that it takes; as of the driver
 *   FAKECUDA_RACE=1              shadows of global memory: races, uninitialised
 *   FAKECUDA_MMA=half            mma.sync at fault: sums rounded to 11 bits,
 *                turned, tail    rows in another order, the last of k missing;
 *                                read when a module is loaded
 *   FAKECUDA_GROUPS=1            no launch has more groups than this
 *   FAKECUDA_STATS=FILE          a line per entry when its module is unloaded:
 *                                sum and bytes of the text, as cksum has them,
 *                                name, launches, instructions retired, then
 *                                instructions reached and all of them
 *   FAKECUDA_QUIET=1             refusals are not printed */
#ifndef TESTS_FAKECUDA_DRIVER_FAKECUDA_H
#define TESTS_FAKECUDA_DRIVER_FAKECUDA_H

#include <stdbool.h>

#include "tests/fakecuda/driver/cuda.h"

/* The operand of a launch: as in the backend that hands it over. */
struct ssq_standin_range {
    uint64_t base, bytes;
    uint32_t write;
};

/* The exact operands of this thread's next cuLaunchKernel or
 * cuGraphAddKernelNode; without them it may touch all that is allocated. */
FAKE_EXPORT void ssq_standin_bindings(const struct ssq_standin_range *r,
                                      size_t n);
/* The nth call from now on (1: the next) of this name, or of any ("*"), fails
 * with this result and does nothing. nth 0: none does. */
FAKE_EXPORT void fakecuda_fail(const char *call, unsigned long nth,
                               CUresult result);
/* Ask at the beginning of each call, by its name, how it is to fail; the call
 * then does nothing. breaks: its device fails, too. NULL: none is asked. fn
 * must not call the driver. */
FAKE_EXPORT void fakecuda_watch(CUresult (*fn)(const char *call), bool breaks);
/* Calls of this name so far, or of all ("*"). */
FAKE_EXPORT unsigned long fakecuda_calls(const char *call);
/* Return how many calls have been refused because the API does not document
 * them. The text of the last refusal or fault is copied. */
FAKE_EXPORT unsigned long fakecuda_refused(char *text, size_t bytes);
/* The device fails now: a sticky error of its context, such as ECC's. */
FAKE_EXPORT void fakecuda_break(CUdevice device, CUresult result);
FAKE_EXPORT void fakecuda_break_context(CUcontext ctx, CUresult result);
/* Contexts, streams, events, modules, graphs and allocations that live. */
FAKE_EXPORT unsigned long fakecuda_live(void);
/* Enqueue work that is not PTX, such as a library's: fn is called with a copy
 * of these bytes when its turn has come. It may access the given ranges. */
FAKE_EXPORT CUresult fakecuda_compute(CUstream s,
                                      const struct ssq_standin_range *r,
                                      size_t n, CUhostFn fn, const void *data,
                                      size_t bytes);
FAKE_EXPORT void fakecuda_counts(uint64_t *launches, uint64_t *retired);

#endif
