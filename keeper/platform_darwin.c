/* The macOS side of platform.h: sysctl, libproc, kqueue. It compiles for both of Apple's processors; nobody has run it.
   What macOS lacks, and what follows:
   - no subreaper and no cgroup: a run's orphans go to launchd and are searched for, so that no more than "scan" is ever claimed;
   - no pidfd: between the check of who a process is and the signal there is a moment in which its number could be reused;
   - the environment of restricted programs is hidden, Apple's own (/bin/sh, ...) first of all: those are found by parent and session only;
   - start times are of the wall clock: they tell processes apart, but "earlier" means nothing when the clock was set;
   - no file leases: whether a file has a writer is not known;
   - no names of deleted files: a log that is deleted while no keeper runs is lost. */
#include "keeper.h"
#include <errno.h>
#include <fcntl.h>
#include <libproc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/event.h>
#include <sys/proc_info.h>
#include <sys/stat.h>
#include <sys/sysctl.h>
#include <sys/time.h>
#include <unistd.h>

_Static_assert(!OWNS_ORPHANS, "orphans go to launchd: no more than scan may be claimed");

/* ---- the keeper itself ---- */
void platform_begin(void) {} /* the kernel takes the name from the program's file */
void platform_own_orphans(void) {}
void platform_forget_start(void) {}
long max_rss_kb(const struct rusage *use) { return use->ru_maxrss / 1024; } /* bytes here */
int64_t changed_ns(const struct stat *st) { return (int64_t)st->st_ctimespec.tv_sec * 1000000000 + st->st_ctimespec.tv_nsec; }

void close_inherited(void) { for (int fd = 3; fd < 4096; fd++) close(fd); }
bool fill_random(void *bytes, size_t n) { arc4random_buf(bytes, n); return true; }

static int close_on_exec(int fd) {
  if (fd >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
  return fd;
}

int signals_open(const sigset_t *set) {
  int fd = close_on_exec(kqueue());
  for (int sig = 1; fd >= 0 && sig < NSIG; sig++) { /* told of a blocked signal too, before it becomes pending */
    struct kevent wanted;
    EV_SET(&wanted, (uintptr_t)sig, EVFILT_SIGNAL, EV_ADD, 0, 0, NULL);
    if (sigismember(set, sig) == 1 && kevent(fd, &wanted, 1, NULL, 0, NULL) < 0) { close(fd); return -1; }
  }
  return fd;
}

int signals_take(int signals) {
  struct kevent came[8];
  int asked = 0, n = kevent(signals, NULL, 0, came, 8, &(struct timespec){0});
  for (int i = 0; i < n; i++)
    if (came[i].ident != SIGCHLD) asked |= came[i].ident == SIGCONT ? ASKS_LOOK : ASKS_STOP;
  return asked;
}

/* ---- calls that only Linux has ---- */
#undef fsync
int full_sync(int fd) { return fcntl(fd, F_FULLFSYNC) == 0 ? 0 : fsync(fd); } /* not every file system knows it */

int dup3(int from, int to, int flags) {
  int fd = dup2(from, to);
  return flags & O_CLOEXEC ? close_on_exec(fd) : fd;
}

int pipe2(int fd[2], int flags) {
  if (pipe(fd) < 0) return -1;
  for (int i = 0; i < 2 && flags & O_CLOEXEC; i++) close_on_exec(fd[i]);
  return 0;
}

int posix_fallocate(int fd, off_t from, off_t n) {
  fstore_t room = {.fst_flags = F_ALLOCATEALL, .fst_posmode = F_PEOFPOSMODE, .fst_length = from + n};
  return fcntl(fd, F_PREALLOCATE, &room) == 0 && ftruncate(fd, from + n) == 0 ? 0 : errno;
}

void *memrchr(const void *bytes, int c, size_t n) {
  const unsigned char *p = bytes;
  while (n--) if (p[n] == (unsigned char)c) return (void *)(uintptr_t)(p + n);
  return NULL;
}

/* ---- files ---- */
int open_unreadable_folder(int dir, const char *name) {
  if (fchmodat(dir, name, 0700, AT_SYMLINK_NOFOLLOW) < 0) return -1;
  return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int lease_state(const char *path) { (void)path; return -1; }

/* ---- cgroups: there are none ---- */
void cgroup_leave_outer(void) {}
bool cgroup_make(Cgroup *g, const char *nonce) { (void)g; (void)nonce; return false; }
bool cgroup_open(Cgroup *g, const char *path) { (void)g; (void)path; return false; }
bool cgroup_find(Cgroup *g, const char *nonce) { (void)g; (void)nonce; return false; }
bool cgroup_populated(const Cgroup *g) { (void)g; return false; }
bool cgroup_find_of(Cgroup *g, const char *nonce, pid_t pid) { (void)g; (void)nonce; (void)pid; return false; }
bool cgroup_holds(const Cgroup *g, pid_t pid) { (void)g; (void)pid; return false; }
void cgroup_each(const Cgroup *g, void (*each)(void *, pid_t), void *context) { (void)g; (void)each; (void)context; }
void cgroup_write(int fd, const char *s) { (void)fd; (void)s; }
void cgroup_remove(Cgroup *g) { (void)g; }
void cgroup_close(Cgroup *g) { (void)g; }

/* ---- who a process is ---- */
static bool kernel_entry(pid_t pid, struct kinfo_proc *out) {
  int name[] = {CTL_KERN, KERN_PROC, KERN_PROC_PID, pid};
  size_t n = sizeof *out;
  return sysctl(name, 4, out, &n, NULL, 0) == 0 && n == sizeof *out && out->kp_proc.p_pid == pid;
}

static uint64_t micros(struct timeval t) { return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec; }

bool proc_read(pid_t pid, Proc *out) {
  struct kinfo_proc k;
  if (pid <= 0 || !kernel_entry(pid, &k)) return false;
  *out = (Proc){.pid = pid, .parent = k.kp_eproc.e_ppid, .start = micros(k.kp_proc.p_starttime), .threads = 1};
  out->state = k.kp_proc.p_stat == SZOMB ? 'Z' : k.kp_proc.p_stat == SSTOP ? 'T' : k.kp_proc.p_stat == SRUN ? 'R' : 'S';
  for (size_t i = 0; i < sizeof out->name - 1 && k.kp_proc.p_comm[i]; i++)
    out->name[i] = k.kp_proc.p_comm[i] >= 0x20 && k.kp_proc.p_comm[i] < 0x7f ? k.kp_proc.p_comm[i] : '?';
  return true;
}

int64_t proc_age_ms(const Proc *p) {
  int64_t age = wall_ms() - (int64_t)(p->start / 1000);
  return age < 0 ? 0 : age;
}

bool proc_predates(const Proc *p, uint64_t since) { (void)p; return since == UINT64_MAX; } /* "nobody is a member" counts all the same */

uid_t proc_uid(pid_t pid) {
  struct kinfo_proc k;
  return kernel_entry(pid, &k) ? k.kp_eproc.e_ucred.cr_uid : (uid_t)-1;
}

static void each_listed(uint32_t type, uint32_t of, void (*each)(void *, pid_t), void *context) {
  pid_t *pids = NULL;
  int cap = 4096, bytes;
  do {
    cap *= 2; /* a list that fills its room may be cut */
    pids = must(realloc(pids, (size_t)cap));
    bytes = proc_listpids(type, of, pids, cap);
  } while (bytes >= cap);
  for (int i = 0; i < bytes / (int)sizeof *pids; i++)
    if (pids[i] > 0) each(context, pids[i]);
  free(pids);
}

void proc_children(const Proc *p, void (*each)(void *, pid_t), void *context) { each_listed(PROC_PPID_ONLY, (uint32_t)p->pid, each, context); }
void proc_each(void (*each)(void *, pid_t), void *context) { each_listed(PROC_ALL_PIDS, 0, each, context); }

/* Of the bytes that a program was started with: a count, its path, NULs, the arguments, the environment. */
typedef struct { char *block, *args, *env, *end; } Started;

static bool read_started(pid_t pid, Started *s) {
  int name[] = {CTL_KERN, KERN_PROCARGS2, pid}, most_of[] = {CTL_KERN, KERN_ARGMAX}, most = 0, count;
  size_t n = sizeof most;
  if (sysctl(most_of, 2, &most, &n, NULL, 0) < 0 || most < (int)sizeof count) return false;
  n = (size_t)most;
  s->block = must(malloc(n + 1));
  if (sysctl(name, 3, s->block, &n, NULL, 0) < 0 || n < sizeof count) { free(s->block); return false; } /* another user's */
  memcpy(&count, s->block, sizeof count);
  s->end = s->block + n;
  *s->end = 0;
  char *at = s->block + sizeof count;
  at += strlen(at);
  while (at < s->end && !*at) at++;
  s->args = at;
  for (int i = 0; i < count && at < s->end; i++) at += strlen(at) + 1;
  s->env = at < s->end ? at : s->end;
  return true;
}

char *proc_environ(pid_t pid, size_t most, size_t *n) {
  Started s;
  *n = 0;
  if (!read_started(pid, &s)) return NULL;
  Text t = {0};
  text_bytes(&t, s.env, (size_t)(s.end - s.env) < most ? (size_t)(s.end - s.env) : most);
  free(s.block);
  *n = t.len;
  return t.at;
}

bool proc_cgroup(pid_t pid, char text[4096]) { (void)pid; (void)text; return false; }

bool proc_carries(pid_t pid, const char *nonce) {
  Started s;
  if (!read_started(pid, &s)) return false;
  bool yes = memmem(s.env, (size_t)(s.end - s.env), nonce, NONCE) != NULL;
  free(s.block);
  return yes;
}

/* No limit of the kernel's that could be kept as a mark. */
void lineage_mark(const char *nonce) { (void)nonce; }
int64_t lineage_of(pid_t pid) { (void)pid; return -1; }
int64_t lineage_from(const char *nonce) { (void)nonce; return 0; }

int proc_program(pid_t pid) {
  char path[PROC_PIDPATHINFO_MAXSIZE];
  return proc_pidpath(pid, path, sizeof path) > 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
}

ssize_t proc_arguments(pid_t pid, char text[4096]) {
  Started s;
  if (!read_started(pid, &s)) return -1;
  size_t n = (size_t)(s.env - s.args);
  if (n > 4095) n = 4095;
  memcpy(text, s.args, n);
  text[n] = 0;
  free(s.block);
  return (ssize_t)n;
}

char *proc_cwd(pid_t pid) {
  struct proc_vnodepathinfo info;
  if (proc_pidinfo(pid, PROC_PIDVNODEPATHINFO, 0, &info, sizeof info) != (int)sizeof info) return NULL;
  return must(strdup(info.pvi_cdir.vip_path));
}

static bool is_same(const Proc *p) {
  Proc now;
  return proc_read(p->pid, &now) && now.start == p->start;
}

int proc_open(const Proc *p) {
  struct kevent end;
  int fd = close_on_exec(kqueue());
  EV_SET(&end, (uintptr_t)p->pid, EVFILT_PROC, EV_ADD | EV_ONESHOT, NOTE_EXIT, 0, NULL);
  int failed = fd < 0 || kevent(fd, &end, 1, NULL, 0, NULL) < 0 ? errno : is_same(p) ? 0 : ESRCH; /* watched first, verified after */
  if (!failed) return fd;
  if (fd >= 0) close(fd);
  errno = failed;
  return -1;
}

int proc_signal(const Proc *p, int sig) {
  if (p->pid <= 1) return EPERM;
  if (!is_same(p)) return ESRCH;
  return kill(p->pid, sig) < 0 ? errno : 0;
}

void host_identity(char boot[64], char ns[32]) {
  size_t n = 63;
  memset(boot, 0, 64);
  if (sysctlbyname("kern.bootsessionuuid", boot, &n, NULL, 0) < 0) boot[0] = 0;
  strcpy(ns, "0"); /* one table of processes for all */
}
