/* The processes of one run. Owner mode walks down from ourselves (we are subreaper, so nothing leaves the tree). Who scans (an
   adopter, or a keeper that is no subreaper) has no kernel anchor and looks for the nonce, for what was ever seen, and for
   all below those; a keeper that is no subreaper also for the agent's session, for macOS hides the environment of Apple's programs. */
#include "keeper.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REMEMBERED = 1 << 20 }; /* bytes of the file: more than 32,768 processes */

static size_t slot_of(const Members *m, pid_t pid) {
  size_t i = (size_t)pid * 2654435761u & (m->slots - 1);
  while (m->slot[i] && m->at[m->slot[i] - 1].proc.pid != pid) i = (i + 1) & (m->slots - 1);
  return i;
}

static Member *find(const Members *m, pid_t pid, uint64_t start) {
  if (!m->slots) return NULL;
  uint32_t index = m->slot[slot_of(m, pid)];
  return index && m->at[index - 1].proc.start == start ? &m->at[index - 1] : NULL;
}

static void make_slots(Members *m, size_t slots) {
  free(m->slot);
  m->slots = slots;
  m->slot = must(calloc(slots, sizeof *m->slot));
  for (size_t i = 0; i < m->n; i++) m->slot[slot_of(m, m->at[i].proc.pid)] = (uint32_t)i + 1;
}

static Member *insert(Members *m, const Proc *p) {
  if (m->n == m->cap) m->at = must(realloc(m->at, (m->cap = m->cap ? m->cap * 2 : 16) * sizeof *m->at));
  if (m->n * 2 >= m->slots) make_slots(m, m->slots ? m->slots * 2 : 64);
  Member *e = &m->at[m->n++];
  *e = (Member){.proc = *p, .born = m->round};
  e->proc.uid = proc_uid(p->pid);
  m->slot[slot_of(m, p->pid)] = (uint32_t)m->n; /* a reused pid takes the slot; the old entry stays listed as gone */
  return e;
}

void members_free(Members *m) {
  for (size_t i = 0; i < m->n; i++) free(m->at[i].run);
  free(m->at);
  free(m->slot);
  *m = (Members){.round = m->round};
}

void members_forget(Members *m) {
  size_t kept = 0;
  for (size_t i = 0; i < m->n; i++)
    if (m->at[i].gone) free(m->at[i].run);
    else m->at[kept++] = m->at[i];
  m->n = kept;
  if (m->slots) make_slots(m, m->slots);
}

static void mark_gone(Member *e) {
  e->gone = true;
  e->ended_by = e->sent;
}

void members_reaped(Members *m, pid_t pid) {
  uint32_t index = m->slots ? m->slot[slot_of(m, pid)] : 0;
  if (index && !m->at[index - 1].gone) mark_gone(&m->at[index - 1]);
}

/* ---- looking ---- */
typedef struct { Run *run; pid_t *todo; size_t n, cap; bool strangers; } Look;

static void visit_later(void *context, pid_t pid) {
  Look *look = context;
  if (look->n == look->cap) look->todo = must(realloc(look->todo, (look->cap = look->cap ? look->cap * 2 : 64) * sizeof *look->todo));
  look->todo[look->n++] = pid;
}

/* The run that a process belongs to when it is not ours: as its keeper, by its environment, or (for one that the walk down
   did not come to) by a keeper above it that was started after us. */
static char *other_run(const Look *look, const Proc *p) {
  const Run *run = look->run;
  char *name = proc_keeper_of(p, run->root, run->nonce);
  if (!name) name = proc_member_of(p->pid, run->root, run->nonce);
  Proc above = *p;
  while (!name && look->strangers && above.parent > 1 && above.parent != run->self.pid && proc_read(above.parent, &above) &&
         !proc_predates(&above, run->since))
    name = proc_keeper_of(&above, run->root, run->nonce);
  return name;
}

static void visit_all(Look *look) {
  Run *run = look->run;
  Members *m = &run->members;
  while (look->n) {
    pid_t pid = look->todo[--look->n];
    Proc p;
    if (pid <= 1 || pid == run->self.pid) continue;
    if (!proc_read(pid, &p) || p.state == 'Z' || p.state == 'X') { m->unsure = true; continue; } /* Z is dead */
    if (pid == run->watch.starter) continue; /* ours, not the agent's; what it starts has a keeper */
    if (proc_predates(&p, run->since)) continue;
    Member *e = find(m, pid, p.start);
    if (e && e->round == m->round) continue;
    bool fresh = !e || strcmp(e->proc.name, p.name) != 0 || strcmp(p.name, KEEPER_NAME) == 0;
    if (!e) e = insert(m, &p);
    if (fresh && !e->spared) { /* it may have been seen between its fork and its exec, or before it had a claim */
      e->run = other_run(look, &p);
      e->spared = e->run != NULL;
    }
    e->proc.state = p.state;
    e->proc.threads = p.threads;
    memcpy(e->proc.name, p.name, sizeof p.name);
    e->round = m->round;
    e->gone = false;
    if (!e->spared) proc_children(&p, visit_later, look); /* all below another run's keeper is that run's */
  }
}

/* While one of ours is in it the kernel gives its number to no other session. Between two looks that could only change if the
   numbers of all processes were used up and this one came again. */
static bool is_in_session(const Run *run, pid_t pid) { return run->session > 0 && getsid(pid) == run->session; }

static void hold_session(Run *run) {
  if (OWNS_ORPHANS && run->adopt) return; /* the mark is enough there: Linux shows every environment of the user's */
  bool held = run->adopt ? proc_is(run->main.pid, run->main.start) : !run->main_ended;
  for (size_t i = 0; !held && i < run->members.n; i++) {
    const Member *e = &run->members.at[i];
    held = !e->gone && !e->spared && getsid(e->proc.pid) == run->main.pid;
  }
  run->session = held ? run->main.pid : 0;
}

static void visit_holder(void *context, pid_t pid) {
  Look *look = context;
  Run *run = look->run;
  Proc p;
  if (pid == run->self.pid || !proc_read(pid, &p) || p.state == 'Z') return;
  bool marked = proc_carries(pid, run->nonce);
  if (!marked && (proc_predates(&p, run->since) || !is_in_session(run, pid))) return;
  if (marked && p.start < run->since) run->since = p.start; /* the nonce is older than any fact about it */
  if (marked && !run->cgroup.joined) run->cgroup.joined = cgroup_find_of(&run->cgroup, run->nonce, pid);
  visit_later(look, pid);
}

/* Whom a keeper before us saw, as far as they live: `each` of them. An agent can write into the file, so it is read in pieces. */
static void each_remembered(const Run *run, void (*each)(void *, const Proc *), void *context) {
  int fd = openat(run->dir_fd, "members", O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  char text[4097];
  size_t kept = 0, seen = 0;
  for (ssize_t r; fd >= 0 && seen < REMEMBERED && kept < sizeof text - 1 && (r = read(fd, text + kept, sizeof text - 1 - kept)) > 0; seen += (size_t)r) {
    char *at = text, *line;
    text[kept + (size_t)r] = 0;
    for (; (line = strchr(at, '\n')); at = line + 1) {
      char *end;
      long pid = strtol(at, &end, 10);
      uint64_t start = strtoull(end, NULL, 10);
      Proc p;
      if (pid > 1 && pid <= INT32_MAX && start && proc_is((pid_t)pid, start) && proc_read((pid_t)pid, &p)) each(context, &p);
    }
    kept = strlen(at); /* what is behind a NUL is not ours */
    memmove(text, at, kept + 1);
  }
  if (fd >= 0) close(fd);
}

/* A number in a file that an agent can write ties nobody to the run. */
static void visit_remembered(void *context, const Proc *p) {
  Look *look = context;
  if (lineage_of(p->pid) == lineage_from(look->run->nonce) || proc_carries(p->pid, look->run->nonce)) visit_later(look, p->pid);
}

static void look_around(Look *look) {
  Run *run = look->run;
  Members *m = &run->members;
  m->round++;
  m->unsure = false;
  if (run->scans) {
    for (size_t i = 0; i < m->n; i++) /* what we ever saw stays ours while it lives */
      if (!m->at[i].gone && proc_is(m->at[i].proc.pid, m->at[i].proc.start)) visit_later(look, m->at[i].proc.pid);
    look->strangers = true;
  }
  if (!run->adopt) proc_children(&run->self, visit_later, look); /* one thread is enough: the kernel gives orphans to the first */
  visit_all(look);
  look->strangers = true;
  if (run->cgroup.joined) { cgroup_each(&run->cgroup, visit_later, look); visit_all(look); }
  free(look->todo);
  m->living = m->spared = 0;
  for (size_t i = 0; i < m->n; i++) {
    Member *e = &m->at[i];
    if (e->gone) continue;
    if (e->round != m->round) mark_gone(e);
    else if (e->spared) m->spared++;
    else m->living++;
  }
  if (run->scans) hold_session(run);
}

void members_collect_from(Run *run, const pid_t *holders, size_t n) {
  Look look = {.run = run};
  for (size_t i = 0; i < n; i++) visit_later(&look, holders[i]);
  each_remembered(run, visit_remembered, &look);
  look_around(&look);
}

void members_collect(Run *run, bool deep) {
  Look look = {.run = run};
  if (run->scans && deep) proc_each(visit_holder, &look);
  if (run->adopt && deep) each_remembered(run, visit_remembered, &look);
  look_around(&look);
}

/* ---- acting and telling ---- */
void members_signal(Run *run, int sig, unsigned before, bool again) {
  for (size_t i = 0; i < run->members.n; i++) {
    Member *e = &run->members.at[i];
    if (e->gone || e->spared || e->born > before || (!again && (e->sent == sig || e->sent == BY_CGROUP))) continue;
    int failed = proc_signal(&e->proc, sig);
    if (sig == SIGTERM) proc_signal(&e->proc, SIGCONT); /* a stopped process would keep the TERM pending for ever */
    e->failed = failed == ESRCH ? 0 : failed;
    if (!failed) e->sent = sig;
  }
}

/* ---- who may be one ---- */
typedef struct { Run *run; Text *t; size_t n; } Doubts;

static void doubt(Doubts *d, const Proc *p, const char *why) {
  if (d->n++ >= 100) return;
  text_add(d->t, "%s{\"pid\":%d,\"start_ticks\":%llu,\"name\":", d->n > 1 ? "," : "", (int)p->pid, (unsigned long long)p->start);
  text_json(d->t, p->name);
  text_add(d->t, ",\"uid\":%d,\"why\":", (int)proc_uid(p->pid));
  text_json(d->t, why);
  text_add(d->t, "}");
}

static bool is_known(const Run *run, const Proc *p) {
  const Member *e = find(&run->members, p->pid, p->start);
  char *other = e ? NULL : proc_keeper_of(p, run->root, run->nonce);
  free(other);
  return p->pid == run->self.pid || other || (e && !e->gone);
}

static void doubt_descent(void *context, pid_t pid) {
  Doubts *d = context;
  Proc p;
  if (lineage_of(pid) != lineage_from(d->run->nonce) || !proc_read(pid, &p) || p.state == 'Z' || p.state == 'X' || is_known(d->run, &p)) return;
  /* Two runs may have the same mark. */
  if (!proc_is_below_alike(&p, d->run->root, d->run->nonce)) doubt(d, &p, "started during the run, its origin is unknown");
}

static void doubt_remembered(void *context, const Proc *p) {
  Doubts *d = context;
  if (!proc_predates(p, d->run->since) && lineage_of(p->pid) != lineage_from(d->run->nonce) && !is_known(d->run, p))
    doubt(d, p, "was noted as one of its processes, and nothing else says so");
}

size_t members_doubts(Run *run, const pid_t *kin, size_t n, Text *t) {
  Doubts d = {run, t, 0};
  for (size_t i = 0; i < run->members.n; i++) {
    const Member *e = &run->members.at[i];
    if (!e->spared || e->gone || proc_is_kept(&e->proc, run->root, e->run)) continue;
    char why[160];
    snprintf(why, sizeof why, "belongs to %.80s, it says, and no keeper of that run has it", e->run);
    doubt(&d, &e->proc, why);
  }
  if (!run->scans) return d.n; /* the kernel gave us all others */
  if (!kin) proc_each(doubt_descent, &d);
  for (size_t i = 0; i < n; i++) doubt_descent(&d, kin[i]);
  if (run->dir_fd >= 0) each_remembered(run, doubt_remembered, &d);
  return d.n;
}

bool members_remember(Run *run) {
  static Text last;
  Text t = {0};
  const Members *m = &run->members;
  for (size_t i = 0; i < m->n; i++)
    if (!m->at[i].gone && !m->at[i].spared) text_add(&t, "%d %llu\n", (int)m->at[i].proc.pid, (unsigned long long)m->at[i].proc.start);
  if (t.len == last.len && (!t.len || memcmp(t.at, last.at, t.len) == 0)) { text_free(&t); return false; }
  int fd = openat(run->dir_fd, ".members.tmp", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
  bool ok = fd >= 0 && write_all(fd, t.at, t.len) == 0;
  if (fd >= 0) close(fd);
  ok = ok && renameat(run->dir_fd, ".members.tmp", run->dir_fd, "members") == 0;
  text_free(&last);
  if (ok) last = t; /* else tried again */
  else text_free(&t);
  return true;
}

void members_report(const Members *m, Text *t) {
  size_t listed = 0, total = 0;
  text_add(t, "\"processes\":[");
  for (size_t i = 0; i < m->n; i++) {
    const Member *e = &m->at[i];
    if (e->spared) continue;
    total++;
    if (listed == 1000) continue;
    text_add(t, "%s{\"pid\":%d,\"name\":", listed++ ? "," : "", (int)e->proc.pid);
    text_json(t, e->proc.name);
    int by = e->gone ? e->ended_by : e->sent;
    text_add(t, ",\"ended_by\":\"%s\"}", by == BY_CGROUP ? "cgroup.kill" : by ? signal_name(by) : "self");
  }
  text_add(t, "],\"processes_total\":%zu,\"children\":[", total);
  listed = 0;
  for (size_t i = 0; i < m->n; i++) {
    const Member *e = &m->at[i];
    if (!e->spared || e->gone) continue;
    text_add(t, "%s{\"pid\":%d,\"run\":", listed++ ? "," : "", (int)e->proc.pid);
    text_json(t, e->run);
    text_add(t, "}");
  }
  text_add(t, "]");
}
