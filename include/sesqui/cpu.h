/* SPDX-License-Identifier: Apache-2.0 */
/* cpu.h - the processor as a device, with a program's own threads.
 *
 * Not part of sesqui.h. A device that is opened as "cpu" takes what suits a
 * program that has the machine to itself. Here a program says how many threads
 * a device has, which instructions it uses, and whether the threads are the
 * program's own: one that has a pool already does not want a second one beside
 * it.
 *
 * The device is called "cpu" like any other, and several may be open at once,
 * each with threads of its own. Results have the same bits with any number of
 * threads, whoever they belong to.
 *
 * Threads that are not lent are started by the first op that is large enough to
 * be shared out: one of the program's or, where no certificate is kept of the
 * device, one of the self-test's, as it opens (device.h). They are called
 * "sesqui-cpu", block all signals but those that a thread raises itself
 * (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS), may run where the thread
 * that opened the device might when it did, sleep between ops after some
 * microseconds, and end when the device does. Where the system gives fewer,
 * there are fewer, and a line of the log says how many (topic device). A child
 * of fork starts its own. Who unloads the library (dlclose), or a plugin with a
 * copy of it, destroys all objects before: the threads of a device that is open
 * would wake where there is no code any more.
 *
 * An op runs on its caller's thread, too: it needs 512 KiB of stack there. */
#ifndef SESQUI_CPU_H
#define SESQUI_CPU_H

#include <sesqui/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Most threads of a device. */
#define SSQ_CPU_THREADS 1024

/** One share of a loop, as it is handed to a program's own parallel-for.
 *  Called after that parallel-for has returned, it does nothing. */
typedef void (*ssq_cpu_share)(void *context, uint32_t i);

/** How to open a device of the processor. */
typedef struct ssq_cpu_options {
    size_t struct_size;
    /** Threads for each op, the caller's among them, 1 to SSQ_CPU_THREADS; 0:
     *  SSQ_NUM_THREADS, and without it as many as processors that the calling
     *  thread may run on, but no more than the control groups of the process
     *  are granted. What is said here comes before SSQ_NUM_THREADS. */
    uint32_t threads;
    /** "avx512", "avx2" or "plain": no better instructions than these, even
     *  where the processor has them; "": the best; NULL: SSQ_CPU_ISA, and
     *  without it the best. What is said here comes before SSQ_CPU_ISA. It may
     *  change the last bits of results of class R. The library may be compiled
     *  for some of the three only (configure --with-cpu-isa): for example, one
     *  for avx2 alone does not open with "plain". */
    const char *instructions;
    /** The program's own parallel-for; NULL: the library's threads. With it the
     *  library starts no thread. It has to call share(context, i) for i = 0 to
     *  n - 1, and to return when all of these calls have.
     *
     *  - Once for each i, on any threads in any order, at the same time or one
     *    after the other: no call waits for another one. The more of them run
     *    at a time, the faster; n is at most `threads`.
     *  - What is missed costs nothing but speed: the library does itself what
     *    is left when the function returns. A function that cannot go on, as
     *    its pool is being shut down, just returns. It has no way to fail, and
     *    must not leave by an exception or longjmp; share throws nothing.
     *  - What share did must be visible to the thread that called the function,
     *    as it is after any join. A call of share after the function has
     *    returned does nothing, on any thread, even if the device is closed.
     *  - It is called by the thread that called the library, within that call
     *    (ssq_cpu_device_open, too, where the device's self-test runs), and may
     *    be called by several threads at once where several use the device. It
     *    may be called within another parallel-for of the same pool, which has
     *    to manage that: to run all shares in turn is enough. It must not call
     *    the library, nor wait for a thread that is about to.
     *  - Floating-point modes of its threads do not matter: share sets and
     *    restores them. Their stacks need 512 KiB. */
    void (*parallel_for)(void *user, uint32_t n, ssq_cpu_share share,
                         void *context);
    void *user; /**< given to it */
    /** parallel_for works in a child of fork, too. Without it a child does all
     *  work on the thread that calls the library, since those of most pools are
     *  not there. No thread that parallel_for waits for may fork. */
    bool survives_fork;
} ssq_cpu_options;
#define SSQ_CPU_OPTIONS_INIT                                                   \
    {                                                                          \
        sizeof(ssq_cpu_options), 0, NULL, NULL, NULL, false                    \
    }

/** Open the processor as a device.
 *  @param cpu      NULL: as ssq_device_open("cpu"). parallel_for and user have
 *                  to live until the last of the device's objects is gone
 *  @param options  may be NULL
 *  @return SSQ_ERR_INVALID device NULL, a struct_size, threads above
 *          SSQ_CPU_THREADS, instructions of no such name, user or
 *          survives_fork without parallel_for, or a value of SSQ_NUM_THREADS or
 *          SSQ_CPU_ISA, where that counts, that is none; SSQ_ERR_UNSUPPORTED
 *          the device fails its self-test, or the library is not compiled for
 *          instructions that the processor has and that are allowed;
 *          SSQ_ERR_NOMEM. Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status
ssq_cpu_device_open(const ssq_cpu_options *cpu,
                    const ssq_device_options *options, ssq_device **device);

/** What a device of the processor uses: filled by ssq_cpu_info_get. */
typedef struct ssq_cpu_info {
    size_t struct_size;
    uint32_t threads;      /**< for each op, at most */
    bool lent;             /**< they are the program's */
    char instructions[16]; /**< "avx512", "avx2" or "plain" */
} ssq_cpu_info;
#define SSQ_CPU_INFO_INIT                                                      \
    {                                                                          \
        sizeof(ssq_cpu_info), 0, false, ""                                     \
    }

/** What the device uses, however it was opened.
 *  @param info  written only on success
 *  @return SSQ_ERR_INVALID a NULL, a struct_size, another backend's device.
 *          Since 0.1. */
SSQ_API SSQ_MUST_CHECK ssq_status ssq_cpu_info_get(const ssq_device *device,
                                                   ssq_cpu_info *info);

#ifdef __cplusplus
}
#endif

#endif
