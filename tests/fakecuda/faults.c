/* SPDX-License-Identifier: Apache-2.0 */
/* faults.c - a training program in which the Nth call of the CUDA driver fails,
 * for every N; and one whose device breaks at the Nth call, as it does by an
 * illegal address or memory that rots. */
#include "tests/api/faults.h"
#include "tests/core/driver.h"
#include "tests/fakecuda/driver/fakecuda.h"

static struct {
    CUresult result; /* of the call that fails */
    bool breaks;     /* so do all later ones on the device */
} cuda;

static bool has(const char *text, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strstr(text, *words) != NULL)
            return true;
    return false;
}

/* Calls that release are not counted: objects that they keep would be the
 * driver's. Nor are the ones that name an error. */
static CUresult next(const char *call)
{
    static const char *const back[] = {"Destroy", "Free",  "Release", "Unload",
                                       "CtxPop",  "Error", NULL};

    if (has(call, back))
        return CUDA_SUCCESS;
    if (!faults_next(call))
        return CUDA_SUCCESS;
    return cuda.result;
}

/* A failed call by its name, which is without a version in texts, and by its
 * error. */
static bool told(const char *text)
{
    char name[64], number[16];

    snprintf(name, sizeof(name), "%s", fault.failed);
    char *version = strstr(name, "_v2");
    if (version != NULL)
        *version = '\0';
    snprintf(number, sizeof(number), "(%d)", (int)cuda.result);
    return core_has(text, "cuda: ") && core_has(text, number) &&
           (cuda.breaks || core_has(text, name));
}

static long live(void)
{
    return (long)fakecuda_live();
}

static void begin(void)
{
    fakecuda_watch(next, cuda.breaks);
}

/* Devices that open in spite of it are without cuBLASLt. */
static struct faults_of opening = {.device = "cuda:0",
                                   .what = "calls",
                                   .told = told,
                                   .begin = begin,
                                   .live = live,
                                   .dense = 10,
                                   .stride = 71,
                                   .told_share = 10};
/* A device keeps staging and events for later: they are counted at its end. */
static struct faults_of training = {.device = "cuda:0",
                                    .what = "calls",
                                    .told = told,
                                    .begin = begin,
                                    .dense = 10,
                                    .stride = 61,
                                    .told_share = 4};

static void open_sweep(const char *how, CUresult result)
{
    char what[64];

    cuda.result = result;
    snprintf(what, sizeof(what), "open, %s", how);
    faults_sweep(&opening, what, NULL, 0, stages_find("gemm: logits"));
}

static void training_sweep(const char *how, CUresult result)
{
    ssq_device *dev = NULL;
    char what[64];

    cuda.result = result;
    snprintf(what, sizeof(what), "training, %s", how);
    NEED(ssq_device_open("cuda:0", NULL, &dev));
    faults_sweep(&training, what, dev, 1, TRAINING_STAGES);
    fakecuda_watch(NULL, false);
    ssq_device_close(&dev);
    tap_ok(fakecuda_live() == 0, "%s: no object is left in the end, but %lu",
           what, fakecuda_live());
}

int main(void)
{
    char text[512] = "";

    if (driver_missing("cuda"))
        return tap_done(0);
    if (tap_full())
        opening.dense = training.dense = LONG_MAX;
    open_sweep("no memory", CUDA_ERROR_OUT_OF_MEMORY);
    training_sweep("no memory", CUDA_ERROR_OUT_OF_MEMORY);
    training_sweep("failed", CUDA_ERROR_UNKNOWN);
    cuda.breaks = true;
    open_sweep("broken", CUDA_ERROR_ILLEGAL_ADDRESS);
    fakecuda_watch(NULL, false);
    tap_ok(fakecuda_refused(text, sizeof(text)) == 0,
           "nothing was against the documentation: %s", text);
    return tap_done(23);
}
