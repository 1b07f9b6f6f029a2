/* SPDX-License-Identifier: Apache-2.0 */
/* services.h - the core's functions for modules, and for those files of the
 * library that serve modules, too. */
#ifndef LIB_CORE_MODULE_SERVICES_H
#define LIB_CORE_MODULE_SERVICES_H

#include "lib/core/module/backend.h"

extern const struct services core_services;

#endif
