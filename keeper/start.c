/* Starting the agent: its own session, its log as stdout, the nonce in its environment, its own cgroup where one can be made. */
#include "keeper.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

typedef struct { int stage, error; } Report; /* from the child, before its exec */
enum { STAGE_CGROUP, STAGE_CWD, STAGE_STDIN, STAGE_EXEC, STAGE_LOG, STAGE_FORK };
static const char *const stages[] = {"cgroup", "cwd", "stdin", "exec", "log", "fork"};

static bool is_below(const char *s, size_t n, const char *parent) {
  size_t k = strlen(parent);
  return n >= k + 32 && strncmp(s, parent, k) == 0 && strspn(s + k, "0123456789abcdef") == 32 && (n == k + 32 || s[k + 32] == '/');
}

static bool is_nonce_path(const char *s, size_t n) { return is_below(s, n, NOWHERE) || is_below(s, n, "/tmp/mw-"); } /* the latter in PATH: by an older keeper */

/* PATH without outer nonces, ours at its tail: some CLIs pass on PATH and nothing else. There is nothing below /dev/null, so
   nobody can put a command there; a folder in /tmp another user could make before us, or after a tidy-up. */
static char *path_with_nonce(const char *path, const char *nonce) {
  Text t = {0};
  for (const char *at = path ? path : "/usr/local/bin:/usr/bin:/bin"; *at;) {
    size_t n = strcspn(at, ":");
    if (!is_nonce_path(at, n)) text_add(&t, "%.*s:", (int)n, at);
    at += n + (at[n] == ':');
  }
  text_add(&t, NOWHERE "%s", nonce);
  return t.at;
}

static void set_environment(const Run *run) {
  for (size_t i = 0; i < run->env.n; i++) {
    char *equal = strchr(run->env.at[i], '=');
    if (!equal) continue;
    *equal = 0;
    setenv(run->env.at[i], equal + 1, 1);
  }
  char *path = path_with_nonce(getenv("PATH"), run->nonce);
  setenv("MIDWATCH_NONCE", run->nonce, 1);
  setenv("PATH", path, 1);
  free(path);
  const char *tmp = getenv("TMPDIR");
  if (run->tmpdir_made) setenv("TMPDIR", run->tmpdir, 1);
  else if (tmp && is_nonce_path(tmp, strlen(tmp))) unsetenv("TMPDIR");
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

void oom_write(int score) {
  char number[16];
  int n = snprintf(number, sizeof number, "%d", score > 1000 ? 1000 : score), fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd >= 0) { if (write(fd, number, (size_t)n) < 0) {} close(fd); } /* lower is allowed to root only; harmless otherwise */
}

void signals_reset(void) {
  sigset_t none;
  sigemptyset(&none);
  for (int s = 1; s < NSIG; s++) signal(s, SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

static void child(Run *run, int report, int in) {
  setsid();
  signals_reset();
  if (run->cgroup.made) {
    Report r = {STAGE_CGROUP, write(run->cgroup.procs, "0", 1) == 1 ? 0 : errno};
    write_all(report, &r, sizeof r);
  }
  oom_write(run->oom_before + 200); /* rather the agent than its keeper */
  lineage_mark(run->nonce);
  set_environment(run);
  Report r = {STAGE_CWD, 0};
  if (run->cwd && chdir(run->cwd) < 0) { r.error = errno; goto failed; }
  r.stage = STAGE_STDIN;
  if (in < 0) in = open_stdin(run->stdin_path);
  if (in < 0) { r.error = errno; goto failed; }
  dup2(in, 0);
  dup2(run->log.out.fd, 1);
  dup2(run->log.err.fd, 2);
  close(in); /* above 2: main() made sure that 0 to 2 are taken */
  umask(run->umask);
  r.stage = STAGE_EXEC;
  exec_found(run->args.at, getenv("PATH"));
  r.error = errno;
failed:
  write_all(report, &r, sizeof r);
  _exit(127);
}

static void write_start(Run *run, const Report *failed) {
  Text t = {0};
  char boot[64], ns[32], when[32];
  host_identity(boot, ns);
  iso_time(wall_ms(), when);
  text_add(&t, "{\"v\":1,\"keeper\":{\"pid\":%d,\"start_ticks\":%llu},\"main\":", (int)run->self.pid, (unsigned long long)run->self.start);
  if (failed) text_add(&t, "null");
  else text_add(&t, "{\"pid\":%d,\"start_ticks\":%llu}", (int)run->main.pid, (unsigned long long)run->main.start);
  text_add(&t, ",\"boot_id\":\"%s\",\"pid_ns\":\"%s\",\"guarantee\":\"%s\",\"cgroup\":", boot, ns, run_guarantee(run));
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

static bool launch(Run *run, Report *failed) {
  run->tmpdir_made = mkdir(run->tmpdir, 0700) == 0;
  if (!log_open(run)) { *failed = (Report){STAGE_LOG, errno}; return false; }
  if (!run->no_cgroup && !run->scans) cgroup_make(&run->cgroup, run->nonce);
  char *oom = read_small(AT_FDCWD, "/proc/self/oom_score_adj", 16);
  run->oom_before = oom ? atoi(oom) : 0;
  free(oom);
  oom_write(-500);
  int pipe_fd[2], in = run->input.path ? input_open(run) : -1;
  if (run->input.path && in < 0) { *failed = (Report){STAGE_STDIN, errno}; return false; }
  if (pipe2(pipe_fd, O_CLOEXEC) < 0) { *failed = (Report){STAGE_FORK, errno}; return false; }
  pid_t pid = fork();
  if (pid == 0) child(run, pipe_fd[1], in);
  Report r = {STAGE_FORK, errno};
  bool ok = pid > 0;
  if (!ok) *failed = r;
  close(pipe_fd[1]);
  if (in >= 0) close(in);
  while (read(pipe_fd[0], &r, sizeof r) == (ssize_t)sizeof r) /* ends at a successful exec: the pipe is close-on-exec */
    if (r.stage == STAGE_CGROUP) run->cgroup.joined = r.error == 0;
    else { *failed = r; ok = false; }
  close(pipe_fd[0]);
  if (!run->cgroup.joined) cgroup_remove(&run->cgroup);
  log_own_description(&run->log);
  if (ok) {
    run->main.pid = pid;
    proc_read(pid, &run->main); /* our unreaped child: the pid cannot be reused */
    run->session = pid;
  } else if (pid > 0) waitpid(pid, NULL, 0);
  return ok;
}

bool start_agent(Run *run) {
  Report failed;
  bool ok = launch(run, &failed);
  write_start(run, ok ? NULL : &failed);
  list_free(&run->args); /* the agent has them now; a long prompt need not stay in our memory */
  list_free(&run->env);
#ifdef __GLIBC__
  malloc_trim(0);
#endif
  return ok;
}
