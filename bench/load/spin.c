/* `spin`: keeps one core busy until it or its parent is killed, two minutes at most. */
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(void) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  alarm(120);
  for (volatile unsigned long n = 0;; n++) {}
}
