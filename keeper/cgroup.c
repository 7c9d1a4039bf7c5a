/* A cgroup v2 leaf for one run, beside the leaf of an outer run and never inside it. The keeper itself stays outside, so
   that cgroup.kill and `populated 0` speak of the agent alone. */
#include "keeper.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH_CAP = 4096 };

static bool mount_point(char mount[256]) {
  char line[4096];
  FILE *f = fopen("/proc/self/mountinfo", "re");
  mount[0] = 0;
  while (f && fgets(line, sizeof line, f))
    if (strstr(line, " - cgroup2 ") && sscanf(line, "%*s %*s %*s %*s %255s", mount) == 1) break;
  if (f) fclose(f);
  return mount[0] != 0;
}

/* The place for our leaf: our own cgroup, or the one above the leaf of the run that we are part of. */
static bool base_path(char *out, size_t cap, bool *inside) {
  char mount[256], line[4096], own[512] = "";
  FILE *f = mount_point(mount) ? fopen("/proc/self/cgroup", "re") : NULL;
  if (!f) return false;
  while (fgets(line, sizeof line, f))
    if (strncmp(line, "0::", 3) == 0) snprintf(own, sizeof own, "%.*s", (int)strcspn(line + 3, "\n"), line + 3);
  fclose(f);
  *inside = false;
  for (char *at = own; (at = strstr(at, "/mw-")); at++)
    if (strspn(at + 4, "0123456789abcdef") == NONCE && (at[NONCE + 4] == '/' || !at[NONCE + 4])) { *at = 0; *inside = true; break; }
  if (strcmp(own, "/") == 0) own[0] = 0;
  return (size_t)snprintf(out, cap, "%s%s", mount, own) < cap;
}

/* A keeper that an agent started: in the agent's leaf it would be frozen and killed with it. */
void cgroup_leave_outer(void) {
  char base[440];
  bool inside;
  if (!base_path(base, sizeof base - 16, &inside) || !inside) return;
  strcat(base, "/cgroup.procs");
  int fd = open(base, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  cgroup_write(fd, "0");
  close(fd);
}

void cgroup_close(Cgroup *g) {
  if (!g->made) return;
  close(g->procs);
  close(g->events);
  close(g->kill);
  close(g->freeze);
  g->made = g->joined = false;
}

bool cgroup_open(Cgroup *g, const char *path) {
  if (path != g->path) snprintf(g->path, sizeof g->path, "%s", path);
  int dir = open(g->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (dir < 0) return false;
  g->procs = openat(dir, "cgroup.procs", O_RDWR | O_CLOEXEC);
  g->events = openat(dir, "cgroup.events", O_RDONLY | O_CLOEXEC);
  g->kill = openat(dir, "cgroup.kill", O_WRONLY | O_CLOEXEC);
  g->freeze = openat(dir, "cgroup.freeze", O_WRONLY | O_CLOEXEC);
  close(dir);
  g->made = true;
  if (g->procs < 0 || g->events < 0 || g->kill < 0 || g->freeze < 0) cgroup_close(g); /* a kernel before 5.14 has no cgroup.kill */
  return g->made;
}

static bool leaf_path(Cgroup *g, const char *nonce, bool *inside) {
  char base[400];
  return base_path(base, sizeof base, inside) && (size_t)snprintf(g->path, sizeof g->path, "%s/mw-%s", base, nonce) < sizeof g->path;
}

bool cgroup_find(Cgroup *g, const char *nonce) {
  bool inside;
  return leaf_path(g, nonce, &inside) && cgroup_open(g, g->path);
}

bool cgroup_find_of(Cgroup *g, const char *nonce, pid_t pid) {
  char path[64], line[4096], mount[256], leaf[NONCE + 6];
  snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
  snprintf(leaf, sizeof leaf, "/mw-%s", nonce);
  FILE *f = mount_point(mount) ? fopen(path, "re") : NULL;
  bool found = false;
  while (f && !found && fgets(line, sizeof line, f)) {
    char *at = strncmp(line, "0::", 3) == 0 ? strstr(line, leaf) : NULL;
    if (!at || (at[NONCE + 4] != '/' && at[NONCE + 4] != '\n')) continue;
    at[NONCE + 4] = 0;
    found = (size_t)snprintf(g->path, sizeof g->path, "%s%s", mount, line + 3) < sizeof g->path && cgroup_open(g, g->path);
  }
  if (f) fclose(f);
  return found;
}

bool cgroup_make(Cgroup *g, const char *nonce) {
  bool inside;
  if (!leaf_path(g, nonce, &inside) || inside || mkdir(g->path, 0755) < 0) return false;
  if (cgroup_open(g, g->path)) return true;
  rmdir(g->path);
  return false;
}

bool cgroup_populated(const Cgroup *g) { /* of the leaf and of all cgroups that the agent made in it */
  char text[256];
  ssize_t n = pread(g->events, text, sizeof text - 1, 0);
  if (n <= 0) return access(g->path, F_OK) == 0; /* removed: it was empty then, and nobody can enter it any more */
  text[n] = 0;
  return strstr(text, "populated 0") == NULL;
}

bool cgroup_holds(const Cgroup *g, pid_t pid) {
  char path[64], line[4096];
  snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
  FILE *f = fopen(path, "re");
  bool holds = false;
  while (f && !holds && fgets(line, sizeof line, f)) holds = strncmp(line, "0::", 3) == 0 && strstr(line, strrchr(g->path, '/'));
  if (f) fclose(f);
  return holds;
}

/* The cgroups that an agent made in its leaf, whose path is in `path`; each is appended to it for its turn. */
static void each_below(char path[PATH_CAP], void (*each)(char *, void *), void *context) {
  DIR *d = opendir(path);
  size_t n = strlen(path);
  for (struct dirent *e; d && (e = readdir(d));) {
    if (e->d_type != DT_DIR || e->d_name[0] == '.') continue;
    if ((size_t)snprintf(path + n, PATH_CAP - n, "/%s", e->d_name) < PATH_CAP - n) each(path, context);
    path[n] = 0;
  }
  if (d) closedir(d);
}

typedef struct { void (*each)(void *, pid_t); void *context; } Visit;

static void visit_procs(char *path, void *context) {
  const Visit *visit = context;
  size_t n = strlen(path);
  char line[32];
  FILE *f = (size_t)snprintf(path + n, PATH_CAP - n, "/cgroup.procs") < PATH_CAP - n ? fopen(path, "re") : NULL;
  path[n] = 0;
  while (f && fgets(line, sizeof line, f)) visit->each(visit->context, (pid_t)atoi(line));
  if (f) fclose(f);
  each_below(path, visit_procs, context);
}

void cgroup_each(const Cgroup *g, void (*each)(void *, pid_t), void *context) {
  char path[PATH_CAP];
  strcpy(path, g->path);
  visit_procs(path, &(Visit){each, context});
}

void cgroup_write(int fd, const char *s) { if (write(fd, s, strlen(s)) < 0) {} /* a vanished leaf holds nobody */ }

static void remove_one(char *path, void *busy) {
  each_below(path, remove_one, busy);
  *(bool *)busy = rmdir(path) < 0 && errno == EBUSY;
}

static bool remove_leaf(const char *leaf) {
  char path[PATH_CAP];
  bool busy = false;
  strcpy(path, leaf);
  remove_one(path, &busy); /* the leaf itself comes last and decides */
  return !busy;
}

void cgroup_remove(Cgroup *g) {
  if (!g->made) return;
  for (int i = 0; i < 50 && !remove_leaf(g->path); i++) /* zombies of the leaf are still leaving */
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
  cgroup_close(g);
}
