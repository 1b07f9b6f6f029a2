/* SPDX-License-Identifier: Apache-2.0 */
/* terms.h - a set of instructions' part in sums over ranks. */
#ifndef BACKENDS_CPU_DEVICE_TERMS_H
#define BACKENDS_CPU_DEVICE_TERMS_H

#include "backends/cpu/isa.h"
#include "lib/core/base/terms.h"

extern const struct term_kernels term_kernels_plain;
const struct term_kernels *isa_terms(const struct isa *isa);

#endif
