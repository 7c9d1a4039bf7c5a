/* hold-thread PID: keeps every thread of PID but the first from ending, as a busy disk or a starved core would. Such a thread
   stops on its way out (PTRACE_EVENT_EXIT) with all its files and locks still open. Prints "ready" when it watches and "held"
   for each thread that it stopped; when this program is killed the kernel lets them go. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

static int seize_others(int pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", pid);
  DIR *d = opendir(path);
  int seized = 0;
  for (struct dirent *e; d && (e = readdir(d));) {
    int tid = atoi(e->d_name);
    if (tid > 0 && tid != pid && ptrace(PTRACE_SEIZE, tid, NULL, (void *)(intptr_t)PTRACE_O_TRACEEXIT) == 0) seized++;
  }
  if (d) closedir(d);
  return seized;
}

int main(int argc, char **argv) {
  if (argc != 2 || !seize_others(atoi(argv[1]))) { perror("hold-thread"); return 1; }
  puts("ready");
  fflush(stdout);
  for (int status, tid; (tid = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR;) {
    if (tid <= 0 || !WIFSTOPPED(status)) continue;
    if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8)) { puts("held"); fflush(stdout); continue; }
    int sig = status >> 16 ? 0 : WSTOPSIG(status);
    ptrace(PTRACE_CONT, tid, NULL, (void *)(intptr_t)sig);
  }
  return 0;
}
