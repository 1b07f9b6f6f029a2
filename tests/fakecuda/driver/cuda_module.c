/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_module.c - modules of PTX, their functions, and launches of those. */
#include "tests/fakecuda/driver/cuda_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The operands that were announced for this thread's next launch. */
static _Thread_local struct {
    struct ssq_standin_range *r;
    size_t n;
    bool there;
} announced;

void ssq_standin_bindings(const struct ssq_standin_range *r, size_t n)
{
    free(announced.r);
    announced.r = malloc((n + 1) * sizeof(*r));
    announced.n = announced.r == NULL ? 0 : n;
    announced.there = announced.r != NULL;
    if (announced.r != NULL && n > 0)
        memcpy(announced.r, r, n * sizeof(*r));
}

/* The number after a directive: 6.0 is 60, sm_70 is 70. */
static int directive(const char *text, const char *word)
{
    const char *p = strstr(text, word);
    int n = 0;

    if (p == NULL)
        return 0;
    p += strlen(word);
    for (; *p != '\0' && *p != '\n' && *p != ','; p++)
        if (*p >= '0' && *p <= '9')
            n = n * 10 + (*p - '0');
    return n;
}

/* The newest PTX that a driver of this version takes: CUDA 11.8 brought 7.8,
 * 12.0 brought 8.0, and each minor version of CUDA one of PTX since. */
static int newest(int driver)
{
    int major = driver / 1000, minor = driver % 1000 / 10;

    return major * 10 - 40 + minor;
}

static CUresult acceptable(const char *text)
{
    int version, target, have = fake.capability[fake_current()->device];
    int most = fake.ptx > 0 ? fake.ptx : newest(fake.driver);

    if (strncmp(text, "//", 2) != 0 && strncmp(text, ".version", 8) != 0)
        return fake_refuse(CUDA_ERROR_INVALID_IMAGE, "the image is no PTX");
    version = directive(text, ".version");
    target = directive(text, ".target");
    if (version > most)
        return fake_refuse(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
                           "PTX %d.%d, the driver knows up to %d.%d",
                           version / 10, version % 10, most / 10, most % 10);
    if (target > have)
        return fake_refuse(CUDA_ERROR_NO_BINARY_FOR_GPU,
                           "PTX for sm_%d, the device is sm_%d", target, have);
    return CUDA_SUCCESS;
}

/* Tensor cores at fault, for tests that ought to find them. */
static void spoil(void)
{
    static const char *const names[] = {"", "half", "turned", "tail"};
    const char *said = getenv("FAKECUDA_MMA");

    ptx_mma_wrong = PTX_MMA_RIGHT;
    for (int i = PTX_MMA_HALF; said != NULL && i <= PTX_MMA_TAIL; i++)
        if (strcmp(said, names[i]) == 0)
            ptx_mma_wrong = (enum ptx_mma_wrong)i;
}

/* POSIX's cksum, which tells a test which of the shipped texts this was. */
static uint32_t crc_byte(uint32_t crc, unsigned byte)
{
    crc ^= (uint32_t)byte << 24;
    for (int i = 0; i < 8; i++)
        crc = crc << 1 ^ ((crc & 0x80000000u) != 0 ? 0x04c11db7u : 0);
    return crc;
}

static uint32_t text_sum(const char *text, size_t bytes)
{
    uint32_t crc = 0;

    for (size_t i = 0; i < bytes; i++)
        crc = crc_byte(crc, (unsigned char)text[i]);
    for (size_t n = bytes; n != 0; n >>= 8)
        crc = crc_byte(crc, n & 0xff);
    return ~crc;
}

/* The driver's compiler looks at all entries, not at the ones that are used. */
static bool decode(CUmodule m, const char *text, char *why, size_t bytes)
{
    const char *name;

    spoil();
    m->ptx = ptx_load(text, why, bytes);
    if (m->ptx == NULL)
        return false;
    for (uint32_t i = 0; (name = ptx_entry_name(m->ptx, i)) != NULL; i++) {
        struct ptx_entry *e = ptx_find(m->ptx, name, why, bytes);
        CUfunction f;

        if (e == NULL)
            return false;
        f = fake_object(FUNCTION, sizeof(*f));
        if (f == NULL)
            return false;
        f->module = m;
        f->entry = e;
        f->name = name;
        f->next = m->functions;
        m->functions = f;
    }
    return true;
}

static void statistics(CUmodule m)
{
    const char *path = getenv("FAKECUDA_STATS");
    FILE *file = path == NULL ? NULL : fopen(path, "a");
    uint32_t seen, all;

    for (CUfunction f = m->functions; f != NULL && file != NULL; f = f->next) {
        ptx_coverage(f->entry, &seen, &all);
        fprintf(file, "%u %zu %s %llu %llu %u %u\n", m->sum, m->bytes, f->name,
                (unsigned long long)f->launches, (unsigned long long)f->retired,
                seen, all);
    }
    if (file != NULL)
        fclose(file);
}

void fake_module_end(CUmodule m)
{
    statistics(m);
    for (CUfunction f = m->functions; f != NULL; f = f->next)
        f->object.dead = true;
    m->object.dead = true;
    ptx_unload(m->ptx);
    m->ptx = NULL;
}

static void log_error(unsigned n, const int *options, void **values,
                      const char *why)
{
    size_t room = 0;

    for (unsigned i = 0; i < n; i++)
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            room = (size_t)(uintptr_t)values[i];
    for (unsigned i = 0; i < n; i++)
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER && room > 0)
            snprintf(values[i], room, "%s", why);
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n,
                            int *options, void **values)
{
    CUresult e = fake_enter("cuModuleLoadDataEx", CURRENT);
    char why[512] = "no memory";
    CUmodule m;

    if (e != CUDA_SUCCESS)
        return e;
    if (module == NULL || image == NULL ||
        (n > 0 && (options == NULL || values == NULL)))
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    e = fake_unsafe("cuModuleLoadDataEx");
    if (e == CUDA_SUCCESS && memcmp(image, "\177ELF", 4) == 0)
        return fake_leave(CUDA_ERROR_NO_BINARY_FOR_GPU); /* no GPU to run it */
    if (e == CUDA_SUCCESS)
        e = acceptable(image);
    if (e != CUDA_SUCCESS) {
        log_error(n, options, values, fake.text);
        return fake_leave(e);
    }
    m = fake_object(MODULE, sizeof(*m));
    if (m == NULL)
        return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
    if (getenv("FAKECUDA_STATS") != NULL) {
        m->bytes = strlen(image);
        m->sum = text_sum(image, m->bytes);
    }
    if (!decode(m, image, why, sizeof(why))) {
        log_error(n, options, values, why);
        fake_module_end(m);
        return fake_leave(fake_refuse(CUDA_ERROR_INVALID_PTX, "%s", why));
    }
    *module = m;
    return fake_leave(CUDA_SUCCESS);
}

CUresult cuModuleUnload(CUmodule module)
{
    CUresult e = fake_enter("cuModuleUnload", CURRENT);

    if (e != CUDA_SUCCESS)
        return e;
    e = fake_check(module, MODULE, "module");
    if (e == CUDA_SUCCESS && module->users > 0)
        e = fake_refuse(CUDA_ERROR_INVALID_VALUE,
                        "%u launches of the module are under way",
                        module->users);
    if (e == CUDA_SUCCESS)
        fake_module_end(module);
    return fake_leave(e);
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module,
                             const char *name)
{
    CUresult e = fake_enter("cuModuleGetFunction", CURRENT);

    if (e != CUDA_SUCCESS)
        return e;
    if (function == NULL || name == NULL)
        return fake_leave(CUDA_ERROR_INVALID_VALUE);
    e = fake_check(module, MODULE, "module");
    if (e != CUDA_SUCCESS)
        return fake_leave(e);
    for (CUfunction f = module->functions; f != NULL; f = f->next)
        if (strcmp(f->name, name) == 0) {
            *function = f;
            return fake_leave(CUDA_SUCCESS);
        }
    return fake_leave(CUDA_ERROR_NOT_FOUND);
}

CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function)
{
    CUresult e = fake_enter("cuFuncGetAttribute", CURRENT);
    const struct ptx_shape *s;

    if (e != CUDA_SUCCESS)
        return e;
    e = value == NULL ? CUDA_ERROR_INVALID_VALUE
                      : fake_check(function, FUNCTION, "function");
    if (e != CUDA_SUCCESS)
        return fake_leave(e);
    s = ptx_entry_shape(function->entry);
    if (attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
        *value = s->items > 0 ? (int)s->items : FAKE_ITEMS;
    else if (attribute == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)
        *value = (int)s->shared_bytes;
    else if (attribute == CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)
        *value = (int)s->local_bytes;
    else
        e = fake_refuse(CUDA_ERROR_INVALID_VALUE, "attribute %d of a function",
                        attribute);
    return fake_leave(e);
}

/* The parameters from kernelParams, or from the buffer in extra. */
static CUresult parameters(const struct ptx_shape *s, void **params,
                           void **extra, unsigned char *to)
{
    const void *buffer = NULL;
    size_t bytes = 0;

    if ((params != NULL) == (extra != NULL) && s->nparams > 0)
        return fake_refuse(CUDA_ERROR_INVALID_VALUE,
                           "one of kernelParams and extra has to be there");
    for (uint32_t i = 0; params != NULL && i < s->nparams; i++) {
        if (params[i] == NULL)
            return fake_refuse(CUDA_ERROR_INVALID_VALUE,
                               "parameter %u of %u is NULL", i, s->nparams);
        memcpy(to + s->param[i].at, params[i], s->param[i].bytes);
    }
    if (extra == NULL)
        return CUDA_SUCCESS;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            memcpy(&bytes, extra[1], sizeof(bytes));
    }
    if (buffer == NULL || bytes != s->param_bytes)
        return fake_refuse(CUDA_ERROR_INVALID_VALUE,
                           "%zu bytes of parameters, %u expected", bytes,
                           s->param_bytes);
    memcpy(to, buffer, bytes);
    return CUDA_SUCCESS;
}

static CUresult shape(const CUDA_KERNEL_NODE_PARAMS *p,
                      const struct ptx_shape *s)
{
    if (p->gridDimX == 0 || p->gridDimY != 1 || p->gridDimZ != 1 ||
        p->gridDimX > 0x7fffffff || p->blockDimY != 1 || p->blockDimZ != 1)
        return fake_refuse(CUDA_ERROR_INVALID_VALUE,
                           "grid %ux%ux%u of %ux%ux%u: the stand-in has one "
                           "dimension",
                           p->gridDimX, p->gridDimY, p->gridDimZ, p->blockDimX,
                           p->blockDimY, p->blockDimZ);
    if (p->blockDimX == 0 || p->blockDimX > FAKE_ITEMS ||
        (s->items != 0 && p->blockDimX > s->items))
        return fake_refuse(CUDA_ERROR_INVALID_VALUE,
                           "groups of %u items, .maxntid %u", p->blockDimX,
                           s->items);
    if (p->sharedMemBytes != 0)
        return fake_refuse(CUDA_ERROR_INVALID_VALUE,
                           "%u bytes of dynamic shared memory: no text has it",
                           p->sharedMemBytes);
    if (s->shared_bytes > FAKE_SHARED)
        return fake_refuse(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
                           "%u bytes of shared memory", s->shared_bytes);
    return CUDA_SUCCESS;
}

CUresult fake_kernel(struct cuda_work **out, const CUDA_KERNEL_NODE_PARAMS *p)
{
    CUresult e = fake_check(p->func, FUNCTION, "function");
    const struct ptx_shape *s;
    struct cuda_work *w = fake_work(KERNEL);

    if (w != NULL && announced.there) {
        w->binding = announced.r;
        w->nbindings = announced.n;
        w->bound = true;
        announced.r = NULL;
        announced.there = false;
    }
    if (e == CUDA_SUCCESS && w == NULL)
        e = CUDA_ERROR_OUT_OF_MEMORY;
    if (e == CUDA_SUCCESS && p->func->object.ctx != fake_current())
        e = fake_refuse(CUDA_ERROR_INVALID_HANDLE,
                        "the function is of another context");
    if (e == CUDA_SUCCESS) {
        s = ptx_entry_shape(p->func->entry);
        e = shape(p, s);
        w->param_bytes = s->param_bytes;
        w->param = calloc(1, s->param_bytes + 1);
        if (e == CUDA_SUCCESS && w->param == NULL)
            e = CUDA_ERROR_OUT_OF_MEMORY;
        if (e == CUDA_SUCCESS)
            e = parameters(s, p->kernelParams, p->extra, w->param);
    }
    if (e != CUDA_SUCCESS) {
        fake_work_free(w);
        return e;
    }
    w->function = p->func;
    w->groups = p->gridDimX;
    w->items = p->blockDimX;
    *out = w;
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz,
                        unsigned bx, unsigned by, unsigned bz, unsigned shared,
                        CUstream s, void **params, void **extra)
{
    CUresult e = fake_enter("cuLaunchKernel", CURRENT);
    const CUDA_KERNEL_NODE_PARAMS p = {f,  gx,     gy,     gz,    bx,   by,
                                       bz, shared, params, extra, NULL, NULL};
    struct cuda_work *w = NULL;

    if (e != CUDA_SUCCESS)
        return e;
    e = fake_stream(s, &s);
    if (e == CUDA_SUCCESS)
        e = fake_kernel(&w, &p);
    if (e == CUDA_SUCCESS)
        e = fake_submit(s, w);
    return fake_leave(e);
}
