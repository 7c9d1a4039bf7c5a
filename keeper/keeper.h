/* midwatch keeper: the process that owns one run. docs/formats.md is the contract of everything it writes. */
#ifndef KEEPER_H
#define KEEPER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- text.c: growing text, JSON pieces, clocks ---- */
typedef struct { char *at; size_t len, cap; } Text;
void text_add(Text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_bytes(Text *t, const void *bytes, size_t n);
void text_json(Text *t, const char *s);       /* a quoted JSON string, or null */
void text_clear(Text *t);
void text_free(Text *t);
typedef struct { char **at; size_t n; } List;
void list_add(List *l, const char *s);
int64_t json_int(const char *json, const char *key, int64_t otherwise); /* our own facts only: finds "key":N */
bool json_has(const char *json, const char *key, const char *value);    /* finds "key":"value" */
int64_t mono_ms(void);
int64_t wall_ms(void);
void iso_time(int64_t ms, char out[32]);
const char *signal_name(int sig);
const char *errno_name(int e);
void *must(void *p); /* out of memory ends the program */

/* ---- files.c: descriptors, never a followed link below the workspace ---- */
int write_all(int fd, const void *bytes, size_t n); /* 0, or -1 with errno; handles short writes */
int open_parent(const char *root, const char *path, bool make, const char **name); /* folder of path, walked below root */
char *read_small(int dir, const char *name, size_t limit); /* NUL-terminated copy or NULL */
int replace_file(int dir, const char *name, const char *bytes, size_t n); /* tmp, fsync, rename, fsync(dir) */
int64_t remove_tree(int dir, const char *name); /* bytes freed, -1 when something is left */
int lease_state(const char *path); /* 0 no writer, 1 a writer, -1 unknown */

/* ---- proc.c: who a process is ---- */
typedef struct { pid_t pid, parent; uint64_t start; char state; int threads; char name[16]; uid_t uid; } Proc;
bool proc_read(pid_t pid, Proc *out); /* uid is not filled in */
uid_t proc_uid(pid_t pid);
void proc_children(const Proc *p, void (*each)(void *, pid_t), void *context);
bool proc_holds(pid_t pid, const char *nonce); /* the nonce anywhere in its environment */
char *proc_run_name(pid_t pid, const char *root, const char *own_nonce, bool *keeper); /* run that owns it, or NULL */
int proc_signal(const Proc *p, int sig); /* verified and sent through a pidfd; errno on failure */
void proc_each(void (*each)(void *, pid_t), void *context);
void host_identity(char boot[64], char ns[32]);

/* ---- members.c: the processes of one run ---- */
typedef struct { Proc proc; int sent, failed; unsigned round; bool spared, gone; int ended_by; char *run; } Member;
typedef struct {
  Member *at; size_t n, cap; uint32_t *slot; size_t slots;
  unsigned round;
  size_t living;             /* not spared */
} Members;
typedef struct Run Run;
void members_collect(Run *run); /* a fresh look; entries not seen are gone */
void members_signal(Run *run, int sig, bool again);
void members_report(const Members *m, Text *t);
void members_forget(Members *m);
void members_reaped(Members *m, pid_t pid);
Member *members_find(Members *m, pid_t pid, uint64_t start);

/* ---- cgroup.c ---- */
typedef struct { char path[512]; int procs, events, kill, freeze; bool joined; } Cgroup;
bool cgroup_make(Cgroup *g, const char *nonce);
bool cgroup_open(Cgroup *g, const char *path);
bool cgroup_populated(const Cgroup *g);
void cgroup_each(const Cgroup *g, void (*each)(void *, pid_t), void *context);
void cgroup_write(int fd, const char *s);
void cgroup_remove(Cgroup *g);

/* ---- log.c: following one run's output ---- */
typedef struct { const char *path; int fd, mirror; int64_t size, mirrored; } Output;
typedef struct {
  Output out, err;
  int idx; const char *idx_path;
  int64_t seen, lines, line_at;              /* bytes read, newlines in them, offset behind the last newline */
  int64_t entry_lines, entry_at, entry_ms;   /* of the last index entry */
  uint32_t crc, crc_line, crc_tail;          /* since the entry; up to the last newline; since the last newline */
  bool mirrored;
  bool sync; int64_t synced_size, synced_ms;
} Log;
bool log_open(Run *run, bool adopt);
bool log_follow(Run *run, bool whole); /* true when it grew */
void log_finish(Run *run);
void log_guard(Run *run); /* remakes what was deleted */
void log_sync_start(Run *run);
uint32_t crc32c(uint32_t crc, const void *bytes, size_t n);

/* ---- run.c ---- */
typedef struct { char name[24]; Text text; bool dirty; bool absent; } Fact;
struct Run {
  const char *verb, *name, *nonce;
  const char *dir, *root, *cwd, *stdin_path, *first_line, *events;
  List args, env, removes, keeps;
  bool no_cgroup, sync_none, sync_always, stop_on_disk;
  int64_t grace_ms, output_limit, disk_floor;

  int dir_fd;
  Fact facts[8]; size_t n_facts;
  List kept_text;
  Members members; Cgroup cgroup; Log log;
  bool adopt;
  Proc self, main;
  uint64_t since;            /* start ticks before which nothing can be a member */
  char tmpdir[64]; bool tmpdir_made;
  bool started, main_ended, stop_requested;
  const char *limit;         /* "output", "disk" or NULL */
  bool draining, proven, stuck; int level; int64_t drain_from, drain_grace, kill_from;
  const char *held; char held_since[32];
  unsigned empty_rounds; bool reaped_since;
};
void fact_write(Run *run, const char *name, const Text *text);
void fact_remove(Run *run, const char *name);
void facts_flush(Run *run, bool all);
void event_append(Run *run, const char *type, const char *content);
int run_main(Run *run);
void drain_begin(Run *run, int64_t grace_ms);
bool drain_step(Run *run); /* true when proven empty */
int drain_timeout(const Run *run);
void hold_check(Run *run);
void hold_end(Run *run);
#endif
