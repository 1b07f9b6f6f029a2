/* SPDX-License-Identifier: Apache-2.0 */
/* files.c - fuzz target: any bytes as a safetensors file and as a checkpoint.
 *
 * A first byte that is even: the file follows. Odd: the rest, up to
 * a byte 0xff, is the header, whose length is put before it; then come the
 * bytes of tensors. An opened file has tensors that are found, are in the file
 * and are read; a refused file has a text; a checkpoint that is refused leaves
 * an empty set of parameters empty. */

#define _GNU_SOURCE /* memfd_create */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fuzz/pair.h"

static void must(ssq_status st, const char *what)
{
    if (st != SSQ_OK)
        fuzz_fail("%s: %s", what, ssq_status_name(st));
}

static void put(int fd, const void *bytes, size_t n)
{
    if (n > 0 && write(fd, bytes, n) != (ssize_t)n)
        fuzz_fail("the file cannot be written");
}

static int file_of(struct input *in)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    bool framed = input_byte(in) % 2 != 0;
    size_t n = (size_t)(in->end - in->at);
    if (fd < 0)
        fuzz_fail("there is no file in memory");
    if (framed) {
        const uint8_t *end = n > 0 ? memchr(in->at, 0xff, n) : NULL;
        size_t header = end == NULL ? n : (size_t)(end - in->at);
        const uint8_t length[8] = {(uint8_t)header, (uint8_t)(header >> 8)};
        put(fd, length, sizeof(length));
        put(fd, in->at, header);
        if (end != NULL)
            put(fd, end + 1, n - header - 1);
    } else
        put(fd, in->at, n);
    return fd;
}

/* A refusal has a text, which names the call. */
static bool taken(ssq_status st, const char *what)
{
    fuzz_counts.calls++;
    fuzz_counts.done += st == SSQ_OK;
    fuzz_counts.refused += st != SSQ_OK;
    if (st != SSQ_OK && strstr(ssq_last_error(), what) == NULL)
        fuzz_fail("%s: %s", what, ssq_last_error());
    return st == SSQ_OK;
}

static void tensors(ssq_device *device, ssq_queue *q, ssq_safetensors *f,
                    uint64_t bytes)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < ssq_safetensors_count(f); i++) {
        ssq_safetensors_info a = SSQ_SAFETENSORS_INFO_INIT;
        ssq_safetensors_info b = SSQ_SAFETENSORS_INFO_INIT;
        ssq_tensor *t = NULL;
        must(ssq_safetensors_get(f, i, &a), "get");
        must(ssq_safetensors_find(f, a.name, &b), "find");
        if (a.name != b.name || a.bytes != b.bytes)
            fuzz_fail("tensor %zu is not found by its name", i);
        sum += a.bytes;
        ssq_dtype d =
            a.dtype[0] == 'F' || a.dtype[0] == 'B' ? SSQ_F16 : SSQ_I32;
        if (a.bytes == 0 ||
            ssq_tensor_create(device, d, a.rank, a.shape, &t) != SSQ_OK)
            continue;
        (void)taken(ssq_safetensors_read(q, f, a.name, NULL, t),
                    "safetensors_read");
        ssq_tensor_destroy(&t);
    }
    (void)ssq_safetensors_metadata(f, "format");
    if (sum > bytes)
        fuzz_fail("tensors have more bytes than the file");
}

/* The file's weights for an existing set: refused, or read. */
static void weights(ssq_queue *q, ssq_params *p, const char *path)
{
    ssq_tape *t = NULL;
    must(ssq_tape_create(q, p, &t), "tape");
    must(ssq_params_allow(p, "?"), "allow");
    ssq_tape_begin(t, false);
    (void)ssq_var_param(t, "a", SSQ_PARAM(.rank = 1, .shape = {1}));
    (void)ssq_var_param(t, "b", SSQ_PARAM(.rank = 2, .shape = {2, 3}));
    ssq_status st = ssq_tape_status(t);
    ssq_tape_destroy(&t);
    if (st == SSQ_OK) /* the file's checkpoint may have had an "a" */
        (void)taken(
            ssq_params_load(p, q, path,
                            SSQ_PARAMS_FILE(.missing = true, .unused = true)),
            "/proc/self/fd/"); /* the file, or a shard that it names */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static ssq_device *device;
    struct input in = {data, data + bytes};
    char path[64];
    ssq_queue *q = NULL;
    ssq_safetensors *f = NULL;
    ssq_params *p = NULL;
    ssq_memory_info info = SSQ_MEMORY_INFO_INIT;
    if (fuzz_counts.programs++ == 0 && getenv("SSQ_FUZZ_COUNTS") != NULL)
        atexit(fuzz_counts_print);
    if (device == NULL)
        must(ssq_device_open("reference", NULL, &device), "open");
    int fd = file_of(&in);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    must(ssq_queue_create(device, NULL, &q), "queue");
    must(ssq_params_create(device, "float32", NULL, &p), "params");
    if (taken(ssq_safetensors_open(path, &f), "safetensors_open")) {
        tensors(device, q, f, bytes);
        ssq_safetensors_close(&f);
    }
    ssq_status st = ssq_checkpoint_load(q, path, SSQ_CHECKPOINT(.params = p));
    fuzz_counts.calls++;
    fuzz_counts.done += st == SSQ_OK;
    if (st != SSQ_OK && ssq_params_count(p) != 0)
        fuzz_fail("a refused checkpoint has left parameters");
    weights(q, p, path);
    ssq_params_destroy(&p);
    ssq_queue_destroy(&q);
    close(fd);
    must(ssq_device_memory(device, &info), "memory");
    if (info.buffers != 0)
        fuzz_fail("%llu buffers are left", (unsigned long long)info.buffers);
    return 0;
}
