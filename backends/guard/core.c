/* SPDX-License-Identifier: Apache-2.0 */
/* core.c - the services of the core, for all files of guard. */
#include "backends/guard/guard.h"

const struct services *guard_core;
