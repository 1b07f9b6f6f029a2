/* SPDX-License-Identifier: Apache-2.0 */
/* implementation.h - the typed lists of a backend, by the op's number. */
#ifndef LIB_CORE_MODULE_IMPLEMENTATION_H
#define LIB_CORE_MODULE_IMPLEMENTATION_H

#include "lib/core/module/backend.h"

/** Return the name of implementation i of an op; NULL past the end. */
const char *implementation_name(const struct op_table *table, enum op_id op,
                                unsigned i);
/** Call the check of an implementation. If false, why contains the reason. */
bool implementation_admits(const struct op_table *table, unsigned i,
                           const struct backend_device *device,
                           const struct op *op, struct why *why);
/** Call the `last` of an implementation: true if the op's plan is better. */
bool implementation_last(const struct op_table *table, unsigned i,
                         const struct backend_device *device,
                         const struct op *op);

#endif
