/* SPDX-License-Identifier: Apache-2.0 */
/* drivers.c - tries drivers in a child process before this process loads them.
 *
 * A driver may end the process that loads it or opens its device: PoCL does so
 * if it finds no linker. The library must not start processes, because programs
 * with threads use it; this program may.
 *
 * For each backend that is a module, a child opens all devices. If it dies or
 * hangs, that backend is added to SSQ_SKIP_BACKENDS, so that neither this
 * process nor its children load it. The results of the child's self-test are
 * kept in the cache, so that this process need not repeat it. */
#include "tools/tool.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/** A driver needs longer only if it hangs: the first self-test takes seconds,
 *  and minutes on a slow machine that compiles kernels for it. */
#define DRIVER_SECONDS 300.0
#define SKIP           "SSQ_SKIP_BACKENDS"

/* All backends. A backend that is built in needs no driver. */
static const struct {
    const char *name;
    bool module;
} backends[] = {
#define SSQ_BACKEND(NAME)     {#NAME, false},
#define SSQ_MODULE(NAME, WHY) {#NAME, (WHY) == NULL},
#include "lib/backend_table.h"
};

#define BACKENDS (sizeof(backends) / sizeof(backends[0]))

/* Why the driver of a backend is not loaded; "" if it is loaded. */
static char reasons[BACKENDS][160];

/* Return the index of a device's backend; BACKENDS if it is unknown. */
static size_t backend_of(const char *device)
{
    size_t i = 0, n = device == NULL ? 0 : strcspn(device, ":");
    while (i < BACKENDS && (strlen(backends[i].name) != n ||
                            strncmp(backends[i].name, device, n) != 0))
        i++;
    return i;
}

bool drivers_needed(const char *device)
{
    const size_t i = backend_of(device);
    return i < BACKENDS && backends[i].module;
}

const char *drivers_reason(const char *backend)
{
    const size_t i = backend_of(backend);
    return i < BACKENDS ? reasons[i] : "";
}

/* Add a name to the comma-separated list of the variable. */
static bool drivers_skip(const char *name)
{
    const char *old = getenv(SKIP);
    char text[256];
    if (old == NULL || old[0] == '\0')
        return setenv(SKIP, name, 1) == 0;
    snprintf(text, sizeof(text), "%s,%s", old, name);
    return setenv(SKIP, text, 1) == 0;
}

/* ---- the child ---- */

int drivers_child(void)
{
    const size_t n = ssq_device_count();
    for (size_t i = 0; i < n; i++) {
        ssq_device_entry e = SSQ_DEVICE_ENTRY_INIT;
        ssq_device *d = NULL;
        if (ssq_device_list(i, &e) != SSQ_OK || !e.available ||
            !drivers_needed(e.backend))
            continue;
        /* the parent reports a device that is refused */
        if (ssq_device_open(e.name, NULL, &d) == SSQ_OK)
            ssq_device_close(&d);
    }
    return EXIT_FINE;
}

/* ---- the parent ---- */

/* The newest output of a child, which may say why it died. */
struct tail {
    char text[2048];
    size_t n;
};

static void tail_add(struct tail *t, const char *block, size_t n)
{
    const size_t most = sizeof(t->text);
    const size_t drop = t->n + n > most ? t->n + n - most : 0;
    memmove(t->text, t->text + drop, t->n - drop);
    memcpy(t->text + t->n - drop, block, n);
    t->n += n - drop;
}

/* Read until the child ends. Returns false if it was killed because its time
 * was over. */
static bool listen_to(pid_t pid, int fd, struct tail *t)
{
    const double end = now() + DRIVER_SECONDS;
    char block[512];
    for (;;) {
        const double left = end - now();
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int n = left <= 0.0 ? 0 : poll(&p, 1, (int)(1e3 * left) + 1);
        if (n == 0) {
            kill(pid, SIGKILL);
            return false;
        }
        ssize_t got = n < 0 ? -1 : read(fd, block, sizeof(block));
        if (got > 0)
            tail_add(t, block, (size_t)got);
        else if (got == 0 || errno != EINTR)
            return true;
    }
}

/* Let a child open the devices of backend i. It loads no other driver. */
static void drivers_try_one(size_t i)
{
    static const char *const argv[] = {"sesqui", "devices", "--child", NULL};
    const char *kept = getenv(SKIP);
    char *before = kept == NULL ? NULL : strdup(kept);
    struct tail t = {.n = 0};
    pid_t pid;
    int fd, status = 0;
    for (size_t k = 0; k < BACKENDS; k++)
        if (k != i && backends[k].module)
            (void)drivers_skip(backends[k].name);
    const bool started = process_start(argv, true, &pid, &fd);
    if (before != NULL)
        setenv(SKIP, before, 1);
    else
        unsetenv(SKIP);
    free(before);
    if (!started) {
        snprintf(reasons[i], sizeof(reasons[i]),
                 "no process could be started to try its driver: %s",
                 strerror(errno));
        return;
    }
    const bool in_time = listen_to(pid, fd, &t);
    close(fd);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (in_time && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FINE)
        return;
    char how[96];
    process_end(how, sizeof(how), in_time, DRIVER_SECONDS, status);
    snprintf(reasons[i], sizeof(reasons[i]),
             "its driver is at fault: a process that opened its devices: %s",
             how);
    fwrite(t.text, 1, t.n, stderr);
    fprintf(stderr, "%ssesqui: %s: %s\n",
            t.n > 0 && t.text[t.n - 1] != '\n' ? "\n" : "", backends[i].name,
            reasons[i]);
}

/* Return true if the user's list has the backend. Its driver is not
 * tried then. */
static bool drivers_skipped(const char *name)
{
    const char *list = getenv(SKIP);
    const size_t n = strlen(name);
    while (list != NULL && *list != '\0') {
        const size_t length = strcspn(list, ",");
        if (length == n && strncmp(list, name, n) == 0)
            return true;
        list += length + (list[length] == ',');
    }
    return false;
}

bool drivers_try(const char *device, const char *other)
{
    const char *path = getenv("SSQ_MODULE_PATH");
    const size_t first = backend_of(device), second = backend_of(other);
    const bool all = first == BACKENDS || (other != NULL && second == BACKENDS);
    bool good = true;
    if (path != NULL && path[0] == '\0')
        return true;
    for (size_t i = 0; i < BACKENDS; i++) {
        if (!backends[i].module || drivers_skipped(backends[i].name))
            continue;
        const bool wanted = all || i == first || i == second;
        if (wanted)
            drivers_try_one(i);
        good = good && reasons[i][0] == '\0';
        if (!wanted || reasons[i][0] != '\0')
            (void)drivers_skip(backends[i].name);
    }
    return good;
}
