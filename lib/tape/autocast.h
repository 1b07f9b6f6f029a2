/* SPDX-License-Identifier: Apache-2.0 */
/* autocast.h - which dtypes a call's operands and results have: by its class,
 * under the policy of the region that it stands in. */
#ifndef LIB_TAPE_AUTOCAST_H
#define LIB_TAPE_AUTOCAST_H

#include <sesqui/amp/policy.h>

#include "lib/tape/ops.h"

/** A policy as a tape uses it; made once for each text. */
struct autocast {
    char *name;        /* the policy's text; NULL: nothing is cast */
    ssq_dtype compute; /* of class half */
    uint8_t classes[]; /* of the ops, then of concat: enum ssq_op_class */
};

/** What a call's vars are and become. */
struct casting {
    const struct tape_op *op;
    unsigned present;                         /* vars that are there, in bits */
    unsigned again;                           /* whose cast was there before */
    ssq_dtype from[TAPE_VARS], to[TAPE_VARS]; /* of each var */
};

/** The policy that stands outside of all regions, for calls of a table.
 *  @return as ssq_policy_from_name */
ssq_status autocast_begin(ssq_tape *t, const struct tape_op *const *ops,
                          const char *policy);
void autocast_free(ssq_tape *t);
/** A new pass: no region is open. */
void autocast_reset(ssq_tape *t);

/** True where all that is made is float32: parameters too. */
bool autocast_wide(const ssq_tape *t);
/** The dtype that operands are cast to, but those that stay as they are; 0:
 *  none is. */
ssq_dtype autocast_operands(const ssq_tape *t, const struct casting *c);
/** The dtype of results that are not float32 anyway. */
ssq_dtype autocast_result(const ssq_tape *t, const struct casting *c);
/** The same for a join of vars: common is f32 where their dtypes differ. */
ssq_dtype autocast_joined(const ssq_tape *t, ssq_dtype common);
/** A line of what was decided, for SSQ_VERBOSE=autocast. */
void autocast_tell(const ssq_tape *t, const char *where,
                   const struct casting *c, ssq_dtype result);

#endif
