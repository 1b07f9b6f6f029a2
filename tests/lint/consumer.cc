/* SPDX-License-Identifier: Apache-2.0 */
/* consumer.cc - a C++17 program outside the tree, built by consumer.sh: it
 * rounds numbers to float16 on both backends that are always there, and shares
 * a tensor through the headers that sesqui.h does not include. */

#include <sesqui.h>
#include <sesqui/dlpack.h>
#include <sesqui/sesqui.hpp>

#include <math.h>
#include <stdio.h>
#include <string.h>

#define N 4

/* Write x through an f16 tensor of the device and read it back. */
static ssq_status round_trip(const char *name, const float *x, float *y)
{
    const int64_t shape[] = {N};
    ssq_device *device = NULL;
    ssq_queue *queue = NULL;
    ssq_tensor *half = NULL;
    ssq_status st = ssq_device_open(name, NULL, &device);

    if (st == SSQ_OK)
        st = ssq_queue_create(device, NULL, &queue);
    if (st == SSQ_OK)
        st = ssq_tensor_create(device, SSQ_F16, 1, shape, &half);
    if (st == SSQ_OK)
        st = ssq_tensor_write(queue, half, x, N * sizeof(*x), SSQ_F32);
    if (st == SSQ_OK)
        st = ssq_tensor_read(queue, half, y, N * sizeof(*y), SSQ_F32);
    if (st == SSQ_OK)
        st = ssq_queue_sync(queue);
    ssq_tensor_destroy(&half);
    ssq_queue_destroy(&queue);
    ssq_device_close(&device);
    return st;
}

/* Export a tensor of the classes, import it, and read it. Throws on failure. */
static bool shares()
{
    auto queue = sesqui::queue::create(sesqui::device::open("reference"));
    auto x = sesqui::tensor::from_host(queue, {1.0f, 2.0f});
    DLManagedTensorVersioned *dl = NULL;
    ssq_tensor *y = NULL;
    float host[2] = {0.0f, 0.0f};

    sesqui::check(ssq_tensor_to_dlpack(x, NULL, &dl));
    sesqui::check(ssq_tensor_from_dlpack(queue, dl, NULL, &y));
    sesqui::tensor(y).read(queue, host);
    queue.sync();
    return host[0] == 1.0f && host[1] == 2.0f;
}

int main(void)
{
    static const char *const names[] = {"reference", "guard"};
    /* 2049 is a tie; 65520 is the least float that rounds to infinity. */
    const float x[N] = {1.0f, 2049.0f, 65519.0f, 65520.0f};
    const float wanted[N] = {1.0f, 2048.0f, 65504.0f, INFINITY};
    char header[32];

    snprintf(header, sizeof(header), "%d.%d.%d", SSQ_VERSION_MAJOR,
             SSQ_VERSION_MINOR, SSQ_VERSION_PATCH);
    printf("header %s, library %s\n", header, ssq_version());
    if (strcmp(header, ssq_version()) != 0)
        return 1;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        float y[N] = {0};

        if (round_trip(names[i], x, y) != SSQ_OK) {
            printf("%s: %s\n", names[i], ssq_last_error());
            return 1;
        }
        for (int j = 0; j < N; j++) {
            printf("%s: %g becomes %g\n", names[i], (double)x[j], (double)y[j]);
            if (!(y[j] == wanted[j]))
                return 1;
        }
    }
    return shares() ? 0 : 1;
}
