/* stand PID: makes every thread of PID stand still as a debugger would. No SIGCONT makes it go on; SIGKILL ends it. Prints
   "standing" when all of them do, and ends with them. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

int main(int argc, char **argv) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/task", argc == 2 ? atoi(argv[1]) : 0);
  DIR *d = opendir(path);
  int awaited = 0;
  for (struct dirent *e; d && (e = readdir(d));) {
    int tid = atoi(e->d_name);
    if (tid > 0 && ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0 && ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0) awaited++;
  }
  if (!awaited) { perror("stand"); return 1; }
  closedir(d);
  for (int status; waitpid(-1, &status, __WALL) > 0 || errno == EINTR;)
    if (WIFSTOPPED(status) && --awaited == 0) { puts("standing"); fflush(stdout); }
  return 0;
}
