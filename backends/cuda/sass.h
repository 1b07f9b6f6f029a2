/* SPDX-License-Identifier: Apache-2.0 */
/* sass.h - which machine code a GPU runs.
 *
 * Code of compute capability 8.0 runs on 8.0 and on later ones of the same
 * major version, 8.6 say, and on no other. */
#ifndef BACKENDS_CUDA_SASS_H
#define BACKENDS_CUDA_SASS_H

#include <stdint.h>

/** The place of the best among archs, which a 0 ends, for a GPU of this compute
 *  capability (86 is 8.6); -1: none runs there. */
static inline int sass_for(const uint32_t *archs, int capability)
{
    int best = -1;
    for (int i = 0; archs[i] != 0; i++)
        if ((int)archs[i] / 10 == capability / 10 &&
            (int)archs[i] <= capability && (best < 0 || archs[i] > archs[best]))
            best = i;
    return best;
}

#endif
