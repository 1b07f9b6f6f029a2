/* SPDX-License-Identifier: Apache-2.0 */
/* fakenccl.h - the calls of NCCL that the stand-in has, with the ABI of nccl.h,
 * and what it has beyond them.
 *
 * Ranks are threads or processes of one machine: their data goes
 * through shared memory, on the threads of the stand-in driver's streams. So it
 * proves nothing of NCCL's own order of sums, of its kernels, its networks, its
 * speed or what it takes of a device; and no more of its faults than are here:
 * a call that is not equal on all ranks, or a rank that is gone, waits until it
 * is aborted, as NCCL's kernels do within one machine.
 *
 * The environment, read by each call:
 *   FAKENCCL_VERSION=21200   of ncclGetVersion; 22703
 *   FAKENCCL_FAIL=id         ncclGetUniqueId fails,
 *                 init       ncclCommInitRankConfig does, once all have come,
 *                 group      ncclGroupEnd does
 *   FAKECUDA_QUIET=1         refusals, and what this is, are not printed */
#ifndef TESTS_FAKECUDA_NCCL_FAKENCCL_H
#define TESTS_FAKECUDA_NCCL_FAKENCCL_H

#include "comms/nccl/api.h"
#include "tests/fakecuda/driver/fakecuda.h"

#define X(NAME, ANSWER, ARGS) FAKE_EXPORT ANSWER NAME ARGS;
NCCL_CALLS(X)
X(ncclGetVersion, ncclResult_t, (int *))
X(ncclCommInitRank, ncclResult_t, (ncclComm_t *, int, ncclUniqueId, int))
#undef X

/* From now on ncclCommGetAsyncError answers this of the communicators on a
 * device, until they are ended. */
FAKE_EXPORT void fakenccl_break(int device, ncclResult_t result);
/* The calls refused as against the documentation; the last text is copied. */
FAKE_EXPORT unsigned long fakenccl_faults(char *text, size_t bytes);
/* Communicators that live. */
FAKE_EXPORT unsigned long fakenccl_live(void);
/* Collectives that streams have run, and groups that were handed over. */
FAKE_EXPORT void fakenccl_counts(unsigned long *moves, unsigned long *groups);

#endif
