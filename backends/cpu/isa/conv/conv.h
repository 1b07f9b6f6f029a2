/* SPDX-License-Identifier: Apache-2.0 */
/* conv.h - the parts of struct conv_kernels, of one instruction set. */
#ifndef BACKENDS_CPU_ISA_CONV_CONV_H
#define BACKENDS_CPU_ISA_CONV_CONV_H

#include "backends/cpu/conv/conv_kernels.h"
#include "backends/cpu/isa.h"

conv_fill_fn ISA_NAME(conv_fill);
conv_fill_fn ISA_NAME(conv_fill_pairs);
conv_fill_fn ISA_NAME(conv_fill_halves);
conv_gather_fn ISA_NAME(conv_gather);
conv_put_fn ISA_NAME(conv_put);
extern const struct conv_kernels ISA_NAME(conv_kernels);
extern const struct conv_kernels ISA_NAME(conv_dot); /* avx512 alone */

#endif
