/* Ending a tree: SIGINT at once, SIGTERM+SIGCONT at half the grace, SIGKILL at the end of it, and a proof that nothing is
   left. The proofs, each by the kernel: `populated 0` where the run has a cgroup; for its owner ECHILD, or a look at its
   children that shows spared keepers only. An adopter without a cgroup, and a keeper
   that the kernel gives no orphans, have two empty searches of all processes: evidence, "scan". */
#include "keeper.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

enum { STUCK_MS = 3000, KILL_AGAIN_MS = 20, ROOMY = 16 };
#define GRACE_MAX (7 * 24 * 3600 * INT64_C(1000))

void drain_begin(Run *run, int64_t grace_ms) {
  int64_t now = mono_ms();
  grace_ms = grace_ms < 0 ? 0 : grace_ms > GRACE_MAX ? GRACE_MAX : grace_ms;
  if (run->draining) { /* a later, shorter grace shortens the stop */
    int64_t whole = now - run->drain_from + grace_ms;
    if (whole < run->drain_grace) run->drain_grace = whole;
    return;
  }
  members_collect(run, false);
  members_forget(&run->members); /* the report lists who was there from now on */
  run->draining = true;
  run->drain_from = now;
  run->drain_grace = grace_ms;
  run->empty_rounds = 0;
  hold_end(run);
  watch_end(run);
}

/* An inner keeper that could not leave our leaf must neither be killed nor frozen with it. */
static bool leaf_is_ours(const Run *run) {
  const Members *m = &run->members;
  for (size_t i = 0; run->cgroup.joined && m->spared && i < m->n; i++)
    if (m->at[i].spared && !m->at[i].gone && cgroup_holds(&run->cgroup, m->at[i].proc.pid)) return false;
  return run->cgroup.joined;
}

static void tell_stuck(Run *run) {
  Text t = {0};
  char when[32];
  iso_time(wall_ms(), when);
  text_add(&t, "{\"since\":\"%s\",\"left\":[", when);
  size_t listed = 0;
  for (size_t i = 0; i < run->members.n && listed < 100; i++) {
    const Member *e = &run->members.at[i];
    if (e->gone || e->spared) continue;
    text_add(&t, "%s{\"pid\":%d,\"name\":", listed++ ? "," : "", (int)e->proc.pid);
    text_json(&t, e->proc.name);
    text_add(&t, ",\"uid\":%d,\"why\":\"%s\"}", (int)e->proc.uid,
             e->failed ? errno_name(e->failed) : e->proc.state == 'D' ? "uninterruptible" : "alive");
  }
  text_add(&t, "]}\n");
  fact_write(run, "stuck.json", &t);
  text_free(&t);
  run->stuck = true;
}

bool drain_is_empty(Run *run) {
  const Members *m = &run->members;
  if (m->living || (leaf_is_ours(run) && cgroup_populated(&run->cgroup))) { run->empty_rounds = 0; return false; }
  if (run->scans && !run->adopt && !run->main_ended) return false; /* our child: how it ended is still to be taken */
  if (!run->scans) {
    siginfo_t info;
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0 && errno == ECHILD) return true;
    /* Children are left. Only we take a child off the kernel's list, by reaping it, so a look at the list misses nobody
       but the orphan of one that died meanwhile: a look without a dead child in it, and with spared ones, is exact. */
    if (m->unsure || !m->spared) { run->empty_rounds = 0; return false; }
  }
  return ++run->empty_rounds >= 2;
}

static void kill_all(Run *run, int64_t now) {
  if (!run->kill_from) run->kill_from = now;
  bool leaf = leaf_is_ours(run);
  for (size_t i = 0; i < run->members.n; i++) {
    Member *e = &run->members.at[i];
    if (leaf && !e->gone && !e->spared && e->sent != SIGKILL && cgroup_holds(&run->cgroup, e->proc.pid)) e->sent = BY_CGROUP;
  }
  if (leaf) cgroup_write(run->cgroup.kill, "1"); /* all at once: nobody can fork away */
  /* One by one: those not in a leaf; after a while all, for cgroup.kill passes over a process whose first thread has ended. */
  members_signal(run, SIGKILL, run->members.round, now - run->kill_from > KILL_AGAIN_MS);
  if (now - run->kill_from > STUCK_MS && !run->stuck) tell_stuck(run);
}

bool drain_step(Run *run) {
  members_collect(run, run->level == 0);
  if (run->scans && !run->members.living) members_collect(run, true); /* only a whole search may say that nobody is left */
  if (drain_is_empty(run)) return true;
  int64_t now = mono_ms(), passed = now - run->drain_from;
  int level = passed >= run->drain_grace ? 3 : passed >= run->drain_grace / 2 ? 2 : 1;
  if (level > run->level) {
    run->level = level;
    run->level_round = run->members.round;
  }
  /* While the main process cleans up, what it starts (a hook, a git command) is part of that, until the next level. */
  unsigned before = run->main_ended ? run->members.round : run->level_round;
  if (run->level == 1) members_signal(run, SIGINT, before, false);
  else if (run->level == 2) members_signal(run, SIGTERM, before, false);
  else kill_all(run, now);
  return false;
}

int drain_timeout(const Run *run) {
  int64_t passed = mono_ms() - run->drain_from;
  if (run->stuck) return TICK_MAX;
  if (run->level == 0) return 0;
  if (!run->members.living) return run->scans ? 20 : 1; /* a proof is near */
  if (run->level >= 3) return run->scans ? 10 : 2;
  int64_t next = (run->level < 2 ? run->drain_grace / 2 : run->drain_grace) - passed;
  int64_t look = passed < 200 ? 20 : passed < 1000 ? 50 : 100; /* children of ours wake us; others are looked for */
  return (int)(next < 0 ? 0 : next < look ? next : look);
}

/* ---- a nearly full disk ---- */
static int64_t free_bytes(const Run *run) {
  struct statvfs v;
  if (!run->log.open || fstatvfs(run->log.out.fd, &v) < 0) return INT64_MAX;
  return (int64_t)v.f_bavail * (int64_t)v.f_frsize;
}

static void set_still(Run *run, bool still) {
  members_collect(run, !run->held);
  bool leaf = leaf_is_ours(run);
  if (run->cgroup.joined && (leaf || !still)) cgroup_write(run->cgroup.freeze, still ? "1" : "0");
  for (size_t i = 0; i < run->members.n; i++) {
    const Member *e = &run->members.at[i];
    if (e->gone || e->spared || (still && (e->proc.state == 'T' || (leaf && cgroup_holds(&run->cgroup, e->proc.pid))))) continue;
    proc_signal(&e->proc, still ? SIGSTOP : SIGCONT);
  }
}

void hold_end(Run *run) {
  if (!run->held) return;
  set_still(run, false);
  run->held = NULL;
  fact_remove(run, "hold.json");
  event_append(run, "agent.resumed", "goes on");
}

/* Below the floor the tree stands still before the disk is full: nothing it prints is lost, and it goes on by itself. */
void hold_check(Run *run) {
  run->roomy = run->disk_floor <= 0;
  if (run->draining || run->main_ended || (run->disk_floor <= 0 && !run->held)) return;
  int64_t room = free_bytes(run);
  run->roomy = run->roomy || room / ROOMY >= run->disk_floor; /* else an agent could fill it between two looks of a silent keeper */
  if (!run->held && room >= run->disk_floor) return;
  if (!run->held && run->stop_on_disk) {
    run->limit = "disk";
    drain_begin(run, run->grace_ms);
    return;
  }
  if (run->held && room >= run->disk_floor + run->disk_floor / 4) { hold_end(run); return; }
  for (int i = 0; i < 3; i++) set_still(run, true); /* one may fork between; looked at again at every tick */
  if (run->held) return;
  run->held = "disk";
  char since[32];
  iso_time(wall_ms(), since);
  Text t = {0};
  text_add(&t, "{\"why\":\"disk\",\"since\":\"%s\"}\n", since);
  fact_write(run, "hold.json", &t);
  text_free(&t);
  event_append(run, "agent.held", "the disk is nearly full; goes on when there is room");
}
