/* SPDX-License-Identifier: Apache-2.0 */
/* terms.c - which set of instructions joins the terms of sums over ranks. */
#include "backends/cpu/device/terms.h"

#include "lib/core/base/env.h"

#include <stdatomic.h>

static _Atomic(const struct term_kernels *) chosen;

/* Choose the set for sums over ranks. A name that does not exist is refused by
 * the cpu device, not here. Ranks add even if no cpu device is open, so
 * term_kernels_plain is always compiled. It is used if no other set is usable.
 */
static const struct term_kernels *terms_choose(void)
{
    struct cpu_features f;
    cpu_features_find(&f);
    const char *name = env_text("SSQ_CPU_ISA");
    const struct isa *isa = isa_choose(&f, name == NULL ? "" : name);
    if (isa == NULL)
        isa = isa_choose(&f, "");
    return isa != NULL ? isa_terms(isa) : &term_kernels_plain;
}

/* The first thread sets it; two may, and choose the same. */
const struct term_kernels *term_kernels(void)
{
    const struct term_kernels *k = atomic_load(&chosen);
    if (k == NULL) {
        k = terms_choose();
        atomic_store(&chosen, k);
    }
    return k;
}
