/* midwatch keeper: the process that owns one run. docs/formats.md is the contract of everything it writes. */
#ifndef KEEPER_H
#define KEEPER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "platform.h"

enum { PROTOCOL = 2 }; /* of the orders and answers of main.c: src/process/keeper-binary.ts asks for the same */

/* ---- text.c: growing text, JSON pieces, clocks ---- */
typedef struct { char *at; size_t len, cap; } Text;
void text_add(Text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_bytes(Text *t, const void *bytes, size_t n);
void text_json(Text *t, const char *s);       /* a quoted JSON string, or null */
void text_clear(Text *t);
void text_free(Text *t);
typedef struct { char **at; size_t n; } List;
void list_add(List *l, const char *s);
void list_free(List *l);
int64_t json_int(const char *json, const char *key, int64_t otherwise); /* our own facts only: finds "key":N */
bool json_has(const char *json, const char *key, const char *value);    /* finds "key":"value" */
enum { NONCE = 32 };
bool is_nonce(const char *s); /* it becomes part of paths: nothing else may */
bool is_run_name(const char *s);
int64_t mono_ms(void); /* every deadline */
int64_t wall_ms(void); /* what is written down, nothing else: it jumps */
void iso_time(int64_t ms, char out[32]);
const char *signal_name(int sig);
const char *errno_name(int e);
void *must(void *p); /* out of memory ends the program */

/* ---- cpu.c ---- */
enum { CPU_ASKED = 1, CPU_CRC32C = 2, CPU_AVX2 = 4 };
bool cpu_can(unsigned what); /* on x86-64; elsewhere nothing of it */

/* ---- files.c: descriptors, never a followed link below the workspace ---- */
int write_all(int fd, const void *bytes, size_t n); /* 0, or -1 with errno; handles short writes */
int open_parent(const char *root, const char *path, bool make, const char **name); /* folder of path, walked below root */
char *read_small(int dir, const char *name, size_t limit); /* NUL-terminated copy of a plain file or NULL; what is longer is cut */
int copy_file(int dir, const char *name, int from, int64_t most); /* as replace_file; fails when there is more */
int replace_file(int dir, const char *name, const char *bytes, size_t n); /* tmp, fsync, rename, fsync(dir) */
int append_line(int dir, const char *name, const char *line, size_t n); /* one write; a torn tail is closed first */
int64_t remove_file(const char *root, const char *path); /* its size, -1 when it is not there or stays */
int64_t remove_tree(int dir, const char *name); /* bytes freed, -1 when something is left */
bool same_file(const char *path, int fd);
int lease_state(const char *path); /* 0 no writer, 1 a writer, -1 unknown */

/* ---- proc.c and platform_*.c: who a process is ---- */
#define KEEPER_NAME "midwatch-keeper"
typedef struct { pid_t pid, parent; uint64_t start; char state; int threads; char name[16]; uid_t uid; } Proc;
bool proc_read(pid_t pid, Proc *out); /* uid is not filled in; state Z or X means dead */
bool proc_is(pid_t pid, uint64_t start); /* alive, and still the same process */
bool proc_is_keeper(pid_t pid, uint64_t start, const char *nonce);
int proc_program(pid_t pid); /* the file that it executes, open for reading, or -1 */
bool proc_same_program(pid_t pid); /* it runs the program that we run */
void lineage_mark(const char *nonce);      /* for us and all that we start; kept through exec, environment and session */
int64_t lineage_of(pid_t pid); /* -1 where there is none other than ours, and of another user's process */
int64_t lineage_from(const char *nonce); /* what it is for all of this run */
uid_t proc_uid(pid_t pid);
void proc_children(const Proc *p, void (*each)(void *, pid_t), void *context);
char *proc_environ(pid_t pid, size_t most, size_t *n); /* of a longer one the beginning */
bool proc_cgroup(pid_t pid, char text[4096]); /* where it is, with the names of leaves in it */
bool proc_carries(pid_t pid, const char *nonce); /* anywhere in its environment, or in the name of its cgroup */
ssize_t proc_arguments(pid_t pid, char text[4096]); /* with NULs between, cut when they are longer */
char *proc_cwd(pid_t pid);
bool proc_predates(const Proc *p, uint64_t since); /* started earlier; false where start times cannot be compared */
char *proc_keeper_of(const Proc *p, const char *root, const char *own_nonce); /* the other run it keeps, or NULL */
bool proc_is_below_alike(const Proc *p, const char *root, const char *own_nonce); /* the next keeper above it is of another run with the same mark */
char *proc_member_of(pid_t pid, const char *root, const char *own_nonce); /* the other run whose nonce it carries, or NULL */
bool proc_is_kept(const Proc *p, const char *root, const char *name); /* by a living keeper of that run, which runs our program */
int64_t proc_age_ms(const Proc *p);
int proc_open(const Proc *p); /* readable when exactly this process ends (a pidfd), or -1 with errno */
int proc_signal(const Proc *p, int sig); /* verified first, and where it can be sent through a pidfd; errno on failure */
void proc_each(void (*each)(void *, pid_t), void *context);
void host_identity(char boot[64], char ns[32]);

/* ---- who.c ---- */
int who_verb(char **pids, size_t n);
int mentioned_verb(const char *text);

/* ---- members.c: the processes of one run ---- */
enum { BY_CGROUP = -1 }; /* in place of a signal */
typedef struct { Proc proc; int sent, failed; unsigned born, round; bool spared, gone; int ended_by; char *run; } Member;
typedef struct {
  Member *at; size_t n, cap; uint32_t *slot; size_t slots;
  unsigned round;
  size_t living, spared;
  bool unsure;               /* a child of ours was dead in the last look: it may have left one behind the reader */
} Members;
typedef struct Run Run;
void members_collect(Run *run, bool deep); /* a fresh look; entries not seen are gone. deep: who scans searches all processes */
void members_collect_from(Run *run, const pid_t *holders, size_t n); /* as deep, with the search done by the caller */
void members_signal(Run *run, int sig, unsigned before, bool again); /* those first seen in round `before` or earlier */
void members_report(const Members *m, Text *t);
size_t members_doubts(Run *run, const pid_t *kin, size_t n, Text *t); /* who may belong to the run and is not signalled, as JSON; how many. kin: who is of its lineage, NULL: to be searched for */
bool members_remember(Run *run); /* the file `members`, for whoever has to go on after us; true when it changed */
void members_forget(Members *m); /* those who are gone */
void members_free(Members *m);
void members_reaped(Members *m, pid_t pid);

/* ---- cgroup.c ---- */
typedef struct { char path[512]; int procs, events, kill, freeze; bool made, joined; } Cgroup;
void cgroup_leave_outer(void);
bool cgroup_make(Cgroup *g, const char *nonce);
bool cgroup_open(Cgroup *g, const char *path);
bool cgroup_find(Cgroup *g, const char *nonce); /* where cgroup_make would have put it */
bool cgroup_find_of(Cgroup *g, const char *nonce, pid_t pid); /* where this process says that it is */
bool cgroup_populated(const Cgroup *g);
bool cgroup_holds(const Cgroup *g, pid_t pid);
void cgroup_each(const Cgroup *g, void (*each)(void *, pid_t), void *context);
void cgroup_write(int fd, const char *s);
void cgroup_remove(Cgroup *g);
void cgroup_close(Cgroup *g);

/* ---- log.c: following one run's output ---- */
typedef struct { const char *path; int fd, mirror; int64_t size, mirrored; } Output;
enum { LOG_MARK = 64 };
typedef struct {
  Output out, err;
  int idx; const char *idx_path; int64_t idx_size;
  int64_t seen, lines, line_at;              /* bytes read, newlines in them, offset behind the last newline */
  int64_t entry_lines, entry_at, entry_mono; /* of the last index entry */
  uint32_t crc, crc_line;                    /* since the entry: of all that was seen, and up to the last newline */
  unsigned char mark[LOG_MARK]; size_t mark_n; /* the bytes before `seen` */
  int cuts; int64_t cut_bytes; bool cut_told; /* how often somebody cut it, and how much had been seen that is gone */
  bool open, mirrored;
  bool sync; int64_t synced_size, synced_ms;
} Log;
bool log_open(Run *run);
bool log_follow(Run *run, bool whole); /* true when it grew or there is more to do */
bool log_finish(Run *run); /* false: a mirror could not be completed yet */
int log_sync_failed(void); /* 0, or the errno of the first sync that failed */
void log_guard(Run *run); /* puts back what was deleted or renamed */
void log_sync_start(Run *run);
void log_sync_end(Run *run); /* its thread has ended when this returns */
void log_own_description(Log *log);
typedef struct { uint32_t h[8]; uint64_t n; unsigned char rest[64]; } Sha256;
void sha256_begin(Sha256 *sum);
void sha256_add(Sha256 *sum, const void *bytes, size_t n);
void sha256_end(Sha256 *sum, char hex[65]);
uint32_t crc32c(uint32_t crc, const void *bytes, size_t n);
uint32_t crc32c_of_tail(uint32_t whole, uint32_t head, uint64_t tail_bytes); /* from the CRCs of all and of what is before it */

/* ---- facts.c: what is written into the run folder, kept in memory until it is on disk ---- */
typedef struct { dev_t dev; ino_t ino; int64_t size, changed; } Stamp; /* a file as we left it */
typedef struct { char name[24]; Text text; Stamp stamp; bool dirty, absent, told; } Fact;
enum { FACTS = 8 }; /* claim, adopt.json and start, hold, exit, stuck, done, cleanup */
Fact *fact_of(Run *run, const char *name);
void fact_write(Run *run, const char *name, const Text *text);
void fact_remove(Run *run, const char *name);
void facts_flush(Run *run, bool all);
void fact_known(Run *run, const char *name); /* it is on disk, and as it should be */
void facts_guard(Run *run); /* remakes what was deleted or changed, removes what nobody but us may write */
void kept_load(Run *run);
void event_append(Run *run, const char *type, const char *content);

/* ---- input.c: messages to a run whose input stays open ---- */
typedef struct { char id[37]; int64_t upto, end; } Unread; /* in bytes of the FIFO, and of messages.jsonl */
typedef struct {
  const char *path;          /* the FIFO, or NULL: the run takes no messages */
  const char *later;         /* the folder that says which lines midwatch wrote; NULL: all */
  int fd, watch;             /* our end, and one that tells what is unread */
  int64_t at, written; ino_t file; /* how far messages.jsonl was taken up; bytes that went into the FIFO */
  int64_t looked;            /* the line at `at` has no newline before this */
  int from; int64_t next, stop, end; /* the message on its way: its file, what is still to be decoded, its closing quote, the line behind it; 0: none */
  char id[37], part[4096]; size_t part_n, sent; /* without an id nobody is told */
  bool adopting; int64_t done, begun; /* what the notes of a keeper before us say */
  Unread *unread; size_t n_unread;
} Input;
int input_open(Run *run); /* the agent's end, or -1 with errno */
void input_adopt(Run *run);
bool input_pump(Run *run); /* true when something moved */
bool input_waits(const Run *run); /* something was sent that the agent has not read */
void input_end(Run *run);

/* ---- watch.c: the run has somebody who watches it ---- */
typedef struct {
  const char *when; /* while there is no such file, the run needs nobody; none: it always does */
  List locks, words; /* held by whoever watches, and by whoever starts one; what starts one. None: the run needs nobody */
  pid_t starter; int64_t since, next, pause; /* our child, from when; the next look, and how long nobody has come */
} Watch;
void watch_look(Run *run, int64_t now);
void watch_end(Run *run);
void watch_reaped(Run *run, pid_t pid);

/* ---- start.c ---- */
#define NOWHERE "/dev/null/mw-" /* a run's entry in PATH, before its nonce */
bool start_agent(Run *run); /* writes start.json and answers the launcher, either way */
void signals_reset(void);   /* of a child: as we got them */
void oom_write(int score);

/* ---- init.c ---- */
int init_verb(char **argv);

/* ---- drain.c ---- */
void drain_begin(Run *run, int64_t grace_ms);
bool drain_step(Run *run); /* true when proven empty */
bool drain_is_empty(Run *run); /* by the last look */
int drain_timeout(const Run *run);
void hold_check(Run *run);
void hold_end(Run *run);

/* ---- run.c ---- */
enum { TICK_MIN = 20, TICK_MAX = 250 }; /* ms between two looks: from the first to the second while nothing moves */
#ifndef SILENT_MS /* the tests build one that is silent at once */
#define SILENT_MS 30000
#define TICK_SILENT 2000 /* and this after so many ms in which nothing moved */
#endif
struct Run {
  const char *name, *nonce;
  const char *dir, *root, *cwd, *stdin_path, *first_line, *events;
  List args, env, removes, keeps;
  bool no_cgroup, sync_none, sync_always, stop_on_disk, done_damaged;
  int64_t grace_ms, output_limit, wall_limit, idle_limit, disk_floor;

  int dir_fd, *kept;
  Fact facts[FACTS]; size_t n_facts;
  Members members; Cgroup cgroup; Log log; Input input; Watch watch;
  bool adopt;
  bool scans;                /* the kernel lists no orphans below us: an adopter, or a platform without a subreaper */
  pid_t session;             /* the agent's, while one of ours was in it at the last look; 0: nobody is found by it */
  Proc self, main, former[2]; /* former: the keepers before us, pid and start only */
  int main_fd;               /* an adopter's pidfd of main: it is not its child */
  uint64_t since;            /* start ticks before which nothing can be a member */
  mode_t umask; int oom_before; /* the caller's, for the agent */
  char tmpdir[64]; bool tmpdir_made;
  bool main_ended, stop_requested, stop_seen;
  bool interrupt_on_limit, notify_on_limit, limit_told, sync_told;
  int64_t looked, ran, quiet, printed; /* ms that it ran and that it printed nothing, holds left out, up to `looked`; bytes by then */
  int64_t moved; bool roomy;  /* when the log or the input last moved; whether the disk is far from its floor */
  const char *limit;         /* "output", "disk", "wall", "idle" or NULL */
  const char *interrupted;   /* the limit for which we interrupted it, or NULL */
  int64_t interrupted_ran;   /* how long it had run by then */
  int restored; bool restored_told; /* how often log or folder were put back */
  bool draining, stuck; int level; unsigned level_round; int64_t drain_from, drain_grace, kill_from;
  const char *held;
  unsigned empty_rounds;
};
bool run_identify(Run *run); /* who was started, from the facts; false: in another pid namespace */
const char *run_guarantee(const Run *run);
int run_main(Run *run);
#endif
