/* SPDX-License-Identifier: Apache-2.0 */
/* pairwise.h - covering arrays: few cases in which every level of every factor
 * meets every level of every other factor. */
#ifndef CONFORMANCE_PAIRWISE_H
#define CONFORMANCE_PAIRWISE_H

#include <stddef.h>

#define PAIRWISE_FACTORS 24
#define PAIRWISE_LEVELS  32

/** Fill rows: rows[r * factors + f] < levels[f]. Deterministic. Once all pairs
 *  are covered, the remaining rows are pseudo-random.
 *  @param levels  of each factor, 1..PAIRWISE_LEVELS
 *  @return how many rows it took to cover all pairs; rows + 1 when the rows
 *          were too few */
size_t pairwise(const unsigned char *levels, int factors, unsigned char *row,
                size_t rows);

#endif
