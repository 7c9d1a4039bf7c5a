/* Linked into build/clock with --wrap=clock_gettime: a wall clock that is set all the time, an hour or a day forth and back,
   while the monotonic one goes on as it should. */
#include <stdatomic.h>
#include <time.h>

int __real_clock_gettime(clockid_t id, struct timespec *out);
int __wrap_clock_gettime(clockid_t id, struct timespec *out);

int __wrap_clock_gettime(clockid_t id, struct timespec *out) {
  static const time_t jumps[] = {0, 3600, -3600, 86400, -86400};
  static atomic_uint calls;
  int result = __real_clock_gettime(id, out);
  if (id == CLOCK_REALTIME) out->tv_sec += jumps[atomic_fetch_add(&calls, 1) / 3 % 5];
  return result;
}
