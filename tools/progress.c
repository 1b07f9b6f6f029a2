/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - shows the progress of a long command on standard error. */
#include "tools/tool.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BAR      20   /* columns of the bar */
#define REDRAW   0.1  /* seconds between two states of the bar */
#define INTERVAL 10.0 /* seconds between two lines */

/* A bar of progress_draw() is on the terminal. */
static atomic_bool bar_shown;

/* Columns of the terminal. */
static int progress_columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0
               ? size.ws_col
               : 80;
}

/* True if a person sees standard error, and the terminal can move its cursor.
 */
static bool progress_seen(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
}

/* The library logs this line when kernels take more than two seconds to
 * compile, and again every two seconds. If there is a bar, the line is in its
 * place until the next progress_at(). Any thread may call this. */
static void show_compiling(void *user, ssq_log_level level, const char *text)
{
    (void)user;
    if (level == SSQ_LOG_INFO && strstr(text, "kernels are compiled") != NULL)
        fprintf(stderr, "\r\033[Ksesqui: %.*s%s", progress_columns() - 9, text,
                atomic_load(&bar_shown) ? "\r" : "\n");
}

void progress_library(void)
{
    const char *verbose = getenv("SSQ_VERBOSE");
    if (progress_seen() && (verbose == NULL || *verbose == '\0'))
        ssq_log_set(show_compiling, NULL);
}

void progress_begin(struct tool_progress *p, const char *command, size_t total,
                    bool quiet)
{
    const bool terminal = progress_seen();
    *p = (struct tool_progress){.command = command,
                                .total = total,
                                .began = now(),
                                .terminal = terminal && !quiet};
    p->said = p->began;
    if (terminal && quiet)
        p->total = 0; /* the other lines show the progress */
}

static void progress_draw(struct tool_progress *p, size_t done, double part,
                          const char *what)
{
    char bar[BAR + 1], line[256];
    const double whole = (double)p->total, at = (double)done + part;
    const int full = (int)(BAR * at / whole + 0.5);
    for (int i = 0; i < BAR; i++)
        bar[i] = i < full ? '#' : '.';
    bar[BAR] = '\0';
    snprintf(line, sizeof(line), "%s: [%s] %zu of %zu, %.0f s: %s", p->command,
             bar, done + 1, p->total, now() - p->began, what);
    /* return the cursor, so that a driver's line begins in column 0 */
    fprintf(stderr, "\r\033[K%.*s\r", progress_columns() - 1, line);
    fflush(stderr);
    p->shown = true;
    atomic_store(&bar_shown, true);
}

void progress_at(struct tool_progress *p, size_t done, double part,
                 const char *what)
{
    const double time = now();
    const double least = p->terminal ? REDRAW : INTERVAL;
    if (p->total == 0 || (time - p->said < least && (p->shown || !p->terminal)))
        return;
    p->said = time;
    if (p->terminal)
        progress_draw(p, done, part, what);
    else
        fprintf(stderr, "sesqui: %s: %zu of %zu, %.0f s: %s\n", p->command,
                done + 1, p->total, time - p->began, what);
}

void progress_clear(struct tool_progress *p)
{
    if (p->shown)
        fprintf(stderr, "\r\033[K");
    p->shown = false;
    atomic_store(&bar_shown, false);
}
