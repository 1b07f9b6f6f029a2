/* SPDX-License-Identifier: Apache-2.0 */
/* arrays.c - fuzz target: any bytes as a file of an array, or as a picture.
 *
 * The first byte chooses the reader and its arguments. An array that is read
 * must have the number of bytes of its shape. A call that fails must set an
 * error text, and return no array. */

#define _GNU_SOURCE /* memfd_create */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sesqui/data.h>

#include "tests/fuzz/pair.h"

static void put(int fd, const struct input *in)
{
    size_t n = (size_t)(in->end - in->at);
    if (fd < 0 || (n > 0 && write(fd, in->at, n) != (ssize_t)n))
        fuzz_fail("the file cannot be written");
}

/* Read every byte, so that the sanitizer finds a buffer that is too short. */
static void check(ssq_status st, ssq_array *a, const char *what)
{
    ssq_array_info i = SSQ_ARRAY_INFO_INIT;
    uint64_t elements = 1;
    unsigned sum = 0;
    fuzz_counts.calls++;
    fuzz_counts.done += st == SSQ_OK;
    fuzz_counts.refused += st != SSQ_OK;
    if (st != SSQ_OK && (a != NULL || strstr(ssq_last_error(), what) == NULL))
        fuzz_fail("%s: %s", what, ssq_last_error());
    if (st != SSQ_OK)
        return;
    if (ssq_array_info_get(a, &i) != SSQ_OK)
        fuzz_fail("info: %s", ssq_last_error());
    for (int k = 0; k < i.rank; k++)
        elements *= (uint64_t)i.shape[k];
    if (elements * ssq_dtype_bits(i.dtype) / 8 != i.bytes)
        fuzz_fail("%s: %llu bytes", what, (unsigned long long)i.bytes);
    for (uint64_t k = 0; k < i.bytes; k++)
        sum += ((const unsigned char *)i.data)[k];
    if (i.bytes > 0 && sum > 255 * i.bytes)
        fuzz_fail("%s: the sum", what);
    ssq_array_destroy(&a);
}

static void read_array(struct input *in, unsigned how)
{
    char path[64];
    ssq_array *a = NULL;
    ssq_array_read_args args = SSQ_ARRAY_READ_INIT;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    put(fd, in);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    args.name = how % 2 != 0 ? "x" : NULL;
    args.dtype = how % 4 < 2 ? SSQ_F32 : SSQ_I64;
    args.skip_rows = how % 8 < 4 ? 0 : 1;
    check(ssq_array_read(path, &args, &a), a, "array_read");
    close(fd);
}

static void forget(void)
{
    (void)unlink("fuzz-pictures/x");
    (void)rmdir("fuzz-pictures");
}

static void read_picture(struct input *in, unsigned how)
{
    static bool made;
    ssq_array *a = NULL;
    if (!made && mkdir("fuzz-pictures", 0700) == 0)
        atexit(forget);
    made = true;
    int fd =
        open("fuzz-pictures/x", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    put(fd, in);
    close(fd);
    ssq_status st =
        ssq_images_read("fuzz-pictures",
                        SSQ_IMAGES_READ(.height = how % 2 != 0 ? 5 : 0,
                                        .width = how % 2 != 0 ? 7 : 0,
                                        .channels = how % 4 < 2 ? 3 : 1),
                        &a, NULL);
    check(st, a, "images_read");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct input in = {data, data + bytes};
    if (fuzz_counts.programs++ == 0 && getenv("SSQ_FUZZ_COUNTS") != NULL)
        atexit(fuzz_counts_print);
    unsigned how = input_byte(&in);
    if (how < 8)
        read_array(&in, how);
    else
        read_picture(&in, how);
    return 0;
}
