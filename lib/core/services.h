/* SPDX-License-Identifier: Apache-2.0 */
/* services.h - the core's functions as modules are lent them, and as those
 * files of the library use them that serve modules, too. */
#ifndef LIB_CORE_SERVICES_H
#define LIB_CORE_SERVICES_H

#include "lib/core/backend.h"

extern const struct services core_services;

#endif
