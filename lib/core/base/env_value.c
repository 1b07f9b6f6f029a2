/* SPDX-License-Identifier: Apache-2.0 */
/* env_value.c - numbers and flags of the environment, read strictly. */
#include "lib/core/base/env.h"

#include "lib/core/base/error.h"

#include <pthread.h>
#include <string.h>

/** Most variables that are remembered because they were logged. */
#define NAMED 16

/* Guards `named`; no function is called under it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char named[NAMED][40];

void env_hold(void)
{
    pthread_mutex_lock(&lock);
}

void env_let_go(void)
{
    pthread_mutex_unlock(&lock);
}

/* True the first time that a variable is invalid. False if the list is full: a
 * missing line is better than one line per call. */
static bool first_time(const char *name)
{
    bool first = false;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < NAMED; i++) {
        if (strcmp(named[i], name) == 0)
            break;
        if (named[i][0] == '\0') {
            strncpy(named[i], name, sizeof(named[i]) - 1);
            first = true;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    return first;
}

/* Log the error text that was just set, once per variable: callers such as the
 * disk cache ignore the status. */
static ssq_status env_value_complain(const char *name)
{
    if (first_time(name))
        log_line(SSQ_LOG_WARNING, "device", "%s", ssq_last_error());
    return SSQ_ERR_INVALID;
}

/* Parse a decimal number. False if text contains a character that is not a
 * digit, such as a sign or a blank. Also false if the number exceeds 64 bits.
 * strtoull() would read "-1" as a large number. */
static bool env_value_parse(const char *text, uint64_t *value)
{
    uint64_t n = 0;
    for (const char *c = text; *c != '\0'; c++) {
        unsigned digit = (unsigned)(*c - '0');
        if (*c < '0' || *c > '9' || n > (UINT64_MAX - digit) / 10)
            return false;
        n = 10 * n + digit;
    }
    *value = n;
    return true;
}

ssq_status env_number(const char *name, uint64_t least, uint64_t most,
                      uint64_t *value)
{
    const char *text = env_text(name);
    uint64_t n;
    if (text == NULL || text[0] == '\0')
        return SSQ_OK;
    if (env_value_parse(text, &n) && n >= least && n <= most) {
        *value = n;
        return SSQ_OK;
    }
    (void)error_set(
        SSQ_ERR_INVALID, "%s is \"%.64s\", expected a number from %llu to %llu",
        name, text, (unsigned long long)least, (unsigned long long)most);
    return env_value_complain(name);
}

ssq_status env_flag(const char *name, bool *value)
{
    const char *text = env_text(name);
    if (text == NULL || text[0] == '\0')
        return SSQ_OK;
    if (strcmp(text, "0") == 0 || strcmp(text, "1") == 0) {
        *value = text[0] == '1';
        return SSQ_OK;
    }
    (void)error_set(SSQ_ERR_INVALID, "%s is \"%.64s\", expected 0 or 1", name,
                    text);
    return env_value_complain(name);
}
