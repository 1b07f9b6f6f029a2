// SPDX-License-Identifier: Apache-2.0
/* generator.h - random numbers: the library's Philox streams.
 *
 * A generator has a seed and an offset in words. Each op takes as many words
 * as it has elements. The same seed therefore gives the same numbers on every
 * device. */
#ifndef SESQUI_TORCH_GENERATOR_H
#define SESQUI_TORCH_GENERATOR_H

#include "device.h"

#include <ATen/core/Generator.h>

#include <optional>

namespace sesqui_torch
{

struct Words {
    uint64_t seed;
    uint64_t offset;
};

/* Take n words of a generator; without one, of the device's own. */
Words generator_take(const std::optional<at::Generator> &generator,
                     c10::Device device, int64_t n);
const at::Generator &generator_default(c10::DeviceIndex i);
at::Generator generator_create(c10::DeviceIndex i);

} // namespace sesqui_torch

#endif
