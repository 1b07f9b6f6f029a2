/* SPDX-License-Identifier: Apache-2.0 */
/* choices.h - texts about all that decides the bits of a device's results,
 * except the inputs. They are stored with results and compared later. They do
 * not contain a number of threads or a time. */
#ifndef LIB_CORE_DEVICE_CHOICES_H
#define LIB_CORE_DEVICE_CHOICES_H

#include "lib/core/core.h"

/** One kind of choice: a short name, and the device's choice as text. All
 *  characters are printable ASCII. */
struct choices {
    const char *name;
    char text[512];
};

/** The number of choices, and their names in order. */
#define CHOICES 5
extern const char *const choice_names[CHOICES];

/** Get choice i of a device. */
void choices_of(const ssq_device *device, size_t i, struct choices *c);

#endif
