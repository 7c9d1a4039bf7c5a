/* The fault zoo: process shapes that coding agents leave behind, and worse ones. `zoo SHAPE [ARGS]`.
   Every process appends `pid start_ticks` to the file ZOO_PIDS as soon as it lives, so that a test can see for itself
   whether it is gone, and ends by itself after ZOO_LIFE seconds (60), so that a failed test leaves nothing for ever. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *pids_file;
static int life = 60;
static time_t deadline; /* of the whole family: a hopper must not be born young again */
static char **own_argv;
static int me; /* as /proc numbers it: in a pid namespace of its own, getpid() says something else */

static void say(const char *path, const char *format, ...) { /* one write */
  char text[256];
  va_list a;
  va_start(a, format);
  int n = vsnprintf(text, sizeof text, format, a);
  va_end(a);
  int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return;
  if (write(fd, text, (size_t)n) < 0) {}
  close(fd);
}

static void read_line(const char *path, char *out, size_t cap) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd < 0 ? 0 : read(fd, out, cap - 1);
  out[n > 0 ? n : 0] = 0;
  if (fd >= 0) close(fd);
}

static int seconds_left(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  if (!deadline) deadline = now.tv_sec + life;
  return (int)(deadline - now.tv_sec);
}

/* The first act of every process. */
static void born(void) {
  char stat[1024];
  unsigned long long start = 0;
  read_line("/proc/self/stat", stat, sizeof stat);
  me = atoi(stat);
  char *fields = strrchr(stat, ')');
  if (fields) sscanf(fields + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &start);
  if (pids_file) say(pids_file, "%d %llu\n", me, start);
  if ((life = seconds_left()) <= 0) _exit(124);
  signal(SIGALRM, SIG_DFL);
  alarm((unsigned)life); /* outlives an exec, but a stopped process does not feel it ... */
  struct sigevent kill = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
  struct itimerspec when = {.it_value.tv_sec = life};
  timer_t timer; /* ... hence this one too */
  if (timer_create(CLOCK_MONOTONIC, &kill, &timer) == 0) timer_settime(timer, 0, &when, NULL);
}

static void pause_ms(int ms) {
  struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
  while (nanosleep(&t, &t) < 0 && errno == EINTR) {}
}

static void ignore_signals(void) {
  signal(SIGHUP, SIG_IGN);
  signal(SIGINT, SIG_IGN);
  signal(SIGTERM, SIG_IGN);
}

/* Prints numbered lines until it is ended: a gap in the log would show. */
static _Noreturn void work(const char *what) {
  for (unsigned n = 0; seconds_left() > 0; n++) { /* asked too: the init of a pid namespace feels no alarm */
    char line[160];
    int k = snprintf(line, sizeof line, "{\"zoo\":\"%s\",\"pid\":%d,\"n\":%u}\n", what, me, n);
    if (write(1, line, (size_t)k) < 0) {}
    pause_ms(n < 5 ? 10 : 100);
  }
  _exit(124);
}

static bool forked(void) { /* true in the child */
  pid_t pid = fork();
  if (pid == 0) born();
  return pid == 0;
}

static void leave_parent(void) { /* the child of a double fork goes on */
  setsid();
  pid_t pid = fork();
  if (pid != 0) _exit(0);
  born();
}

/* Runs ourselves again with another environment; the fixed arguments carry what it held. */
static _Noreturn void again(char *const env[], const char *shape) {
  char seconds[16];
  snprintf(seconds, sizeof seconds, "%d", life);
  execve("/proc/self/exe", (char *[]){"zoo", "--pids", (char *)(pids_file ? pids_file : ""), "--life", seconds, (char *)shape, NULL}, env);
  _exit(126);
}

static _Noreturn void work_with(const char *keep1, const char *keep2) {
  char values[2][4096], *env[3] = {NULL};
  int n = 0;
  for (int i = 0; i < 2; i++) {
    const char *name = i ? keep2 : keep1, *value = name ? getenv(name) : NULL;
    if (!value) continue;
    snprintf(values[n], sizeof values[n], "%s=%s", name, value);
    env[n] = values[n];
    n++;
  }
  again(env, "work");
}

static void retitle(void) {
  char *end = own_argv[0];
  for (int i = 0; own_argv[i]; i++) end = own_argv[i] + strlen(own_argv[i]);
  memset(own_argv[0], 0, (size_t)(end - own_argv[0]));
  snprintf(own_argv[0], (size_t)(end - own_argv[0]), "nginx: worker");
  prctl(PR_SET_NAME, "kworker/0:1)");
}

static _Noreturn void hop(int ms) {
  ignore_signals();
  for (;;) {
    if (fork() > 0) _exit(0);
    born();
    if (ms) pause_ms(ms);
  }
}

static _Noreturn void watchdog(void) {
  ignore_signals();
  for (int i = 0; i < 2000; i++) {
    if (forked()) { signal(SIGTERM, SIG_DFL); work("respawned"); }
    wait(NULL);
  }
  _exit(0);
}

/* Forks until the shared count is used up. The count bounds it; a pids cgroup bounds it again if the count is wrong. */
static _Noreturn void bomb(unsigned cap) {
  char folder[64], path[96];
  snprintf(folder, sizeof folder, "/sys/fs/cgroup/pids/zoo-%d", (int)getpid());
  if (mkdir(folder, 0755) == 0) {
    snprintf(path, sizeof path, "%s/pids.max", folder);
    say(path, "%u", cap + 8);
    snprintf(path, sizeof path, "%s/cgroup.procs", folder);
    say(path, "0");
  }
  unsigned *used = mmap(NULL, sizeof *used, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (used == MAP_FAILED || cap > 2000) _exit(1);
  while (__atomic_fetch_add(used, 1, __ATOMIC_RELAXED) < cap) {
    if (fork() == 0) { born(); ignore_signals(); }
    pause_ms(1);
  }
  for (;;) pause();
}

static void *work_in_thread(void *unused) { (void)unused; work("thread"); }
static void *fork_in_thread(void *unused) {
  (void)unused;
  if (forked()) { ignore_signals(); work("forked-by-thread"); }
  for (;;) pause();
}

static void own_cgroup(char *out, size_t cap) { /* the folder of our cgroup v2 */
  char text[4096];
  read_line("/proc/self/cgroup", text, sizeof text);
  char *own = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
  struct stat st;
  const char *mount = stat("/sys/fs/cgroup/unified", &st) == 0 ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup";
  own = own ? strchr(own, '/') : NULL;
  snprintf(out, cap, "%s%.*s", mount, own ? (int)strcspn(own, "\n") : 0, own ? own : "");
}

static void leave_cgroup(void) { /* as `systemd-run --scope` does to a child */
  char path[4400];
  own_cgroup(path, sizeof path - 16);
  char *leaf = strstr(path, "/mw-");
  if (leaf) { strcpy(leaf, "/cgroup.procs"); say(path, "0"); }
}

static void nest_cgroup(void) {
  char path[4400];
  own_cgroup(path, sizeof path - 48);
  if (!strstr(path, "/mw-")) return;
  snprintf(path + strlen(path), 40, "/inner-%d", (int)getpid());
  if (mkdir(path, 0755) == 0) { strcat(path, "/cgroup.procs"); say(path, "0"); }
}

static void hold_log(void) { /* by its name, as a child with its own logging does */
  char name[4096];
  ssize_t n = readlink("/proc/self/fd/1", name, sizeof name - 1);
  if (n <= 0) return;
  name[n] = 0;
  int fd = open(name, O_WRONLY | O_APPEND);
  if (fd >= 0) dup2(fd, 1);
}

static void on_end(int sig) { (void)sig; _exit(0); }

/* ---- the shapes ---- */
static void child_plain(void) { work("plain"); }
static void child_setsid(void) { setsid(); work("setsid"); }
static void child_daemon(void) { leave_parent(); if (chdir("/")) {} work("daemon"); }
static void child_nohup(void) { signal(SIGHUP, SIG_IGN); work("nohup"); }
static void child_stubborn(void) { ignore_signals(); work("stubborn"); }
static void child_retitled(void) { retitle(); setsid(); work("retitled"); }
static void child_scrubbed(void) { setsid(); work_with(NULL, NULL); }
static void child_scrubbed_daemon(void) { leave_parent(); ignore_signals(); work_with(NULL, NULL); }
static void child_path_reset(void) { setenv("PATH", "/usr/bin:/bin", 1); setenv("TMPDIR", "/tmp", 1); work_with("MIDWATCH_NONCE", "PATH"); }
static void child_nonce_dropped(void) { setsid(); work_with("PATH", "HOME"); }
static void child_stopped(void) { raise(SIGSTOP); work("stopped"); }
static void child_watchdog(void) { setsid(); watchdog(); }
static void child_hopper_fast(void) { setsid(); hop(2); }
static void child_hopper_slow(void) { setsid(); hop(20); }
static void child_bomb(void) { bomb(60); }
static void child_thread(void) { pthread_t t; pthread_create(&t, NULL, fork_in_thread, NULL); for (;;) pause(); }
static void child_leaderless(void) { pthread_t t; ignore_signals(); pthread_create(&t, NULL, work_in_thread, NULL); pthread_exit(NULL); }
static void child_launcher(void) { if (forked()) work("launched"); signal(SIGTERM, SIG_IGN); signal(SIGINT, SIG_IGN); wait(NULL); _exit(0); }
static void child_subreaper(void) { prctl(PR_SET_CHILD_SUBREAPER, 1); if (forked()) child_scrubbed_daemon(); ignore_signals(); for (;;) pause(); }
static void child_escape(void) { leave_cgroup(); ignore_signals(); work("escape"); }
static void child_nest(void) { nest_cgroup(); ignore_signals(); work("nest"); }
static void child_namespace(void) { if (unshare(CLONE_NEWPID) == 0 && forked()) { ignore_signals(); if (fork() == 0) pause(); work("namespace"); } wait(NULL); _exit(0); }
static void child_holder(void) { hold_log(); ignore_signals(); work("holder"); }
static void child_polite(void) { signal(SIGINT, on_end); work("polite"); }
static void child_zombie(void) { if (forked()) _exit(3); ignore_signals(); work("zombie-parent"); }
static void child_tmux(void) {
  char name[32];
  snprintf(name, sizeof name, "zoo-%d", (int)getpid());
  if (getenv("TMPDIR")) setenv("TMUX_TMPDIR", getenv("TMPDIR"), 1);
  char self[4096];
  ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  self[n > 0 ? n : 0] = 0;
  execlp("tmux", "tmux", "-L", name, "-f", "/dev/null", "new-session", "-d", self, "stubborn", (char *)NULL);
  work("no-tmux");
}

static const struct Shape { const char *name; void (*child)(void); } shapes[] = {
  {"plain", child_plain}, {"setsid", child_setsid}, {"daemon", child_daemon}, {"nohup", child_nohup}, {"stubborn-child", child_stubborn},
  {"retitled", child_retitled}, {"scrubbed", child_scrubbed}, {"scrubbed-daemon", child_scrubbed_daemon}, {"path-reset", child_path_reset},
  {"nonce-dropped", child_nonce_dropped}, {"stopped", child_stopped}, {"watchdog", child_watchdog}, {"hopper-2", child_hopper_fast},
  {"hopper-20", child_hopper_slow}, {"bomb", child_bomb}, {"thread", child_thread}, {"leaderless", child_leaderless},
  {"launcher", child_launcher}, {"subreaper", child_subreaper}, {"escape", child_escape}, {"nest", child_nest}, {"namespace", child_namespace},
  {"holder", child_holder}, {"polite", child_polite}, {"zombie", child_zombie}, {"tmux", child_tmux}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static unsigned next(uint64_t *seed, unsigned below) { /* splitmix64 */
  uint64_t z = *seed += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return (unsigned)((z ^ z >> 31) % below);
}

/* A random tree of `n` shapes; the same seed gives the same tree. */
static _Noreturn void mixed(uint64_t seed, unsigned n) {
  while (n > 0) {
    unsigned part = n > 2 && next(&seed, 3) == 0 ? 1 + next(&seed, n - 1) : 1; /* more than one: a subtree */
    unsigned kind = next(&seed, SHAPES);
    if (strcmp(shapes[kind].name, "bomb") == 0 && next(&seed, 4)) kind = 0;
    uint64_t below = seed + n;
    n -= part;
    if (!forked()) { pause_ms((int)next(&seed, 8)); continue; }
    if (part == 1) shapes[kind].child();
    if (next(&below, 2)) leave_parent();
    else setsid();
    seed = below; /* this process is the root of the subtree now */
    n = part - 1;
  }
  if (next(&seed, 2)) ignore_signals();
  work("mixed");
}

static _Noreturn void write_at(double mb_per_second) {
  char line[1024];
  memset(line, 'x', sizeof line);
  memcpy(line, "{\"text\":\"", 9);
  memcpy(line + sizeof line - 3, "\"}\n", 3);
  for (double owed = 0;; owed += mb_per_second * 1024 / 100, pause_ms(10))
    for (; owed >= 1; owed--) if (write(1, line, sizeof line) < 0) {}
}

static _Noreturn void run_main_shape(const char *shape, char **args) {
  if (strcmp(shape, "work") == 0) work("work");
  if (strcmp(shape, "stubborn") == 0) { ignore_signals(); if (forked()) work("stubborn-child"); work("stubborn"); }
  if (strcmp(shape, "polite-main") == 0) { signal(SIGINT, on_end); work("polite-main"); }
  if (strcmp(shape, "swallow") == 0) child_launcher(); /* as main: the Gemini shape */
  if (strcmp(shape, "exit0") == 0) { signal(SIGTERM, on_end); signal(SIGINT, SIG_IGN); work("exit0"); }
  if (strcmp(shape, "exit") == 0) _exit(args[0] ? atoi(args[0]) : 0);
  if (strcmp(shape, "raise") == 0) { raise(args[0] ? atoi(args[0]) : SIGKILL); pause(); }
  if (strcmp(shape, "leftovers") == 0) { if (forked()) child_scrubbed_daemon(); if (forked()) child_setsid(); if (forked()) child_stubborn(); pause_ms(30); _exit(5); }
  if (strcmp(shape, "write") == 0) write_at(args[0] ? atof(args[0]) : 1);
  if (strcmp(shape, "mixed") == 0) mixed(args[0] ? strtoull(args[0], NULL, 10) : 1, args[0] && args[1] ? (unsigned)atoi(args[1]) : 8);
  if (strcmp(shape, "hop") == 0) hop(args[0] ? atoi(args[0]) : 2);
  if (strcmp(shape, "bomb-of") == 0) bomb(args[0] ? (unsigned)atoi(args[0]) : 60);
  if (strcmp(shape, "innocent") == 0) { /* its arguments name an agent, its folder and an open file are the agent's, and it is not */
    const char *file = getenv("ZOO_OPEN");
    if (file && open(file, O_RDONLY) < 0) _exit(1);
    for (;;) pause();
  }
  for (int i = 0; i < SHAPES; i++)
    if (strcmp(shape, shapes[i].name) == 0) {
      if (forked()) shapes[i].child();
      work("main");
    }
  _exit(2);
}

int main(int argc, char **argv) {
  own_argv = argv;
  pids_file = getenv("ZOO_PIDS");
  if (getenv("ZOO_LIFE")) life = atoi(getenv("ZOO_LIFE"));
  while (argc > 3 && strncmp(argv[1], "--", 2) == 0) {
    if (strcmp(argv[1], "--pids") == 0) pids_file = argv[2];
    if (strcmp(argv[1], "--life") == 0) life = atoi(argv[2]);
    argv += 2;
    argc -= 2;
  }
  pids_file = pids_file && *pids_file ? strdup(pids_file) : NULL; /* retitling overwrites the arguments */
  if (argc == 2 && strcmp(argv[1], "list") == 0) {
    for (int i = 0; i < SHAPES; i++) puts(shapes[i].name);
    return 0;
  }
  if (argc < 2 || life <= 0) return 2;
  born();
  run_main_shape(argv[1], argv + 2);
}
