/* The processes of one run. Owner mode walks down from ourselves (we are subreaper, so nothing leaves the tree); adopt mode
   has no kernel anchor and looks for the nonce, for what the first keeper had seen, and for all below those. */
#include "keeper.h"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static size_t slot_of(const Members *m, pid_t pid) {
  size_t i = (size_t)pid * 2654435761u & (m->slots - 1);
  while (m->slot[i] && m->at[m->slot[i] - 1].proc.pid != pid) i = (i + 1) & (m->slots - 1);
  return i;
}

Member *members_find(Members *m, pid_t pid, uint64_t start) {
  if (!m->slots) return NULL;
  uint32_t index = m->slot[slot_of(m, pid)];
  return index && m->at[index - 1].proc.start == start ? &m->at[index - 1] : NULL;
}

static Member *insert(Members *m, const Proc *p) {
  if (m->n == m->cap) m->at = must(realloc(m->at, (m->cap = m->cap ? m->cap * 2 : 16) * sizeof *m->at));
  if (m->n * 2 >= m->slots) {
    m->slots = m->slots ? m->slots * 2 : 64;
    free(m->slot);
    m->slot = must(calloc(m->slots, sizeof *m->slot));
    for (size_t i = 0; i < m->n; i++) m->slot[slot_of(m, m->at[i].proc.pid)] = (uint32_t)i + 1;
  }
  Member *e = &m->at[m->n++];
  *e = (Member){.proc = *p};
  e->proc.uid = proc_uid(p->pid);
  m->slot[slot_of(m, p->pid)] = (uint32_t)m->n; /* a reused pid takes the slot; the old entry stays listed as gone */
  return e;
}

void members_forget(Members *m) {
  for (size_t i = 0; i < m->n; i++) free(m->at[i].run);
  free(m->at);
  free(m->slot);
  *m = (Members){.round = m->round};
}

void members_reaped(Members *m, pid_t pid) {
  uint32_t index = m->slots ? m->slot[slot_of(m, pid)] : 0;
  if (!index || m->at[index - 1].gone) return;
  m->at[index - 1].gone = true;
  m->at[index - 1].ended_by = m->at[index - 1].sent;
}

/* One look: pids still to visit. */
typedef struct { Run *run; pid_t *todo; size_t n, cap; } Look;

static void visit_later(void *context, pid_t pid) {
  Look *look = context;
  if (look->n == look->cap) look->todo = must(realloc(look->todo, (look->cap = look->cap ? look->cap * 2 : 64) * sizeof *look->todo));
  look->todo[look->n++] = pid;
}

static void visit_all(Look *look) {
  Run *run = look->run;
  Members *m = &run->members;
  while (look->n) {
    pid_t pid = look->todo[--look->n];
    Proc p;
    if (pid <= 1 || pid == run->self.pid || !proc_read(pid, &p) || p.state == 'Z' || p.state == 'X') continue; /* Z is dead */
    if (p.start < run->since) continue;
    Member *e = members_find(m, pid, p.start);
    if (e && e->round == m->round) continue;
    if (!e) {
      e = insert(m, &p);
      bool keeper;
      e->run = proc_run_name(pid, run->root, run->nonce, &keeper);
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

static void visit_holder(void *context, pid_t pid) {
  Look *look = context;
  Proc p;
  if (pid == look->run->self.pid || !proc_read(pid, &p) || p.start < look->run->since || p.state == 'Z') return;
  if (proc_holds(pid, look->run->nonce)) visit_later(look, pid);
}

static void visit_remembered(Look *look) {
  char *text = read_small(look->run->dir_fd, "members", 1 << 20);
  if (!text) return;
  for (char *at = text; *at;) {
    char *end;
    long pid = strtol(at, &end, 10);
    uint64_t start = strtoull(end, &end, 10);
    Proc p;
    if (pid > 1 && start && proc_read((pid_t)pid, &p) && p.start == start) visit_later(look, (pid_t)pid);
    at = end + strcspn(end, "\n");
    if (*at) at++;
    else break;
  }
  free(text);
}

void members_collect(Run *run) {
  Members *m = &run->members;
  m->round++;
  Look look = {.run = run};
  if (run->adopt) {
    proc_each(visit_holder, &look);
    visit_remembered(&look);
    for (size_t i = 0; i < m->n; i++) if (!m->at[i].gone) { /* what we ever saw stays ours while it lives */
      Proc p;
      if (proc_read(m->at[i].proc.pid, &p) && p.start == m->at[i].proc.start) visit_later(&look, p.pid);
    }
  } else {
    proc_children(&run->self, visit_later, &look);
  }
  visit_all(&look);
  if (run->cgroup.joined) { cgroup_each(&run->cgroup, visit_later, &look); visit_all(&look); }
  free(look.todo);
  m->living = 0;
  for (size_t i = 0; i < m->n; i++) {
    Member *e = &m->at[i];
    if (e->gone) continue;
    if (e->round != m->round) { e->gone = true; e->ended_by = e->sent; }
    else if (!e->spared) m->living++;
  }
}

void members_signal(Run *run, int sig, bool again) {
  bool holding = sig == SIGSTOP || sig == SIGCONT;
  for (size_t i = 0; i < run->members.n; i++) {
    Member *e = &run->members.at[i];
    if (e->gone || e->spared || (!again && !holding && e->sent == sig)) continue;
    if (sig == SIGSTOP && e->proc.state == 'T') continue;
    int failed = proc_signal(&e->proc, sig);
    if (sig == SIGTERM) proc_signal(&e->proc, SIGCONT); /* a stopped process would keep the TERM pending for ever */
    if (holding) continue;
    e->failed = failed == ESRCH ? 0 : failed;
    if (!failed) e->sent = sig;
  }
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
    text_add(t, ",\"ended_by\":\"%s\"}", by == -1 ? "cgroup.kill" : by ? signal_name(by) : "self");
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
