/* Ending a tree: SIGINT at once, SIGTERM+SIGCONT at half the grace, SIGKILL at the end of it, and a proof that nothing is
   left: no child but spared keepers (ECHILD), and `populated 0` where the run has a cgroup. */
#include "keeper.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STUCK_MS = 3000 };

void drain_begin(Run *run, int64_t grace_ms) {
  int64_t now = mono_ms();
  if (run->draining) { /* a later, shorter grace shortens the stop */
    int64_t left = run->drain_from + run->drain_grace - now;
    if (grace_ms >= left) return;
    run->drain_grace = now - run->drain_from + grace_ms;
    return;
  }
  members_forget(&run->members); /* the report lists who was there from now on */
  run->draining = true;
  run->level = 0;
  run->drain_from = now;
  run->drain_grace = grace_ms;
  run->empty_rounds = 0;
  hold_end(run);
}

static bool kill_by_cgroup(Run *run) {
  if (!run->cgroup.joined) return false;
  for (size_t i = 0; i < run->members.n; i++) {
    const Member *e = &run->members.at[i];
    if (!e->spared || e->gone) continue;
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/cgroup", (int)e->proc.pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = 0;
    if (strstr(text, strrchr(run->cgroup.path, '/'))) return false; /* a spared keeper sits in our leaf */
  }
  cgroup_write(run->cgroup.kill, "1");
  return true;
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

static bool is_empty(Run *run) {
  if (run->cgroup.joined && cgroup_populated(&run->cgroup) && run->members.living) return false;
  if (!run->adopt) {
    siginfo_t info;
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD) return true;
    /* Children are left. With nobody but spared keepers among them, two looks in a row with no death between prove it:
       the kernel's list of children may skip an entry only when a sibling ends while it is read. */
    if (run->members.living || run->reaped_since) { run->empty_rounds = 0; return false; }
    return ++run->empty_rounds >= 2;
  }
  if (run->members.living) { run->empty_rounds = 0; return false; }
  return ++run->empty_rounds >= 2;
}

bool drain_step(Run *run) {
  members_collect(run);
  if (is_empty(run)) return true;
  run->reaped_since = false;
  int64_t now = mono_ms(), passed = now - run->drain_from;
  int level = passed >= run->drain_grace ? 3 : passed >= run->drain_grace / 2 ? 2 : 1;
  if (level > run->level) run->level = level;
  if (run->level == 1) members_signal(run, SIGINT, false);
  else if (run->level == 2) members_signal(run, SIGTERM, false);
  else if (run->members.living) {
    if (!run->kill_from) run->kill_from = now;
    if (kill_by_cgroup(run)) {
      for (size_t i = 0; i < run->members.n; i++)
        if (!run->members.at[i].gone && !run->members.at[i].spared) run->members.at[i].sent = -1;
      if (!cgroup_populated(&run->cgroup)) members_collect(run);
      if (run->members.living && now - run->kill_from > 50) members_signal(run, SIGKILL, true); /* moved out of the leaf */
    } else members_signal(run, SIGKILL, true);
    if (now - run->kill_from > STUCK_MS && !run->stuck) tell_stuck(run);
  }
  return false;
}

int drain_timeout(const Run *run) {
  int64_t passed = mono_ms() - run->drain_from;
  if (run->empty_rounds) return run->adopt ? 20 : 1;
  if (run->level >= 3) return run->stuck ? 250 : run->adopt ? 10 : 2;
  int64_t next = (run->level < 2 ? run->drain_grace / 2 : run->drain_grace) - passed;
  int64_t look = passed < 200 ? 20 : passed < 1000 ? 50 : 100; /* children of ours wake us; others are looked for */
  return (int)(next < 0 ? 0 : next < look ? next : look);
}

static int64_t free_bytes(const Run *run) {
  struct statvfs v;
  if (fstatvfs(run->log.out.fd, &v) < 0) return INT64_MAX;
  return (int64_t)v.f_bavail * (int64_t)v.f_frsize;
}

void hold_end(Run *run) {
  if (!run->held) return;
  if (run->cgroup.joined) cgroup_write(run->cgroup.freeze, "0");
  else { members_collect(run); members_signal(run, SIGCONT, true); }
  run->held = NULL;
  fact_remove(run, "hold.json");
  event_append(run, "agent.resumed", "goes on");
}

/* Below the floor the tree stands still before the disk is full: nothing it prints is lost, and it goes on by itself. */
void hold_check(Run *run) {
  if (run->draining || run->main_ended || run->disk_floor <= 0) return;
  int64_t room = free_bytes(run);
  if (!run->held && room >= run->disk_floor) return;
  if (!run->held && run->stop_on_disk) {
    run->limit = "disk";
    drain_begin(run, run->grace_ms);
    return;
  }
  if (run->held && room >= run->disk_floor + run->disk_floor / 4) { hold_end(run); return; }
  if (run->cgroup.joined) cgroup_write(run->cgroup.freeze, "1");
  else for (int i = 0; i < 3; i++) { members_collect(run); members_signal(run, SIGSTOP, true); } /* one may fork between */
  if (run->held) return;
  run->held = "disk";
  iso_time(wall_ms(), run->held_since);
  Text t = {0};
  text_add(&t, "{\"why\":\"disk\",\"since\":\"%s\"}\n", run->held_since);
  fact_write(run, "hold.json", &t);
  text_free(&t);
  event_append(run, "agent.held", "the disk is nearly full; goes on when there is room");
}
