/* SPDX-License-Identifier: Apache-2.0 */
/* ptx.h - run the entries of a PTX module on the host, and check them strictly.
 *
 * A device address is a host address. An entry is decoded once, when it is
 * first asked for, and may then be run by several threads at a time: a launch
 * keeps all that it writes to itself. An error in the text or in its run
 * ends in a text that names the line and its instruction. */
#ifndef TESTS_FAKECUDA_PTX_PTX_H
#define TESTS_FAKECUDA_PTX_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PTX_PARAMS 32 /* parameters of one entry, at most */

/* The last writer and reader of each byte of an allocation, if any: used to
 * find races and uninitialised reads in global memory. It is
 * sixteen times as large as the memory. Not locked: the creator sees to it
 * that one launch or copy runs at a time. */
struct ptx_shadow;

struct ptx_shadow *ptx_shadow_create(uint64_t base, uint64_t bytes);
void ptx_shadow_destroy(struct ptx_shadow *s);
/* These bytes hold values now, which no launch wrote. */
void ptx_shadow_wrote(struct ptx_shadow *s, uint64_t at, uint64_t bytes);
/* These bytes are as defined as those at from are. */
void ptx_shadow_moved(struct ptx_shadow *s, uint64_t at,
                      const struct ptx_shadow *source, uint64_t from,
                      uint64_t bytes);

/* Memory that a launch may touch. */
struct ptx_range {
    uint64_t base, bytes;
    bool write;
    struct ptx_shadow *shadow; /* of the whole allocation; NULL: no race mode */
};

struct ptx_module;
struct ptx_entry;

/* NULL: why says what is wrong with the text. The text is copied. */
struct ptx_module *ptx_load(const char *text, char *why, size_t bytes);
void ptx_unload(struct ptx_module *m);
/* NULL and an empty why: the entry does not exist; else why says what in it is
 * refused. Not for two threads at a time. */
struct ptx_entry *ptx_find(struct ptx_module *m, const char *name, char *why,
                           size_t bytes);
/* The i-th entry's name, or NULL after the last. */
const char *ptx_entry_name(const struct ptx_module *m, uint32_t i);

struct ptx_parameter {
    uint32_t at, bytes;
};

/* The requirements of an entry. */
struct ptx_shape {
    uint32_t nparams, param_bytes;
    struct ptx_parameter param[PTX_PARAMS];
    uint32_t items; /* of .maxntid; 0: none is given */
    uint32_t shared_bytes, local_bytes, registers, barriers;
};

const struct ptx_shape *ptx_entry_shape(const struct ptx_entry *e);

/* The counts of a launch, summed over all warps; conflicts: how often a bank of
 * shared memory had to be asked again. global_bytes are cp's.async and
 * of loads. */
struct ptx_counts {
    uint64_t mma, ldmatrix, copies, flops, global_bytes, conflicts;
};

/* A tensor core at fault: one whose sums are rounded to 11 bits, whose rows
 * have changed places by eights, or that forgets the last of k. Of all launches
 * from now on; not while one runs. */
enum ptx_mma_wrong {
    PTX_MMA_RIGHT,
    PTX_MMA_HALF,
    PTX_MMA_TURNED,
    PTX_MMA_TAIL
};
extern enum ptx_mma_wrong ptx_mma_wrong;

struct ptx_launch {
    uint32_t groups, items;
    const void *param; /* laid out as the shape says */
    size_t param_bytes;
    const struct ptx_range *range;
    size_t nrange;
    uint64_t retired;          /* result: instructions that ran */
    struct ptx_counts *counts; /* result; NULL: nothing is counted */
};

/* False: why says what went wrong; data written until then stays. */
bool ptx_run(struct ptx_entry *e, struct ptx_launch *l, char *why,
             size_t bytes);

/* Of the instructions of an entry, how many has any launch reached? */
void ptx_coverage(struct ptx_entry *e, uint32_t *seen, uint32_t *all);
/* Calls see(name, arg) for each operation that the entry uses; names come as
 * often as they occur. */
void ptx_opcodes(const struct ptx_entry *e,
                 void (*see)(const char *name, void *arg), void *arg);

#endif
