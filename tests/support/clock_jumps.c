/* A wall clock that jumps by an hour, back and forth, twice a second: for LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

static int real(clockid_t id, struct timespec *t) {
  static int (*next)(clockid_t, struct timespec *);
  if (!next) next = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  return next(id, t);
}

int clock_gettime(clockid_t id, struct timespec *t) {
  const int status = real(id, t);
  if (id == CLOCK_REALTIME && !status) t->tv_sec += t->tv_nsec < 500000000 ? 3600 : -3600;
  return status;
}

int gettimeofday(struct timeval *t, void *zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  t->tv_sec = now.tv_sec;
  t->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *t) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (t) *t = now.tv_sec;
  return now.tv_sec;
}
