/* `end SIDE MS CODE`: lives MS milliseconds, writes the monotonic time in ns to SIDE and ends at once. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  int side = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC, 0600);
  usleep((useconds_t)atoi(argv[2]) * 1000);
  struct timespec t;
  char text[32];
  clock_gettime(CLOCK_MONOTONIC, &t);
  int n = snprintf(text, sizeof text, "%lld\n", t.tv_sec * 1000000000LL + t.tv_nsec);
  if (write(side, text, (size_t)n) != n) _exit(3);
  _exit(atoi(argv[3]));
}
