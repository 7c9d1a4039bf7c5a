#include "keeper.h"
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool proc_is(pid_t pid, uint64_t start) {
  Proc p;
  return pid > 0 && proc_read(pid, &p) && p.start == start && p.state != 'Z' && p.state != 'X';
}

static const char *variable(const char *env, size_t n, const char *name) {
  size_t k = strlen(name);
  for (const char *at = env; at < env + n; at += strlen(at) + 1)
    if (strncmp(at, name, k) == 0 && at[k] == '=') return at + k + 1;
  return NULL;
}

/* `each` of the claims of an active run of this workspace, by its name (agent.run), until it says yes. */
static bool any_claim(const char *root, const char *name, bool (*each)(const char *claim, const void *context), const void *context) {
  if (!is_run_name(name)) return false;
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
    yes = claim && each(claim, context);
    free(claim);
  }
  free(folder);
  return yes;
}

typedef struct { const char *nonce; const Proc *keeper; } Wanted;

static bool is_wanted(const char *claim, const void *context) {
  const Wanted *w = context;
  return json_has(claim, "nonce", w->nonce) &&
         (!w->keeper || (json_int(claim, "pid", -1) == w->keeper->pid && json_int(claim, "start_ticks", -1) == (int64_t)w->keeper->start));
}

/* Is `name` an active run of this workspace with this nonce in its claim? With `keeper`: made by that process? */
static bool run_is_active(const char *root, const char *name, const char *nonce, const Proc *keeper) {
  return is_nonce(nonce) && any_claim(root, name, is_wanted, &(Wanted){nonce, keeper});
}

/* The claim of a living keeper that is this process or above it, or that took the run over: then no keeper need be above it. */
static bool is_kept(const char *claim, const void *context) {
  pid_t pid = (pid_t)json_int(claim, "pid", -1);
  const char *at = strstr(claim, "\"nonce\":\"");
  char nonce[NONCE + 1];
  snprintf(nonce, sizeof nonce, "%.32s", at ? at + 9 : "");
  if (!is_nonce(nonce) || !proc_is_keeper(pid, (uint64_t)json_int(claim, "start_ticks", 0), nonce) || !proc_same_program(pid)) return false;
  Proc above = *(const Proc *)context;
  while (above.pid != pid && above.parent > 1 && proc_read(above.parent, &above)) {}
  return above.pid == pid || json_has(claim, "by", "adopter");
}

bool proc_is_kept(const Proc *p, const char *root, const char *name) { return root && any_claim(root, name, is_kept, p); }

/* By its content: a program that was replaced by an update is still the same in the memory of those who run it. Of another version
   nobody can say from here that it is a keeper. */
bool proc_same_program(pid_t pid) {
  int ours = proc_program(getpid()), theirs = proc_program(pid);
  struct stat a, b;
  bool same = ours >= 0 && theirs >= 0 && fstat(ours, &a) == 0 && fstat(theirs, &b) == 0 && S_ISREG(b.st_mode) && a.st_size == b.st_size;
  if (same && (a.st_ino != b.st_ino || a.st_dev != b.st_dev)) {
    char x[4096], y[4096];
    ssize_t n;
    while (same && (n = read(ours, x, sizeof x)) > 0) same = read(theirs, y, sizeof y) == n && memcmp(x, y, (size_t)n) == 0;
  }
  if (ours >= 0) close(ours);
  if (theirs >= 0) close(theirs);
  return same;
}

/* Its program may be one of another version: it names itself. A shell under that name does not. */
static bool may_be_keeper(pid_t pid) {
  enum { KEPT = sizeof KEEPER_NAME - 1, MOST = 4 << 20 };
  char piece[KEPT + 16 * 1024];
  size_t kept = 0, total = 0;
  bool found = false;
  int fd = proc_program(pid);
  for (ssize_t n; fd >= 0 && !found && total < MOST && (n = read(fd, piece + kept, sizeof piece - kept)) > 0; total += (size_t)n) {
    size_t have = kept + (size_t)n;
    found = memmem(piece, have, KEEPER_NAME, KEPT) != NULL;
    kept = have < KEPT ? have : KEPT;
    memmove(piece, piece + have - kept, kept);
  }
  if (fd >= 0) close(fd);
  return found;
}

bool proc_is_keeper(pid_t pid, uint64_t start, const char *nonce) {
  char text[4096];
  ssize_t n = proc_is(pid, start) ? proc_arguments(pid, text) : 0;
  return n > 0 && memmem(text, (size_t)n, nonce, strlen(nonce)) != NULL;
}

/* program, verb, run, nonce of the keeper of an active run */
static bool keeper_words(const Proc *p, const char *root, char text[4096], const char *part[4]) {
  if (!root || strcmp(p->name, KEEPER_NAME) != 0) return false;
  ssize_t n = proc_arguments(p->pid, text);
  int parts = 0;
  for (char *at = text; n > 0 && at < text + n && parts < 4; at += strlen(at) + 1) part[parts++] = at;
  return parts == 4 && run_is_active(root, part[2], part[3], p) && may_be_keeper(p->pid);
}

char *proc_keeper_of(const Proc *p, const char *root, const char *own_nonce) {
  char text[4096];
  const char *part[4];
  return keeper_words(p, root, text, part) && strcmp(part[3], own_nonce) != 0 ? must(strdup(part[2])) : NULL;
}

bool proc_is_below_alike(const Proc *p, const char *root, const char *own_nonce) {
  char text[4096];
  const char *part[4];
  for (Proc above = *p; above.parent > 1 && proc_read(above.parent, &above);)
    if (keeper_words(&above, root, text, part)) return strcmp(part[3], own_nonce) != 0 && lineage_from(part[3]) == lineage_from(own_nonce);
  return false;
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

/* The 32 digits behind the first "/mw-" that has them. */
static const char *nonce_in_path(const char *at) {
  while (at && (at = strstr(at, "/mw-")) && strspn(at + 4, "0123456789abcdef") != 32) at += 4;
  return at ? at + 4 : NULL;
}

enum { ENVIRONMENT = 128 * 1024 }; /* a mark further back than this is not seen: then the process is the run's own */

/* By the variable when it has it, else by PATH, else by TMPDIR: whatever its CLI passed on. The first that names a run decides. */
char *proc_member_of(pid_t pid, const char *root, const char *own_nonce) {
  static const char *const carriers[] = {"MIDWATCH_NONCE", "PATH", "TMPDIR"};
  size_t n = 0;
  char *env = root ? proc_environ(pid, ENVIRONMENT, &n) : NULL, *name = NULL;
  for (int i = 0; env && i < 3; i++) {
    const char *at = variable(env, n, carriers[i]);
    if (i > 0) at = nonce_in_path(at);
    if (!at || strspn(at, "0123456789abcdef") != 32) continue;
    char nonce[33];
    snprintf(nonce, sizeof nonce, "%.32s", at);
    if (strcmp(nonce, own_nonce) != 0) name = run_of_nonce(root, nonce);
    break;
  }
  free(env);
  return name;
}
