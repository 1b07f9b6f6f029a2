/* SPDX-License-Identifier: Apache-2.0 */
/* process.c - starts this program again as a child, and reads its output. The
 * child loads the program from its file: it contains none of the drivers that
 * the parent has loaded or broken. */
#include "tools/tool.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Set the child's descriptors: the pipe is its standard output, and also its
 * standard error if both is set. The child closes the reading end, so the pipe
 * ends when the child does. */
static int add_actions(posix_spawn_file_actions_t *actions, const int pipes[2],
                       bool both)
{
    int e = posix_spawn_file_actions_adddup2(actions, pipes[1], STDOUT_FILENO);
    if (e == 0 && both)
        e = posix_spawn_file_actions_adddup2(actions, pipes[1], STDERR_FILENO);
    return e == 0 ? posix_spawn_file_actions_addclose(actions, pipes[0]) : e;
}

bool process_start(const char *const *argv, bool both, pid_t *pid, int *fd)
{
    int pipes[2];
    posix_spawn_file_actions_t actions;
    /* if SIGCHLD is ignored, as under some supervisors, the system keeps no
     * status of a child that has ended */
    if (signal(SIGCHLD, SIG_DFL) == SIG_ERR || pipe(pipes) != 0)
        return false;
    int e = posix_spawn_file_actions_init(&actions);
    if (e == 0) {
        e = add_actions(&actions, pipes, both);
        if (e == 0)
            e = posix_spawn(pid, "/proc/self/exe", &actions, NULL,
                            (char *const *)(uintptr_t)argv, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(pipes[1]);
    if (e != 0) {
        close(pipes[0]);
        errno = e;
        return false;
    }
    *fd = pipes[0];
    return true;
}

void process_end(char *text, size_t bytes, bool in_time, double seconds,
                 int status)
{
    if (!in_time)
        snprintf(text, bytes, "took more than %g s", seconds);
    else if (WIFSIGNALED(status))
        snprintf(text, bytes, "killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(text, bytes, "the process ended with %d", WEXITSTATUS(status));
}
