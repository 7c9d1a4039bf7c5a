/* Stands in for Claude Code: tool uses and their results at BENCH_RATE lines a second, evenly, until it is ended. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void print(const char *line, int length) {
  if (write(1, line, (size_t)length) != length) exit(3);
}

int main(void) {
  const char *given = getenv("BENCH_RATE");
  long rate = given ? atol(given) : 50;
  if (rate < 1) return 2;
  char line[2048], output[512] = "";
  for (int i = 0; i < 20; i++) strcat(output, "a line of output. ");
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  print(line, snprintf(line, sizeof line,
                       "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\",\"model\":\"scripted\"}\n"));
  for (long n = 0;; n++) {
    int length =
        n % 2 == 0
            ? snprintf(line, sizeof line,
                       "{\"type\":\"assistant\",\"message\":{\"id\":\"m%ld\",\"usage\":{\"input_tokens\":100,\"output_tokens\":"
                       "10,\"cache_read_input_tokens\":1000},\"content\":[{\"type\":\"tool_use\",\"id\":\"t%ld\",\"name\":"
                       "\"Bash\",\"input\":{\"command\":\"npm test -- part %ld\"}}]},\"session_id\":\"s\"}\n",
                       n, n, n)
            : snprintf(line, sizeof line,
                       "{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t%ld\","
                       "\"content\":\"ok %ld\\n%s\"}]},\"session_id\":\"s\"}\n",
                       n - 1, n, output);
    print(line, length);
    at.tv_nsec += 1000000000L / rate;
    at.tv_sec += at.tv_nsec / 1000000000L;
    at.tv_nsec %= 1000000000L;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
  }
}
