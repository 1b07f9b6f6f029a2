/* SPDX-License-Identifier: Apache-2.0 */
/* cache.c - tests of opencl's program binaries on disk.
 *
 * The log says whether a kernel was compiled or comes from the disk. */

#include "tests/core/cache_file.h"

static int from_disk, compiled;

static void count_lines(void *user, ssq_log_level level, const char *text)
{
    (void)user;
    (void)level;
    if (core_has(text, "kernel fill")) {
        from_disk += core_has(text, ": from the disk:");
        compiled += core_has(text, ": compiled:");
    }
}

static int open_once(void *arg)
{
    ssq_device *d = NULL;

    (void)arg;
    ssq_log_set(count_lines, NULL);
    if (ssq_device_open("opencl:0", NULL, &d) != SSQ_OK) {
        fprintf(stderr, "%s\n", ssq_last_error());
        return CACHE_FAILED;
    }
    cache_need_kernel(d);
    ssq_device_close(&d);
    return from_disk + compiled != 1 ? CACHE_FAILED
           : from_disk == 1          ? CACHE_USED
                                     : CACHE_MADE;
}

int main(void)
{
    if (driver_missing("opencl"))
        return tap_done(0);
    if (driver_from("opencl:0", "driver ", 6)) {
        tap_skip("PoCL of LLVM 18 and later is not asked for binaries, which "
                 "may end the process",
                 "programs on disk");
        return tap_done(0);
    }
    cache_begin("the kernel comes", open_once);
    cache_damage("another magic", 0, 1);
    cache_damage("another checksum", 24, 1);
    cache_damage("another key", 40, 1);
    cache_damage("another last byte of the binary", -1, 0x80);
    cache_lengths();
    cache_no_directory();
    cache_processes();
    cache_end();
    return tap_done(25);
}
