/* midwatch-keeper: run | adopt | scan | who | mentioned | lease | rmtree | probe | init. The orders of run and adopt come from standard input, so that an
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
    {"cwd", &run->cwd}, {"stdin", &run->stdin_path}, {"fifo", &run->input.path}, {"later", &run->input.later}, {"first_line", &run->first_line}, {"events", &run->events}, {"watch_when", &run->watch.when}};
  const struct { const char *key; List *to; } lists[] = {{"arg", &run->args}, {"env", &run->env}, {"remove", &run->removes}, {"keep", &run->keeps}, {"watch_lock", &run->watch.locks}, {"watch_arg", &run->watch.words}};
  const struct { const char *key; int64_t *to; } numbers[] = {
    {"grace_ms", &run->grace_ms}, {"output_limit", &run->output_limit}, {"wall_ms", &run->wall_limit}, {"idle_ms", &run->idle_limit}, {"disk_floor", &run->disk_floor}};
  const struct { const char *order; bool *to; } flags[] = {
    {"tier=subreaper", &run->no_cgroup}, {"sync=none", &run->sync_none}, {"sync=always", &run->sync_always}, {"disk_policy=stop", &run->stop_on_disk}, {"done=damaged", &run->done_damaged},
    {"limit_policy=interrupt", &run->interrupt_on_limit}, {"limit_policy=notify", &run->notify_on_limit}};
#define EACH(table) for (size_t i = 0; i < sizeof table / sizeof *table; i++)
#define IS(k) (strlen(k) == n && strncmp(order, k, n) == 0)
  EACH(texts) if (IS(texts[i].key)) { *texts[i].to = must(strdup(value)); return true; }
  EACH(lists) if (IS(lists[i].key)) { list_add(lists[i].to, value); return true; }
  EACH(numbers) if (IS(numbers[i].key)) { *numbers[i].to = strtoll(value, NULL, 10); return true; }
  EACH(flags) if (strcmp(order, flags[i].order) == 0) { *flags[i].to = true; return true; }
  return IS("tier") || IS("sync") || IS("disk_policy") || IS("limit_policy");
}

static int run_verb(char **argv) {
  static Run run;
  run.name = argv[2];
  run.nonce = argv[3];
  run.adopt = strcmp(argv[1], "adopt") == 0;
  run.grace_ms = 5000;
  close_inherited();
  if (!is_nonce(run.nonce) || !is_run_name(run.name)) return 2;
  Text orders = {0};
  bool good = read_orders(&orders);
  for (char *at = orders.at; good && at < orders.at + orders.len; at += strlen(at) + 1)
    if (!take_order(&run, at)) { fprintf(stderr, "midwatch-keeper: unknown order: %.40s\n", at); good = false; }
  text_free(&orders);
  if (!good || !run.dir || !run.root || !run.log.out.path || !run.log.err.path || !run.log.idx_path || (!run.adopt && !run.args.n)) return 2;
  return run_main(&run);
}

enum { ENVIRONMENT = 4 << 20 };
typedef struct { pid_t *at; size_t n, cap; } Pids;
typedef struct { Run run; Pids holders, kin; } Scan;
typedef struct { Scan *at; size_t n; } Scans;

static void pids_add(Pids *p, pid_t pid) {
  if (p->n == p->cap) p->at = must(realloc(p->at, (p->cap = p->cap ? p->cap * 2 : 16) * sizeof *p->at));
  p->at[p->n++] = pid;
}

static void note_holder(void *context, pid_t pid) {
  Scans *scans = context;
  size_t length;
  char *env = proc_environ(pid, ENVIRONMENT, &length), cgroup[4096] = "";
  int64_t lineage = lineage_of(pid);
  if (!proc_cgroup(pid, cgroup)) cgroup[0] = 0;
  for (size_t i = 0; i < scans->n; i++) {
    Scan *s = &scans->at[i];
    if ((env && memmem(env, length, s->run.nonce, NONCE)) || strstr(cgroup, s->run.nonce)) pids_add(&s->holders, pid);
    if (lineage == lineage_from(s->run.nonce)) pids_add(&s->kin, pid);
  }
  free(env);
}

static void print_members(Scan *s) {
  Run *run = &s->run;
  Text t = {0}, doubts = {0};
  members_doubts(run, s->kin.at ? s->kin.at : (pid_t[]){0}, s->kin.n, &doubts);
  text_add(&t, "{\"nonce\":\"%s\",\"doubts\":[%s],\"members\":[", run->nonce, doubts.len ? doubts.at : "");
  for (size_t i = 0, listed = 0; i < run->members.n; i++) {
    const Member *e = &run->members.at[i];
    if (e->spared || e->gone) continue;
    text_add(&t, "%s{\"pid\":%d,\"start_ticks\":%llu,\"uid\":%d,\"name\":", listed++ ? "," : "", (int)e->proc.pid,
             (unsigned long long)e->proc.start, (int)e->proc.uid);
    text_json(&t, e->proc.name);
    text_add(&t, "}");
  }
  text_add(&t, "]}\n");
  write_all(1, t.at, t.len);
  text_free(&t);
  text_free(&doubts);
}

static void note_first(void *context, pid_t pid) {
  Run *run = context;
  Proc p;
  if (proc_read(pid, &p) && p.start < run->since) run->since = p.start;
}

/* What carries the nonce, or is in the run's leaf, belongs to it whatever the folder says, or whether there is one. */
static void identify_by_mark(Scan *s) {
  if (!s->run.cgroup.joined) s->run.cgroup.joined = cgroup_find(&s->run.cgroup, s->run.nonce);
  for (size_t i = 0; i < s->holders.n; i++) note_first(&s->run, s->holders.at[i]);
  if (s->run.cgroup.joined) cgroup_each(&s->run.cgroup, note_first, &s->run);
}

static int lease_verb(char **paths, size_t n) {
  for (size_t i = 0; i < n; i++) {
    int state = lease_state(paths[i]);
    puts(state == 0 ? "free" : state == 1 ? "held" : "unknown");
  }
  return 0;
}

/* scan NONCE=RUNFOLDER... [-- FILE...]: the living members of runs without a keeper, one JSON object a line; one look at /proc for all.
   Behind them, as `lease` tells it, whether a process has the files open for writing. */
static int scan_verb(char **argv, size_t n) {
  size_t all = n;
  for (size_t i = 0; i < all && n == all; i++) if (strcmp(argv[i], "--") == 0) n = i;
  Scans scans = {must(calloc(n, sizeof(Scan))), n};
  for (size_t i = 0; i < n; i++) {
    char *folder = strchr(argv[i], '=');
    if (folder) *folder = 0;
    if (!folder || !is_nonce(argv[i])) { fprintf(stderr, "usage: midwatch-keeper scan NONCE=RUNFOLDER... [-- FILE...]\n"); return 2; }
    folder++;
    scans.at[i].run = (Run){.adopt = true, .scans = true, .nonce = argv[i], .dir = folder, .name = "", .root = getenv("MIDWATCH_SCAN_ROOT"), .main_fd = -1};
  }
  proc_each(note_holder, &scans);
  for (size_t i = 0; i < n; i++) {
    Run *run = &scans.at[i].run;
    proc_read(getpid(), &run->self);
    run->dir_fd = open(run->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    run->since = UINT64_MAX;
    if (run->dir_fd >= 0) run_identify(run);
    identify_by_mark(&scans.at[i]);
    members_collect_from(run, scans.at[i].holders.at, scans.at[i].holders.n);
    print_members(&scans.at[i]);
    if (run->dir_fd >= 0) close(run->dir_fd);
    cgroup_close(&run->cgroup);
    members_free(&run->members);
    free(scans.at[i].holders.at);
    free(scans.at[i].kin.at);
  }
  free(scans.at);
  return n < all ? lease_verb(argv + n + 1, all - n - 1) : 0;
}

int main(int argc, char **argv) {
  for (int fd; (fd = open("/dev/null", O_RDWR)) >= 0;) if (fd > 2) { close(fd); break; } /* 0 to 2 are never a file of ours */
  if (argc == 4 && (strcmp(argv[1], "run") == 0 || strcmp(argv[1], "adopt") == 0)) return run_verb(argv);
  if (argc >= 3 && strcmp(argv[1], "scan") == 0) return scan_verb(argv + 2, (size_t)argc - 2);
  if (argc >= 2 && strcmp(argv[1], "who") == 0) return who_verb(argv + 2, (size_t)argc - 2);
  if (argc == 3 && strcmp(argv[1], "mentioned") == 0) return mentioned_verb(argv[2]);
  if (argc >= 3 && strcmp(argv[1], "lease") == 0) return lease_verb(argv + 2, (size_t)argc - 2);
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
    cgroup_leave_outer();
    bool made = OWNS_ORPHANS && cgroup_make(&g, nonce);
    if (made) cgroup_remove(&g);
    puts(made ? "cgroup" : OWNS_ORPHANS ? "subreaper" : "scan");
    return 0;
  }
  if (argc >= 3 && strcmp(argv[1], "init") == 0) return init_verb(argv + 2);
  if (argc == 2 && strcmp(argv[1], "--version") == 0) { printf("midwatch-keeper %d\n", PROTOCOL); return 0; }
  fputs("midwatch-keeper owns one run of an agent; midwatch starts it. Verbs: run, adopt, scan, who, mentioned, lease, rmtree, probe, init.\n", stderr);
  return 2;
}
