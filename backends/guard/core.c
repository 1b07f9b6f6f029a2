/* SPDX-License-Identifier: Apache-2.0 */
/* core.c - what the core lends to guard. */
#include "backends/guard/guard.h"

const struct services *guard_core;
