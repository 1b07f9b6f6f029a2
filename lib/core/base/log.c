/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - log lines: to the callback, or to standard error on request. */
#include "lib/core/base/env.h"
#include "lib/core/base/error.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A running callback; on the stack of its thread. */
struct log_call {
    struct log_call *next, **at; /* the pointer in the list that points to it */
    pthread_t thread;
    uint64_t setting; /* number of the ssq_log_set() that set it */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below */
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;  /* a callback ended */
static ssq_log_fn callback;                              /* NULL: none */
static void *callback_user;
static uint64_t setting;              /* counts ssq_log_set */
static struct log_call *calls;        /* running callbacks, of all threads */
static _Thread_local unsigned inside; /* callbacks running in this thread */

/* With the lock: true if a callback of an earlier setting is running. */
static bool old_runs(uint64_t last)
{
    for (const struct log_call *c = calls; c != NULL; c = c->next)
        if (c->setting < last)
            return true;
    return false;
}

void ssq_log_set(ssq_log_fn fn, void *user)
{
    pthread_mutex_lock(&lock);
    callback = fn;
    callback_user = user;
    uint64_t last = ++setting;
    /* The caller may free the data of the old callback when this returns, so
     * wait for its calls. Do not wait within a callback: it could wait for
     * itself, or for another callback that waits for it. */
    while (inside == 0 && old_runs(last))
        pthread_cond_wait(&ended, &lock);
    pthread_mutex_unlock(&lock);
}

/* Pass a line to the callback; false if none is set. The lock is not held
 * during the callback, which may call the library and log again. */
static bool log_call_back(ssq_log_level level, const char *text)
{
    pthread_mutex_lock(&lock);
    struct log_call c = {calls, &calls, pthread_self(), setting};
    ssq_log_fn fn = callback;
    void *user = callback_user;
    if (fn != NULL) {
        if (calls != NULL)
            calls->at = &c.next;
        calls = &c;
    }
    pthread_mutex_unlock(&lock);
    if (fn == NULL)
        return false;
    inside++;
    fn(user, level, text);
    inside--;
    pthread_mutex_lock(&lock);
    *c.at = c.next;
    if (c.next != NULL)
        c.next->at = c.at;
    pthread_cond_broadcast(&ended);
    pthread_mutex_unlock(&lock);
    return true;
}

void log_hold(void)
{
    pthread_mutex_lock(&lock);
}

void log_let_go(void)
{
    pthread_mutex_unlock(&lock);
}

/* In a child of fork: remove the calls of threads that do not exist here. They
 * will not return, so ssq_log_set() would wait for them forever. The memory of
 * their stacks can still be read. */
void log_forked(void)
{
    struct log_call **at = &calls;
    while (*at != NULL) {
        struct log_call *c = *at;
        if (pthread_equal(c->thread, pthread_self())) {
            c->at = at;
            at = &c->next;
        } else {
            *at = c->next;
        }
    }
}

/* True if topic, or "all", is in the comma-separated list. */
static bool log_listed(const char *list, const char *topic)
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
    return on || log_listed(env_text("SSQ_VERBOSE"), topic);
}

void log_line(ssq_log_level level, const char *topic, const char *format, ...)
{
    char text[ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (!log_call_back(level, text) &&
        log_listed(env_text("SSQ_VERBOSE"), topic))
        fprintf(stderr, "sesqui: %s: %s\n", topic, text);
}
