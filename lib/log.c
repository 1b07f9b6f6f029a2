/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - log lines: to the callback, or to standard error on request. */
#include "lib/error.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ssq_log_fn callback;
static void *callback_user;

void ssq_log_set(ssq_log_fn fn, void *user)
{
    pthread_mutex_lock(&lock);
    callback = fn;
    callback_user = user;
    pthread_mutex_unlock(&lock);
}

/* Is topic one of the words of the comma list? */
static bool listed(const char *list, const char *topic)
{
    size_t n = strlen(topic);
    while (list != NULL && *list != '\0') {
        size_t word = strcspn(list, ",");
        if (word == n && strncmp(list, topic, n) == 0)
            return true;
        if (word == 3 && strncmp(list, "all", 3) == 0)
            return true;
        list += word + (list[word] == ',');
    }
    return false;
}

bool log_enabled(const char *topic)
{
    pthread_mutex_lock(&lock);
    bool on = callback != NULL;
    pthread_mutex_unlock(&lock);
    return on || listed(getenv("SSQ_VERBOSE"), topic);
}

void log_line(ssq_log_level level, const char *topic, const char *format, ...)
{
    char text[ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    pthread_mutex_lock(&lock);
    ssq_log_fn fn = callback;
    void *user = callback_user;
    pthread_mutex_unlock(&lock);
    if (fn != NULL)
        fn(user, level, text);
    else if (listed(getenv("SSQ_VERBOSE"), topic))
        fprintf(stderr, "sesqui: %s: %s\n", topic, text);
}

const char *env_path_secure(const char *name, bool secure)
{
    return secure ? NULL : getenv(name);
}

const char *env_path(const char *name)
{
    return env_path_secure(name, getauxval(AT_SECURE) != 0);
}
