/* Follows the output files by timer: index, fdatasync, and a new file when the old one was deleted under us. The agent
   writes to its inherited descriptor; nothing here stands between it and the kernel. */
#include "keeper.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 4096, CHUNK = 64 * 1024, ENTRY = 32, ENTRY_LINES = 1024, ENTRY_BYTES = 1 << 20, ENTRY_MS = 100 };
enum { SYNC_MS = 250, SYNC_BYTES = 16 << 20 };
/* A tick never takes long: a stop may be waiting. While the agent prints faster than most disks take it, we lag behind rather
   than take a core from it; what it leaves is read when it rests. */
enum { BUDGET = 64 << 20, BUDGET_BESIDE = 8 << 20 };
static _Alignas(4096) unsigned char chunk[CHUNK];

static int open_output(Run *run, const char *path, bool exclusive) {
  const char *name;
  int dir = open_parent(run->root, path, true, &name);
  if (dir < 0) return -1;
  int flags = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | (run->sync_always ? O_DSYNC : 0);
  int fd = openat(dir, name, exclusive ? flags | O_EXCL : flags, 0600);
  int saved = errno;
  close(dir);
  errno = saved;
  return fd;
}

/* The file was deleted or renamed before we took over: the agent still writes to it, and the kernel knows what its name is or was.
   Whoever renames a log (rotation) adds to its name; an agent that has sent its output elsewhere is not followed there. */
static void find_moved(const Run *run, Output *o, int descriptor) {
  char proc[64], link[4200];
  struct stat st, there;
  snprintf(proc, sizeof proc, "/proc/%d/fd/%d", (int)run->main.pid, descriptor);
  ssize_t n = run->main.pid > 0 ? readlink(proc, link, sizeof link - 1) : -1;
  if (n < 0) return;
  link[n] = 0;
  const char *base = strrchr(link, '/'), *own = strrchr(o->path, '/');
  if (!base || strncmp(base, own, (size_t)(strrchr(own, '.') - own)) != 0) return;
  int fd = open(proc, O_RDWR | O_APPEND | O_CLOEXEC);
  if (fd < 0) return;
  bool ours = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && fstat(o->fd, &there) == 0 && (st.st_ino != there.st_ino || st.st_dev != there.st_dev);
  if (!ours || (!st.st_nlink && there.st_size > st.st_size)) { close(fd); return; }
  if (st.st_nlink) close(o->fd); /* it has its name back at the next tick */
  else {
    o->mirror = o->fd;
    o->mirrored = there.st_size;
  }
  o->fd = fd;
}

static void index_afresh(Log *log) {
  if (ftruncate(log->idx, 0) < 0) {}
  log->seen = log->lines = log->line_at = log->entry_lines = log->entry_at = log->idx_size = 0;
  log->crc = log->crc_line = 0;
}

/* Somebody took away what was in the log (copy + truncate): all that is sure is how much of it we had seen. */
static void note_cut(Log *log, int64_t bytes) {
  log->cuts++;
  log->cut_bytes += bytes;
}

static size_t read_mark(const Log *log, unsigned char mark[LOG_MARK]) {
  size_t n = log->seen < LOG_MARK ? (size_t)log->seen : LOG_MARK;
  ssize_t got = n ? pread(log->out.fd, mark, n, (off_t)(log->seen - (int64_t)n)) : 0;
  return got < 0 ? 0 : (size_t)got;
}

/* Cut, and grown again past the place to which we had come: other bytes are before it now. */
static bool is_changed(const Log *log) {
  unsigned char now[LOG_MARK];
  size_t n = read_mark(log, now);
  return n != log->mark_n || memcmp(now, log->mark, n) != 0;
}

static void resume_index(Log *log) {
  struct stat st, out;
  uint64_t entry[4];
  char last;
  if (fstat(log->idx, &st) < 0 || fstat(log->out.fd, &out) < 0) return;
  int64_t whole = st.st_size / ENTRY * ENTRY;
  if (!whole || ftruncate(log->idx, whole) < 0 || pread(log->idx, entry, ENTRY, whole - ENTRY) != ENTRY ||
      (int64_t)entry[1] > out.st_size || pread(log->out.fd, &last, 1, (off_t)entry[1] - 1) != 1 || last != '\n') {
    if (whole) note_cut(log, (int64_t)entry[1]);
    index_afresh(log);
    return;
  }
  log->idx_size = whole;
  log->lines = log->entry_lines = (int64_t)entry[0];
  log->seen = log->line_at = log->entry_at = (int64_t)entry[1];
  log->mark_n = read_mark(log, log->mark);
}

static bool open_files(Run *run, bool fresh) {
  Log *log = &run->log;
  log->out.mirror = log->err.mirror = log->out.fd = log->err.fd = log->idx = -1;
  if ((log->out.fd = open_output(run, log->out.path, fresh)) >= 0 && (log->err.fd = open_output(run, log->err.path, fresh)) >= 0 &&
      (log->idx = open_output(run, log->idx_path, fresh)) >= 0 && (flock(log->idx, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)) return true;
  int saved = errno, *const opened[] = {&log->out.fd, &log->err.fd, &log->idx};
  for (int i = 0; i < 3; i++) if (*opened[i] >= 0) close(*opened[i]);
  errno = saved;
  return false;
}

bool log_open(Run *run) {
  Log *log = &run->log;
  bool fresh = !run->adopt; /* never another run's file */
  if (!open_files(run, fresh)) return false; /* EWOULDBLOCK: another keeper's, that of a later run or one that is still ending */
  log->open = true;
  if (fresh) return !run->first_line || write_all(log->out.fd, run->first_line, strlen(run->first_line)) == 0;
  find_moved(run, &log->out, 1);
  find_moved(run, &log->err, 2);
  log->mirrored = log->out.mirror >= 0 || log->err.mirror >= 0;
  resume_index(log);
  return true;
}

/* With a description shared between us the agent's short writes took 2-6 % longer, probably for the kernel's lock on its
   position: we open the files once more for ourselves and leave the first description to the agent. */
void log_own_description(Log *log) {
  Output *const both[] = {&log->out, &log->err};
  for (int i = 0; i < 2; i++) {
    char path[32];
    snprintf(path, sizeof path, "/proc/self/fd/%d", both[i]->fd);
    int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOATIME);
    if (fd < 0) continue;
    close(both[i]->fd);
    both[i]->fd = fd;
  }
}

static void add_entry(Log *log, int64_t now) {
  uint64_t entry[4] = {(uint64_t)log->lines, (uint64_t)log->line_at, (uint64_t)now, log->crc_line};
  if (write_all(log->idx, entry, ENTRY) < 0) { /* a short write must not shift all later entries */
    struct stat st;
    if (fstat(log->idx, &st) == 0 && ftruncate(log->idx, st.st_size / ENTRY * ENTRY) < 0) {}
    return;
  }
  log->idx_size += ENTRY;
  log->entry_lines = log->lines;
  log->entry_at = log->line_at;
  log->entry_mono = mono_ms();
  log->crc = crc32c_of_tail(log->crc, log->crc_line, (uint64_t)(log->seen - log->line_at));
}

static inline __attribute__((always_inline)) unsigned newlines_in(const unsigned char *p, size_t n) {
  unsigned total = 0;
  while (n) { /* byte counters in short blocks: the compiler turns this into vector code */
    size_t part = n < 240 ? n : 240;
    unsigned char c = 0;
    for (size_t i = 0; i < part; i++) c += p[i] == '\n';
    total += c;
    p += part;
    n -= part;
  }
  return total;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static unsigned newlines_by_avx2(const unsigned char *p, size_t n) { return newlines_in(p, n); }
#endif

static unsigned count_newlines(const unsigned char *p, size_t n) {
#if defined(__x86_64__)
  if (cpu_can(CPU_AVX2)) return newlines_by_avx2(p, n);
#endif
  return newlines_in(p, n);
}

static void advance(Log *log, const unsigned char *p, size_t n, unsigned newlines) {
  const unsigned char *last = newlines ? memrchr(p, '\n', n) : NULL;
  size_t head = last ? (size_t)(last - p) + 1 : 0;
  if (last) {
    log->crc = log->crc_line = crc32c(log->crc, p, head);
    log->line_at = log->seen + (int64_t)head;
    log->lines += newlines;
  }
  log->crc = crc32c(log->crc, p + head, n - head);
  log->seen += (int64_t)n;
}

static void consume(Log *log, const unsigned char *p, size_t n, int64_t now) {
  while (n) {
    size_t part = n < BLOCK ? n : BLOCK;
    unsigned newlines = count_newlines(p, part);
    int64_t wanted = ENTRY_LINES - (log->lines - log->entry_lines);
    bool far = log->seen + (int64_t)part - log->entry_at >= ENTRY_BYTES;
    if (newlines && (newlines >= wanted || far)) { /* cut the block just behind the line that makes the entry due */
      const unsigned char *at = p;
      for (int64_t k = 1; (at = (const unsigned char *)memchr(at, '\n', (size_t)(p + part - at)) + 1), true; k++)
        if (k == wanted || (far && log->seen + (at - p) - log->entry_at >= ENTRY_BYTES) || k == newlines) { newlines = (unsigned)k; break; }
      part = (size_t)(at - p);
      advance(log, p, part, newlines);
      if (log->lines - log->entry_lines >= ENTRY_LINES || log->line_at - log->entry_at >= ENTRY_BYTES) add_entry(log, now);
    } else {
      advance(log, p, part, newlines);
    }
    p += part;
    n -= part;
  }
}

/* True when the mirror holds everything. */
static bool copy_to_mirror(Output *o, int64_t budget) {
  struct stat st;
  if (o->mirror < 0) return true;
  if (fstat(o->mirror, &st) == 0 && st.st_size != o->mirrored && ftruncate(o->mirror, 0) == 0) o->mirrored = 0; /* only we write to it: copied again */
  if (fstat(o->fd, &st) < 0) return true;
  while (o->mirrored < st.st_size && budget > 0) {
    ssize_t n = pread(o->fd, chunk, CHUNK, o->mirrored);
    if (n <= 0) break;
    ssize_t w = write(o->mirror, chunk, (size_t)n); /* a short write is taken up at the next tick */
    if (w <= 0) break;
    o->mirrored += w;
    budget -= w;
  }
  return o->mirrored >= st.st_size;
}

/* fdatasync may take a second on a busy disk; in its own thread it delays no exit fact and no stop. */
static struct { pthread_mutex_t lock; pthread_cond_t wake; pthread_t thread; int fd[2], failed; bool busy, over; int64_t rested_ms; } syncer = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

/* 0, or the first error. The kernel tells an error once and takes the pages for clean after that, so none may be dropped. */
static int sync_both(int out, int err) {
  int failed = fdatasync(out) < 0 ? errno : 0;
  return fdatasync(err) < 0 && !failed ? errno : failed;
}

static void *sync_loop(void *unused) {
  (void)unused;
  pthread_mutex_lock(&syncer.lock);
  for (;;) {
    while (!syncer.busy && !syncer.over) pthread_cond_wait(&syncer.wake, &syncer.lock);
    if (!syncer.busy) break;
    int out = syncer.fd[0], err = syncer.fd[1];
    pthread_mutex_unlock(&syncer.lock);
    int failed = sync_both(out, err);
    pthread_mutex_lock(&syncer.lock);
    if (!syncer.failed) syncer.failed = failed;
    syncer.busy = false;
    syncer.rested_ms = mono_ms() + TICK_MIN;
  }
  pthread_mutex_unlock(&syncer.lock);
  return NULL;
}

void log_sync_start(Run *run) {
  if (run->sync_none || run->sync_always) return;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 * 1024);
  run->log.sync = pthread_create(&syncer.thread, &attributes, sync_loop, NULL) == 0;
  pthread_attr_destroy(&attributes);
}

/* Before the last fact: a thread that outlives the first one keeps log and locks open while the process counts as dead. */
void log_sync_end(Run *run) {
  if (!run->log.sync) return;
  pthread_mutex_lock(&syncer.lock);
  syncer.over = true;
  pthread_cond_signal(&syncer.wake);
  pthread_mutex_unlock(&syncer.lock);
  pthread_join(syncer.thread, NULL);
  run->log.sync = false;
}

int log_sync_failed(void) {
  pthread_mutex_lock(&syncer.lock);
  int failed = syncer.failed;
  pthread_mutex_unlock(&syncer.lock);
  return failed;
}

static void sync_when_due(Log *log, int64_t now) {
  int64_t size = log->out.size + log->err.size, grown = size - log->synced_size;
  if (!log->sync || grown <= 0 || (grown < SYNC_BYTES && now - log->synced_ms < SYNC_MS)) return;
  pthread_mutex_lock(&syncer.lock);
  if (!syncer.busy && now >= syncer.rested_ms) { /* one sync on the heels of the other would keep the agent from writing */
    log->synced_size = size;
    log->synced_ms = now;
    syncer.fd[0] = log->out.mirror >= 0 ? log->out.mirror : log->out.fd;
    syncer.fd[1] = log->err.mirror >= 0 ? log->err.mirror : log->err.fd;
    syncer.busy = true;
    pthread_cond_signal(&syncer.wake);
  }
  pthread_mutex_unlock(&syncer.lock);
}

bool log_follow(Run *run, bool whole) {
  Log *log = &run->log;
  struct stat out, err;
  if (!log->open || fstat(log->out.fd, &out) < 0 || fstat(log->err.fd, &err) < 0) return false;
  bool grew = out.st_size > log->out.size || err.st_size > log->err.size;
  bool cut = out.st_size < log->out.size || (out.st_size > log->seen && is_changed(log));
  if (cut) { /* what is there now is indexed anew */
    note_cut(log, log->out.size);
    index_afresh(log);
  }
  if (err.st_size < log->err.size) note_cut(log, log->err.size);
  if (cut || err.st_size < log->err.size) log->synced_size = 0;
  log->out.size = out.st_size;
  log->err.size = err.st_size;
  int64_t now = wall_ms();
  int64_t budget = whole ? INT64_MAX : grew ? BUDGET_BESIDE : BUDGET;
  while (log->seen < out.st_size && budget > 0) {
    int64_t left = out.st_size - log->seen;
    ssize_t n = pread(log->out.fd, chunk, left < CHUNK ? (size_t)left : CHUNK, log->seen);
    if (n <= 0) break;
    consume(log, chunk, (size_t)n, now);
    budget -= n;
  }
  if (grew || cut) log->mark_n = read_mark(log, log->mark);
  if (log->line_at > log->entry_at && (whole || mono_ms() - log->entry_mono >= ENTRY_MS)) add_entry(log, now);
  bool copied = copy_to_mirror(&log->out, whole ? INT64_MAX : BUDGET);
  copied = copy_to_mirror(&log->err, whole ? INT64_MAX : BUDGET) && copied;
  sync_when_due(log, mono_ms());
  return grew || log->seen < out.st_size || !copied;
}

bool log_finish(Run *run) {
  Log *log = &run->log;
  log_follow(run, true);
  if (!copy_to_mirror(&log->out, INT64_MAX) || !copy_to_mirror(&log->err, INT64_MAX)) return false;
  if (run->sync_none) return true;
  int failed = sync_both(log->out.mirror >= 0 ? log->out.mirror : log->out.fd, log->err.mirror >= 0 ? log->err.mirror : log->err.fd);
  if (!syncer.failed) syncer.failed = failed;
  return true;
}

/* Makes the name free. What has something in it is somebody's: it gets another name, nothing is overwritten. */
static void free_name(int dir, const char *name) {
  struct stat st;
  char aside[300];
  if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) return;
  if (S_ISREG(st.st_mode) && !st.st_size) { unlinkat(dir, name, 0); return; }
  snprintf(aside, sizeof aside, "%s.other.%lld", name, (long long)wall_ms());
  if (faccessat(dir, aside, F_OK, AT_SYMLINK_NOFOLLOW) < 0) renameat(dir, name, dir, aside);
}

/* Another file is at our name (rotation by rename + create). Ours, which has another one now, gets its own again: nothing is copied,
   and whoever has it open reads on. A name that is missing we leave free: whoever is about to make a file there may empty what he
   finds, and would empty both. False: a copy is needed. */
static bool take_name(Run *run, const char *path, int fd) {
  const char *name;
  char proc[32];
  struct stat st;
  int dir = open_parent(run->root, path, true, &name);
  if (dir < 0) return false;
  bool taken = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
  if (taken) free_name(dir, name);
  snprintf(proc, sizeof proc, "/proc/self/fd/%d", fd);
  taken = taken && linkat(AT_FDCWD, proc, dir, name, AT_SYMLINK_FOLLOW) == 0;
  close(dir);
  return taken;
}

static void put_back(Run *run, Output *o) {
  int current = o->mirror >= 0 ? o->mirror : o->fd;
  if (same_file(o->path, current)) return;
  if (take_name(run, o->path, current)) { run->restored++; return; }
  int fd = open_output(run, o->path, true);
  if (fd < 0) return;
  if (o->mirror < 0) o->mirror = fd;
  else { dup3(fd, o->mirror, O_CLOEXEC); close(fd); } /* the number stays: the sync thread may be using it */
  o->mirrored = 0; /* filled by log_follow */
  run->log.mirrored = true;
  run->restored++;
}

static void put_back_index(Run *run) {
  Log *log = &run->log;
  struct stat st;
  if (same_file(log->idx_path, log->idx)) {
    if (fstat(log->idx, &st) == 0 && st.st_size < log->idx_size) index_afresh(log);
    return;
  }
  if (take_name(run, log->idx_path, log->idx)) return;
  int fd = open_output(run, log->idx_path, true);
  if (fd < 0) return;
  flock(fd, LOCK_EX | LOCK_NB);
  bool ok = true;
  for (int64_t at = 0, n; ok && (n = pread(log->idx, chunk, CHUNK, at)) > 0; at += n) ok = write_all(fd, chunk, (size_t)n) == 0;
  if (ok) { close(log->idx); log->idx = fd; return; }
  remove_file(run->root, log->idx_path); /* half an index would be wrong; again at the next tick */
  close(fd);
}

/* Each once: the rest is in done.json. Not while things still go: a folder that is being deleted takes the journal with it. */
static void tell(Run *run, bool moves) {
  Log *log = &run->log;
  char text[256];
  int n = (int)(strrchr(run->name, '.') - run->name);
  if (run->restored && !run->restored_told && !moves) {
    snprintf(text, sizeof text, "%.*s: its log or its folder was moved or deleted while it ran, and was put back; nothing is missing", n, run->name);
    event_append(run, "agent.restored", text);
    run->restored_told = true;
  }
  if (log->cuts && !log->cut_told) {
    snprintf(text, sizeof text, "%.*s: its log was cut while it ran: %lld bytes are no longer in it, and perhaps some that were printed just before", n, run->name, (long long)log->cut_bytes);
    event_append(run, "agent.cut", text);
    log->cut_told = true;
  }
}

void log_guard(Run *run) {
  Log *log = &run->log;
  if (!log->open) return;
  int before = run->restored;
  put_back(run, &log->out);
  put_back(run, &log->err);
  put_back_index(run);
  tell(run, run->restored != before);
}
