/* SPDX-License-Identifier: Apache-2.0 */
/* ptx_emit.h - what decoding writes: slots, instructions, labels. */
#ifndef TESTS_FAKECUDA_PTX_PTX_EMIT_H
#define TESTS_FAKECUDA_PTX_PTX_EMIT_H

#include "tests/fakecuda/ptx/ptx_read.h"

uint32_t ptx_new_slots(struct reader *r, uint32_t n);
/* The slot of a constant. */
uint16_t ptx_constant(struct reader *r, uint64_t value);
struct insn *ptx_emit(struct reader *r, unsigned op, uint16_t d, uint16_t a,
                      uint16_t b, uint16_t c);
/* A branch to a label of this scope, which may come later. */
void ptx_jump(struct reader *r, unsigned op, uint16_t p, const char *name);
void ptx_label(struct reader *r, const char *name);
/* All jumps get their targets. */
void ptx_resolve(struct reader *r);

/* An operand that is read: register, constant or a variable's address. */
uint16_t ptx_source(struct reader *r);
/* A register that is written. */
uint16_t ptx_target(struct reader *r);
/* "[base+offset]": the slot of the base, or of a call's parameter. */
uint16_t ptx_address(struct reader *r, int32_t *offset, bool *is_slot);

/* mma.sync, ldmatrix and cp.async; false: it is another instruction. */
bool ptx_warp_op(struct reader *r, const char *name);
/* ld and st in all spaces, of vectors too; name is the instruction's. */
void ptx_load_store(struct reader *r, const char *name);

#endif
