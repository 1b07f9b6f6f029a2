/* SPDX-License-Identifier: Apache-2.0 */
/* dialect.h - what makes one text OpenCL C 1.2, CUDA, Vulkan GLSL and plain C.
 *
 * Rules for the text: no pointers, no C casts (F32(), U32()), no helper that
 * takes a buffer, no struct literals, one return value per function, bool
 * conditions, u suffixes, no 64-bit integers, no hexadecimal floats, no name
 * that is reserved in any language (half, input, output, buffer, shared,
 * kernel, sample, ...), no identifier with two underscores, one kernel per
 * compile; doc/design/dialect.md teaches it. Parameters are a struct of words,
 * PARAMS(name) makes it pc; inside of another struct it is STRUCT(name). WG is
 * the size of a work-group; the C dialect runs one "thread", so there it is 1
 * and barriers vanish.
 *
 * Exact by default: a product and a sum are rounded separately. The pragma
 * does it in OpenCL and in C with clang; GLSL needs `precise` on every float
 * that is computed: declare locals EXACT, FN marks what functions return. The
 * others need a flag: gcc and clang's CUDA -ffp-contract=off, nvcc and NVRTC
 * -fmad=false. FMA() is fused, by name, except for OpenCL's devices of which
 * the host knows that fma() is not an instruction: -DUNFUSED. Such an fma
 * is a library's code and slow; rusticl's for llvmpipe flushes subnormal
 * factors besides, or is missing.
 *
 * A native division or square root that is not known to be correctly rounded
 * is a seed for the code in scalar/div.h; NATIVE_EXACT_DIV says it is known
 * (always in C and CUDA; OpenCL hosts that pass
 * -cl-fp32-correctly-rounded-divide-sqrt may pass -DNATIVE_EXACT_DIV).
 *
 * RESIDENT, defined before the first header, is how many items a CUDA
 * multiprocessor shall hold at a time: its 65536 registers are divided by them.
 * Without it the compiler chooses, now and then fewer registers than the text
 * needs, and spills. tests/kernel/ptxas.sh finds those texts.
 *
 * WIDE_LOOP before a for asks a processor for its widest vectors. LANES_LOOP
 * says that no round of a loop depends on another, and
 * LANES_FOLD(reduction(+ : n)) that none does but by the sum n. Such a loop
 * counts in INDEX: u32, but in NATIVE C size_t, since gcc loads no neighbours
 * where an offset and a count may wrap around together. UNROLL before a for of
 * a constant number of rounds removes the loop: data private to an item is
 * in registers, and no driver counts its rounds. FLAT is that for GPUs alone: a
 * processor's loops become vector instructions. ROLLED asks for a loop, for few
 * rounds of much code: the code of a GPU's kernel should fit into its cache.
 * CUDA's compilers choose well.
 *
 * Where there is a NATIVE_F16(h), the value of an f16's bits, hosts that have
 * seen it keep subnormals and NaN's bits may pass -DNATIVE_HALF_LOAD; where
 * there is a NATIVE_F16_BITS(x), hosts that have seen it round all ties to even
 * and do the same may pass -DNATIVE_HALF_STORE. */

#ifndef SSQ_KERNELS_DIALECT_H
#define SSQ_KERNELS_DIALECT_H

#if defined(__OPENCL_VERSION__) || defined(__OPENCL_C_VERSION__)
/* OpenCL C. clang -x cl defines only the second of the two names. */
#pragma OPENCL FP_CONTRACT OFF
typedef uint u32;
typedef ushort u16;
typedef uchar u8;
#define FN static inline
#define KERNEL(N) kernel __attribute__((reqd_work_group_size(WG, 1, 1))) void N(
#define BUF_RO(B, T, N) global const T *restrict N
#define BUF_RW(B, T, N) global T *restrict N
#define SEP             ,
#define STRUCT(T)       struct T
#ifdef PARAMS_CONSTANT
/* for compilers that copy a struct to private memory if it comes by value */
#define PARAMS(T) constant struct T *restrict pc_constant
#define pc        (*pc_constant)
#else
#define PARAMS(T) struct T pc
#endif
#define ENDARGS )                                                              \
    {
#define SHARED(T, N, C) local T N[C];
#define BODY
#define END }
#if defined(WG) && WG == 1 && defined(__clang__) && defined(__AVX512F__)
/* of 16 floats, where 8 are the compiler's choice: half as many instructions
 * in flight. A loop without them needs no message. */
#pragma clang diagnostic ignored "-Wpass-failed"
#define WIDE_LOOP _Pragma("clang loop vectorize_width(16)")
#endif
#if defined(WG) && WG == 1
#define BARRIER() ((void)0) /* PoCL takes minutes over many of them */
#else
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#endif
#define LOCAL_ID    ((u32)get_local_id(0))
#define GROUP_ID    ((u32)get_group_id(0))
#define GLOBAL_ID   ((u32)get_global_id(0))
#define GLOBAL_SIZE ((u32)get_global_size(0))
#define GROUP_COUNT ((u32)get_num_groups(0))
#define AT(N, I)    (N + pc.N##_at)[I]
#define F32(x)      ((float)(x))
#define U32(x)      ((u32)(x))
#define U16(x)      ((u16)(x))
#define U8(x)       ((u8)(x))
#define AS_U32(x)   as_uint(x)
#define AS_F32(x)   as_float(x)
#ifdef UNFUSED
#define FMA(a, b, c) MAD(a, b, c)
#else
#define FMA(a, b, c) fma(a, b, c)
#endif
#define NATIVE_SQRT(x) sqrt(x)
#define MUL_HIGH(a, b) mul_hi(a, b)
/* where a loop around it should become vector instructions */
#define FN_INLINE      static inline __attribute__((always_inline))
#define SUM_TO_NEAREST 1 /* in any mode of a host or a shader */
FN_INLINE float native_f16(u32 h)
{
    u16 bits = U16(h);
    return vload_half(0, (const half *)&bits);
}
#define NATIVE_F16(h) native_f16(h)
FN_INLINE u32 native_f16_bits(float x)
{
    u16 bits;
#if defined(__clang__) && defined(__F16C__)
    /* PoCL's own is code in integers, and no vector instruction */
    __builtin_store_halff(x, (half *)&bits);
#else
    vstore_half_rte(x, 0, (half *)&bits);
#endif
    return bits;
}
#define NATIVE_F16_BITS(x) native_f16_bits(x)

#elif defined(__CUDACC__) || defined(__CUDACC_RTC__) || defined(__CUDA__)
/* CUDA: nvcc, NVRTC, or clang without any header (-nocudainc). Division and
 * square root name their rounding: no -use_fast_math can change them. */
#define DIALECT_CUDA
typedef unsigned int u32;
typedef unsigned short u16;
typedef unsigned char u8;
#define BUF_RO(B, T, N) const T *__restrict__ N
#define BUF_RW(B, T, N) T *__restrict__ N
#define SEP             ,
#define STRUCT(T)       struct T
#define ENDARGS )                                                              \
    {
#define BODY
#define END }
#ifdef RESIDENT
#define RESIDENT_GROUPS (RESIDENT / WG)
#else
#define RESIDENT_GROUPS 0 /* the compiler's choice */
#endif
#if defined(__clang__) && !defined(__CUDACC__)
#define FN static __attribute__((device)) inline
#define KERNEL(N)                                                              \
    extern "C" __attribute__((global))                                         \
    __attribute__((launch_bounds(WG, RESIDENT_GROUPS))) void N(
#define PARAMS(T)       const struct T pc
#define SHARED(T, N, C) static __attribute__((shared)) T N[C];
#define BARRIER()       __syncthreads()
#define LOCAL_ID        U32(__nvvm_read_ptx_sreg_tid_x())
#define GROUP_ID        U32(__nvvm_read_ptx_sreg_ctaid_x())
#define GROUP_COUNT     U32(__nvvm_read_ptx_sreg_nctaid_x())
#define AS_U32(x)       __builtin_bit_cast(u32, F32(x))
#define AS_F32(x)       __builtin_bit_cast(float, U32(x))
#define FMA(a, b, c)    __builtin_fmaf(a, b, c)
#define MUL_HIGH(a, b)  __nvvm_mulhi_ui(a, b)
#else
#define FN static __device__ inline
#define KERNEL(N)                                                              \
    extern "C" __global__ void __launch_bounds__(WG, RESIDENT_GROUPS) N(
#ifdef __clang__ /* it copies nothing, and may lack the word */
#define PARAMS(T) const struct T pc
#else
#define PARAMS(T) const __grid_constant__ struct T pc
#endif
#define SHARED(T, N, C) __shared__ T N[C];
#define BARRIER()       __syncthreads()
#define LOCAL_ID        U32(threadIdx.x)
#define GROUP_ID        U32(blockIdx.x)
#define GROUP_COUNT     U32(gridDim.x)
#define AS_U32(x)       __float_as_uint(x)
#define AS_F32(x)       __uint_as_float(x)
#define FMA(a, b, c)    fmaf(a, b, c)
#define MUL_HIGH(a, b)  __umulhi(a, b)
#endif
#define GLOBAL_ID        (GROUP_ID * U32(WG) + LOCAL_ID)
#define GLOBAL_SIZE      (GROUP_COUNT * U32(WG))
#define AT(N, I)         (N + pc.N##_at)[I]
#define F32(x)           ((float)(x))
#define U32(x)           ((u32)(x))
#define U16(x)           ((u16)(x))
#define U8(x)            ((u8)(x))
#define NATIVE_EXACT_DIV 1
#define SUM_TO_NEAREST   1
FN float native_div(float a, float b)
{
    float q;
    asm("div.rn.f32 %0, %1, %2;" : "=f"(q) : "f"(a), "f"(b));
    return q;
}
FN float native_sqrt(float x)
{
    float s;
    asm("sqrt.rn.f32 %0, %1;" : "=f"(s) : "f"(x));
    return s;
}
#define NATIVE_DIV(a, b) native_div(a, b)
#define NATIVE_SQRT(x)   native_sqrt(x)
/* PTX defines these conversions to the bit, subnormals and ties included, but
 * for the bits of a NaN: those are made in integers, as on every device. */
#define NATIVE_HALF_LOAD
#define NATIVE_HALF_STORE
FN float native_f16(u32 h)
{
    u32 nan = (h & 0x8000u) << 16u | 0x7fc00000u | (h & 0x3ffu) << 13u;
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(U16(h)));
    return (h & 0x7fffu) > 0x7c00u ? AS_F32(nan) : x;
}
#define NATIVE_F16(h) native_f16(h)
FN u32 native_f16_bits(float x)
{
    u32 u = AS_U32(x);
    u32 nan = (u >> 16u & 0x8000u) | 0x7e00u | (u >> 13u & 0x3ffu);
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
    return (u & 0x7fffffffu) > 0x7f800000u ? nan : U32(bits);
}
#define NATIVE_F16_BITS(x) native_f16_bits(x)

#elif defined(VULKAN)
/* GLSL 4.50 for Vulkan: glslc -std=450core. Parameters are a uniform block
 * after the last binding that an operand may have: there may be more of them
 * than push constants have room for. Their members are words of 4 bytes, and
 * arrays and structs of such, without gaps as in the host: that is std430,
 * which Vulkan 1.1 has for uniform blocks as an extension
 * (VK_KHR_uniform_buffer_standard_layout) and 1.2 always. The host asks for
 * float controls where the device has them, in the module itself. */
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require
#extension GL_EXT_control_flow_attributes : require
#define UNROLL [[unroll]]
#ifndef WG
#define WG 256
#endif
#ifdef GROUP_IS_CONSTANT /* constant 0, of a pipeline */
layout(local_size_x_id = 0) in;
#else
layout(local_size_x = WG) in;
#endif
#define u32   uint
#define u16   uint16_t
#define u8    uint8_t
#define EXACT precise
#define FN    precise
#ifndef GROUP_IS_CONSTANT
/* Key number I where it is a constant of a pipeline: embed.sh. */
layout(constant_id = 0) const u32 CONSTANT_0 = 0u;
layout(constant_id = 1) const u32 CONSTANT_1 = 0u;
layout(constant_id = 2) const u32 CONSTANT_2 = 0u;
layout(constant_id = 3) const u32 CONSTANT_3 = 0u;
layout(constant_id = 4) const u32 CONSTANT_4 = 0u;
layout(constant_id = 5) const u32 CONSTANT_5 = 0u;
#endif
#define KERNEL(N)
#define BUF_RO(B, T, N) BUF_OF(T, B, N, readonly)
#define BUF_RW(B, T, N) BUF_OF(T, B, N, )
#define BUF_OF(T, B, N, ACCESS) BUF_##T(B, N, ACCESS)
#define BUF_ONE(T, B, BLOCK, N, ACCESS)                                        \
    layout(std430, set = 0, binding = B) ACCESS buffer BLOCK##B                \
    {                                                                          \
        T N[];                                                                 \
    };
#define BUF_float(B, N, ACCESS)    BUF_ONE(float, B, Buf, N, ACCESS)
#define BUF_uint(B, N, ACCESS)     BUF_ONE(uint, B, Buf, N, ACCESS)
#define BUF_uint16_t(B, N, ACCESS) BUF_ONE(uint16_t, B, Buf, N, ACCESS)
#define BUF_uint8_t(B, N, ACCESS)  BUF_ONE(uint8_t, B, Buf, N, ACCESS)
#define BUF_uvec4(B, N, ACCESS)    BUF_ONE(uvec4, B, Buf, N, ACCESS)
/* Of 2 or 4 bytes, as a constant of the pipeline says: tensor.h. */
#define BUF_CELLS(B, N, ACCESS)                                                \
    BUF_ONE(uint16_t, B, Halves, N##_2, ACCESS)                                \
    BUF_ONE(uint, B, Words, N##_4, ACCESS)
#define SEP
#define STRUCT(T) T
#define PARAMS(T)                                                              \
    layout(std430, set = 0, binding = 16) uniform parameters                   \
    {                                                                          \
        T pc;                                                                  \
    };
#define ENDARGS
#define SHARED(T, N, C) shared T N[C];
#define BODY                                                                   \
    void main()                                                                \
    {
#define END            }
#define BARRIER()      barrier()
#define LOCAL_ID       gl_LocalInvocationID.x
#define GROUP_ID       gl_WorkGroupID.x
#define GLOBAL_ID      gl_GlobalInvocationID.x
#define GLOBAL_SIZE    (gl_NumWorkGroups.x * uint(WG))
#define GROUP_COUNT    gl_NumWorkGroups.x
#define AT(N, I)       N[pc.N##_at + (I)]
#define F32(x)         float(x)
#define U32(x)         uint(x)
#define U16(x)         uint16_t(x)
#define U8(x)          uint8_t(x)
#define AS_U32(x)      floatBitsToUint(x)
#define AS_F32(x)      uintBitsToFloat(x)
#define FMA(a, b, c)   fma(a, b, c)
#define NATIVE_SQRT(x) sqrt(x)

#else
/* Plain C. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#ifdef __FAST_MATH__
#error "-ffast-math breaks the promised bits: compile without it"
#endif
#if !defined(FLT_EVAL_METHOD) || FLT_EVAL_METHOD != 0
#error "float expressions must be evaluated in float: FLT_EVAL_METHOD is not 0"
#endif
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif
#ifndef WG
#define WG 1
#elif WG != 1
#error "the C dialect runs one thread: compile with -DWG=1"
#endif
typedef uint32_t u32;
typedef uint16_t u16;
typedef uint8_t u8;
#define FN static inline
#define BUF_RO(B, T, N) const T *restrict N
#define BUF_RW(B, T, N) T *restrict N
#define SEP             ,
#define STRUCT(T)       struct T
#ifdef NATIVE /* one group of several: backends/cpu/native.sh */
#define KERNEL(N) static void N(
#define PARAMS(T) struct T pc, u32 group_id, u32 group_count
#define ENDARGS )                                                              \
    {                                                                          \
        (void)group_id;                                                        \
        (void)group_count;
#define GROUP_ID    group_id
#define GROUP_COUNT group_count
#else
#define KERNEL(N) void N(
#define PARAMS(T) struct T pc
#define ENDARGS )                                                              \
    {
#define GROUP_ID    0u
#define GROUP_COUNT 1u
#endif
#define SHARED(T, N, C) T N[C];
#define BODY
#define END          }
#define BARRIER()    ((void)0)
#define LOCAL_ID     0u
#define GLOBAL_ID    GROUP_ID
#define GLOBAL_SIZE  GROUP_COUNT
#define AT(N, I)     (N + pc.N##_at)[I]
#define F32(x)       ((float)(x))
#define U32(x)       ((u32)(x))
#define U16(x)       ((u16)(x))
#define U8(x)        ((u8)(x))
FN u32 AS_U32(float x)
{
    u32 u;

    memcpy(&u, &x, sizeof(u));
    return u;
}
FN float AS_F32(u32 u)
{
    float x;

    memcpy(&x, &u, sizeof(x));
    return x;
}
#if defined(NATIVE) && defined(__x86_64__) && !defined(__FMA__)
#define FMA(a, b, c) MAD(a, b, c) /* fmaf would be a library's code */
#else
#define FMA(a, b, c) fmaf(a, b, c)
#endif
#ifndef SOFT_DIV /* a test wants the code of OpenCL and Vulkan */
#define NATIVE_EXACT_DIV 1
#endif
#define NATIVE_SQRT(x) sqrtf(x)
#ifdef NATIVE /* for a processor, rounding to nearest, with -fopenmp-simd */
#define SUM_TO_NEAREST 1
#define INDEX          size_t
#define LANES_LOOP     _Pragma("omp simd")
#define LANES_TEXT(X)  _Pragma(#X)
#ifndef __clang__
#define UNROLL _Pragma("GCC unroll 64")
#endif
#define LANES_FOLD(C)  LANES_TEXT(omp simd C)
#endif
#endif

#ifndef WG
#define WG 256
#endif
#ifndef WIDE_LOOP
#define WIDE_LOOP
#endif
#ifndef LANES_LOOP
#define LANES_LOOP
#endif
#ifndef LANES_FOLD
#define LANES_FOLD(C)
#endif
#ifndef INDEX
#define INDEX u32
#endif
#ifndef UNROLL
#if defined(__clang__) || defined(__OPENCL_VERSION__) ||                       \
    defined(__OPENCL_C_VERSION__) || defined(__CUDACC__) ||                    \
    defined(__CUDACC_RTC__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL
#endif
#endif
#if WG == 1 || defined(DIALECT_CUDA)
#define ROLLED
#elif defined(VULKAN)
#define ROLLED [[dont_unroll]]
#else
#define ROLLED _Pragma("unroll 1")
#endif
#if WG == 1
#define FLAT
#else
#define FLAT UNROLL
#endif
#ifndef EXACT
#define EXACT
#endif
#ifndef FN_INLINE
#define FN_INLINE FN
#endif
#ifndef NATIVE_DIV
#define NATIVE_DIV(a, b) ((a) / (b))
#endif
/* Rounded twice; FMA is for ops that doc/design/numbers.md puts in class R. */
#define MAD(a, b, c) ((a) * (b) + (c))

/* Whether `value` is N, in a function that gets the literal of a KEY.
 * ONE_VARIANT says that a text is compiled for one variant alone. Then the key
 * decides, two literals are compared, and a front end drops the code of all
 * other values. Otherwise an optimizer inlines it all first: spirv-opt took
 * 12 s for a variant of param_step.k, and takes 0.7 s. IS_KIND is for key KIND.
 */
#ifndef ONE_VARIANT
#define IS_KEY(KEY, value, N) ((value) == U32(N))
#elif defined(VULKAN)
#define IS_KEY(KEY, value, N) (U32(KEY) == U32(N))
#else
#define IS_KEY(KEY, value, N) (U32(KEY) == U32(N) && (value) == U32(N))
#endif
#if defined(ONE_VARIANT) && defined(KIND)
#define IS_KIND(kind, N) IS_KEY(KIND, kind, N)
#else
#define IS_KIND(kind, N) ((kind) == U32(N))
#endif

/* Element I of operand N, which begins where the host says: AT(N, I). The
 * words of parameters that say so come first, N_at for each operand. */

/* Loops. EACH: i = 0 .. n - 1, each once, by any work-item; in a group
 * of one, which is a processor's thread, neighbours together, so that the loop
 * becomes vector instructions. EACH_GROUP: each by one whole group, uniform in
 * it, so that the body may have barriers. Not nested, n < 2^31. */
/* Where group g of this many begins: steps of n are divided evenly, because
 * PoCL hands a thread half of the groups in one piece. */
FN u32 each_begin(u32 n, u32 step, u32 groups, u32 g)
{
    u32 steps = (n + step - 1u) / step;
    u32 each = steps / groups;
    u32 more = steps - each * groups;
    u32 i = (g * each + (g < more ? g : more)) * step;
    return i < n ? i : n;
}
#if WG == 1
#define EACH_CHUNKS(I, N, STEP)                                                \
    for (u32 I = each_begin(N, STEP, GROUP_COUNT, GROUP_ID),                   \
             I##_e = each_begin(N, STEP, GROUP_COUNT, GROUP_ID + 1u);          \
         I < I##_e; I++)
#define EACH(I, N)       EACH_CHUNKS(I, N, 64u)
#define EACH_GROUP(G, N) EACH_CHUNKS(G, N, 1u)
#else
#define EACH(I, N)       for (u32 I = GLOBAL_ID; I < (N); I += GLOBAL_SIZE)
#define EACH_GROUP(G, N) for (u32 G = GROUP_ID; G < (N); G += GROUP_COUNT)
#endif

#endif
