/* SPDX-License-Identifier: Apache-2.0 */
/* autocast.h - the dtypes of a call's operands and results: they follow from
 * the op's class, under the policy of the region that contains the call. */
#ifndef LIB_TAPE_AUTOCAST_H
#define LIB_TAPE_AUTOCAST_H

#include <sesqui/amp/policy.h>

#include "lib/tape/ops.h"

/** A policy as a tape uses it. It is created once for each text. */
struct autocast {
    char *name;        /* the policy's text; NULL: nothing is cast */
    ssq_dtype compute; /* dtype of class half */
    uint8_t classes[]; /* per op, then concat: enum ssq_op_class, flags */
};

/** The vars of a call, before and after casts. */
struct casting {
    const struct tape_op *op;
    unsigned present;                         /* bit i: var i exists */
    unsigned again;                           /* bit i: no new cast was made for
                                                 var i */
    ssq_dtype from[TAPE_VARS], to[TAPE_VARS]; /* dtype of each var */
};

/** Set the policy that applies outside of all regions, for calls of a table.
 *  @return as ssq_policy_from_name */
ssq_status autocast_begin(ssq_tape *t, const struct tape_op *const *ops,
                          const char *policy);
void autocast_free(ssq_tape *t);
/** Begin a pass: no region is open. */
void autocast_reset(ssq_tape *t);

/** Return true if everything that is created is float32, parameters
 *  included. */
bool autocast_wide(const ssq_tape *t);
/** Return the dtype that operands are cast to, or 0 if none is cast. Some
 *  operands keep their dtype anyway (enum slot_cast). */
ssq_dtype autocast_operands(const ssq_tape *t, const struct casting *c);
/** Return the dtype of those results that do not have a fixed dtype. */
ssq_dtype autocast_result(const ssq_tape *t, const struct casting *c);
/** Return the dtype of a concatenation. `common` is the common dtype of its
 *  operands, or f32 if they differ. */
ssq_dtype autocast_joined(const ssq_tape *t, ssq_dtype common);
/** Log one line about the decision, for SSQ_VERBOSE=autocast. */
void autocast_tell(const ssq_tape *t, const char *where,
                   const struct casting *c, ssq_dtype result);

#endif
