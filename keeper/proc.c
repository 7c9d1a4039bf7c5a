#include "keeper.h"
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

bool proc_is_keeper(pid_t pid, uint64_t start, const char *nonce) {
  char text[4096];
  ssize_t n = proc_is(pid, start) ? proc_arguments(pid, text) : 0;
  return n > 0 && memmem(text, (size_t)n, nonce, strlen(nonce)) != NULL;
}

char *proc_keeper_of(const Proc *p, const char *root, const char *own_nonce) {
  if (!root || strcmp(p->name, "midwatch-keeper") != 0) return NULL;
  char text[4096];
  ssize_t n = proc_arguments(p->pid, text);
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

/* The 32 digits behind the first "/mw-" that has them. */
static const char *nonce_in_path(const char *at) {
  while (at && (at = strstr(at, "/mw-")) && strspn(at + 4, "0123456789abcdef") != 32) at += 4;
  return at ? at + 4 : NULL;
}

/* By the variable when it has it, else by PATH, else by TMPDIR: whatever its CLI passed on. The first that names a run decides. */
char *proc_member_of(pid_t pid, const char *root, const char *own_nonce) {
  static const char *const carriers[] = {"MIDWATCH_NONCE", "PATH", "TMPDIR"};
  size_t n = 0;
  char *env = root ? proc_environ(pid, &n) : NULL, *name = NULL;
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
