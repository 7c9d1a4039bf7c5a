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
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TICK_MIN = 20, TICK_MAX = 250, BALLAST = 64 * 1024, MEMBERS_MS = 1000 };

/* ---- facts ---- */
static Fact *fact_of(Run *run, const char *name) {
  for (size_t i = 0; i < run->n_facts; i++) if (strcmp(run->facts[i].name, name) == 0) return &run->facts[i];
  Fact *f = &run->facts[run->n_facts++];
  snprintf(f->name, sizeof f->name, "%s", name);
  return f;
}

static bool fact_store(Run *run, Fact *f) {
  if (replace_file(run->dir_fd, f->name, f->text.at, f->text.len) == 0) return true;
  if (errno == ENOSPC && unlinkat(run->dir_fd, "ballast", 0) == 0 &&
      replace_file(run->dir_fd, f->name, f->text.at, f->text.len) == 0) return true;
  return false; /* tried again at every tick: a fact is kept in memory until it is on disk */
}

void fact_write(Run *run, const char *name, const Text *text) {
  Fact *f = fact_of(run, name);
  text_clear(&f->text);
  text_bytes(&f->text, text->at, text->len);
  f->absent = false;
  f->dirty = !fact_store(run, f);
}

void fact_remove(Run *run, const char *name) {
  Fact *f = fact_of(run, name);
  f->absent = true;
  f->dirty = false;
  unlinkat(run->dir_fd, name, 0);
}

void facts_flush(Run *run, bool all) {
  for (;;) {
    bool clean = true;
    for (size_t i = 0; i < run->n_facts; i++) {
      Fact *f = &run->facts[i];
      if (f->dirty && fact_store(run, f)) f->dirty = false;
      clean = clean && !f->dirty;
    }
    if (clean || !all) return;
    poll(NULL, 0, TICK_MAX);
    log_guard(run);
  }
}

void event_append(Run *run, const char *type, const char *content) {
  if (!run->events) return;
  const char *name;
  int dir = open_parent(run->root, run->events, true, &name);
  if (dir < 0) return;
  int fd = openat(dir, name, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  close(dir);
  if (fd < 0) return;
  unsigned char r[10];
  if (getrandom(r, sizeof r, 0) < 0) memset(r, 0, sizeof r);
  int64_t ms = wall_ms();
  char when[32], agent[80];
  iso_time(ms, when);
  snprintf(agent, sizeof agent, "%.*s", (int)(strrchr(run->name, '.') - run->name), run->name);
  Text t = {0};
  text_add(&t, "{\"v\":1,\"id\":\"%08x-%04x-7%03x-%02x%02x-%02x%02x%02x%02x%02x%02x\",\"interaction\":0,\"actor\":\"midwatch\",\"type\":\"%s\",\"content\":",
           (unsigned)(ms >> 16), (unsigned)(ms & 0xffff), (unsigned)((r[0] << 4 | r[1] >> 4) & 0xfff), 0x80 | (r[1] & 0x3f), r[2], r[3], r[4], r[5], r[6], r[7], r[8], type);
  text_json(&t, content);
  text_add(&t, ",\"timestamp\":\"%s\",\"agent\":\"%s\"}\n", when, agent);
  if (write(fd, t.at, t.len) < 0) {} /* the journal is told, never waited for */
  text_free(&t);
  close(fd);
}

/* ---- start ---- */
typedef struct { int stage, error; } Report; /* from the child, before its exec */
enum { STAGE_CGROUP, STAGE_CWD, STAGE_STDIN, STAGE_EXEC };

static bool is_nonce_path(const char *s, size_t n) { return n == 40 && strncmp(s, "/tmp/mw-", 8) == 0; }

/* PATH without outer nonces, ours at its tail: some CLIs pass on PATH and nothing else. */
static char *path_with_nonce(const char *path, const char *tmpdir) {
  Text t = {0};
  for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin"; *at;) {
    size_t n = strcspn(at, ":");
    if (!is_nonce_path(at, n)) text_add(&t, "%.*s:", (int)n, at);
    at += n + (at[n] == ':');
  }
  text_add(&t, "%s", tmpdir);
  return t.at;
}

static int open_stdin(const char *path) {
  struct stat st;
  if (!path) return open("/dev/null", O_RDONLY);
  bool fifo = stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
  return open(path, fifo ? O_RDWR : O_RDONLY); /* O_RDWR: opening a FIFO must not wait, nor end with its first writer */
}

static void exec_found(char *const argv[], const char *path) {
  if (strchr(argv[0], '/')) { execv(argv[0], argv); return; }
  int saved = ENOENT;
  for (const char *at = path; *at;) { /* not execvp: it would hand a file without #! to a shell */
    size_t n = strcspn(at, ":");
    char full[4096];
    if ((size_t)snprintf(full, sizeof full, "%.*s/%s", (int)n, n ? at : ".", argv[0]) < sizeof full) {
      execv(full, argv);
      if (errno != ENOENT && errno != ENOTDIR) saved = errno;
      if (errno == E2BIG || errno == ENOEXEC || errno == ENOMEM) break;
    }
    at += n + (at[n] == ':');
  }
  errno = saved;
}

static void child(Run *run, int report, int old_oom) {
  setsid();
  sigset_t none;
  sigemptyset(&none);
  for (int s = 1; s < NSIG; s++) signal(s, SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, NULL);
  if (run->cgroup.procs > 0) {
    Report r = {STAGE_CGROUP, write(run->cgroup.procs, "0", 1) == 1 ? 0 : errno};
    write_all(report, &r, sizeof r);
  }
  char number[16];
  snprintf(number, sizeof number, "%d", old_oom + 200 > 1000 ? 1000 : old_oom + 200); /* rather the agent than its keeper */
  int oom = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (oom >= 0) { if (write(oom, number, strlen(number)) < 0) {} close(oom); }
  char *path = path_with_nonce(getenv("PATH"), run->tmpdir);
  for (size_t i = 0; i < run->env.n; i++) {
    char *equal = strchr(run->env.at[i], '=');
    if (!equal) continue;
    *equal = 0;
    setenv(run->env.at[i], equal + 1, 1);
  }
  setenv("MIDWATCH_NONCE", run->nonce, 1);
  setenv("PATH", path, 1);
  if (run->tmpdir_made) setenv("TMPDIR", run->tmpdir, 1);
  Report r = {STAGE_CWD, 0};
  if (run->cwd && chdir(run->cwd) < 0) { r.error = errno; goto failed; }
  r.stage = STAGE_STDIN;
  int in = open_stdin(run->stdin_path);
  if (in < 0) { r.error = errno; goto failed; }
  dup2(in, 0);
  dup2(run->log.out.fd, 1);
  dup2(run->log.err.fd, 2);
  if (in > 2) close(in);
  umask(022);
  r.stage = STAGE_EXEC;
  exec_found(run->args.at, path);
  r.error = errno;
failed:
  write_all(report, &r, sizeof r);
  _exit(127);
}

static void write_start(Run *run, const Report *failed) {
  static const char *const stages[] = {"cgroup", "cwd", "stdin", "exec", "log", "fork"};
  Text t = {0};
  char boot[64], ns[32], when[32];
  host_identity(boot, ns);
  iso_time(wall_ms(), when);
  text_add(&t, "{\"v\":1,\"keeper\":{\"pid\":%d,\"start_ticks\":%llu},\"main\":", (int)run->self.pid, (unsigned long long)run->self.start);
  if (failed) text_add(&t, "null");
  else text_add(&t, "{\"pid\":%d,\"start_ticks\":%llu}", (int)run->main.pid, (unsigned long long)run->main.start);
  text_add(&t, ",\"boot_id\":\"%s\",\"pid_ns\":\"%s\",\"guarantee\":\"%s\",\"cgroup\":", boot, ns, run->cgroup.joined ? "cgroup" : "subreaper");
  text_json(&t, run->cgroup.joined ? run->cgroup.path : NULL);
  text_add(&t, ",\"tmpdir\":");
  text_json(&t, run->tmpdir_made ? run->tmpdir : NULL);
  text_add(&t, ",\"started_at\":\"%s\",\"exec_error\":", when);
  if (failed) text_add(&t, "{\"errno\":%d,\"name\":\"%s\",\"what\":\"%s\"}", failed->error, errno_name(failed->error), stages[failed->stage]);
  else text_add(&t, "null");
  text_add(&t, "}\n");
  fact_write(run, "start.json", &t);
  write_all(1, t.at, t.len);
  text_free(&t);
}

static int oom_score(void) {
  char *text = read_small(AT_FDCWD, "/proc/self/oom_score_adj", 16);
  int old = text ? atoi(text) : 0;
  free(text);
  int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd >= 0) { if (write(fd, "-500", 4) < 0) {} close(fd); } /* allowed to root only; harmless otherwise */
  return old;
}

static bool launch(Run *run, Report *failed) {
  snprintf(run->tmpdir, sizeof run->tmpdir, "/tmp/mw-%s", run->nonce); /* short: Unix sockets live in it */
  run->tmpdir_made = mkdir(run->tmpdir, 0700) == 0;
  if (!log_open(run, false)) { *failed = (Report){4, errno}; return false; }
  if (run->no_cgroup || !cgroup_make(&run->cgroup, run->nonce)) run->cgroup.procs = -1;
  int old_oom = oom_score();
  int pipe_fd[2];
  if (pipe2(pipe_fd, O_CLOEXEC) < 0) { *failed = (Report){5, errno}; return false; }
  pid_t pid = fork();
  if (pid < 0) { *failed = (Report){5, errno}; return false; }
  if (pid == 0) child(run, pipe_fd[1], old_oom);
  close(pipe_fd[1]);
  Report r;
  bool ok = true;
  while (read(pipe_fd[0], &r, sizeof r) == (ssize_t)sizeof r) /* ends at a successful exec: the pipe is close-on-exec */
    if (r.stage == STAGE_CGROUP) run->cgroup.joined = r.error == 0;
    else { *failed = r; ok = false; }
  close(pipe_fd[0]);
  if (!run->cgroup.joined && run->cgroup.procs >= 0) cgroup_remove(&run->cgroup);
  run->main.pid = pid;
  if (ok) proc_read(pid, &run->main); /* our unreaped child: the pid cannot be reused */
  else waitpid(pid, NULL, 0);
  return ok;
}

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
             (long long)use->ru_stime.tv_sec * 1000 + use->ru_stime.tv_usec / 1000, use->ru_maxrss);
  text_add(&t, ",\"stop_requested\":%s,\"limit\":", run->stop_requested ? "true" : "false");
  text_json(&t, run->limit);
  text_add(&t, "}\n");
  fact_write(run, "exit.json", &t);
  text_free(&t);
  run->main_ended = true;
}

static void reap(Run *run) {
  siginfo_t info;
  struct rusage use;
  for (;;) {
    info.si_pid = 0;
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || !info.si_pid) return;
    int status;
    pid_t pid = wait4(info.si_pid, &status, WNOHANG, &use);
    if (pid <= 0) return;
    run->reaped_since = true;
    members_reaped(&run->members, pid);
    if (pid == run->main.pid && !run->main_ended) {
      write_exit(run, &info, &use);
      if (!run->draining) drain_begin(run, run->grace_ms);
    }
  }
}

static int64_t remove_named(Run *run, const char *path) {
  const char *name;
  int dir = open_parent(run->root, path, false, &name);
  struct stat st;
  int64_t bytes = dir >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && unlinkat(dir, name, 0) == 0 ? st.st_size : -1;
  if (dir >= 0) close(dir);
  return bytes;
}

static void finish(Run *run) {
  int64_t took = run->draining ? mono_ms() - run->drain_from : 0;
  log_guard(run);
  if (run->log.out.path && run->log.out.fd > 0) log_finish(run);
  if (run->cgroup.joined) cgroup_remove(&run->cgroup);
  if (run->stuck) fact_remove(run, "stuck.json");
  Text t = {0}, removed = {0};
  for (size_t i = 0; i < run->removes.n; i++) {
    int64_t bytes = remove_named(run, run->removes.at[i]);
    if (bytes < 0) continue;
    text_add(&removed, "%s{\"path\":", removed.len ? "," : "");
    text_json(&removed, run->removes.at[i]);
    text_add(&removed, ",\"bytes\":%lld}", (long long)bytes);
  }
  int tmp = run->tmpdir_made ? open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  if (tmp >= 0) {
    int64_t bytes = remove_tree(tmp, run->tmpdir + 5);
    close(tmp);
    if (bytes >= 0) {
      text_add(&removed, "%s{\"path\":", removed.len ? "," : "");
      text_json(&removed, run->tmpdir);
      text_add(&removed, ",\"bytes\":%lld}", (long long)bytes);
    }
  }
  char when[32];
  iso_time(wall_ms(), when);
  text_add(&t, "{\"v\":1,\"verified\":true,\"guarantee\":\"%s\",", run->cgroup.joined ? "cgroup" : run->adopt ? "scan" : "subreaper");
  members_report(&run->members, &t);
  text_add(&t, ",\"left\":[],\"took_ms\":%lld,\"log_bytes\":%lld,\"log_lines\":%lld,\"stderr_bytes\":%lld,\"mirrored\":%s,\"removed\":[%s],\"ended_at\":\"%s\"}\n",
           (long long)took, (long long)run->log.out.size, (long long)run->log.lines, (long long)run->log.err.size,
           run->log.mirrored ? "true" : "false", removed.len ? removed.at : "", when);
  unlinkat(run->dir_fd, "ballast", 0);
  facts_flush(run, true); /* exit.json is on disk before done.json says that all is over */
  fact_write(run, "done.json", &t);
  facts_flush(run, true);
  unlinkat(run->dir_fd, "members", 0);
  text_free(&t);
  text_free(&removed);
}

/* ---- the loop ---- */
static void on_stop(Run *run) {
  char *stop = read_small(run->dir_fd, "stop.json", 4096);
  int64_t grace = json_int(stop, "grace_ms", run->grace_ms);
  free(stop);
  if (!run->main_ended) run->stop_requested = true;
  drain_begin(run, grace);
}

static void remember_members(Run *run) {
  static Text last;
  members_collect(run);
  Text t = {0};
  for (size_t i = 0; i < run->members.n; i++)
    if (!run->members.at[i].gone && !run->members.at[i].spared)
      text_add(&t, "%d %llu\n", (int)run->members.at[i].proc.pid, (unsigned long long)run->members.at[i].proc.start);
  if (t.len != last.len || (t.len && memcmp(t.at, last.at, t.len))) {
    int fd = openat(run->dir_fd, ".members.tmp", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) {
      bool ok = t.len == 0 || write_all(fd, t.at, t.len) == 0;
      close(fd);
      if (ok) renameat(run->dir_fd, ".members.tmp", run->dir_fd, "members");
    }
    text_free(&last);
    last = t;
  } else text_free(&t);
  if (run->members.n > 4 * (run->members.living + 16)) members_forget(&run->members); /* short-lived ones pile up */
}

static bool adopted_is_over(Run *run) {
  if (run->cgroup.joined && cgroup_populated(&run->cgroup)) { run->empty_rounds = 0; return false; }
  members_collect(run);
  run->empty_rounds = run->members.living ? 0 : run->empty_rounds + 1;
  return run->empty_rounds >= 2;
}

static void loop(Run *run, int signals) {
  int tick = TICK_MIN;
  int64_t next_tick = 0, next_members = 0;
  for (;;) {
    int64_t now = mono_ms();
    int64_t wait = next_tick - now;
    if (run->draining && drain_timeout(run) < wait) wait = drain_timeout(run);
    struct pollfd p = {signals, POLLIN, 0};
    poll(&p, 1, wait < 0 ? 0 : (int)wait);
    struct signalfd_siginfo info;
    while (read(signals, &info, sizeof info) == (ssize_t)sizeof info)
      if (info.ssi_signo != SIGCHLD) on_stop(run);
    reap(run);
    now = mono_ms();
    if (now >= next_tick) {
      bool grew = log_follow(run, false);
      tick = grew ? TICK_MIN : tick * 3 / 2 > TICK_MAX ? TICK_MAX : tick * 3 / 2;
      next_tick = now + tick;
      log_guard(run);
      facts_flush(run, false);
      hold_check(run);
      if (!run->draining && run->output_limit > 0 && run->log.out.size + run->log.err.size > run->output_limit) {
        run->limit = "output";
        drain_begin(run, run->grace_ms);
      }
      if (!run->draining && faccessat(run->dir_fd, "stop.json", F_OK, 0) == 0) on_stop(run); /* asked, but never signalled */
    }
    if (!run->draining && now >= next_members) {
      next_members = now + MEMBERS_MS;
      if (run->adopt && adopted_is_over(run)) return;
      if (!run->adopt) remember_members(run);
      else if (run->empty_rounds) next_members = now + 50;
    }
    if (run->draining && drain_step(run)) return;
  }
}

static int claim(Run *run) {
  char inside[4200], when[32];
  snprintf(inside, sizeof inside, "%s/x", run->dir);
  run->dir_fd = open_parent(run->root, inside, false, NULL);
  if (run->dir_fd < 0) return -1;
  proc_read(getpid(), &run->self);
  iso_time(wall_ms(), when);
  Text t = {0};
  text_add(&t, "{\"by\":\"%s\",\"pid\":%d,\"start_ticks\":%llu,\"nonce\":\"%s\",\"at\":\"%s\"}\n", run->adopt ? "adopter" : "keeper",
           (int)run->self.pid, (unsigned long long)run->self.start, run->nonce, when);
  int result = 0;
  if (run->adopt) {
    int lock = openat(run->dir_fd, "adopt.lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0) result = -1; /* held for our whole life; the kernel lets go of it */
    else fact_write(run, "adopt.json", &t);
  } else {
    int fd = openat(run->dir_fd, "claim", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) result = -1;
    else {
      result = write_all(fd, t.at, t.len) == 0 && fsync(fd) == 0 && fsync(run->dir_fd) == 0 ? 0 : -1;
      close(fd);
      Fact *f = fact_of(run, "claim"); /* known, so that it can be remade */
      text_bytes(&f->text, t.at, t.len);
    }
  }
  text_free(&t);
  return result;
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
  for (int fd = 0; fd < 3; fd++) dup2(null, fd);
  if (null > 2) close(null);
}

static void load_kept(Run *run) {
  for (size_t i = 0; i < run->keeps.n; i++) {
    char *text = read_small(AT_FDCWD, run->keeps.at[i], 8 << 20);
    list_add(&run->kept_text, text ? text : "");
    free(text);
  }
}

static bool take_over(Run *run) {
  char *first = read_small(run->dir_fd, "claim", 4096), *start = read_small(run->dir_fd, "start.json", 8192);
  char *hold = read_small(run->dir_fd, "hold.json", 4096);
  run->since = (uint64_t)json_int(first, "start_ticks", INT64_MAX); /* without a claim nothing is a member */
  const char *leaf = start ? strstr(start, "\"cgroup\":\"") : NULL;
  if (leaf) {
    char path[512];
    snprintf(path, sizeof path, "%.*s", (int)strcspn(leaf + 10, "\""), leaf + 10);
    const char *last = strrchr(path, '/');
    run->cgroup.joined = last && strncmp(last, "/mw-", 4) == 0 && strcmp(last + 4, run->nonce) == 0 && cgroup_open(&run->cgroup, path);
  }
  snprintf(run->tmpdir, sizeof run->tmpdir, "/tmp/mw-%s", run->nonce);
  run->tmpdir_made = true;
  run->main_ended = faccessat(run->dir_fd, "exit.json", F_OK, 0) == 0;
  if (hold) { run->held = "disk"; iso_time(wall_ms(), run->held_since); } /* held by the first keeper; ours to release */
  free(first);
  free(start);
  free(hold);
  return log_open(run, true);
}

int run_main(Run *run) {
  prctl(PR_SET_NAME, "midwatch-keeper");
  setsid();
  umask(077);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigprocmask(SIG_BLOCK, &set, NULL);
  signal(SIGHUP, SIG_IGN);
  signal(SIGPIPE, SIG_IGN);
  int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (chdir("/") < 0) {}
  if (claim(run) < 0) { answer_error(errno == EEXIST || errno == EWOULDBLOCK ? "CLAIMED" : errno_name(errno), "the run folder cannot be claimed"); return 3; }
  load_kept(run);
  if (run->adopt) {
    if (!take_over(run)) { answer_error(errno_name(errno), "the log cannot be opened"); return 5; }
    write_all(1, "{\"adopted\":true}\n", 17);
  } else {
    run->since = run->self.start;
    int ballast = openat(run->dir_fd, "ballast", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (ballast >= 0) { if (posix_fallocate(ballast, 0, BALLAST)) {} close(ballast); }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    Report failed;
    bool asked = faccessat(run->dir_fd, "stop.json", F_OK, 0) == 0; /* stopped before it began: no exec */
    if (asked) answer_error("STOPPED", "stopped before it was started");
    else if (launch(run, &failed)) run->started = true;
    else write_start(run, &failed);
    if (!run->started) { finish(run); return 0; }
    write_start(run, NULL);
  }
  let_go_of_caller();
  log_sync_start(run);
  loop(run, signals);
  if (!run->main_ended) write_exit(run, NULL, NULL);
  finish(run);
  return 0;
}
