/* `print TOTAL LINE WRITE SIDE [GO]`: prints TOTAL bytes as lines of LINE bytes, WRITE bytes a write, and says in SIDE how
   long its own writing took: "wall_ns cpu_us queue_ns", the last being how
   long it was ready to run and had no core. Then waits for the file GO, so that its recorder can be looked at. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long cpu_us(void) {
  struct rusage u;
  getrusage(RUSAGE_SELF, &u);
  return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000LL + u.ru_utime.tv_usec + u.ru_stime.tv_usec;
}

static long long queue_ns(void) {
  long long ran = 0, waited = 0;
  FILE *f = fopen("/proc/self/schedstat", "r");
  if (f && fscanf(f, "%lld %lld", &ran, &waited) != 2) waited = 0;
  if (f) fclose(f);
  return waited;
}

int main(int argc, char **argv) {
  if (argc < 5) return 2;
  long long total = atoll(argv[1]);
  size_t line = (size_t)atoll(argv[2]), block = (size_t)atoll(argv[3]);
  block = block < line ? line : block / line * line; /* whole lines only */
  char *buffer = malloc(block);
  if (!buffer || line < 32) return 2;
  for (size_t at = 0; at < block; at += line) {
    memset(buffer + at, 'a' + (int)(at / line % 26), line);
    memcpy(buffer + at, "{\"type\":\"assistant\",\"text\":\"", 28);
    memcpy(buffer + at + line - 3, "\"}\n", 3);
  }
  long long queue = queue_ns(), cpu = cpu_us(), begun = now_ns();
  for (long long left = total / (long long)line * (long long)line; left > 0;) {
    size_t part = left < (long long)block ? (size_t)left : block, done = 0;
    while (done < part) {
      ssize_t n = write(1, buffer + done, part - done);
      if (n < 0 && errno != EINTR) return 3;
      if (n > 0) done += (size_t)n;
    }
    left -= (long long)part;
  }
  long long wall = now_ns() - begun;
  cpu = cpu_us() - cpu;
  queue = queue_ns() - queue;
  char temporary[4096];
  snprintf(temporary, sizeof temporary, "%s.tmp", argv[4]);
  FILE *f = fopen(temporary, "w");
  if (!f) return 4;
  fprintf(f, "%lld %lld %lld\n", wall, cpu, queue);
  if (fclose(f) || rename(temporary, argv[4])) return 4;
  for (int i = 0; argc > 5 && access(argv[5], F_OK) && i < 30000; i++) usleep(2000); /* a minute at most */
  return 0;
}
