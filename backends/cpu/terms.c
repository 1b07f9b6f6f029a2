/* SPDX-License-Identifier: Apache-2.0 */
/* terms.c - which set of instructions joins the terms of sums over ranks. */
#include "backends/cpu/terms.h"

#include "lib/core/env.h"

#include <stdatomic.h>

static _Atomic(const struct term_kernels *) chosen;

/* A name that does not exist is refused by the cpu device, not here. Ranks add
 * without such a device too, so plain is compiled whatever --with-cpu-isa says,
 * and taken if no other set can be. */
static const struct term_kernels *choose(void)
{
    struct cpu_features f;
    cpu_features_find(&f);
    const char *name = env_text("SSQ_CPU_ISA");
    const struct isa *isa = isa_choose(&f, name == NULL ? "" : name);
    if (isa == NULL)
        isa = isa_choose(&f, "");
    return isa != NULL ? isa_terms(isa) : &term_kernels_plain;
}

/* Whoever comes first; two may, and choose alike. */
const struct term_kernels *term_kernels(void)
{
    const struct term_kernels *k = atomic_load(&chosen);
    if (k == NULL) {
        k = choose();
        atomic_store(&chosen, k);
    }
    return k;
}
