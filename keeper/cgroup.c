/* A cgroup v2 leaf for one run, beside the leaf of an outer run and never inside it. The keeper itself stays outside, so
   that cgroup.kill and `populated 0` speak of the agent alone. */
#include "keeper.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool base_path(char *out, size_t cap, bool *inside) {
  char mount[256] = "", line[4096], own[512] = "";
  FILE *f = fopen("/proc/self/mountinfo", "re");
  if (!f) return false;
  while (fgets(line, sizeof line, f)) {
    char where[256];
    if (strstr(line, " - cgroup2 ") && sscanf(line, "%*s %*s %*s %*s %255s", where) == 1) { strcpy(mount, where); break; }
  }
  fclose(f);
  if (!mount[0] || !(f = fopen("/proc/self/cgroup", "re"))) return false;
  while (fgets(line, sizeof line, f))
    if (strncmp(line, "0::", 3) == 0) snprintf(own, sizeof own, "%.*s", (int)strcspn(line + 3, "\n"), line + 3);
  fclose(f);
  char *last = strrchr(own, '/');
  *inside = last && strncmp(last, "/mw-", 4) == 0 && strlen(last) == 36;
  if (*inside) *last = 0;
  if (strcmp(own, "/") == 0) own[0] = 0;
  return (size_t)snprintf(out, cap, "%s%s", mount, own) < cap;
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
  return g->procs >= 0 && g->events >= 0 && g->kill >= 0 && g->freeze >= 0;
}

bool cgroup_make(Cgroup *g, const char *nonce) {
  char base[400];
  bool inside = false;
  if (!base_path(base, sizeof base, &inside)) return false;
  snprintf(g->path, sizeof g->path, "%s/mw-%s", base, nonce);
  if (inside) { /* started by an agent: leave its leaf, or its end would be ours */
    char procs[440];
    snprintf(procs, sizeof procs, "%s/cgroup.procs", base);
    int fd = open(procs, O_WRONLY | O_CLOEXEC);
    bool left = fd >= 0 && write_all(fd, "0", 1) == 0;
    if (fd >= 0) close(fd);
    if (!left) return false;
  }
  if (mkdir(g->path, 0755) < 0) return false;
  if (cgroup_open(g, g->path)) return true;
  rmdir(g->path);
  return false;
}

bool cgroup_populated(const Cgroup *g) {
  char text[256];
  ssize_t n = pread(g->events, text, sizeof text - 1, 0);
  if (n <= 0) return access(g->path, F_OK) == 0;
  text[n] = 0;
  return strstr(text, "populated 0") == NULL;
}

void cgroup_each(const Cgroup *g, void (*each)(void *, pid_t), void *context) {
  char path[544], line[32];
  snprintf(path, sizeof path, "%s/cgroup.procs", g->path);
  FILE *f = fopen(path, "re");
  if (!f) return;
  while (fgets(line, sizeof line, f)) each(context, (pid_t)atoi(line));
  fclose(f);
}

void cgroup_write(int fd, const char *s) { if (write(fd, s, strlen(s)) < 0) {} /* a vanished leaf holds nobody */ }

void cgroup_remove(Cgroup *g) {
  for (int i = 0; i < 50 && rmdir(g->path) < 0 && errno == EBUSY; i++) /* zombies of the leaf are still leaving */
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}
