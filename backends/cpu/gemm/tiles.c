/* SPDX-License-Identifier: Apache-2.0 */
/* tiles.c - the processor's tiles, their permission, and SSQ_CPU_TILES.
 *
 *     (unset)  if the processor has them, and the system gives them
 *     model    a model of them in C instead, on any processor, and
 *              for every shape: for tests, because it is slow
 *     none     none */
#define _GNU_SOURCE
#include "backends/cpu/gemm/tiles.h"

#include "lib/core/base/env.h"
#include "lib/core/base/error.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

ISA_TABLE(struct gemm_tiles, gemm_model)
extern const struct gemm_tiles gemm_amx_avx512;

/* On the model, or on tiles, which only avx512 is compiled for. */
static const struct gemm_tiles *kernels_of(const struct isa *isa, bool model)
{
    if (model)
        return gemm_model_of[isa->number];
#if CPU_AVX512
    if (isa->number == ISA_AVX512)
        return &gemm_amx_avx512;
#endif
    return NULL;
}

/* Linux, Documentation/arch/x86/xstate.rst: without this a thread that touches
 * a tile gets SIGILL, because the system saves tiles only for processes that
 * ask. */
#define REQUEST_PERMISSION 0x1023 /* ARCH_REQ_XCOMP_PERM */
#define TILE_DATA          18     /* XFEATURE_XTILEDATA */

static pthread_once_t asked = PTHREAD_ONCE_INIT;
static char refusal[96];

static void tiles_ask(void)
{
#ifdef SYS_arch_prctl
    if (syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) != 0)
        snprintf(refusal, sizeof(refusal), "Linux refuses tiles: %s",
                 strerror(errno));
#else
    snprintf(refusal, sizeof(refusal), "no tiles on this system");
#endif
}

const char *tiles_permission(void)
{
    (void)pthread_once(&asked, tiles_ask);
    return refusal[0] == '\0' ? NULL : refusal;
}

/* The processor's own. */
static void choose_real(struct tiles *t, const struct cpu_features *f,
                        const struct isa *isa)
{
    if (!f->amx_bf16)
        snprintf(t->why, sizeof(t->why), "the processor has no amx_bf16");
    else if (kernels_of(isa, false) == NULL)
        snprintf(t->why, sizeof(t->why), "it is code for avx512, this is %s",
                 isa->name);
    else if (tiles_permission() != NULL)
        snprintf(t->why, sizeof(t->why), "%s", tiles_permission());
    t->refused =
        f->amx_bf16 && kernels_of(isa, false) != NULL && t->why[0] != '\0';
    if (t->why[0] != '\0')
        return;
    t->kernels = kernels_of(isa, false);
    t->f16 = f->amx_fp16;
}

ssq_status tiles_choose(struct tiles *t, const struct cpu_features *f,
                        const struct isa *isa)
{
    const char *name = env_text("SSQ_CPU_TILES");
    *t = (struct tiles){.kernels = NULL};
    if (name == NULL || name[0] == '\0') {
        choose_real(t, f, isa);
    } else if (strncmp(name, "model", 5) == 0) {
        t->kernels = kernels_of(isa, true);
        t->model = true;
        t->f16 = strcmp(name, "model_fp16") == 0;
        if (!t->f16 && name[5] != '\0')
            goto unknown;
    } else if (strcmp(name, "none") == 0) {
        snprintf(t->why, sizeof(t->why), "SSQ_CPU_TILES is none");
    } else {
        goto unknown;
    }
    return SSQ_OK;
unknown:
    return error_set(SSQ_ERR_INVALID,
                     "SSQ_CPU_TILES is \"%.32s\": not one of model, "
                     "model_fp16, none",
                     name);
}
