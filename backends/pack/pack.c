/* SPDX-License-Identifier: Apache-2.0 */
/* pack.c - unpacking one module. */
#include "backends/pack/pack.h"

#include <string.h>

#include <zlib.h>

/* zlib's allocations, from the core: a test of failing allocations reaches
 * them, too. opaque is the services. */
static voidpf lend(voidpf core, uInt n, uInt size)
{
    return ((const struct services *)core)->mem_alloc((size_t)n * size);
}

static void pack_take_back(voidpf core, voidpf p)
{
    ((const struct services *)core)->mem_free(p);
}

static ssq_status pack_broken(const struct services *core,
                              const struct pack *pack, const char *name)
{
    return core->error_set(SSQ_ERR_DEVICE,
                           "%s: kernel %s: its module does not unpack",
                           pack->backend, name);
}

/* Unpack a member into as many bytes as its module has: not one more or less,
 * and nothing after it. */
static ssq_status pack_unpack(const struct services *core,
                              const struct pack *pack,
                              const struct packed_module *m, const char *name,
                              unsigned char *module)
{
    if ((size_t)m->at + m->bytes > (size_t)(pack->end - pack->begin))
        return pack_broken(core, pack, name);

    z_stream z = {.zalloc = lend,
                  .zfree = pack_take_back,
                  /* lend only reads */ .opaque = (void *)(uintptr_t)core};
    /* zlib writes nothing there; its older headers do not say so */
    z.next_in = (unsigned char *)(uintptr_t)(pack->begin + m->at);
    z.avail_in = m->bytes;
    z.next_out = module;
    z.avail_out = m->size;
    int e = inflateInit2(&z, 16 + MAX_WBITS); /* 16: of gzip */
    if (e == Z_OK) {
        e = inflate(&z, Z_FINISH);
        (void)inflateEnd(&z);
    }
    if (e == Z_MEM_ERROR)
        return core->error_set(SSQ_ERR_NOMEM,
                               "%s: kernel %s: no memory to unpack its module",
                               pack->backend, name);
    return e == Z_STREAM_END && z.avail_in == 0 && z.avail_out == 0
               ? SSQ_OK
               : pack_broken(core, pack, name);
}

/* The number of a variant among the kernel's; nvariants: it has no such. A
 * kernel without keys has one, number 0. */
static uint32_t pack_variant_of(const struct kernel *kernel,
                                const uint8_t key[LAUNCH_KEYS])
{
    uint32_t i = 0;
    if (kernel->nkeys > 0)
        while (i < kernel->nvariants &&
               memcmp(kernel->variants[i], key, LAUNCH_KEYS) != 0)
            i++;
    return i;
}

ssq_status pack_module(const struct services *core, const struct pack *pack,
                       const struct kernel *kernel,
                       const uint8_t key[LAUNCH_KEYS], const char *name,
                       void **module, size_t *size)
{
    uint32_t variant = pack_variant_of(kernel, key);
    uint32_t first = pack->first[kernel->id];
    if (first == 0 || (kernel->nkeys > 0 && variant == kernel->nvariants))
        return core->error_set(SSQ_ERR_UNSUPPORTED, "%s: there is no kernel %s",
                               pack->backend, name);
    const struct packed_module *m = &pack->modules[first - 1 + variant];
    size_t bytes = (size_t)m->size + 1;
    unsigned char *made = core->mem_alloc(bytes);
    if (made == NULL)
        return core->error_set(SSQ_ERR_NOMEM,
                               "%s: no host memory for %zu bytes",
                               pack->backend, bytes);
    ssq_status st = pack_unpack(core, pack, m, name, made);
    if (st != SSQ_OK) {
        core->mem_free(made);
        return st;
    }
    made[m->size] = 0;
    *module = made;
    *size = m->size;
    return SSQ_OK;
}
