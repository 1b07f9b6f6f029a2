/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_warp.h - instructions that a warp runs together: mma.sync, ldmatrix and
 * cp.async; the effect of copies in flight on shared memory; and its banks. */
#ifndef TESTS_FAKECUDA_PTX_PTX_WARP_H
#define TESTS_FAKECUDA_PTX_PTX_WARP_H

#include "tests/fakecuda/ptx/ptx_memory.h"

#define PTX_WARP 32u

/* The stamp of shared memory whose contents are on the way: no one may read or
 * write it before the copy has been waited for. */
#define PTX_IN_FLIGHT UINT64_MAX

/* The slots of a warp's items, one after the other in memory. */
struct warp {
    uint64_t *slots;
    uint32_t nslots;
    uint32_t first; /* item */
};

static inline uint64_t *warp_slot(const struct warp *w, uint32_t lane,
                                  uint16_t slot)
{
    return w->slots + (size_t)lane * w->nslots + slot;
}

/* ptx_matrix.c */
void ptx_mma(struct ptx_run *r, const struct insn *i, const struct warp *w);
void ptx_ldmatrix(struct ptx_run *r, struct insn *i, const struct warp *w);

/* ptx_flight.c: the copies of a launch's items; NULL: no memory. */
struct ptx_flights *ptx_flights_create(uint32_t items);
void ptx_flights_destroy(struct ptx_flights *f);
/* A group begins: nothing is in flight. */
void ptx_flights_begin(struct ptx_flights *f);
void ptx_cp_async(struct ptx_run *r, struct insn *i, const struct warp *w);
/* Of the item that runs. wait: all but the newest `left` groups arrive, and
 * with left < 0 what is in no group yet, too. */
void ptx_cp_commit(struct ptx_run *r);
void ptx_cp_wait(struct ptx_run *r, int32_t left);
void ptx_cp_end(struct ptx_run *r, const struct insn *i);

/* ptx_banks.c: accesses of shared memory, to be counted warp by warp. */
struct ptx_banks *ptx_banks_create(void);
void ptx_banks_destroy(struct ptx_banks *b);
/* The items of a warp have come to a stop: their accesses since the last one
 * were side by side. Answers how often a bank had to be asked again. */
uint64_t ptx_bank_conflicts(struct ptx_banks *b);
/* The same of 8 items that touch 16 bytes each at a time. */
uint64_t ptx_row_conflicts(const uint64_t address[8]);

#endif
