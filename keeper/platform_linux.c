/* The Linux side of platform.h: /proc, pidfds, signalfd, the subreaper. */
#include "keeper.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- the keeper itself ---- */
void platform_begin(void) { prctl(PR_SET_NAME, KEEPER_NAME); }
void platform_own_orphans(void) { prctl(PR_SET_CHILD_SUBREAPER, 1); }
long max_rss_kb(const struct rusage *use) { return use->ru_maxrss; }
bool fill_random(void *bytes, size_t n) { return getrandom(bytes, n, 0) == (ssize_t)n; }

int64_t changed_ns(const struct stat *st) { return (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec; }

void close_inherited(void) {
#ifdef SYS_close_range
  if (syscall(SYS_close_range, 3U, ~0U, 0U) == 0) return;
#endif
  for (int fd = 3; fd < 4096; fd++) close(fd);
}

/* A hundred keepers wait for most of their lives: the pages of the start are given back, and what is needed again comes back
   from the page cache. */
void platform_forget_start(void) {
  extern const char __executable_start[], etext[];
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = ((uintptr_t)__executable_start + page - 1) & ~(page - 1);
  if (madvise((void *)from, ((uintptr_t)etext & ~(page - 1)) - from, MADV_DONTNEED) < 0) {}
}

int signals_open(const sigset_t *set) { return signalfd(-1, set, SFD_CLOEXEC | SFD_NONBLOCK); }

int signals_take(int signals) {
  struct signalfd_siginfo info[8]; /* one read: whoever sends without end must not keep us here */
  int asked = 0;
  for (ssize_t n = read(signals, info, sizeof info), i = 0; i < n / (ssize_t)sizeof *info; i++)
    if (info[i].ssi_signo != SIGCHLD) asked |= info[i].ssi_signo == SIGCONT ? ASKS_LOOK : ASKS_STOP;
  return asked;
}

/* ---- files ---- */
int open_unreadable_folder(int dir, const char *name) {
  int place = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); /* fchmodat would follow a link put there meanwhile */
  if (place < 0) return -1;
  char path[40];
  snprintf(path, sizeof path, "/proc/self/fd/%d", place);
  int fd = chmod(path, 0700) == 0 ? openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  close(place);
  return fd;
}

int lease_state(const char *path) {
  int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return -1;
  signal(SIGIO, SIG_IGN); /* sent to us when somebody opens the file just now; it would end us */
  int state = fcntl(fd, F_SETLEASE, F_RDLCK) == 0 ? 0 : errno == EAGAIN ? 1 : -1; /* granted iff nobody writes */
  if (state == 0) fcntl(fd, F_SETLEASE, F_UNLCK);
  close(fd);
  return state;
}

/* ---- who a process is ---- */
static ssize_t slurp(const char *path, char *out, size_t cap) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  size_t n = 0;
  ssize_t r = 0;
  while (n < cap - 1 && (r = read(fd, out + n, cap - 1 - n)) > 0) n += (size_t)r;
  close(fd);
  if (r < 0 && n == 0) return -1;
  out[n] = 0;
  return (ssize_t)n;
}

bool proc_read(pid_t pid, Proc *out) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  if (slurp(path, text, sizeof text) <= 0) return false;
  char *open = strchr(text, '('), *close = strrchr(text, ')'); /* a name may hold spaces and brackets */
  if (!open || !close || close < open) return false;
  memset(out, 0, sizeof *out);
  out->pid = pid;
  size_t n = 0;
  for (char *c = open + 1; c < close && n < sizeof out->name - 1; c++)
    out->name[n++] = *c >= 0x20 && *c < 0x7f ? *c : '?';
  char state;
  int parent, threads;
  unsigned long long start;
  if (sscanf(close + 2, "%c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d %llu",
             &state, &parent, &threads, &start) != 4) return false;
  out->state = (state == 'Z' || state == 'X') && threads > 1 ? 'S' : state; /* only its first thread ended: it lives */
  out->parent = parent;
  out->threads = threads;
  out->start = start;
  return true;
}

int64_t proc_age_ms(const Proc *p) {
  struct timespec t;
  clock_gettime(CLOCK_BOOTTIME, &t);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000 - (int64_t)(p->start * 1000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

uid_t proc_uid(pid_t pid) {
  char path[64];
  struct stat st;
  snprintf(path, sizeof path, "/proc/%d", (int)pid);
  return stat(path, &st) == 0 ? st.st_uid : (uid_t)-1;
}

static void each_number(char *text, void (*each)(void *, pid_t), void *context) {
  for (char *at = text, *end; *at; at = end) {
    long pid = strtol(at, &end, 10);
    if (end == at) break;
    if (pid > 0) each(context, (pid_t)pid);
    while (*end == ' ' || *end == '\n') end++;
  }
}

static void read_children(pid_t pid, pid_t thread, void (*each)(void *, pid_t), void *context) {
  char path[80];
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)thread);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  Text t = {0};
  char part[4096];
  for (ssize_t r; (r = read(fd, part, sizeof part)) > 0;) text_bytes(&t, part, (size_t)r);
  close(fd);
  if (t.at) each_number(t.at, each, context);
  text_free(&t);
}

typedef struct { pid_t parent; void (*each)(void *, pid_t); void *context; } Below;

static void each_if_below(void *context, pid_t pid) {
  Below *below = context;
  Proc p;
  if (proc_read(pid, &p) && p.parent == below->parent) below->each(below->context, pid);
}

void proc_children(const Proc *p, void (*each)(void *, pid_t), void *context) {
  static int listed = -1;
  if (listed < 0) listed = access("/proc/thread-self/children", F_OK) == 0;
  if (!listed) { proc_each(each_if_below, &(Below){p->pid, each, context}); return; } /* a kernel without CONFIG_PROC_CHILDREN */
  if (p->threads <= 1) { read_children(p->pid, p->pid, each, context); return; }
  char path[64]; /* a child belongs to the thread that forked it: Codex forks from worker threads */
  snprintf(path, sizeof path, "/proc/%d/task", (int)p->pid);
  DIR *d = opendir(path);
  if (!d) return;
  for (struct dirent *e; (e = readdir(d));)
    if (isdigit((unsigned char)e->d_name[0])) read_children(p->pid, (pid_t)atoi(e->d_name), each, context);
  closedir(d);
}

bool proc_predates(const Proc *p, uint64_t since) { return p->start < since; }

char *proc_cwd(pid_t pid) {
  char path[64], to[4097];
  snprintf(path, sizeof path, "/proc/%d/cwd", (int)pid);
  ssize_t n = readlink(path, to, sizeof to - 1);
  if (n < 0) return NULL;
  to[n] = 0;
  return must(strdup(to));
}

char *proc_environ(pid_t pid, size_t most, size_t *n) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
  *n = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return NULL;
  Text t = {0};
  char part[8192];
  for (ssize_t r; t.len < most && (r = read(fd, part, sizeof part)) > 0;) text_bytes(&t, part, (size_t)r);
  close(fd);
  *n = t.len;
  return t.at;
}

bool proc_cgroup(pid_t pid, char text[4096]) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
  return slurp(path, text, 4096) > 0;
}

bool proc_carries(pid_t pid, const char *nonce) { /* a piece at a time: an environment may take megabytes */
  char path[64], part[8192 + NONCE];
  snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  bool yes = false;
  size_t kept = 0;
  for (ssize_t r; fd >= 0 && !yes && (r = read(fd, part + kept, sizeof part - kept)) > 0;) {
    size_t n = kept + (size_t)r;
    yes = memmem(part, n, nonce, NONCE) != NULL;
    kept = n < NONCE - 1 ? n : NONCE - 1;
    memmove(part, part + n - kept, kept);
  }
  if (fd >= 0) close(fd);
  char cgroup[4096];
  return yes || (proc_cgroup(pid, cgroup) && strstr(cgroup, nonce));
}

int proc_program(pid_t pid) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
  return open(path, O_RDONLY | O_CLOEXEC);
}

/* ---- descent ---- */
/* A hard limit goes from parent to child and, without the rights of root, only down. The one of file locks has bounded nothing since
   Linux 2.4, so what it is, modulo a prime, says which run a process comes from. With 2^32 of them no two runs of a machine are alike by chance. */
#define LINEAGES UINT64_C(4294967291)
#define LINEAGE_TOP (UINT64_C(1) << 62) /* in place of "no limit" */

int64_t lineage_from(const char *nonce) {
  char digits[9];
  snprintf(digits, sizeof digits, "%.8s", nonce);
  return (int64_t)(strtoul(digits, NULL, 16) % LINEAGES);
}

void lineage_mark(const char *nonce) {
  struct rlimit l;
  if (getrlimit(RLIMIT_LOCKS, &l) < 0 || (l.rlim_max != RLIM_INFINITY && l.rlim_max <= LINEAGES)) return;
  rlim_t top = (l.rlim_max == RLIM_INFINITY ? (rlim_t)LINEAGE_TOP : l.rlim_max) - 1, mark = (rlim_t)lineage_from(nonce);
  l.rlim_max = top - (top % LINEAGES + LINEAGES - mark) % LINEAGES;
  if (l.rlim_cur > l.rlim_max) l.rlim_cur = l.rlim_max;
  if (setrlimit(RLIMIT_LOCKS, &l) < 0) {}
}

int64_t lineage_of(pid_t pid) {
  struct rlimit own, l;
  if (getrlimit(RLIMIT_LOCKS, &own) < 0 || prlimit(pid, RLIMIT_LOCKS, NULL, &l) < 0) return -1;
  if (l.rlim_max == own.rlim_max || l.rlim_max == RLIM_INFINITY) return -1;
  return (int64_t)(l.rlim_max % LINEAGES);
}

ssize_t proc_arguments(pid_t pid, char text[4096]) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
  return slurp(path, text, 4096);
}

int proc_open(const Proc *p) {
  int fd = (int)syscall(SYS_pidfd_open, p->pid, 0), saved = errno;
  Proc now; /* opened first, verified after: from here on the descriptor cannot mean another process */
  bool same = proc_read(p->pid, &now) && now.start == p->start;
  if (!same && fd >= 0) close(fd);
  errno = same ? saved : ESRCH;
  return same ? fd : -1;
}

int proc_signal(const Proc *p, int sig) {
  if (p->pid <= 1) return EPERM;
  int fd = proc_open(p);
  if (fd < 0 && errno == ESRCH) return ESRCH;
  long sent = fd >= 0 ? syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0) : kill(p->pid, sig); /* no pidfds here, or none free */
  int result = sent < 0 ? errno : 0;
  if (fd >= 0) close(fd);
  return result;
}

void proc_each(void (*each)(void *, pid_t), void *context) {
  DIR *d = opendir("/proc");
  if (!d) return;
  for (struct dirent *e; (e = readdir(d));)
    if (isdigit((unsigned char)e->d_name[0])) each(context, (pid_t)atoi(e->d_name));
  closedir(d);
}

void host_identity(char boot[64], char ns[32]) {
  if (slurp("/proc/sys/kernel/random/boot_id", boot, 64) < 0) boot[0] = 0;
  boot[strcspn(boot, "\n")] = 0;
  struct stat st;
  snprintf(ns, 32, "%llu", stat("/proc/self/ns/pid", &st) == 0 ? (unsigned long long)st.st_ino : 0ULL);
}
