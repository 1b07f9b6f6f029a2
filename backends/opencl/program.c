/* SPDX-License-Identifier: Apache-2.0 */
/* program.c - kernel sources made into programs of a device.
 *
 * Nothing that changes a number is asked of the compiler: no -cl-fast-*, no
 * -cl-mad-enable, no -cl-denorms-are-zero. A program is kept on disk under all
 * that its binary depends on. */
#include "backends/opencl/opencl.h"

#include <stdio.h>
#include <string.h>

#include "lib/core/module/disk_cache.h"
#include "backends/common/room.h"
#include "kernel_table.h"
#include "kernels/kernel_source.h"

/* Append " -DNAME=VALUE" to the options, which are far shorter than their
 * room. */
static void program_add(char *text, size_t bytes, const char *name,
                        unsigned value)
{
    size_t at = strlen(text);
    snprintf(text + at, bytes - at, " -D%s=%u", name, value);
}

/* Registers of an item that gemm_mma may have, so that a multiprocessor holds
 * as many groups as the text asks CUDA's compilers for; 0: the compiler's
 * choice. An item has 255 at most, and a multiple of 8 is taken. */
static uint32_t registers_of(const struct backend_device *d,
                             const struct kernel *kernel,
                             const uint8_t key[LAUNCH_KEYS])
{
    const uint32_t all = 65536; /* of a multiprocessor of any generation */
    bool async = key[0] >= MMA_ASYNC, large = key[4] != 0;
    uint32_t groups = async ? (large ? 2 : 3) : (large ? 1 : 2);
    uint32_t registers = all / MMA_GROUP / groups / 8 * 8;
    if (kernel->id != KERNEL_gemm_mma || !d->registers)
        return 0;
    return registers > 255 ? 255 : registers;
}

/* The compiler's options for a kernel in a variant: the device's features, the
 * shape of groups, and the variant's keys. */
static void options_of(const struct backend_device *d,
                       const struct kernel *kernel,
                       const uint8_t key[LAUNCH_KEYS], char *text, size_t bytes)
{
    snprintf(text, bytes, "-cl-std=CL1.2");
    if (d->exact_div) {
        size_t at = strlen(text);
        snprintf(text + at, bytes - at,
                 " -cl-fp32-correctly-rounded-divide-sqrt -DNATIVE_EXACT_DIV");
    }
    if (d->half_load)
        program_add(text, bytes, "NATIVE_HALF_LOAD", 1);
    if (d->half_store)
        program_add(text, bytes, "NATIVE_HALF_STORE", 1);
    if (d->unfused)
        program_add(text, bytes, "UNFUSED", 1);
    if (d->params != NULL)
        program_add(text, bytes, "PARAMS_CONSTANT", 1);
    program_add(text, bytes, "WG", d->group);
    program_add(text, bytes, "WIDTH", d->width);
    program_add(text, bytes, "ONE_VARIANT", 1);
    for (uint32_t i = 0; i < kernel->nkeys; i++)
        program_add(text, bytes, kernel->keys[i], key[i]);
    uint32_t registers = registers_of(d, kernel, key);
    if (registers != 0) {
        size_t at = strlen(text);
        snprintf(text + at, bytes - at, " -cl-nv-maxrregcount=%u", registers);
    }
}

/* The error of a failed compilation: kernel and options, so that it can be
 * repeated, and what the compiler says, as far as it fits into an error
 * text. */
static ssq_status build_error(struct backend_device *d, cl_program program,
                              const struct kernel *kernel, const char *options,
                              cl_int error)
{
    size_t bytes = 0;
    char *text = NULL;
    if (CL(GetProgramBuildInfo)(program, d->id, CL_PROGRAM_BUILD_LOG, 0, NULL,
                                &bytes) == CL_SUCCESS)
        text = d->core->mem_alloc(bytes + 1);
    if (text != NULL &&
        CL(GetProgramBuildInfo)(program, d->id, CL_PROGRAM_BUILD_LOG, bytes,
                                text, NULL) != CL_SUCCESS)
        text[0] = '\0';
    ssq_status st = d->core->error_set(
        SSQ_ERR_DEVICE,
        "opencl: kernel %s (%s): clBuildProgram: %s (%d)\n%.600s", kernel->name,
        options, opencl_error_name(error), (int)error,
        text == NULL ? "" : text);
    d->core->mem_free(text);
    return st;
}

/* Which file a program is in, the options that it is built with, and the
 * text of all that its binary depends on, which is kept in the file to be
 * compared. */
struct program_identity {
    char options[384];
    char name[96];
    char key[2048];
};

/* The file's name has no hash of the kernel's source, so that a changed kernel
 * writes over the old one. The key has two, with different beginnings: one of
 * 64 bits might meet by chance. */
static void program_identify(const struct backend_device *d,
                             const struct kernel *kernel,
                             const uint8_t key[LAUNCH_KEYS],
                             struct program_identity *id)
{
    options_of(d, kernel, key, id->options, sizeof(id->options));
    int n = snprintf(id->key, sizeof(id->key),
                     "sesqui opencl %d\n%s\n%s\n%s\n%s\n%s\n", SSQ_BACKEND_ABI,
                     d->platform_name, d->name, d->driver, kernel->name,
                     id->options);
    snprintf(id->name, sizeof(id->name), "%.64s-%016llx", kernel->name,
             (unsigned long long)disk_cache_hash(DISK_CACHE_HASH, id->key,
                                                 (size_t)n));
    const struct kernel_source *source = &kernel_sources[kernel->id];
    uint64_t a = DISK_CACHE_HASH, b = ~DISK_CACHE_HASH;
    for (uint32_t i = 0; i < source->n; i++) {
        size_t bytes = strlen(source->piece[i]);
        a = disk_cache_hash(a, source->piece[i], bytes);
        b = disk_cache_hash(b, source->piece[i], bytes);
    }
    snprintf(id->key + n, sizeof(id->key) - (size_t)n, "%016llx%016llx\n",
             (unsigned long long)a, (unsigned long long)b);
}

/* A program from the disk; NULL: it is missing, or the driver does not accept
 * it. */
static cl_program program_load(struct backend_device *d,
                               const struct program_identity *id)
{
    size_t bytes;
    if (!disk_cache_programs(d->core))
        return NULL;
    unsigned char *binary = disk_cache_load(d->core, id->name, id->key, &bytes);
    if (binary == NULL)
        return NULL;
    const unsigned char *image = binary;
    cl_int status, e;
    cl_program p = CL(CreateProgramWithBinary)(d->context, 1, &d->id, &bytes,
                                               &image, &status, &e);
    d->core->mem_free(binary);
    if (p != NULL &&
        CL(BuildProgram)(p, 1, &d->id, id->options, NULL, NULL) != CL_SUCCESS) {
        (void)CL(ReleaseProgram)(p);
        p = NULL;
    }
    return p;
}

/* Compile a kernel's source, which is put together from pieces that several
 * kernels share. */
static ssq_status compile(struct backend_device *d, const struct kernel *kernel,
                          const struct program_identity *id,
                          cl_program *program)
{
    const struct kernel_source *source = &kernel_sources[kernel->id];
    const char *pieces[64];
    uint32_t n = 0;
    for (; n < source->n && n < sizeof(pieces) / sizeof(pieces[0]); n++)
        pieces[n] = source->piece[n];
    cl_int e;
    cl_program p = CL(CreateProgramWithSource)(d->context, n, pieces, NULL, &e);
    if (p == NULL)
        return opencl_create_error(d->core, "clCreateProgramWithSource", e);
    e = CL(BuildProgram)(p, 1, &d->id, id->options, NULL, NULL);
    if (e != CL_SUCCESS) {
        ssq_status st = build_error(d, p, kernel, id->options, e);
        (void)CL(ReleaseProgram)(p);
        return st;
    }
    *program = p;
    return SSQ_OK;
}

ssq_status opencl_program_create(struct backend_device *d,
                                 const struct kernel *kernel,
                                 const uint8_t key[LAUNCH_KEYS],
                                 cl_program *program, bool *fresh)
{
    struct program_identity id;
    struct why why;
    if (!room_for_bytes(ROOM_TO_COMPILE, "clBuildProgram", &why))
        return d->core->error_set(SSQ_ERR_NOMEM, "opencl: kernel %s: %s",
                                  kernel->name, why.text);
    program_identify(d, kernel, key, &id);
    cl_program p = program_load(d, &id);
    /* a program read from the disk need not be stored again */
    *fresh = p == NULL;
    d->core->log_line(SSQ_LOG_DEBUG, "opencl", "kernel %s: %s: %s",
                      kernel->name, *fresh ? "compiled" : "from the disk",
                      id.options);
    if (p == NULL)
        return compile(d, kernel, &id, program);
    *program = p;
    return SSQ_OK;
}

void opencl_program_store(const struct backend_device *d,
                          const struct kernel *kernel,
                          const uint8_t key[LAUNCH_KEYS], cl_program program)
{
    struct program_identity id;
    size_t bytes = 0;
    if (!d->binaries || !disk_cache_programs(d->core))
        /* Asked for a binary, a driver may compile once more: only where it is
         * kept. */
        return;
    if (CL(GetProgramInfo)(program, CL_PROGRAM_BINARY_SIZES, sizeof(bytes),
                           &bytes, NULL) != CL_SUCCESS ||
        bytes == 0)
        return;
    unsigned char *binary = d->core->mem_alloc(bytes);
    if (binary == NULL)
        return;
    program_identify(d, kernel, key, &id);
    if (CL(GetProgramInfo)(program, CL_PROGRAM_BINARIES, sizeof(binary),
                           &binary, NULL) == CL_SUCCESS)
        disk_cache_store(d->core, id.name, id.key, binary, bytes);
    d->core->mem_free(binary);
}
