/* `still N [anything]`: N-1 paused children and itself, paused. They end with it, and it with its parent. The rest of the
   command line is only there to be seen. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv) {
  pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) return 1;
  int n = argc > 1 ? atoi(argv[1]) : 1;
  pid_t self = getpid();
  for (int i = 1; i < n; i++) {
    pid_t pid = fork();
    if (pid < 0) { perror("fork"); return 1; }
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != self) return 1;
      for (;;) pause();
    }
  }
  if (write(1, "ready\n", 6) < 0) return 1;
  for (;;) pause();
}
