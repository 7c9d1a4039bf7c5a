/* `tree stubborn|polite LIST [anything]`: an agent with five descendants that are hard to find or to end: a plain child, a
   retitled one in its own session, a daemon by double fork, one that ignores INT, TERM and HUP, and one in its own session
   with an empty environment, another title and the same deafness. `polite`: the same tree, but nobody is deaf.
   Every process adds "pid start_ticks" to LIST, so that who is left can be counted without the help of any manager. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static char list[4096];

static void sign(void) {
  char text[1024], line[64];
  int fd = open("/proc/self/stat", O_RDONLY);
  ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
  close(fd);
  text[n > 0 ? n : 0] = 0;
  char *at = strrchr(text, ')'); /* the name may hold spaces and brackets */
  for (int field = 2; at && field < 22; field++) at = strchr(at + 1, ' ');
  int length = snprintf(line, sizeof line, "%d %llu\n", (int)getpid(), at ? strtoull(at, NULL, 10) : 0ULL);
  fd = open(list, O_WRONLY | O_APPEND | O_CREAT, 0600);
  if (fd < 0 || write(fd, line, (size_t)length) != length) _exit(3);
  close(fd);
}

static void deaf(void) {
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
}

static void rest(void) {
  sign();
  alarm(300); /* whatever happens to the bench, nobody stays for ever */
  for (;;) pause();
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  snprintf(list, sizeof list, "%s", argv[2]);
  if (strcmp(argv[1], "deaf") == 0) deaf();
  if (strcmp(argv[1], "deaf") == 0 || strcmp(argv[1], "idle") == 0) rest();
  int stubborn = strcmp(argv[1], "stubborn") == 0;
  if (fork() == 0) rest();
  if (fork() == 0) {
    setsid();
    prctl(PR_SET_NAME, "sshd");
    memset(argv[0], 0, (size_t)(argv[argc - 1] + strlen(argv[argc - 1]) - argv[0]));
    memcpy(argv[0], "sshd", 4);
    rest();
  }
  pid_t middle = fork();
  if (middle == 0) {
    setsid();
    if (fork() == 0) {
      if (chdir("/") < 0) return 3;
      rest();
    }
    _exit(0);
  }
  waitpid(middle, NULL, 0);
  if (fork() == 0) {
    if (stubborn) deaf();
    rest();
  }
  if (fork() == 0) {
    setsid();
    char *const scrubbed[] = {"[kworker/1:2]", stubborn ? "deaf" : "idle", list, NULL}, *const nothing[] = {NULL};
    execve("/proc/self/exe", scrubbed, nothing);
    _exit(3);
  }
  rest();
}
