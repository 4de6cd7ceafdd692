/* Loaded before the C library: the wall clock of this process is off by CLOCK_OFFSET seconds. Its monotonic clocks are
   right, as those of a machine are whose time was set wrong. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t offset(void) {
    const char *text = getenv("CLOCK_OFFSET");
    return text ? (time_t)atol(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += offset();
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec precise;
    int failed = clock_gettime(CLOCK_REALTIME, &precise);
    (void)zone;
    if (!failed) {
        now->tv_sec = precise.tv_sec;
        now->tv_usec = precise.tv_nsec / 1000;
    }
    return failed;
}

time_t time(time_t *where) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (where) *where = now.tv_sec;
    return now.tv_sec;
}
