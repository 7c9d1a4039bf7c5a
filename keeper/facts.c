/* The run folder. A fact is kept in memory until it is on disk: a full disk delays it, a deleted folder is made again. */
#include "keeper.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

Fact *fact_of(Run *run, const char *name) {
  for (size_t i = 0; i < run->n_facts; i++) if (strcmp(run->facts[i].name, name) == 0) return &run->facts[i];
  if (run->n_facts == FACTS) abort(); /* one more name than the header knows of */
  Fact *f = &run->facts[run->n_facts++];
  snprintf(f->name, sizeof f->name, "%s", name);
  return f;
}

enum { PIECE = 16 * 1024, KEPT_MAX = 8 << 20 };

/* A piece at a time: what is given back is free for everybody, and the agent or the registry may take it first. */
static bool give_ballast(Run *run) {
  struct stat st;
  int fd = openat(run->dir_fd, "ballast", O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
  bool gave = fd >= 0 && fstat(fd, &st) == 0 && st.st_size > PIECE && ftruncate(fd, st.st_size - PIECE) == 0;
  if (fd >= 0) close(fd);
  return gave || unlinkat(run->dir_fd, "ballast", 0) == 0; /* the last piece gives an inode too */
}

static bool stamp_of(const Run *run, const char *name, Stamp *out) {
  struct stat st;
  memset(out, 0, sizeof *out);
  if (fstatat(run->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) return false;
  *out = (Stamp){st.st_dev, st.st_ino, (int64_t)st.st_size, changed_ns(&st)};
  return true;
}

static bool same_stamp(const Stamp *a, const Stamp *b) { return a->dev == b->dev && a->ino == b->ino && a->size == b->size && a->changed == b->changed; }

static bool store(Run *run, Fact *f) {
  do if (replace_file(run->dir_fd, f->name, f->text.at, f->text.len) == 0) return stamp_of(run, f->name, &f->stamp);
  while ((errno == ENOSPC || errno == EDQUOT) && give_ballast(run));
  return false;
}

void fact_known(Run *run, const char *name) { stamp_of(run, name, &fact_of(run, name)->stamp); }

void fact_write(Run *run, const char *name, const Text *text) {
  Fact *f = fact_of(run, name);
  text_clear(&f->text);
  text_bytes(&f->text, text->at, text->len);
  f->absent = false;
  f->dirty = !store(run, f);
}

void fact_remove(Run *run, const char *name) {
  Fact *f = fact_of(run, name);
  f->absent = true;
  f->dirty = false;
  unlinkat(run->dir_fd, name, 0);
}

void facts_flush(Run *run, bool all) {
  for (;;) {
    bool clean = true;
    for (size_t i = 0; i < run->n_facts; i++) {
      Fact *f = &run->facts[i];
      if (f->dirty && store(run, f)) f->dirty = false;
      clean = clean && !f->dirty;
    }
    if (clean || !all) return;
    poll(NULL, 0, TICK_MAX);
    log_guard(run);
    facts_guard(run);
    if (run->log.open) log_follow(run, true);
  }
}

/* Open descriptors, not copies: a deleted file's content stays readable, and a long prompt takes no memory of ours. */
void kept_load(Run *run) {
  run->kept = must(calloc(run->keeps.n + 1, sizeof *run->kept));
  for (size_t i = 0; i < run->keeps.n; i++)
    run->kept[i] = open(run->keeps.at[i], O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
}

static void remake_kept(Run *run, size_t i) {
  struct stat st;
  if (run->kept[i] < 0 || lstat(run->keeps.at[i], &st) == 0) return;
  const char *name;
  int dir = open_parent(run->root, run->keeps.at[i], true, &name);
  if (dir < 0) return;
  copy_file(dir, name, run->kept[i], KEPT_MAX);
  close(dir);
}

static void tell_forged(Run *run, Fact *f, const char *what) {
  char text[160];
  snprintf(text, sizeof text, "%.*s: %s %s", (int)(strrchr(run->name, '.') - run->name), run->name, f->name, what);
  if (!f->told) event_append(run, "error", text);
  f->told = true;
}

/* Of the facts that nobody but us writes: one that is gone or changed is written again, one that cannot be there is removed. */
static bool has_own_facts(Run *run) {
  static const char *const ours[] = {"exit.json", "hold.json", "stuck.json", "done.json", "cleanup.json"};
  bool all = true;
  for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
    Fact *f = fact_of(run, ours[i]);
    if (!f->text.len) f->absent = true;
  }
  for (size_t i = 0; i < run->n_facts; i++) {
    Fact *f = &run->facts[i];
    Stamp now;
    bool there = stamp_of(run, f->name, &now);
    if (f->absent && there && !(run->adopt && strcmp(f->name, "cleanup.json") == 0)) {
      unlinkat(run->dir_fd, f->name, 0);
      tell_forged(run, f, "was written by somebody else while its keeper lives, and is removed");
    } else if (!f->absent && !f->dirty && !(there && same_stamp(&now, &f->stamp))) {
      if (there) tell_forged(run, f, "was changed by somebody else while its keeper lives, and is written again");
      f->dirty = true;
      all = false;
    }
  }
  return all;
}

/* The folder may be gone, or be there still with some of its files gone: a deletion that a write of ours came in the way of. */
void facts_guard(Run *run) {
  for (size_t i = 0; i < run->keeps.n; i++) remake_kept(run, i);
  bool there = same_file(run->dir, run->dir_fd);
  if (there && has_own_facts(run)) return;
  char inside[4200];
  snprintf(inside, sizeof inside, "%s/x", run->dir);
  int fd = there ? -1 : open_parent(run->root, inside, true, NULL);
  if (fd >= 0) { close(run->dir_fd); run->dir_fd = fd; run->restored++; }
  for (size_t i = 0; i < run->n_facts && !there; i++) run->facts[i].dirty = !run->facts[i].absent;
  facts_flush(run, false);
}

/* The journal is told, never waited for. */
void event_append(Run *run, const char *type, const char *content) {
  if (!run->events) return;
  const char *name;
  int dir = open_parent(run->root, run->events, true, &name);
  if (dir < 0) return;
  unsigned char r[10];
  if (!fill_random(r, sizeof r)) memset(r, 0, sizeof r);
  int64_t ms = wall_ms();
  char when[32], agent[80];
  iso_time(ms, when);
  snprintf(agent, sizeof agent, "%.*s", (int)(strrchr(run->name, '.') - run->name), run->name);
  Text t = {0};
  text_add(&t, "{\"v\":1,\"id\":\"%08x-%04x-7%03x-%02x%02x-%02x%02x%02x%02x%02x%02x\",\"interaction\":0,\"actor\":\"midwatch\",\"type\":\"%s\",\"content\":",
           (unsigned)(ms >> 16), (unsigned)(ms & 0xffff), (unsigned)((r[0] << 4 | r[1] >> 4) & 0xfff), 0x80 | (r[2] & 0x3f), r[3], r[4], r[5], r[6], r[7], r[8], r[9], type);
  text_json(&t, content);
  text_add(&t, ",\"timestamp\":\"%s\",\"agent\":\"%s\"}\n", when, agent);
  append_line(dir, name, t.at, t.len);
  text_free(&t);
  close(dir);
}
