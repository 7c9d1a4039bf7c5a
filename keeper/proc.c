#include "keeper.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

bool proc_is(pid_t pid, uint64_t start) {
  Proc p;
  return pid > 0 && proc_read(pid, &p) && p.start == start && p.state != 'Z' && p.state != 'X';
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

char *proc_environ(pid_t pid, size_t *n) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
  *n = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return NULL;
  Text t = {0};
  char part[8192];
  for (ssize_t r; t.len < 4u << 20 && (r = read(fd, part, sizeof part)) > 0;) text_bytes(&t, part, (size_t)r);
  close(fd);
  *n = t.len;
  return t.at;
}

static const char *variable(const char *env, size_t n, const char *name) {
  size_t k = strlen(name);
  for (const char *at = env; at < env + n; at += strlen(at) + 1)
    if (strncmp(at, name, k) == 0 && at[k] == '=') return at + k + 1;
  return NULL;
}

/* Is `name` (agent.run) an active run of this workspace with this nonce in its claim? With `keeper`: made by that process? */
static bool run_is_active(const char *root, const char *name, const char *nonce, const Proc *keeper) {
  if (strlen(name) > 96 || strlen(nonce) != 32) return false;
  for (const char *c = name; *c; c++)
    if (!islower((unsigned char)*c) && !isdigit((unsigned char)*c) && !strchr("_-.", *c)) return false;
  char path[4096];
  snprintf(path, sizeof path, "%s/active/%s", root, name);
  char *folder = read_small(AT_FDCWD, path, 512);
  if (!folder) return false;
  folder[strcspn(folder, "\n")] = 0;
  bool yes = false;
  static const char *const claims[] = {"claim", "adopt.json"};
  for (int i = 0; i < 2 && !yes && !strstr(folder, ".."); i++) {
    snprintf(path, sizeof path, "%s/%.500s/%s", root, folder, claims[i]);
    char *claim = read_small(AT_FDCWD, path, 1024);
    yes = claim && json_has(claim, "nonce", nonce) &&
          (!keeper || (json_int(claim, "pid", -1) == keeper->pid && json_int(claim, "start_ticks", -1) == (int64_t)keeper->start));
    free(claim);
  }
  free(folder);
  return yes;
}

static ssize_t read_arguments(pid_t pid, char text[4096]) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/cmdline", (int)pid);
  return slurp(path, text, 4096);
}

bool proc_is_keeper(pid_t pid, uint64_t start, const char *nonce) {
  char text[4096];
  ssize_t n = proc_is(pid, start) ? read_arguments(pid, text) : 0;
  return n > 0 && memmem(text, (size_t)n, nonce, strlen(nonce)) != NULL;
}

char *proc_keeper_of(const Proc *p, const char *root, const char *own_nonce) {
  if (!root || strcmp(p->name, "midwatch-keeper") != 0) return NULL;
  char text[4096];
  ssize_t n = read_arguments(p->pid, text);
  const char *part[4] = {0}; /* program, verb, run, nonce */
  int parts = 0;
  for (char *at = text; n > 0 && at < text + n && parts < 4; at += strlen(at) + 1) part[parts++] = at;
  bool yes = parts == 4 && strcmp(part[3], own_nonce) != 0 && run_is_active(root, part[2], part[3], p);
  return yes ? must(strdup(part[2])) : NULL;
}

static char *run_of_nonce(const char *root, const char *nonce) {
  char path[4096];
  snprintf(path, sizeof path, "%s/active", root);
  DIR *d = opendir(path);
  char *name = NULL;
  for (struct dirent *e; d && !name && (e = readdir(d));)
    if (e->d_name[0] != '.' && run_is_active(root, e->d_name, nonce, NULL)) name = must(strdup(e->d_name));
  if (d) closedir(d);
  return name;
}

/* By the variable when it has it, else by PATH, else by TMPDIR: whatever its CLI passed on. The first that names a run decides. */
char *proc_member_of(pid_t pid, const char *root, const char *own_nonce) {
  static const char *const carriers[] = {"MIDWATCH_NONCE", "PATH", "TMPDIR"};
  size_t n = 0;
  char *env = root ? proc_environ(pid, &n) : NULL, *name = NULL;
  for (int i = 0; env && i < 3; i++) {
    const char *at = variable(env, n, carriers[i]);
    if (at && i > 0) at = (at = strstr(at, "/tmp/mw-")) ? at + 8 : NULL;
    if (!at || strspn(at, "0123456789abcdef") != 32) continue;
    char nonce[33];
    snprintf(nonce, sizeof nonce, "%.32s", at);
    if (strcmp(nonce, own_nonce) != 0) name = run_of_nonce(root, nonce);
    break;
  }
  free(env);
  return name;
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
