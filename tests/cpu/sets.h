/* SPDX-License-Identifier: Apache-2.0 */
/* sets.h - find the instruction sets that tests of the cpu backend can use: the
 * library must be compiled for them (--with-cpu-isa), and the processor must
 * have them. */
#ifndef TESTS_CPU_SETS_H
#define TESTS_CPU_SETS_H

#include <sesqui/cpu.h>

#include <stdio.h>
#include <string.h>

#define SETS_MOST 3

/** Sets names to theirs, best first, and returns how many there are. */
static inline size_t sets_find(const char *names[SETS_MOST])
{
    static const char *const all[SETS_MOST] = {"avx512", "avx2", "plain"};
    size_t n = 0;
    for (size_t i = 0; i < SETS_MOST; i++) {
        ssq_device *d = NULL;
        ssq_cpu_info info = SSQ_CPU_INFO_INIT;
        ssq_cpu_options o = SSQ_CPU_OPTIONS_INIT;
        o.instructions = all[i];
        if (ssq_cpu_device_open(&o, NULL, &d) == SSQ_OK &&
            ssq_cpu_info_get(d, &info) == SSQ_OK &&
            strcmp(info.instructions, all[i]) == 0)
            names[n++] = all[i];
        ssq_device_close(&d);
    }
    return n;
}

#endif
