/* midwatch-keeper: run | adopt | scan | lease | rmtree. The orders of run and adopt come from standard input, so that an
   agent's arguments are in no other process's command line. */
#include "keeper.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_orders(Text *t) {
  char part[4096];
  for (;;) {
    if (t->len >= 4 && memcmp(t->at + t->len - 4, "end", 4) == 0 && (t->len == 4 || t->at[t->len - 5] == 0)) return true;
    ssize_t n = read(0, part, sizeof part);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false; /* the launcher died half-way: nothing is started */
    text_bytes(t, part, (size_t)n);
  }
}

static bool take_order(Run *run, const char *order) {
  const char *equal = strchr(order, '=');
  if (!equal) return strcmp(order, "end") == 0;
  size_t n = (size_t)(equal - order);
  const char *value = equal + 1;
  const struct { const char *key; const char **to; } texts[] = {
    {"dir", &run->dir}, {"log", &run->log.out.path}, {"err", &run->log.err.path}, {"idx", &run->log.idx_path}, {"root", &run->root},
    {"cwd", &run->cwd}, {"stdin", &run->stdin_path}, {"first_line", &run->first_line}, {"events", &run->events}};
  const struct { const char *key; List *to; } lists[] = {{"arg", &run->args}, {"env", &run->env}, {"remove", &run->removes}, {"keep", &run->keeps}};
  const struct { const char *key; int64_t *to; } numbers[] = {
    {"grace_ms", &run->grace_ms}, {"output_limit", &run->output_limit}, {"disk_floor", &run->disk_floor}};
  const struct { const char *order; bool *to; } flags[] = {
    {"tier=subreaper", &run->no_cgroup}, {"sync=none", &run->sync_none}, {"sync=always", &run->sync_always}, {"disk_policy=stop", &run->stop_on_disk}};
#define EACH(table) for (size_t i = 0; i < sizeof table / sizeof *table; i++)
#define IS(k) (strlen(k) == n && strncmp(order, k, n) == 0)
  EACH(texts) if (IS(texts[i].key)) { *texts[i].to = must(strdup(value)); return true; }
  EACH(lists) if (IS(lists[i].key)) { list_add(lists[i].to, value); return true; }
  EACH(numbers) if (IS(numbers[i].key)) { *numbers[i].to = strtoll(value, NULL, 10); return true; }
  EACH(flags) if (strcmp(order, flags[i].order) == 0) { *flags[i].to = true; return true; }
  return IS("tier") || IS("sync") || IS("disk_policy");
}

static int run_verb(char **argv) {
  static Run run;
  run.verb = argv[1];
  run.name = argv[2];
  run.nonce = argv[3];
  run.adopt = strcmp(run.verb, "adopt") == 0;
  run.grace_ms = 5000;
  run.cgroup.procs = -1;
  close_range(3, ~0U, 0);
  if (strlen(run.nonce) != 32 || !strrchr(run.name, '.')) return 2;
  Text orders = {0};
  if (!read_orders(&orders)) return 2;
  for (char *at = orders.at; at < orders.at + orders.len; at += strlen(at) + 1)
    if (!take_order(&run, at)) { fprintf(stderr, "midwatch-keeper: unknown order: %.40s\n", at); return 2; }
  text_free(&orders);
  if (!run.dir || !run.root || !run.log.out.path || !run.log.err.path || !run.log.idx_path || (!run.adopt && !run.args.n)) return 2;
  return run_main(&run);
}

/* scan NONCE=RUNFOLDER...: the living members of runs without a keeper, one JSON object a line. */
static int scan_verb(char **argv) {
  for (; *argv; argv++) {
    char *folder = strchr(*argv, '=');
    if (!folder || folder - *argv != 32) { fprintf(stderr, "usage: midwatch-keeper scan ROOT NONCE=RUNFOLDER...\n"); return 2; }
    *folder++ = 0;
    Run run = {.adopt = true, .nonce = *argv, .dir = folder, .name = "", .root = getenv("MIDWATCH_SCAN_ROOT")};
    proc_read(getpid(), &run.self);
    run.dir_fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char *claim = run.dir_fd >= 0 ? read_small(run.dir_fd, "claim", 4096) : NULL;
    run.since = (uint64_t)json_int(claim, "start_ticks", INT64_MAX);
    free(claim);
    if (run.dir_fd >= 0) { members_collect(&run); close(run.dir_fd); }
    Text t = {0};
    text_add(&t, "{\"nonce\":\"%s\",\"members\":[", run.nonce);
    for (size_t i = 0, listed = 0; i < run.members.n; i++) {
      const Member *e = &run.members.at[i];
      if (e->spared || e->gone) continue;
      text_add(&t, "%s{\"pid\":%d,\"start_ticks\":%llu,\"uid\":%d,\"name\":", listed++ ? "," : "", (int)e->proc.pid,
               (unsigned long long)e->proc.start, (int)e->proc.uid);
      text_json(&t, e->proc.name);
      text_add(&t, "}");
    }
    text_add(&t, "]}\n");
    write_all(1, t.at, t.len);
    text_free(&t);
    members_forget(&run.members);
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 4 && (strcmp(argv[1], "run") == 0 || strcmp(argv[1], "adopt") == 0)) return run_verb(argv);
  if (argc >= 3 && strcmp(argv[1], "scan") == 0) return scan_verb(argv + 2);
  if (argc >= 3 && strcmp(argv[1], "lease") == 0) {
    for (int i = 2; i < argc; i++) {
      int state = lease_state(argv[i]);
      puts(state == 0 ? "free" : state == 1 ? "held" : "unknown");
    }
    return 0;
  }
  if (argc == 3 && strcmp(argv[1], "rmtree") == 0) {
    char *slash = strrchr(argv[2], '/');
    if (!slash || !slash[1]) return 2;
    *slash = 0;
    int dir = open(slash == argv[2] ? "/" : argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int64_t bytes = dir < 0 ? -1 : remove_tree(dir, slash + 1);
    printf("%lld\n", (long long)bytes);
    return bytes < 0;
  }
  if (argc == 2 && strcmp(argv[1], "probe") == 0) { /* which tier a run started from here would get */
    char nonce[33];
    snprintf(nonce, sizeof nonce, "%032x", (unsigned)getpid());
    Cgroup g = {0};
    bool made = cgroup_make(&g, nonce);
    if (made) cgroup_remove(&g);
    puts(made ? "cgroup" : "subreaper");
    return 0;
  }
  if (argc == 2 && strcmp(argv[1], "--version") == 0) { puts("midwatch-keeper 1"); return 0; }
  fputs("midwatch-keeper owns one run of an agent; midwatch starts it. Verbs: run, adopt, scan, lease, rmtree.\n", stderr);
  return 2;
}
