/* SPDX-License-Identifier: Apache-2.0 */
/* dispatch.h - the implementation of an op: which exist, and which one is
 * chosen. */
#ifndef LIB_CORE_QUEUE_DISPATCH_H
#define LIB_CORE_QUEUE_DISPATCH_H

#include "lib/core/core.h"

/** An implementation of an op: an entry of the backend's list or of the plans.
 */
struct choice {
    bool plan; /* index counts plans; else the backend's own list */
    unsigned index;
    const char *name; /* from that list; constant */
};

/** Get implementation number i on a device: the backend's own come first, then
 *  the plans. False past the end. Users see the list in this order. */
bool choice_nth(const ssq_device *device, enum op_id op, unsigned i,
                struct choice *choice);
/** Return SSQ_OK if the implementation accepts the op; else SSQ_ERR_UNSUPPORTED
 *  with the reason in why. */
ssq_status choice_admits(ssq_device *device, const struct op *op,
                         const struct choice *choice, struct why *why);
/** Choose the implementation of an op.
 *  @return SSQ_ERR_UNSUPPORTED with every refusal in the text */
ssq_status dispatch(ssq_device *device, const struct op *op,
                    struct choice *choice);

#endif
