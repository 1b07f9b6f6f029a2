/* SPDX-License-Identifier: Apache-2.0 */
/* choices.h - what, beside the inputs, decides the bits of a device's results,
 * in words: to be kept with what was computed, and compared later. Neither the
 * number of threads nor a time is among it. */
#ifndef LIB_CORE_CHOICES_H
#define LIB_CORE_CHOICES_H

#include "lib/core/core.h"

/** One kind of choice: a short name, and what this device has chosen. All
 *  printable ASCII. */
struct choices {
    const char *name;
    char text[512];
};

/** Their number, and the names in their order. */
#define CHOICES 5
extern const char *const choice_names[CHOICES];

/** Choice i of a device. */
void choices_of(const ssq_device *device, size_t i, struct choices *c);

#endif
