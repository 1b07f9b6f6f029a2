/* SPDX-License-Identifier: Apache-2.0 */
/* device.c - OpenCL devices: which there are, and what they can do.
 *
 * opencl:N counts the devices of all platforms, in the loader's order, that are
 * available and can compile. A platform without devices, or one that fails, is
 * passed over: a broken driver must not hide the others. */
#include "backends/opencl/opencl.h"

#include "backends/common/room.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Platforms that are looked at. */
#define MOST_PLATFORMS 32
/** One slab of the pool; less where one buffer may not have as much. */
#define SLAB_BYTES (UINT64_C(64) << 20)

/** Bytes of one buffer that a u32 index can walk, for any dtype. */
#define MOST_BYTES ((UINT64_C(1) << 32) - OPENCL_ALIGN)

/* Measured under RLIMIT_AS with PoCL 3.1 on 2 processors, where less ends the
 * process: 448 MiB are mapped to load LLVM and start a thread for each
 * processor, 200 more to compile the self-test with a cold cache. The rest is
 * the memory that malloc reserves for threads. */
static const struct room_need to_load = {
    .call = "clGetPlatformIDs", .own_mib = 256, .threads_per_cpu = 1};
static const struct room_need to_open = {.call = "clCreateContext",
                                         .own_mib = 192};
/* PoCL compiles nothing on a full disk: 1.3 MB are a program's kernels. */
static const struct room_cache pocl_cache = {
    .variable = "POCL_CACHE_DIR", .below = "pocl", .bytes = UINT64_C(4) << 20};

/* A number of one of three types that a device reports; 0 where the device does
 * not answer, which *error remembers over several questions. */
static cl_ulong opencl_device_number(cl_device_id id, cl_device_info what,
                                     cl_int *error)
{
    union {
        cl_uint u32;
        cl_ulong u64;
        size_t size;
    } v;
    size_t bytes = 0;
    memset(&v, 0, sizeof(v));
    cl_int e = CL(GetDeviceInfo)(id, what, sizeof(v), &v, &bytes);
    if (e != CL_SUCCESS) {
        *error = e;
        return 0;
    }
    /* cl_uint, cl_ulong and size_t are told apart by their size alone, and
     * zeros fill what a shorter one leaves */
    return bytes == sizeof(v.u32) ? v.u32 : v.u64;
}

/* A text of a device; "unknown" with the error where it does not answer. */
static cl_int device_text(cl_device_id id, cl_device_info what, char *text,
                          size_t bytes)
{
    cl_int e = CL(GetDeviceInfo)(id, what, bytes, text, NULL);
    if (e != CL_SUCCESS)
        snprintf(text, bytes, "unknown");
    return e;
}

/* A text that a platform reports. */
static cl_int platform_text(cl_platform_id id, cl_platform_info what,
                            char *text, size_t bytes)
{
    cl_int e = CL(GetPlatformInfo)(id, what, bytes, text, NULL);
    if (e != CL_SUCCESS)
        snprintf(text, bytes, "unknown");
    return e;
}

/* PoCL, asked for a binary, compiles the kernel once more, for groups of any
 * size. From LLVM 18 on that has ended the process: "Instruction Combining did
 * not reach a fixpoint" (PoCL 6.0, attention_gradient). PoCL keeps programs on
 * disk itself: a warm start costs 45 ms more for each then. */
static bool pocl_binaries(const struct backend_device *d)
{
    char text[OPENCL_WORDS];
    (void)platform_text(d->platform, CL_PLATFORM_VERSION, text, sizeof(text));
    const char *llvm = strstr(text, "LLVM ");
    return llvm != NULL && strtol(llvm + 5, NULL, 10) < 18;
}

/* Ask for the words that tell one driver's programs and arithmetic from
 * another's. */
static ssq_status measure_words(struct backend_device *d)
{
    cl_int e = platform_text(d->platform, CL_PLATFORM_NAME, d->platform_name,
                             sizeof(d->platform_name));
    if (e != CL_SUCCESS)
        return opencl_error(d->core, "clGetPlatformInfo", e);
    d->pocl = strcmp(d->platform_name, "Portable Computing Language") == 0;
    d->binaries = !d->pocl || pocl_binaries(d);
    e = device_text(d->id, CL_DEVICE_NAME, d->name, sizeof(d->name));
    if (e == CL_SUCCESS)
        e = device_text(d->id, CL_DRIVER_VERSION, d->driver, sizeof(d->driver));
    return e == CL_SUCCESS ? SSQ_OK
                           : opencl_error(d->core, "clGetDeviceInfo", e);
}

/* Add a platform's devices to the n that were found; unfit counts the ones that
 * were passed over. Returns how many there are then. */
static unsigned add_devices(struct backend_instance *instance,
                            cl_platform_id platform, unsigned n,
                            unsigned *unfit)
{
    cl_device_id id[OPENCL_MOST_DEVICES];
    cl_uint have = 0;
    if (CL(GetDeviceIDs)(platform, CL_DEVICE_TYPE_ALL, OPENCL_MOST_DEVICES, id,
                         &have) != CL_SUCCESS)
        return n;
    for (cl_uint i = 0;
         i < have && i < OPENCL_MOST_DEVICES && n < OPENCL_MOST_DEVICES; i++) {
        cl_int e; /* no answer is a no */
        if (!opencl_device_number(id[i], CL_DEVICE_AVAILABLE, &e) ||
            !opencl_device_number(id[i], CL_DEVICE_COMPILER_AVAILABLE, &e)) {
            ++*unfit;
            continue;
        }
        instance->found[n].platform = platform;
        instance->found[n++].id = id[i];
    }
    return n;
}

unsigned opencl_count(struct backend_instance *instance, struct why *reason)
{
    cl_platform_id platform[MOST_PLATFORMS];
    cl_uint platforms = 0;
    unsigned n = 0, unfit = 0;
    if (!room_for_driver(&to_load, reason))
        return 0;
    cl_int e = CL(GetPlatformIDs)(MOST_PLATFORMS, platform, &platforms);
    if (e != CL_SUCCESS) /* the loader's word for none is its own error */
        platforms = 0;
    if (platforms > MOST_PLATFORMS)
        platforms = MOST_PLATFORMS;
    for (cl_uint i = 0; i < platforms; i++)
        n = add_devices(instance, platform[i], n, &unfit);
    if (n > 0)
        return n;
    if (platforms == 0)
        snprintf(reason->text, sizeof(reason->text),
                 "no OpenCL platform: install a driver (clGetPlatformIDs: %d)",
                 (int)e);
    else
        snprintf(reason->text, sizeof(reason->text),
                 "%u OpenCL platforms have no device that is available and "
                 "compiles; %u are there",
                 (unsigned)platforms, unfit);
    return 0;
}

/* A processor is best left to a backend that is made for it. */
int opencl_preference_of(const struct backend_instance *instance, unsigned i)
{
    cl_int e;
    cl_device_type type = (cl_device_type)opencl_device_number(
        instance->found[i].id, CL_DEVICE_TYPE, &e);
    return (type & CL_DEVICE_TYPE_GPU) != 0           ? 30
           : (type & CL_DEVICE_TYPE_ACCELERATOR) != 0 ? 25
                                                      : 5;
}

void opencl_describe(const struct backend_instance *instance, unsigned i,
                     char *text, size_t bytes)
{
    cl_device_id id = instance->found[i].id;
    char name[OPENCL_WORDS], driver[OPENCL_WORDS], platform[OPENCL_WORDS];
    (void)device_text(id, CL_DEVICE_NAME, name, sizeof(name));
    (void)device_text(id, CL_DRIVER_VERSION, driver, sizeof(driver));
    (void)platform_text(instance->found[i].platform, CL_PLATFORM_NAME, platform,
                        sizeof(platform));
    snprintf(text, bytes, "%.48s, driver %.24s, %.40s", name, driver, platform);
}

/* Read SSQ_OPENCL_GROUP=N, a power of two: with it a processor takes the shape
 * of a GPU, on which tests rely. */
static ssq_status group_from_environment(const struct services *core,
                                         uint32_t most, uint32_t *group)
{
    uint64_t n = 0;
    ssq_status st = core->env_number("SSQ_OPENCL_GROUP", 1, most, &n);
    if (st == SSQ_OK && (n & (n - 1)) != 0)
        st = core->error_set(SSQ_ERR_INVALID,
                             "SSQ_OPENCL_GROUP is %u: not a power of two",
                             (unsigned)n);
    *group = (uint32_t)n; /* 0: not said */
    return st;
}

/* Choose the work-items in a group, and how many floats each works on best. On
 * a processor a group is one item, whose inner loop is vectorised; a GPU gets
 * up to 256 items with vectors of 4. */
static ssq_status choose_shape(struct backend_device *d, cl_int *e)
{
    uint32_t most = (uint32_t)opencl_device_number(
                        d->id, CL_DEVICE_MAX_WORK_GROUP_SIZE, e) &
                    0x7fffffffu;
    uint32_t wanted;
    ssq_status st = group_from_environment(d->core, most, &wanted);
    uint32_t lanes = (uint32_t)opencl_device_number(
        d->id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, e);
    d->group = 1;
    if (wanted != 0)
        d->group = wanted;
    else if (!d->cpu)
        while (d->group < 256 && 2 * d->group <= most)
            d->group *= 2;
    d->width = d->group > 1 ? 4 : lanes < 1 ? 1 : lanes > 16 ? 16 : lanes;
    return st;
}

/* Do kernels get their parameters in constant memory? By value is as fast or
 * faster, and needs no buffer, except for Intel's GPUs: their compiler copies
 * the struct into private memory of each item if an array of it is indexed by a
 * variable (up to 232 bytes, in most kernels). In constant memory nothing is
 * copied. SSQ_OPENCL_CONSTANT=0 or 1 decides it for any device, on which tests
 * rely. */
static ssq_status choose_params(struct backend_device *d)
{
    const uint64_t intel = 0x8086; /* in the list of PCI */
    cl_int e = CL_SUCCESS;
    bool constant = !d->cpu && opencl_device_number(d->id, CL_DEVICE_VENDOR_ID,
                                                    &e) == intel;
    ssq_status st = d->core->env_flag("SSQ_OPENCL_CONSTANT", &constant);
    return st == SSQ_OK && constant ? opencl_params_open(d) : st;
}

/* Ask for everything else that the device is. */
static ssq_status opencl_device_measure(struct backend_device *d)
{
    cl_int e = CL_SUCCESS;
    d->cpu = (opencl_device_number(d->id, CL_DEVICE_TYPE, &e) &
              CL_DEVICE_TYPE_CPU) != 0;
    uint64_t floats =
        opencl_device_number(d->id, CL_DEVICE_SINGLE_FP_CONFIG, &e);
    d->exact_div = (floats & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
    d->unfused = (floats & CL_FP_FMA) == 0;
    d->memory_bytes =
        opencl_device_number(d->id, CL_DEVICE_GLOBAL_MEM_SIZE, &e);
    d->most_bytes =
        opencl_device_number(d->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, &e);
    if (d->most_bytes > MOST_BYTES)
        d->most_bytes = MOST_BYTES;
    /* the driver tells bits */
    d->sub_align = (uint32_t)opencl_device_number(
                       d->id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, &e) /
                   8u;
    if (d->sub_align < OPENCL_ALIGN)
        d->sub_align = OPENCL_ALIGN;
    d->units =
        (uint32_t)opencl_device_number(d->id, CL_DEVICE_MAX_COMPUTE_UNITS, &e);
    d->local_bytes =
        (uint32_t)opencl_device_number(d->id, CL_DEVICE_LOCAL_MEM_SIZE, &e);
    /* an offset and an index below 2^31 make less than 2^32 */
    d->reach = UINT64_C(1) << 31;
    ssq_status st = choose_shape(d, &e);
    /* graphs are optional: without their calls the core hands over launches */
    opencl_recorder_find(d);
    opencl_mma_find(d);
    if (st != SSQ_OK)
        return st;
    return e == CL_SUCCESS ? SSQ_OK
                           : opencl_error(d->core, "clGetDeviceInfo", e);
}

/* Also closes a device that was not completed. */
void opencl_close(struct backend_device *d)
{
    opencl_mma_close(d);
    opencl_kernels_free(d);
    opencl_params_close(d);
    if (d->context != NULL)
        (void)CL(ReleaseContext)(d->context);
    kernel_map_close(&d->kernels);
    d->core->mem_free(d);
}

/* Make a context, or retain the caller's, so that closing is the same for
 * both. */
static ssq_status opencl_device_take_context(struct backend_device *d,
                                             cl_context native)
{
    const cl_context_properties wanted[] = {
        CL_CONTEXT_PLATFORM, (cl_context_properties)d->platform, 0};
    cl_int e;
    if (native != NULL) {
        e = CL(RetainContext)(native);
        d->context = e == CL_SUCCESS ? native : NULL;
        return e == CL_SUCCESS ? SSQ_OK
                               : opencl_error(d->core, "clRetainContext", e);
    }
    d->context = CL(CreateContext)(wanted, 1, &d->id, NULL, NULL, &e);
    return d->context != NULL
               ? SSQ_OK
               : opencl_create_error(d->core, "clCreateContext", e);
}

/* Check that the driver has enough memory to open and use a device. */
static ssq_status check_room(const struct backend_device *d)
{
    struct why why;
    if (room_for_driver(&to_open, &why) &&
        (!d->pocl || room_for_cache(d->core, &pocl_cache, &why)))
        return SSQ_OK;
    return d->core->error_set(SSQ_ERR_NOMEM, "opencl: %s", why.text);
}

/* The kernels' table comes first, because opencl_close() closes it in any
 * case. */
ssq_status opencl_open_over(const struct backend_instance *instance, unsigned i,
                            cl_context native, struct backend_device **device)
{
    const struct services *core = instance->core;
    struct backend_device *d = core->mem_alloc(sizeof(*d));
    if (d == NULL)
        return opencl_no_memory(core, sizeof(*d));
    d->core = core;
    d->platform = instance->found[i].platform;
    d->id = instance->found[i].id;
    if (kernel_map_open(&d->kernels, core) != SSQ_OK) {
        core->mem_free(d);
        return opencl_no_memory(core, sizeof(d->kernels));
    }
    ssq_status st = measure_words(d);
    if (st == SSQ_OK)
        st = opencl_device_measure(d);
    if (st == SSQ_OK)
        st = choose_params(d);
    if (st == SSQ_OK)
        st = check_room(d);
    if (st == SSQ_OK)
        st = opencl_device_take_context(d, native);
    if (st == SSQ_OK) {
        *device = d;
        return SSQ_OK;
    }
    opencl_close(d);
    return st;
}

ssq_status opencl_open(struct backend_instance *instance, unsigned i,
                       struct backend_device **device)
{
    return opencl_open_over(instance, i, NULL, device);
}

bool opencl_device_find(const struct backend_instance *instance,
                        cl_device_id id, unsigned *i)
{
    for (unsigned k = 0;
         k < OPENCL_MOST_DEVICES && instance->found[k].id != NULL; k++)
        if (instance->found[k].id == id) {
            *i = k;
            return true;
        }
    return false;
}

/* All that a kernel's bits may depend on: the compiler, the shape of
 * groups, and how division and fma are done. */
void opencl_identify(const struct backend_device *d, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s\n%s\n%s\ngroup %u width %u division %s%s%s",
             d->platform_name, d->name, d->driver, (unsigned)d->group,
             (unsigned)d->width, d->exact_div ? "exact" : "corrected",
             d->unfused ? " no fma" : "",
             d->params != NULL ? " parameters constant" : "");
}

void opencl_certified(struct backend_device *d, const struct findings *f)
{
    d->subnormals =
        f->subnormals ? SSQ_SUBNORMALS_PRESERVED : SSQ_SUBNORMALS_FLUSHED;
    /* before this, kernels were compiled for the self-test alone */
    d->settled = true;
    d->half_load = f->half_load;
    d->half_store = f->half_store;
    opencl_mma_open(d);
}

/* All devices store f16 and bf16: they travel as 16-bit integers and are
 * computed in float32. */
#define HALF_CAPS                                                              \
    (SSQ_CAP_STORAGE | SSQ_CAP_STORAGE_EMULATED | SSQ_CAP_ARITHMETIC_EMULATED)

/* Are products of this dtype on tensor cores? */
static uint32_t opencl_device_matrix_caps(const struct backend_device *d,
                                          ssq_dtype dtype)
{
    return d->mma != NULL && mma_kind(d->mma, dtype)->admitted ? SSQ_CAP_MATRIX
                                                               : 0;
}

void opencl_props(const struct backend_device *d, ssq_device_props *p)
{
    p->memory_bytes = d->memory_bytes;
    p->binding_bytes = d->most_bytes;
    p->alignment = OPENCL_ALIGN;
    p->f16 = HALF_CAPS | opencl_device_matrix_caps(d, SSQ_F16);
    p->bf16 = HALF_CAPS | opencl_device_matrix_caps(d, SSQ_BF16);
    p->f32_subnormals = d->subnormals;
    p->host_memory = d->cpu;
    p->asynchronous = true;
}

void opencl_limits(const struct backend_device *d, struct backend_limits *l)
{
    l->slab_bytes = d->most_bytes < SLAB_BYTES ? d->most_bytes : SLAB_BYTES;
    l->binding_bytes = d->most_bytes;
    l->memory_bytes = d->memory_bytes;
    l->group = d->group;
    l->units = d->units;
    l->local_bytes = d->local_bytes;
    l->width = d->width;
}
