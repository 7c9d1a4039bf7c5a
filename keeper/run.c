/* The life of one run: claim, start, follow, end, prove. */
#include "keeper.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BALLAST = 64 * 1024, MEMBERS_MS = 1000, MEMBERS_SILENT = 8000, DYING_MS = 2000 };

/* ---- end ---- */
static void write_exit(Run *run, const siginfo_t *info, const struct rusage *use) {
  Text t = {0};
  char when[32];
  iso_time(wall_ms(), when);
  text_add(&t, "{\"v\":1,\"code\":");
  if (info && info->si_code == CLD_EXITED) text_add(&t, "%d", info->si_status); else text_add(&t, "null");
  text_add(&t, ",\"signal\":");
  text_json(&t, info && info->si_code != CLD_EXITED ? signal_name(info->si_status) : NULL);
  text_add(&t, ",\"core\":%s,\"ended_at\":\"%s\"", info && info->si_code == CLD_DUMPED ? "true" : "false", when);
  if (use)
    text_add(&t, ",\"user_ms\":%lld,\"system_ms\":%lld,\"max_rss_kb\":%ld", (long long)use->ru_utime.tv_sec * 1000 + use->ru_utime.tv_usec / 1000,
             (long long)use->ru_stime.tv_sec * 1000 + use->ru_stime.tv_usec / 1000, max_rss_kb(use));
  else text_add(&t, ",\"user_ms\":null,\"system_ms\":null,\"max_rss_kb\":null");
  text_add(&t, ",\"stop_requested\":%s,\"limit\":", run->stop_requested ? "true" : "false");
  text_json(&t, run->limit);
  text_add(&t, ",\"interrupted\":");
  text_json(&t, run->interrupted);
  text_add(&t, "}\n");
  fact_write(run, "exit.json", &t);
  text_free(&t);
  run->main_ended = true;
}

static void reap(Run *run) {
  for (;;) {
    siginfo_t info;
    struct rusage use;
    int status;
    info.si_pid = 0;
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 || !info.si_pid) return;
    if (info.si_code == CLD_STOPPED) return; /* macOS tells of these too, unasked */
    if (run->scans && info.si_pid == run->main.pid) members_collect(run, true); /* what it leaves, while its session is surely its own */
    pid_t pid = wait4(info.si_pid, &status, WNOHANG | __WALL, &use);
    if (pid <= 0) return;
    info.si_code = WIFEXITED(status) ? CLD_EXITED : WCOREDUMP(status) ? CLD_DUMPED : CLD_KILLED; /* macOS has no signal in si_status */
    info.si_status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
    members_reaped(&run->members, pid);
    watch_reaped(run, pid);
    if (pid != run->main.pid || run->main_ended) continue;
    write_exit(run, &info, &use);
    drain_begin(run, run->grace_ms);
  }
}

static void list_removed(Text *t, const char *path, int64_t bytes) {
  if (bytes < 0) return;
  text_add(t, "%s{\"path\":", t->len ? "," : "");
  text_json(t, path);
  text_add(t, ",\"bytes\":%lld}", (long long)bytes);
}

/* The keeper before us was killed, but a thread of it is still in a sync. It does nothing any more; its locks go with it. */
static bool former_is_dying(const Run *run) {
  bool yes = false;
  for (int i = 0; i < 2 && !yes; i++) {
    Proc p; /* by its name too: the number may be a stranger's, and its arguments go with its first thread */
    yes = proc_is(run->former[i].pid, run->former[i].start) && proc_read(run->former[i].pid, &p) && strcmp(p.name, KEEPER_NAME) == 0;
  }
  return yes;
}

/* False when the index is, and stays, another run's. */
static bool take_up_log(Run *run) {
  bool dying = former_is_dying(run); /* asked first: a lock that is held after its end is not its */
  return run->log.open || log_open(run) || (errno == EWOULDBLOCK && dying);
}

static void save_log(Run *run) {
  while (run->adopt && !run->log.open && take_up_log(run) && !run->log.open) poll(NULL, 0, TICK_MIN);
  while (run->log.open && !log_finish(run)) { poll(NULL, 0, TICK_MAX); log_guard(run); }
}

const char *run_guarantee(const Run *run) { return run->cgroup.joined ? "cgroup" : run->scans ? "scan" : "subreaper"; }

static void finish(Run *run) {
  int64_t took = run->draining ? mono_ms() - run->drain_from : 0;
  const char *guarantee = run_guarantee(run);
  log_guard(run);
  facts_guard(run);
  log_sync_end(run); /* the exit was told long before; a sync on a busy disk may take its time */
  save_log(run);
  cgroup_remove(&run->cgroup);
  fact_remove(run, "stuck.json"); /* also those of a keeper before us */
  fact_remove(run, "hold.json");
  Text t = {0}, removed = {0};
  for (size_t i = 0; i < run->removes.n; i++) list_removed(&removed, run->removes.at[i], remove_file(run->root, run->removes.at[i]));
  int tmp = run->tmpdir_made ? open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  if (tmp >= 0) {
    list_removed(&removed, run->tmpdir, remove_tree(tmp, run->tmpdir + strlen("/tmp/")));
    close(tmp);
  }
  char when[32];
  iso_time(wall_ms(), when);
  Text doubts = {0};
  bool verified = members_doubts(run, NULL, 0, &doubts) == 0;
  text_add(&t, "{\"v\":1,\"verified\":%s,\"guarantee\":\"%s\",", verified ? "true" : "false", guarantee);
  members_report(&run->members, &t);
  text_add(&t, ",\"left\":[%s],\"took_ms\":%lld,\"log_bytes\":%lld,\"log_lines\":%lld,\"stderr_bytes\":%lld,\"mirrored\":%s,\"restored\":%d,\"cuts\":%d,\"cut_bytes\":%lld,\"durable\":%s,\"removed\":[%s],\"ended_at\":\"%s\"}\n",
           doubts.len ? doubts.at : "", (long long)took, (long long)run->log.out.size, (long long)run->log.lines, (long long)run->log.err.size,
           run->log.mirrored ? "true" : "false", run->restored, run->log.cuts, (long long)run->log.cut_bytes, run->sync_none || !run->log.open ? "null" : log_sync_failed() ? "false" : "true", removed.len ? removed.at : "", when);
  unlinkat(run->dir_fd, "ballast", 0);
  unlinkat(run->dir_fd, "ran", 0);
  input_end(run);
  facts_flush(run, true); /* exit.json is on disk before done.json says that all is over */
  fact_write(run, "done.json", &t);
  facts_flush(run, true);
  save_log(run); /* again: it may have been deleted while we waited for room */
  unlinkat(run->dir_fd, "members", 0);
  text_free(&t);
  text_free(&removed);
  text_free(&doubts);
}

/* ---- the loop ---- */
static void on_stop(Run *run) {
  char *stop = read_small(run->dir_fd, "stop.json", 64 * 1024);
  int64_t grace = json_int(stop, "grace_ms", run->grace_ms);
  run->stop_seen = stop != NULL;
  free(stop);
  if (!run->main_ended) run->stop_requested = true;
  drain_begin(run, grace);
}

static bool adopted_is_over(Run *run) {
  if (!run->members.living) members_collect(run, true);
  return drain_is_empty(run);
}

static void limit_passed(Run *run, const char *limit) {
  char text[128];
  snprintf(text, sizeof text, "%.*s passed its %s limit", (int)(strrchr(run->name, '.') - run->name), run->name, limit);
  if (!run->limit_told) event_append(run, "agent.limit", text);
  run->limit_told = true;
  if (run->notify_on_limit) return;
  if (run->interrupt_on_limit) { /* once */
    proc_signal(&run->main, SIGINT);
    run->interrupted = limit;
    run->interrupted_ran = run->ran;
    run->notify_on_limit = true;
    return;
  }
  run->limit = limit;
  drain_begin(run, run->grace_ms);
}

/* By the monotonic clock, and not while it is held. */
static void check_limits(Run *run) {
  int64_t now = mono_ms(), passed = run->looked ? now - run->looked : 0, bytes = run->log.out.size + run->log.err.size;
  run->looked = now;
  if (run->draining || run->main_ended) return;
  if (!run->held) run->ran += passed;
  run->quiet = bytes != run->printed ? 0 : run->held ? run->quiet : run->quiet + passed;
  run->printed = bytes;
  if (run->output_limit > 0 && bytes > run->output_limit) {
    run->limit = "output";
    drain_begin(run, run->grace_ms);
  } else if (run->interrupted && run->ran - run->interrupted_ran > run->grace_ms) { /* it goes on all the same */
    run->limit = run->interrupted;
    drain_begin(run, run->grace_ms);
  } else if (run->wall_limit > 0 && run->ran > run->wall_limit) limit_passed(run, "wall");
  else if (run->idle_limit > 0 && run->quiet > run->idle_limit) limit_passed(run, "idle");
}

/* ms until a limit of time is reached, if nothing is printed by then. */
static int64_t limit_due(const Run *run) {
  int64_t due = INT64_MAX, wall = run->wall_limit - run->ran + 1, idle = run->idle_limit - run->quiet + 1;
  if (run->draining || run->main_ended || run->held) return due;
  if (run->wall_limit > 0 && wall > 0) due = wall;
  if (run->idle_limit > 0 && idle > 0 && idle < due) due = idle;
  int64_t grace = run->interrupted_ran + run->grace_ms - run->ran + 1;
  if (run->interrupted && grace > 0 && grace < due) due = grace;
  return due;
}

/* For an adopter: how long the agent ran, without holds, and by which moment of the boot's monotonic clock. */
static void note_ran(const Run *run) {
  char text[80];
  int n = snprintf(text, sizeof text, "{\"ran_ms\":%20lld,\"mono_ms\":%20lld}\n", (long long)run->ran, (long long)run->looked);
  int fd = run->wall_limit > 0 && !run->main_ended ? openat(run->dir_fd, "ran", O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
  if (fd < 0) return;
  if (pwrite(fd, text, (size_t)n, 0) < 0) {} /* always of the same length: one note replaces the other */
  close(fd);
}

static void tell_sync_failed(Run *run) {
  if (run->sync_told || !log_sync_failed()) return;
  char text[96];
  snprintf(text, sizeof text, "the log could not be put on stable storage: %s", errno_name(log_sync_failed()));
  event_append(run, "error", text);
  run->sync_told = true;
}

static void tick(Run *run) {
  if (run->adopt) take_up_log(run);
  tell_sync_failed(run);
  log_guard(run);
  facts_guard(run);
  facts_flush(run, false);
  hold_check(run);
  check_limits(run);
  watch_look(run, mono_ms());
  if (!run->stop_seen && faccessat(run->dir_fd, "stop.json", F_OK, 0) == 0) on_stop(run); /* asked, but never signalled */
}

/* Nothing has moved for long, and nothing can that would need us sooner than in two seconds. What must not wait that long
   (an exit, a stop, a message) comes with a signal. */
static bool is_silent(const Run *run, int64_t now) {
  return now - run->moved >= SILENT_MS && !run->draining && !run->held && run->roomy && !input_waits(run);
}

static int64_t calmer(const Run *run, int64_t pause, int64_t now) {
  if (is_silent(run, now)) return TICK_SILENT;
  return pause * 3 / 2 > TICK_MAX ? TICK_MAX : pause * 3 / 2;
}

static int64_t look(Run *run, int64_t pause, int64_t now) { /* ms to the next look */
  bool moved = input_pump(run);
  moved = log_follow(run, false) || moved;
  if (moved || !run->moved) run->moved = now;
  tick(run);
  pause = moved ? TICK_MIN : calmer(run, pause, now);
  return pause < limit_due(run) ? pause : limit_due(run);
}

static void loop(Run *run, int signals) {
  int64_t pause = TICK_MIN, next_tick = 0, next_members = 0, members_pause = MEMBERS_MS;
  if (run->main_ended) drain_begin(run, run->grace_ms); /* the keeper before us was ending the leftovers */
  for (;;) {
    int64_t wait = next_tick - mono_ms();
    if (run->draining && drain_timeout(run) < wait) wait = drain_timeout(run);
    struct pollfd p[2] = {{signals, POLLIN, 0}, {run->main_fd, POLLIN, 0}};
    poll(p, 2, wait < 0 ? 0 : (int)wait);
    int asked = signals_take(signals);
    if (asked & ASKS_STOP) on_stop(run);
    if (asked & ASKS_LOOK) next_tick = 0;
    reap(run);
    if (p[1].revents) { /* seen by an adopter, who cannot know how it ended */
      close(run->main_fd);
      run->main_fd = -1;
      if (!run->main_ended) write_exit(run, NULL, NULL);
      drain_begin(run, run->grace_ms);
    }
    int64_t now = mono_ms();
    if (now >= next_tick) {
      pause = look(run, pause, now);
      next_tick = now + pause;
    }
    if (run->draining && drain_step(run)) return;
    if (now >= next_members) {
      if (!run->draining) members_collect(run, false);
      bool calm = !members_remember(run) && !run->scans && is_silent(run, now);
      members_pause = !calm ? MEMBERS_MS : members_pause * 2 > MEMBERS_SILENT ? MEMBERS_SILENT : members_pause * 2;
      next_members = now + members_pause;
      note_ran(run);
      if (run->draining) continue;
      if (run->adopt && adopted_is_over(run)) return;
      if (run->adopt && run->empty_rounds) next_members = now + 50;
      if (run->members.n > 4 * (run->members.living + 16)) members_forget(&run->members); /* short-lived ones pile up */
    }
  }
}

/* ---- beginning ---- */
static bool is_over(Run *run) { /* done.json that somebody cut or changed is none: it is made again */
  int fd = run->done_damaged ? -1 : openat(run->dir_fd, "done.json", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return !run->done_damaged && errno != ENOENT;
  struct stat st;
  char last = 0;
  bool yes = fstat(fd, &st) == 0 && st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) == 1 && last == '\n';
  close(fd);
  return yes;
}

static bool has_living_keeper(Run *run) {
  static const char *const claims[] = {"claim", "adopt.json"};
  bool yes = false;
  for (int i = 0; i < 2 && !yes; i++) {
    char *claim = read_small(run->dir_fd, claims[i], 4096);
    yes = claim && proc_is_keeper((pid_t)json_int(claim, "pid", -1), (uint64_t)json_int(claim, "start_ticks", 0), run->nonce);
    free(claim);
  }
  return yes;
}

/* It is said to be over, or that it never began. */
static bool is_said_over(Run *run) {
  char *claim = read_small(run->dir_fd, "claim", 4096);
  bool yes = is_over(run) || (claim && json_has(claim, "by", "launcher"));
  free(claim);
  return yes;
}

static bool has_members(Run *run) { /* who carries its mark, whatever the facts say */
  Text doubts = {0};
  run_identify(run);
  members_collect(run, true);
  bool yes = run->members.living || (run->cgroup.joined && cgroup_populated(&run->cgroup)) || members_doubts(run, NULL, 0, &doubts);
  text_free(&doubts);
  return yes;
}

/* Facts are claims: what is said to be over and lives is taken over. */
static bool claimed_by_other(Run *run) { return has_living_keeper(run) || (is_said_over(run) && !has_members(run)); }

static void read_former(Run *run) {
  static const char *const claims[] = {"claim", "adopt.json"};
  for (int i = 0; i < 2; i++) {
    char *claim = read_small(run->dir_fd, claims[i], 4096);
    run->former[i].pid = claim ? (pid_t)json_int(claim, "pid", 0) : 0;
    run->former[i].start = claim ? (uint64_t)json_int(claim, "start_ticks", 0) : 0;
    free(claim);
  }
}

/* Held for our whole life; the kernel lets go of it. 0, or an errno. */
static int lock_adoption(Run *run) {
  int lock = openat(run->dir_fd, "adopt.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (lock < 0) return errno;
  for (int64_t until = mono_ms() + DYING_MS;; poll(NULL, 0, TICK_MIN)) {
    read_former(run);
    bool dying = former_is_dying(run) && !has_living_keeper(run) && !is_over(run);
    if (flock(lock, LOCK_EX | LOCK_NB) == 0) return 0;
    if (errno != EWOULDBLOCK || !dying || mono_ms() > until) return errno;
  }
}

/* Linked when it is whole: whoever sees a claim can read it, also when we die in between. Under a name that nobody else has: two
   launchers may have started a keeper for the same run. */
static int link_claim(Run *run, const Text *t) {
  uint64_t random = 0;
  char name[40];
  if (!fill_random(&random, sizeof random)) random = (uint64_t)getpid();
  snprintf(name, sizeof name, ".claim.%016llx.tmp", (unsigned long long)random);
  int fd = openat(run->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600), failed = 0;
  if (fd < 0) return errno;
  if (write_all(fd, t->at, t->len) < 0 || fsync(fd) < 0 || linkat(run->dir_fd, name, run->dir_fd, "claim", 0) < 0 || fsync(run->dir_fd) < 0) failed = errno;
  close(fd);
  unlinkat(run->dir_fd, name, 0);
  return failed;
}

static int claim(Run *run) {
  char inside[4200], when[32];
  snprintf(inside, sizeof inside, "%s/x", run->dir);
  run->dir_fd = open_parent(run->root, inside, false, NULL);
  if (run->dir_fd < 0) return errno;
  proc_read(getpid(), &run->self);
  iso_time(wall_ms(), when);
  Text t = {0};
  text_add(&t, "{\"by\":\"%s\",\"pid\":%d,\"start_ticks\":%llu,\"nonce\":\"%s\",\"at\":\"%s\"}\n", run->adopt ? "adopter" : "keeper",
           (int)run->self.pid, (unsigned long long)run->self.start, run->nonce, when);
  int failed = 0;
  if (run->adopt) {
    failed = lock_adoption(run);
    if (!failed && claimed_by_other(run)) failed = EEXIST;
    if (!failed) fact_write(run, "adopt.json", &t);
  } else {
    failed = link_claim(run, &t);
    text_bytes(&fact_of(run, "claim")->text, t.at, t.len); /* known, so that it can be remade */
    fact_known(run, "claim");
  }
  text_free(&t);
  return failed;
}

static void answer_error(const char *code, const char *message) {
  Text t = {0};
  text_add(&t, "{\"error\":{\"code\":\"%s\",\"message\":", code);
  text_json(&t, message);
  text_add(&t, "}}\n");
  write_all(1, t.at, t.len);
  text_free(&t);
}

static void let_go_of_caller(void) {
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; null >= 0 && fd < 3; fd++) dup2(null, fd);
  if (null > 2) close(null);
}

bool run_identify(Run *run) {
  char *claim = read_small(run->dir_fd, "claim", 4096), *start = read_small(run->dir_fd, "start.json", 8192);
  char *intent = start ? NULL : read_small(run->dir_fd, "intent.json", 8192); /* where it was made stands at its beginning */
  const char *host = start ? start : intent;
  char boot[64], ns[32];
  host_identity(boot, ns);
  bool same_boot = !host || json_has(host, "boot_id", boot), same_ns = !host || json_has(host, "pid_ns", ns);
  run->since = UINT64_MAX; /* without a claim nothing is a member, and numbers of another boot mean nobody */
  if (claim && same_boot && same_ns) run->since = (uint64_t)json_int(claim, "start_ticks", INT64_MAX);
  const char *main = start ? strstr(start, "\"main\":{") : NULL;
  if (main && same_boot && same_ns) {
    run->main.pid = (pid_t)json_int(main, "pid", 0);
    run->main.start = (uint64_t)json_int(main, "start_ticks", 0);
  }
  run->main_ended = start && strstr(start, "\"main\":null"); /* its exec failed: there is no exit to tell */
  cgroup_close(&run->cgroup);
  run->cgroup.joined = cgroup_find(&run->cgroup, run->nonce); /* by its name: a path in a fact could be anybody's */
  free(claim);
  free(start);
  free(intent);
  return same_ns || !same_boot;
}

/* What the keeper before us noted, and what passed since; the agent's age, which counts suspends and holds, where there is no note. */
static int64_t ran_before(const Run *run) {
  char *note = read_small(run->dir_fd, "ran", 256);
  int64_t ran = json_int(note, "ran_ms", -1), at = json_int(note, "mono_ms", -1), now = mono_ms();
  free(note);
  if (ran < 0 || at < 0 || at > now) return proc_age_ms(&run->main);
  return run->held ? ran : ran + now - at;
}

static bool is_own_folder(const char *path) {
  struct stat st;
  return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

static bool take_over(Run *run) {
  if (!run_identify(run) && !has_members(run)) { errno = EXDEV; return false; }
  run->tmpdir_made = is_own_folder(run->tmpdir);
  bool lives = proc_is(run->main.pid, run->main.start); /* then nobody has seen its end: an exit.json is another's, and goes */
  run->main_ended = run->main_ended || (!lives && faccessat(run->dir_fd, "exit.json", F_OK, 0) == 0);
  if (faccessat(run->dir_fd, "hold.json", F_OK, 0) == 0) { /* held by the first keeper; ours to release */
    run->held = "disk";
    fact_of(run, "hold.json")->absent = true;
  }
  static const char *const before[] = {"claim", "start.json", "exit.json"}; /* what was written before us is ours to remake */
  for (int i = 0; i < (lives ? 2 : 3); i++) {
    char *text = read_small(run->dir_fd, before[i], 64 * 1024);
    if (text) { text_add(&fact_of(run, before[i])->text, "%s", text); fact_known(run, before[i]); }
    free(text);
  }
  if (lives) {
    run->main_fd = proc_open(&run->main);
    run->ran = ran_before(run);
  }
  members_collect(run, true);
  input_adopt(run);
  return take_up_log(run);
}

static int catch_signals(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGCONT); /* "look now": ignored by every keeper that does not know it */
  sigprocmask(SIG_BLOCK, &set, NULL);
  signal(SIGCHLD, SIG_DFL); /* ignored, as a caller may leave it, the kernel would throw our children's exits away */
  static const int ignored[] = {SIGHUP, SIGPIPE, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGXCPU, SIGXFSZ, SIGTSTP, SIGTTIN, SIGTTOU,
#ifdef SIGPWR
    SIGPWR,
#endif
  };
  for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) signal(ignored[i], SIG_IGN); /* the agent gets defaults again */
  return signals_open(&set);
}

static bool begin(Run *run) {
  run->since = run->self.start;
  int ballast = openat(run->dir_fd, "ballast", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (ballast >= 0) { if (posix_fallocate(ballast, 0, BALLAST)) {} close(ballast); }
  if (!run->scans) platform_own_orphans();
  if (faccessat(run->dir_fd, "stop.json", F_OK, 0) < 0) return start_agent(run);
  answer_error("STOPPED", "stopped before it was started");
  return false;
}

int run_main(Run *run) {
  run->scans = run->adopt || !OWNS_ORPHANS;
  platform_begin();
  setsid();
  run->umask = umask(077);
  run->main_fd = run->input.fd = run->input.watch = -1;
  snprintf(run->tmpdir, sizeof run->tmpdir, "/tmp/mw-%s", run->nonce); /* short: Unix sockets live in it */
  int signals = catch_signals();
  if (chdir("/") < 0) {}
  int failed = claim(run);
  if (failed) { answer_error(failed == EEXIST || failed == EWOULDBLOCK ? "CLAIMED" : errno_name(failed), "the run folder cannot be claimed"); return 3; }
  cgroup_leave_outer();
  kept_load(run);
  if (!run->adopt) {
    if (!begin(run)) { finish(run); return 0; }
  } else if (take_over(run)) write_all(1, "{\"adopted\":true}\n", 17);
  else { answer_error(errno_name(errno), "the run cannot be taken over"); return 5; }
  let_go_of_caller();
  if (setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + 10) < 0) {} /* following may lag; the agent comes first */
  log_sync_start(run);
  platform_forget_start();
  loop(run, signals);
  if (!run->main_ended) write_exit(run, NULL, NULL);
  finish(run);
  return 0;
}
