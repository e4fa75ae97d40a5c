/* Sets the time of day of a process: 8 bytes of the file EXPLORE_CLOCK, microseconds since 1970. The monotonic clock stays real. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *clock_us;

static int64_t now_us(void) {
  if (!clock_us) {
    const char *path = getenv("EXPLORE_CLOCK");
    int file = path ? open(path, O_RDONLY) : -1;
    void *page = file < 0 ? MAP_FAILED : mmap(NULL, 8, PROT_READ, MAP_SHARED, file, 0);
    if (page == MAP_FAILED) abort();
    clock_us = page;
  }
  return *clock_us;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  int64_t us = now_us();
  (void)zone;
  time->tv_sec = us / 1000000;
  time->tv_usec = us % 1000000;
  return 0;
}

time_t time(time_t *result) {
  time_t seconds = now_us() / 1000000;
  if (result) *result = seconds;
  return seconds;
}

int clock_gettime(clockid_t id, struct timespec *time) {
  if (id != CLOCK_REALTIME && id != CLOCK_REALTIME_COARSE) return syscall(SYS_clock_gettime, id, time);
  int64_t us = now_us();
  time->tv_sec = us / 1000000;
  time->tv_nsec = us % 1000000 * 1000;
  return 0;
}
