/* SPDX-License-Identifier: Apache-2.0 */
/* sass.h - which machine code a GPU can run.
 *
 * Code for compute capability X.Y runs on X.Y and on later ones of the same
 * major version. For example, code for 8.0 runs on 8.0 and 8.6, but not on
 * 9.0. */
#ifndef BACKENDS_CUDA_SASS_H
#define BACKENDS_CUDA_SASS_H

#include <stdint.h>

/** Return the index in archs of the best code for a GPU of this compute
 *  capability (86 is 8.6). archs ends with a 0. -1: no code runs on it. */
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
