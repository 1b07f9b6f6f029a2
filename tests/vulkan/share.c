/* SPDX-License-Identifier: Apache-2.0 */
/* share.c - memory and semaphores that two devices share: two VkDevices of one
 * driver; and, where libcuda is the stand-in, Vulkan and CUDA.
 *
 * lavapipe exports memory and no semaphores: for the stand-in a semaphore is a
 * file with a number. That the two drivers of a GPU understand each other is
 * tested only if SSQ_TEST_REQUIRE has cuda. */
#define _GNU_SOURCE /* memfd_create */
#include <sesqui/share.h>

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/core/driver.h"

#define N 1003

static float host[N];

static ssq_tensor *over(ssq_buffer *b)
{
    static const int64_t n = N;
    ssq_tensor *t = NULL;
    NEED(ssq_tensor_from_buffer(b, SSQ_F32, 1, &n, NULL, 0, &t));
    return t;
}

static void fill(ssq_queue *q, const ssq_tensor *t, float value)
{
    NEED(ssq_fill(q, SSQ_FILL(.x = t, .value = (double)value)));
}

/* Are all elements this? */
static bool all(ssq_queue *q, const ssq_tensor *t, float value)
{
    NEED(ssq_tensor_read(q, t, host, sizeof(host), SSQ_F32));
    NEED(ssq_queue_sync(q));
    for (int i = 0; i < N; i++)
        if (host[i] != value)
            return false;
    return true;
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* From one device to another and back, without a copy. */
static void memory(ssq_device *from, ssq_device *to, const char *name)
{
    ssq_shared_memory m = SSQ_SHARED_MEMORY_INIT;
    ssq_buffer *a = NULL, *b = NULL;
    ssq_queue *qa = core_queue(from), *qb = core_queue(to);
    NEED(ssq_buffer_export(from, sizeof(host), &m, &a));
    tap_ok(m.bytes == sizeof(host) && m.size >= m.bytes && is_open(m.fd),
           "%s: a file of %llu bytes", name, (unsigned long long)m.size);
    NEED(ssq_buffer_import(to, &m, &b));
    tap_ok(is_open(m.fd), "%s: the file is still the caller's", name);
    close(m.fd);
    ssq_tensor *x = over(a), *y = over(b);
    ssq_buffer_destroy(&b); /* the tensor holds it */
    fill(qa, x, 1.5f);
    NEED(ssq_queue_sync(qa));
    tap_ok(all(qb, y, 1.5f), "%s: the other device sees what one wrote", name);
    NEED(ssq_scale(qb, SSQ_SCALE(.x = y, .y = y, .alpha = 2.0)));
    NEED(ssq_queue_sync(qb));
    tap_ok(all(qa, x, 3.0f), "%s: and the other way round", name);
    ssq_tensor_destroy(&x);
    ssq_buffer_destroy(&a);
    tap_ok(all(qb, y, 3.0f), "%s: the memory lives as long as one of them",
           name);
    ssq_tensor_destroy(&y);
    ssq_queue_destroy(&qa);
    ssq_queue_destroy(&qb);
}

static void refused(ssq_device *vulkan, ssq_device *to)
{
    ssq_shared_memory m = SSQ_SHARED_MEMORY_INIT;
    ssq_buffer *b = NULL;
    core_status(ssq_buffer_export(vulkan, 0, &m, &b), SSQ_ERR_INVALID,
                "bytes is 0", "no bytes");
    core_status(ssq_buffer_export(vulkan, 4, NULL, &b), SSQ_ERR_INVALID,
                "memory is NULL", "no struct");
    core_status(ssq_buffer_export(NULL, 4, &m, &b), SSQ_ERR_INVALID,
                "device is NULL", "no device");
    m.bytes = m.size = 64;
    m.fd = -1;
    core_status(ssq_buffer_import(to, &m, &b), SSQ_ERR_INVALID, "fd is -1",
                "no file");
    m.fd = STDOUT_FILENO;
    m.bytes = 65;
    core_status(ssq_buffer_import(to, &m, &b), SSQ_ERR_INVALID, "65|64",
                "more bytes than the memory has");
    m.bytes = 0;
    core_status(ssq_buffer_import(to, &m, &b), SSQ_ERR_INVALID, "bytes is 0",
                "no bytes to import");
    m.struct_size--;
    core_status(ssq_buffer_import(to, &m, &b), SSQ_ERR_INVALID, "struct_size",
                "a wrong struct_size");
    tap_ok(b == NULL, "no buffer");
}

/* A backend that cannot share memory returns SSQ_ERR_UNSUPPORTED. */
static void backends(void)
{
    ssq_device *cpu = core_open("reference");
    ssq_shared_memory m = SSQ_SHARED_MEMORY_INIT;
    ssq_semaphore *s = NULL;
    ssq_buffer *b = NULL;
    m.bytes = m.size = 4;
    core_status(ssq_buffer_export(cpu, 4, &m, &b), SSQ_ERR_UNSUPPORTED,
                "reference", "reference exports nothing");
    core_status(ssq_buffer_import(cpu, &m, &b), SSQ_ERR_UNSUPPORTED,
                "reference", "and imports nothing");
    core_status(ssq_semaphore_create(cpu, NULL, &s), SSQ_ERR_UNSUPPORTED,
                "reference", "it has no semaphores");
    core_status(ssq_semaphore_import(cpu, 0, &s), SSQ_ERR_UNSUPPORTED,
                "reference", "of others neither");
    ssq_semaphore_destroy(&s);
    ssq_semaphore_destroy(NULL);
    ssq_device_close(&cpu);
}

/* Two queues of one device, one after the other by a semaphore's value. */
static void in_order(ssq_device *vulkan)
{
    ssq_semaphore *s = NULL;
    ssq_queue *qa = core_queue(vulkan), *qb = core_queue(vulkan);
    ssq_tensor *x = core_vector(vulkan, SSQ_F32, N);
    ssq_graph *graph = NULL;
    ssq_status st = ssq_semaphore_create(vulkan, NULL, &s);
    if (st == SSQ_ERR_UNSUPPORTED) {
        tap_skip("the device has no timeline semaphores", "semaphores");
    } else {
        core_need(st, "semaphore_create");
        for (int i = 1; i <= 20; i++) {
            fill(qa, x, (float)i);
            NEED(ssq_semaphore_signal(qa, s, (uint64_t)i));
            NEED(ssq_semaphore_wait(qb, s, (uint64_t)i));
            NEED(ssq_scale(qb, SSQ_SCALE(.x = x, .y = x, .alpha = 2.0)));
            NEED(ssq_queue_sync(qb));
        }
        tap_ok(all(qb, x, 40.0f), "20 values of a semaphore");
        core_status(ssq_semaphore_signal(qa, s, 0), SSQ_ERR_INVALID,
                    "value is 0", "a value of 0");
        core_status(ssq_semaphore_wait(qa, NULL, 1), SSQ_ERR_INVALID,
                    "semaphore is NULL", "no semaphore");
        NEED(ssq_graph_begin(qa));
        core_status(ssq_semaphore_wait(qa, s, 1), SSQ_ERR_INVALID, "captured",
                    "in a capture");
        NEED(ssq_graph_end(qa, &graph));
        NEED(ssq_queue_sync(qa));
    }
    ssq_graph_destroy(&graph);
    ssq_semaphore_destroy(&s);
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&qa);
    ssq_queue_destroy(&qb);
}

static void exported(ssq_device *vulkan)
{
    ssq_semaphore *s = NULL, *other = NULL;
    int fd = -1;
    ssq_status st = ssq_semaphore_create(vulkan, &fd, &s);
    if (st == SSQ_ERR_UNSUPPORTED) {
        tap_ok(core_has(ssq_last_error(), "external_semaphore_fd") ||
                   core_has(ssq_last_error(), "timeline"),
               "a device that exports no semaphore says so: %s",
               ssq_last_error());
        core_status(ssq_semaphore_import(vulkan, STDOUT_FILENO, &other),
                    SSQ_ERR_UNSUPPORTED, NULL, "and imports none");
        return;
    }
    core_need(st, "semaphore_create");
    NEED(ssq_semaphore_import(vulkan, fd, &other));
    close(fd);
    tap_ok(true, "a semaphore is exported and imported");
    ssq_semaphore_destroy(&other);
    ssq_semaphore_destroy(&s);
}

/* The stand-in's semaphores: a file with a number. */
/* With few files left to open, the call has one for the caller or fails. */
static void few_files(ssq_device *vulkan)
{
    struct rlimit before, few;
    int first = dup(0), wrong = 0, failed = 0;
    NEED(first >= 0 && getrlimit(RLIMIT_NOFILE, &before) == 0 ? SSQ_OK
                                                              : SSQ_ERR_IO);
    close(first);
    for (rlim_t more = 0; more < 4; more++) {
        ssq_shared_memory m = SSQ_SHARED_MEMORY_INIT;
        ssq_buffer *b = NULL;
        few = before;
        few.rlim_cur = (rlim_t)first + more;
        setrlimit(RLIMIT_NOFILE, &few);
        ssq_status st = ssq_buffer_export(vulkan, 4096, &m, &b);
        setrlimit(RLIMIT_NOFILE, &before);
        wrong += st == SSQ_OK ? m.fd < 0 : st != SSQ_ERR_NOMEM || b != NULL;
        failed += st == SSQ_ERR_NOMEM;
        if (st == SSQ_OK && m.fd >= 0)
            close(m.fd);
        ssq_buffer_destroy(&b);
    }
    tap_ok(wrong == 0 && failed > 0,
           "with few files left to open: %d calls failed, %d were wrong",
           failed, wrong);
}

static void cuda_semaphores(ssq_device *cuda)
{
    const uint64_t zero = 0;
    ssq_semaphore *s = NULL;
    ssq_queue *q = core_queue(cuda);
    ssq_tensor *x = core_vector(cuda, SSQ_F32, N);
    int fd = memfd_create("semaphore", MFD_CLOEXEC);
    if (fd < 0 || write(fd, &zero, sizeof(zero)) != sizeof(zero))
        tap_bail("no file for a semaphore");
    _Atomic uint64_t *value =
        mmap(NULL, sizeof(zero), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    NEED(ssq_semaphore_import(cuda, fd, &s));
    tap_ok(is_open(fd), "cuda: the file is still the caller's");
    close(fd);
    fill(q, x, 7.0f);
    NEED(ssq_semaphore_signal(q, s, 5));
    NEED(ssq_queue_sync(q));
    tap_ok(atomic_load(value) == 5, "cuda: a signal sets the value");
    NEED(ssq_semaphore_wait(q, s, 9));
    fill(q, x, 8.0f);
    ssq_status st = ssq_queue_status(q);
    tap_ok(st == SSQ_ERR_NOT_READY, "cuda: work waits for a value");
    atomic_store(value, 9);
    tap_ok(all(q, x, 8.0f), "cuda: and runs when it is there");
    core_status(ssq_semaphore_import(cuda, -1, &s), SSQ_ERR_INVALID, "fd is -1",
                "cuda: no file");
    ssq_semaphore_destroy(&s);
    ssq_tensor_destroy(&x);
    ssq_queue_destroy(&q);
    munmap((void *)(uintptr_t)value, sizeof(zero));
}

/* The queues of a GPU's two drivers take turns, and the host waits once. */
static void turns(ssq_device *vulkan, ssq_device *cuda)
{
    ssq_shared_memory m = SSQ_SHARED_MEMORY_INIT;
    ssq_buffer *a = NULL, *b = NULL;
    ssq_semaphore *here = NULL, *there = NULL;
    ssq_queue *qa = core_queue(vulkan), *qb = core_queue(cuda);
    int fd = -1;
    NEED(ssq_buffer_export(vulkan, sizeof(host), &m, &a));
    NEED(ssq_buffer_import(cuda, &m, &b));
    close(m.fd);
    NEED(ssq_semaphore_create(vulkan, &fd, &here));
    NEED(ssq_semaphore_import(cuda, fd, &there));
    close(fd);
    ssq_tensor *x = over(a), *y = over(b);
    fill(qa, x, 1.0f);
    for (uint64_t i = 1; i <= 20; i += 2) {
        NEED(ssq_semaphore_signal(qa, here, i));
        NEED(ssq_semaphore_wait(qb, there, i));
        NEED(ssq_scale(qb, SSQ_SCALE(.x = y, .y = y, .alpha = 2.0)));
        NEED(ssq_semaphore_signal(qb, there, i + 1));
        NEED(ssq_semaphore_wait(qa, here, i + 1));
        NEED(ssq_scale(qa, SSQ_SCALE(.x = x, .y = x, .alpha = 0.5)));
        NEED(ssq_scale(qa, SSQ_SCALE(.x = x, .y = x, .alpha = 3.0)));
    }
    tap_ok(all(qa, x, 59049.0f), "vulkan and cuda take 20 turns");
    NEED(ssq_queue_sync(qb));
    ssq_semaphore_destroy(&here);
    ssq_semaphore_destroy(&there);
    ssq_tensor_destroy(&x);
    ssq_tensor_destroy(&y);
    ssq_buffer_destroy(&a);
    ssq_buffer_destroy(&b);
    ssq_queue_destroy(&qa);
    ssq_queue_destroy(&qb);
}

static void on_cuda(ssq_device *vulkan)
{
    const bool standin = getenv("SSQ_TEST_STANDIN") != NULL;
    ssq_device *cuda = NULL;
    ssq_shared_memory m = SSQ_SHARED_MEMORY_INIT;
    ssq_buffer *b = NULL;
    int pipes[2];
    if (!standin && !tap_required("cuda")) {
        tap_skip("SSQ_TEST_REQUIRE has no cuda; "
                 "tests/fakecuda/shared_memory.sh uses a stand-in",
                 "cuda imports");
        return;
    }
    NEED(ssq_device_open("cuda:0", NULL, &cuda));
    memory(vulkan, cuda, "cuda");
    refused(vulkan, cuda);
    if (!standin) {
        turns(vulkan, cuda);
        ssq_device_close(&cuda);
        return;
    }
    core_status(ssq_buffer_export(cuda, 4, &m, &b), SSQ_ERR_UNSUPPORTED, "cuda",
                "cuda exports nothing");
    if (pipe(pipes) != 0)
        tap_bail("no pipe");
    m = (ssq_shared_memory)SSQ_SHARED_MEMORY_INIT;
    m.fd = pipes[0];
    m.bytes = m.size = 64;
    core_status(ssq_buffer_import(cuda, &m, &b), SSQ_ERR_INVALID,
                "cuImportExternalMemory", "cuda: a file of another kind");
    tap_ok(is_open(pipes[0]), "which is still the caller's");
    close(pipes[0]);
    close(pipes[1]);
    cuda_semaphores(cuda);
    ssq_device_close(&cuda);
}

int main(void)
{
    ssq_device *a = NULL, *b = NULL;
    ssq_shared_memory m = SSQ_SHARED_MEMORY_INIT;
    ssq_buffer *probe = NULL;
    backends();
    if (driver_missing("vulkan"))
        return tap_done(4);
    NEED(ssq_device_open("vulkan:0", NULL, &a));
    ssq_status st = ssq_buffer_export(a, 4, &m, &probe);
    if (st == SSQ_ERR_UNSUPPORTED) {
        tap_skip("vulkan:0 has no VK_KHR_external_memory_fd", "shared memory");
    } else {
        core_need(st, "buffer_export");
        close(m.fd);
        ssq_buffer_destroy(&probe);
        NEED(ssq_device_open("vulkan:0", NULL, &b));
        memory(a, b, "vulkan");
        refused(a, b);
        in_order(a);
        exported(a);
        few_files(a);
        on_cuda(a);
        ssq_device_close(&b);
    }
    ssq_device_close(&a);
    return tap_done(4);
}
