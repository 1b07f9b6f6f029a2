/* SPDX-License-Identifier: Apache-2.0 */
/* implementation.h - the typed lists of a backend, by the op's number. */
#ifndef LIB_CORE_IMPLEMENTATION_H
#define LIB_CORE_IMPLEMENTATION_H

#include "lib/core/backend.h"

/** The name of implementation i of an op; NULL past the end of the list. */
const char *implementation_name(const struct op_table *table, enum op_id op,
                                unsigned i);
/** Its check; false: why says what it refuses. */
bool implementation_admits(const struct op_table *table, unsigned i,
                           const struct backend_device *device,
                           const struct op *op, struct why *why);
/** True if it would rather have the op's plan do this: its `last`. */
bool implementation_last(const struct op_table *table, unsigned i,
                         const struct backend_device *device,
                         const struct op *op);

#endif
