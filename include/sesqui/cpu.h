/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h - the processor as a device, with chosen threads and instructions.
 *
 *     ssq_cpu_options cpu = SSQ_CPU_OPTIONS_INIT;
 *     cpu.threads = 4;
 *     ssq_cpu_device_open(&cpu, NULL, &device);
 *
 * sesqui.h does not include this header. ssq_device_open("cpu") suits a program
 * that has the machine for itself. Use this header to limit the threads or the
 * instructions, or to run on the program's own thread pool (.parallel_for).
 *
 * The device has the name "cpu". Several may be open at the same time, each
 * with its own threads. Results have the same bits with any number of threads,
 * of the library or of the program.
 *
 * Threads of the library
 *
 *  - The first op that is large enough for several threads starts them. The
 *    self-test may do so when the device is opened (device.h).
 *  - Their name is "sesqui-cpu". They block all signals except SIGSEGV, SIGBUS,
 *    SIGFPE, SIGILL, SIGTRAP and SIGSYS.
 *  - They may run on the processors on which the opening thread might run at
 *    that time.
 *  - They sleep between ops after some microseconds, and end when the device is
 *    closed. If several threads call ops on one device, the ops use the threads
 *    one after the other.
 *  - If the system starts fewer threads, the device uses fewer, and logs it
 *    once (topic device).
 *  - A child of fork starts its own threads.
 *
 * Each op also runs on the calling thread, and needs 512 KiB of stack there. An
 * op that was enqueued while a collective was pending can run on a thread of
 * the communicator instead (comm.h).
 *
 * Destroy all objects before you unload the library with dlclose, or a plugin
 * that contains it. For example, threads of an open device would wake up in
 * code that has been unmapped.
 *
 * @sync host
 * @threads any */
#ifndef SESQUI_CPU_H
#define SESQUI_CPU_H

#include <sesqui/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The maximum number of threads of a device. */
#define SSQ_CPU_THREADS 1024

/** One share of a loop. The library passes it to the program's parallel_for.
 *  A call after parallel_for has returned does nothing. */
typedef void (*ssq_cpu_share)(void *context, uint32_t i);

/** Options of ssq_cpu_device_open. */
typedef struct ssq_cpu_options {
    size_t struct_size;
    /** Threads for each op, including the caller's: 1 to SSQ_CPU_THREADS. If 0,
     *  SSQ_NUM_THREADS in the environment sets the number. Without it there are
     *  as many threads as processors on which the calling thread may run, but
     *  no more than the quota of the control group. For example, a container
     *  with a quota of 1.5 processors gets 2 threads. */
    uint32_t threads;
    /** Best instructions that may be used: "avx512", "avx2" or "plain". "": the
     *  best of the processor. NULL: the name in SSQ_CPU_ISA, or else the best.
     *  The choice may change the last bits of results of class R. The library
     *  may be compiled for some of the three only (configure --with-cpu-isa).
     *  For example, a library for avx2 alone does not open with "plain". */
    const char *instructions;
    /** Parallel loop of the program; NULL: use threads of the library. If it is
     *  set, the device starts no thread. The function must call
     *  share(context, i) once for each i from 0 to n - 1, and return after all
     *  these calls have returned. For example, with OpenMP:
     *
     *      #pragma omp parallel for
     *      for (uint32_t i = 0; i < n; i++)
     *          share(context, i);
     *
     *  - The calls may run on any threads in any order, at the same time or one
     *    after the other: no call waits for another. n is at most the number
     *    of threads of the device.
     *  - A call that is left out costs only speed: after the function has
     *    returned, the library does the work that is left. A function that
     *    cannot run loops, for example during a shutdown of its pool, just
     *    returns.
     *  - It cannot fail. It must not throw an exception or call longjmp. share
     *    throws nothing.
     *  - The writes of share must be visible to the thread that called the
     *    function, as after a join.
     *  - A call of share after the function has returned does nothing, on any
     *    thread, even if the device is closed.
     *  - The function is called on the thread that called the library, during
     *    that call. For ops that were enqueued while a collective was pending,
     *    it can be called on a thread of the communicator, after that call.
     *    ssq_cpu_device_open may call it, too, for the self-test. It is called
     *    on several threads at the same time if these use the device.
     *  - If your program calls the library inside a loop of the same pool, the
     *    function is called there. It may then run all shares in turn.
     *  - It must not call the library, or wait for a thread that is about to
     *    call the library.
     *  - Floating-point modes of its threads do not matter: share sets and
     *    restores them. The threads need 512 KiB of stack. */
    void (*parallel_for)(void *user, uint32_t n, ssq_cpu_share share,
                         void *context);
    void *user; /**< passed to parallel_for */
    /** parallel_for also works in a child of fork. If false, a child does all
     *  work on the thread that calls the library, because most pools have no
     *  threads there. A thread for which parallel_for waits must not fork. */
    bool survives_fork;
} ssq_cpu_options;
#define SSQ_CPU_OPTIONS_INIT                                                   \
    {                                                                          \
        sizeof(ssq_cpu_options), 0, NULL, NULL, NULL, false                    \
    }

/** Open the processor as a device.
 *  @param cpu      copied; NULL: as ssq_device_open("cpu"). parallel_for and
 *                  user must live until the device's last object is destroyed.
 *  @param options  NULL: the defaults
 *  @param device   out; owned by the caller; release it with
 *                  ssq_device_close()
 *  @return
 *   - SSQ_ERR_INVALID      threads is above SSQ_CPU_THREADS; instructions has
 *                          another name; user or survives_fork is set without
 *                          parallel_for; SSQ_NUM_THREADS or SSQ_CPU_ISA is used
 *                          and has a value that is not allowed
 *   - SSQ_ERR_NOT_FOUND    the library is not compiled for instructions of this
 *                          processor, or the processor is big-endian
 *   - SSQ_ERR_UNSUPPORTED  the library is compiled only for better instructions
 *                          than are allowed; the device failed its self-test
 *   - SSQ_ERR_INVALID, SSQ_ERR_NOT_FOUND for other variables of the
 *     environment, as ssq_device_open
 *  @sync waits for the self-test, if it runs
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_cpu_device_open(const ssq_cpu_options *cpu,
                    const ssq_device_options *options, ssq_device **device);

/** Threads and instructions of a device; written by ssq_cpu_info_get. */
typedef struct ssq_cpu_info {
    size_t struct_size;
    uint32_t threads;      /**< at most, for each op */
    bool lent;             /**< the device was opened with parallel_for */
    char instructions[16]; /**< "avx512", "avx2" or "plain" */
} ssq_cpu_info;
#define SSQ_CPU_INFO_INIT                                                      \
    {                                                                          \
        sizeof(ssq_cpu_info), 0, false, ""                                     \
    }

/** Return the threads and instructions of a device of the cpu backend, opened
 *  here or by ssq_device_open.
 *  @param info  in: struct_size; out: the rest
 *  @return SSQ_ERR_INVALID  a device of another backend
 *  @note Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_cpu_info_get(const ssq_device *device,
                                                   ssq_cpu_info *info);

#ifdef __cplusplus
}
#endif

#endif
