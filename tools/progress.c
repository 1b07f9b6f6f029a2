/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - shows the progress of a long command on standard error. */
#include "tools/tool.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define BAR      20   /* columns of the bar */
#define REDRAW   0.1  /* seconds between two states of the bar */
#define INTERVAL 10.0 /* seconds between two lines */

/* Columns of the terminal. */
static int progress_columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0
               ? size.ws_col
               : 80;
}

void progress_begin(struct tool_progress *p, const char *command, size_t total,
                    bool quiet)
{
    const char *term = getenv("TERM");
    const bool terminal =
        isatty(STDERR_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
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
}
