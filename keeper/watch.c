/* Who watches the run for what only a reader of its log can see (tokens, money, verdicts): `midwatch up`, or the companion of the
   workspace (docs/companion.md). Whoever does holds a lock. When nobody holds it, we start the words of our orders, a short process that
   starts the companion under a keeper of its own and ends. So the companion comes back however it ended, while there is a run that needs it. */
#include "keeper.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_MS = 3000, LOOK_MS = 2000, AGAIN_MIN = 1000, AGAIN_MAX = 30000, STARTER_MS = 30000 };
/* What SQLite locks for BEGIN EXCLUSIVE (src/disk/lock.ts). */
enum { SHARED_FIRST = 0x40000002, SHARED_SIZE = 510 };

/* What cannot be asked counts as held: then nobody is started again and again. */
static bool is_held(const char *path) {
  int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return errno != ENOENT;
  struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SHARED_FIRST, .l_len = SHARED_SIZE};
  bool held = fcntl(fd, F_GETLK, &l) < 0 || l.l_type != F_UNLCK;
  close(fd);
  return held;
}

static void start(Run *run, int64_t now) {
  Watch *w = &run->watch;
  pid_t pid = fork();
  if (pid == 0) {
    setsid();
    signals_reset();
    if (!run->adopt) oom_write(run->oom_before);
    umask(run->umask);
    unsetenv("NODE_OPTIONS"); /* of whoever started the run; it may load anything */
    unsetenv("MIDWATCH_RIGHTS");
    execv(w->words.at[0], w->words.at);
    _exit(127);
  }
  w->starter = pid > 0 ? pid : 0;
  w->since = now;
}

void watch_look(Run *run, int64_t now) {
  Watch *w = &run->watch;
  if (!w->locks.n || !w->words.n || run->draining || run->main_ended) return;
  if (w->when && access(w->when, F_OK) != 0) return;
  if (w->starter && now - w->since > STARTER_MS) watch_end(run);
  if (!w->next) w->next = now + FIRST_MS; /* whoever started the run has called the companion, unless somebody watched then */
  if (w->starter || now < w->next) return;
  w->next = now + LOOK_MS;
  if (is_held(w->locks.at[0])) { w->pause = 0; return; }
  for (size_t i = 1; i < w->locks.n; i++) if (is_held(w->locks.at[i])) return; /* it is being started */
  w->pause = !w->pause ? AGAIN_MIN : w->pause * 2 > AGAIN_MAX ? AGAIN_MAX : w->pause * 2;
  if (w->next < now + w->pause) w->next = now + w->pause;
  start(run, now);
}

/* Our child that nobody has reaped: its number is no other's. */
void watch_end(Run *run) { if (run->watch.starter) kill(run->watch.starter, SIGKILL); }

void watch_reaped(Run *run, pid_t pid) { if (pid == run->watch.starter) run->watch.starter = 0; }
