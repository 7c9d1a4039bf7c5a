/* The first process of a container: it runs one program, hands signals on to it and takes in every orphan, so that none stays a zombie. When the
   program has ended, the keepers that still run are asked to stop their agents, with proof, before the container is gone. */
#include "keeper.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEAVE_S = 8 }; /* container engines kill after ten */

static pid_t start(char **argv) {
  pid_t pid = fork();
  if (pid != 0) return pid;
  if (isatty(0)) { /* Ctrl-C is for the program, and comes once */
    setpgid(0, 0);
    tcsetpgrp(0, getpid()); /* SIGTTOU is still blocked */
  }
  signals_reset();
  execvp(argv[0], argv);
  int code = errno == ENOENT ? 127 : 126;
  fprintf(stderr, "midwatch-keeper: %s cannot be run: %s\n", argv[0], strerror(errno));
  _exit(code);
}

/* Takes in whoever has ended; whether there are children left. */
static bool reap(pid_t program, int *status, bool *ended) {
  int told;
  pid_t pid;
  while ((pid = waitpid(-1, &told, WNOHANG)) > 0)
    if (pid == program) { *status = told; *ended = true; }
  return pid == 0;
}

static void ask(void *context, pid_t pid) {
  (void)context;
  kill(pid, SIGTERM);
}

int init_verb(char **argv) {
  sigset_t all;
  sigfillset(&all);
  const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&all, faults[i]);
  sigprocmask(SIG_BLOCK, &all, NULL);
  platform_own_orphans(); /* for one that is not the first process */
  pid_t program = start(argv);
  if (program < 0) { perror("midwatch-keeper"); return 1; }
  int status = 0, sig;
  bool ended = false, left = true;
  while (left && !ended) {
    if (sigwait(&all, &sig) != 0) continue;
    if (sig == SIGCHLD) left = reap(program, &status, &ended);
    else kill(program, sig);
  }
  Proc self;
  if (left && proc_read(getpid(), &self)) proc_children(&self, ask, NULL);
  for (int64_t until = mono_ms() + LEAVE_S * 1000; left && mono_ms() < until; usleep(20000)) left = reap(program, &status, &ended);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
