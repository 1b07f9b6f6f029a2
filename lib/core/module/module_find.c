/* SPDX-License-Identifier: Apache-2.0 */
/* module_find.c - search for modules. */
#include "lib/core/module/module_find.h"

#include "lib/core/base/env.h"
#include "lib/core/base/error.h"
#include "lib/core/module/module_file.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A search: the module's name, the function that accepts a file, and the
 * problems found so far. */
struct module_find_search {
    const char *name;
    module_try_fn *try_file;
    void *user;
    struct why *reason;
};

/* Append text to *why, after "; ". Text that does not fit is cut off. */
static void refuse_too(struct why *why, const char *text)
{
    struct why first = *why;
    refuse(why, "%s%s%s", first.text, first.text[0] == '\0' ? "" : "; ", text);
}

/* Try <dir>/<name>.so, if it exists; dir has n characters. Returns true if the
 * file was accepted, false to continue the search. Problems with a file are
 * added to the reason, even if a later file is accepted. */
static bool try_dir(const struct module_find_search *s, const char *dir,
                    size_t n)
{
    char path[PATH_MAX];
    struct why why = {""};
    bool taken = false;
    int length =
        snprintf(path, sizeof(path), "%.*s/%s.so", (int)n, dir, s->name);
    if (n == 0)
        return false;
    if (dir[0] != '/')
        refuse(&why, "%.*s: a relative path of modules: not used", (int)n, dir);
    else if ((size_t)length >= sizeof(path) || access(path, F_OK) != 0)
        return false;
    else if (module_file_safe(path, &why) && module_file_whole(path, &why))
        taken = s->try_file(s->user, path, &why);
    if (why.text[0] != '\0')
        refuse_too(s->reason, why.text);
    if (!taken)
        log_line(SSQ_LOG_WARNING, "device", "%s: %s", s->name, why.text);
    return taken;
}

/* Try each directory of a colon-separated list. */
static bool try_list(const struct module_find_search *s, const char *dirs)
{
    while (dirs != NULL && *dirs != '\0') {
        size_t n = strcspn(dirs, ":");
        if (try_dir(s, dirs, n))
            return true;
        dirs += n + (dirs[n] == ':');
    }
    return false;
}

/* Try the directory of the library: its subdirectory sesqui/0 if the library is
 * installed, or .libs itself in a build tree, where libtool puts modules. */
static bool try_beside(const struct module_find_search *s)
{
    static const char installed[] = "/sesqui/0", build[] = "/.libs";
    char dir[PATH_MAX];
    if (!library_directory(dir, sizeof(dir) - sizeof(installed)))
        return false;
    size_t n = strlen(dir), tail = sizeof(build) - 1;
    if (n > tail && strcmp(dir + n - tail, build) == 0)
        return try_dir(s, dir, n);
    memcpy(dir + n, installed, sizeof(installed));
    return try_dir(s, dir, n + sizeof(installed) - 1);
}

bool module_none(void)
{
    const char *wanted = env_text("SSQ_MODULE_PATH");
    return wanted != NULL && wanted[0] == '\0';
}

bool module_find(const char *name, module_try_fn *try_file, void *user,
                 struct why *reason)
{
    const struct module_find_search s = {name, try_file, user, reason};
    if (module_none())
        return false;
    return try_list(&s, env_text("SSQ_MODULE_PATH")) || try_beside(&s) ||
           try_list(&s, SSQ_MODULE_DIR);
}
