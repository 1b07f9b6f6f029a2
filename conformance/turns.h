/* SPDX-License-Identifier: Apache-2.0 */
/* turns.h - which driver runs which cases of a table, where drivers take turns:
 * in make check, when there are several. A driver compiles a kernel for each
 * mix of element sizes, and that takes most of the time of a table. So each
 * driver gets some of the mixes. The cpu backend compiles the same texts and
 * runs all cases, and so does each driver with SSQ_TEST_FULL=1. */
#ifndef CONFORMANCE_TURNS_H
#define CONFORMANCE_TURNS_H

#include "conformance/suite.h"

/** The mixes of element sizes of a suite's cases: bit m for mix m. */
struct turns {
    const struct suite *suite;
    uint64_t mixes;
};

struct turns turns_of(const struct suite *suite);
/** Is case i a case for this driver? Drivers are numbered from 0. */
bool turns_has(const struct turns *t, size_t i, size_t driver);

#endif
