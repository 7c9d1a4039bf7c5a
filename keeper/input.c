/* The input of an interactive run: a FIFO that stays open, fed from messages.jsonl line by line. The keeper is its only writer: a
   sender appends a line and goes, so one that dies half-way tears no message, and none waits for an agent that does not read. */
#include "keeper.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ID = 36, NOTE = 256, PIECE = 16 * 1024 };
enum { AT_ONCE = 64, UNREAD = 1024 }; /* messages a look, others come to their turn; and those that nobody has read */
enum { LINE = 32 << 20, ROUND = 4 << 20 }; /* of a message of a million characters, escaped twice; and of what is read a look */
static const char file[] = "messages.jsonl";

/* `end`: where the message's line ends, for whoever goes on after us. */
static bool note(Run *run, const char *id, const char *state, int64_t end) {
  Text t = {0};
  char when[32];
  iso_time(wall_ms(), when);
  text_add(&t, "{\"id\":\"%s\",\"at\":\"%s\",\"state\":\"%s\",\"end\":%lld}\n", id, when, state, (long long)end);
  bool done = append_line(run->dir_fd, file, t.at, t.len) == 0;
  text_free(&t);
  return done;
}

/* ---- from a line to bytes ---- */
static size_t add_code(char *out, unsigned code) {
  if (code >= 0xd800 && code < 0xe000) code = 0xfffd; /* half a pair: pairs are written as UTF-8 */
  if (code < 0x80) { out[0] = (char)code; return 1; }
  size_t n = code < 0x800 ? 2 : 3;
  out[0] = (char)(n == 2 ? 0xc0 | code >> 6 : 0xe0 | code >> 12);
  if (n == 3) out[1] = (char)(0x80 | (code >> 6 & 0x3f));
  out[n - 1] = (char)(0x80 | (code & 0x3f));
  return n;
}

/* One escape, behind its backslash: how long it is, 0 when it is none. */
static size_t add_escape(const char *at, size_t n, char *out, size_t *added) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  const char *found = n && *at ? strchr(from, *at) : NULL;
  *added = 1;
  if (found) { *out = to[found - from]; return 1; }
  if (n < 5 || *at != 'u') return 0;
  char hex[5] = {at[1], at[2], at[3], at[4], 0}, *stop;
  unsigned code = (unsigned)strtoul(hex, &stop, 16);
  if (*stop) return 0;
  *added = add_code(out, code);
  return 5;
}

/* Decodes a piece of a JSON string, up to its closing quote; what it gives is never longer. How much of the piece was used: less than all at the
   quote, and before an escape that is torn or none. */
static size_t decode(const char *piece, size_t n, char *out, size_t *given) {
  size_t at = 0, used = 0, added;
  *given = 0;
  while (at < n && piece[at] != '"') {
    if (piece[at] != '\\') { out[(*given)++] = piece[at++]; continue; }
    if (!(used = add_escape(piece + at + 1, n - at - 1, out + *given, &added))) break;
    *given += added;
    at += used + 1;
  }
  return at;
}

/* Where `key` ends in [at, end), or -1. */
static int64_t find_behind(int fd, int64_t at, int64_t end, const char *key, size_t k) {
  char piece[PIECE];
  for (ssize_t n; end - at >= (int64_t)k; at += n - (ssize_t)k + 1) {
    n = pread(fd, piece, end - at < PIECE ? (size_t)(end - at) : PIECE, (off_t)at);
    if (n < (ssize_t)k) return -1;
    char *found = memmem(piece, (size_t)n, key, k);
    if (found) return at + (found - piece) + (int64_t)k;
  }
  return -1;
}

/* The string of `,"input":"..."}`, which ends the line of a message; a torn line has no such end. Inside another string every
   quote is escaped, so the key is found where it is. Looked through before the first byte of it goes. */
static bool is_message(int fd, int64_t at, int64_t end, Input *in) {
  static const char key[] = ",\"input\":\"";
  char piece[4096], out[4096], head[ID + 8] = {0};
  if (end - at <= ID + 8 || pread(fd, head, ID + 7, (off_t)at) != ID + 7 || memcmp(head, "{\"id\":\"", 7) != 0) return false;
  if (strspn(head + 7, "0123456789abcdef-") != ID) return false; /* we write it again, into our notes */
  int64_t from = find_behind(fd, at, end, key, sizeof key - 1), next = from;
  size_t given, used;
  ssize_t n = 0;
  for (; from >= 0 && (n = pread(fd, piece, end - next < 4096 ? (size_t)(end - next) : sizeof piece, (off_t)next)) > 0; next += (int64_t)used) {
    used = decode(piece, (size_t)n, out, &given);
    if (used < (size_t)n && (piece[used] == '"' || !used)) { next += (int64_t)used; break; }
  }
  if (from < 0 || next == from || next != end - 2 || pread(fd, piece, 2, (off_t)next) != 2 || memcmp(piece, "\"}", 2) != 0) return false;
  memcpy(in->id, head + 7, ID);
  in->next = from;
  in->stop = next;
  return true;
}

/* Anybody with the agent's rights can write a line: it counts when who sent it recorded its SHA-256 outside of the project. */
static bool is_recorded(const Input *in, int fd, int64_t at, int64_t end) {
  char piece[PIECE], path[4096], hex[65];
  Sha256 sum;
  if (!in->later) return true;
  sha256_begin(&sum);
  for (ssize_t n; at < end; at += n) {
    n = pread(fd, piece, end - at < PIECE ? (size_t)(end - at) : PIECE, (off_t)at);
    if (n <= 0) return false;
    sha256_add(&sum, piece, (size_t)n);
  }
  sha256_end(&sum, hex);
  return (size_t)snprintf(path, sizeof path, "%s/%s.json", in->later, hex) < sizeof path && access(path, F_OK) == 0;
}

/* ---- the file: an agent can write it, so no more of it is read at a time than a stop can wait for, and nothing of it is kept ---- */
static int open_messages(const Run *run, struct stat *st) {
  int fd = openat(run->dir_fd, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode)) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

/* Behind the newline of the line at `at`, or 0: it is not whole yet, or `*most` bytes were read. */
static int64_t line_end(Input *in, int fd, int64_t *most) {
  char piece[PIECE];
  if (in->looked < in->at) in->looked = in->at;
  for (ssize_t n; *most > 0 && (n = pread(fd, piece, sizeof piece, (off_t)in->looked)) > 0;) {
    char *newline = memchr(piece, '\n', (size_t)n);
    *most -= n;
    in->looked += newline ? newline - piece + 1 : n;
    if (newline) return in->looked;
  }
  return 0;
}

/* What a keeper before us noted. */
static void take_note(Input *in, int fd, int64_t end) {
  char line[NOTE + 1];
  ssize_t n = end - in->at <= NOTE ? pread(fd, line, (size_t)(end - in->at), (off_t)in->at) : 0;
  line[n < 0 ? 0 : n] = 0;
  bool injected = json_has(line, "state", "injected"), injecting = json_has(line, "state", "injecting");
  int64_t upto = json_int(line, "end", -1);
  if (n <= ID + 8 || upto < 0 || upto > in->at || (!injected && !injecting)) return;
  if (injected) { in->done = upto; return; }
  in->begun = upto;
  memcpy(in->id, line + 7, ID);
}

/* All notes are read: on with what is behind them. */
static void end_adopting(Run *run) {
  Input *in = &run->input;
  in->adopting = false;
  in->at = in->looked = in->done;
  if (in->begun > in->done) {
    in->at = in->looked = in->begun; /* twice would be worse than to say so */
    in->part[0] = '\n'; /* what came of it is a line of its own */
    in->part_n = 1;
    note(run, in->id, "failed", in->begun);
  }
  in->id[0] = 0;
}

/* Said before its first byte goes: whoever takes over must know that it may have arrived in part. */
static bool take_next(Run *run, int64_t *most) {
  Input *in = &run->input;
  struct stat st;
  int fd = open_messages(run, &st);
  if (fd < 0) { in->adopting = false; return false; }
  if (st.st_ino != in->file || st.st_size < in->at) { in->file = st.st_ino; in->at = in->looked = 0; } /* it was deleted: what is there now is new */
  while (!in->end && *most > 0) {
    int64_t end = line_end(in, fd, most);
    if (!end) break;
    if (in->adopting) take_note(in, fd, end);
    else if (end - in->at <= LINE && (*most -= end - in->at, is_message(fd, in->at, end - 1, in))) {
      bool recorded = is_recorded(in, fd, in->at, end - 1);
      if (!note(run, in->id, recorded ? "injecting" : "refused", end)) { in->looked = in->at; break; } /* no room: nothing was sent, and the next look finds it again */
      if (recorded) in->end = end;
    }
    in->at = end;
  }
  if (in->adopting && *most > 0) end_adopting(run);
  if (in->end) in->from = fd; /* it stays readable when it is deleted */
  else close(fd);
  return in->end || in->part_n;
}

static void end_message(Input *in) {
  if (in->end) close(in->from);
  in->end = in->next = in->stop = 0;
  in->part_n = in->sent = 0;
  in->id[0] = 0;
}

/* The next bytes of the message on its way; false when there are none. */
static bool take_part(Input *in) {
  if (in->sent < in->part_n) return true;
  char piece[sizeof in->part];
  int64_t room = in->stop - in->next;
  ssize_t n = room > 0 ? pread(in->from, piece, room < (int64_t)sizeof piece ? (size_t)room : sizeof piece, (off_t)in->next) : 0;
  size_t used = n > 0 ? decode(piece, (size_t)n, in->part, &in->part_n) : 0;
  if (!used) in->part_n = 0; /* its end, or somebody changed it meanwhile */
  in->next += (int64_t)used;
  in->sent = 0;
  return in->part_n > 0;
}

/* ---- what the agent has read: the kernel counts what it has not ---- */
static bool note_read(Run *run) {
  Input *in = &run->input;
  int left = 0;
  size_t n = 0;
  if (!in->n_unread || ioctl(in->watch, FIONREAD, &left) < 0) return false;
  while (n < in->n_unread && in->unread[n].upto <= in->written - left && note(run, in->unread[n].id, "read", in->unread[n].end)) n++;
  in->n_unread -= n;
  memmove(in->unread, in->unread + n, in->n_unread * sizeof *in->unread);
  return n > 0;
}

static void remember_unread(Input *in) {
  in->unread = must(realloc(in->unread, (in->n_unread + 1) * sizeof *in->unread));
  Unread *u = &in->unread[in->n_unread++];
  memcpy(u->id, in->id, sizeof u->id);
  u->upto = in->written;
  u->end = in->end;
}

/* ---- the life of the FIFO ---- */
bool input_waits(const Run *run) { return run->input.n_unread || run->input.end || run->input.part_n; }

/* False when the FIFO is full: the agent does not read just now. */
static bool send_parts(Input *in, bool *moved) {
  while (take_part(in)) {
    ssize_t w = write(in->fd, in->part + in->sent, in->part_n - in->sent);
    if (w < 0) return false;
    in->sent += (size_t)w;
    in->written += w;
    *moved = true;
  }
  return true;
}

bool input_pump(Run *run) {
  Input *in = &run->input;
  if (!in->path) return false;
  bool moved = note_read(run);
  int64_t most = ROUND;
  for (int i = 0; in->fd >= 0 && i < AT_ONCE && in->n_unread < UNREAD; i++) {
    if (!in->end && !in->part_n && !take_next(run, &most)) {
      if (most <= 0) return true;
      if (faccessat(run->dir_fd, "input.closed", F_OK, 0) == 0) { close(in->fd); in->fd = -1; } /* the agent reads what is there, then its end */
      break;
    }
    if (!send_parts(in, &moved)) return moved;
    if (in->end && !note(run, in->id, "injected", in->end)) return moved; /* no room: said at the next look */
    if (in->end) remember_unread(in);
    end_message(in);
  }
  return moved;
}

int input_open(Run *run) {
  Input *in = &run->input;
  const char *name;
  struct stat st;
  int agent = -1, dir = open_parent(run->root, in->path, false, &name);
  if (dir < 0) return -1;
  if (run->adopt || mkfifoat(dir, name, 0600) == 0) in->watch = openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (in->watch >= 0 && (fstat(in->watch, &st) < 0 || !S_ISFIFO(st.st_mode))) { close(in->watch); in->watch = -1; errno = EINVAL; }
  if (in->watch >= 0) in->fd = openat(dir, name, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (in->fd >= 0 && !run->adopt) agent = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC); /* there is a writer: it does not wait */
  int saved = errno;
  close(dir);
  errno = saved;
  return agent;
}

void input_adopt(Run *run) {
  Input *in = &run->input;
  int left = 0;
  if (!in->path) return;
  input_open(run);
  if (in->fd < 0) return;
  if (ioctl(in->watch, FIONREAD, &left) == 0) in->written = left;
  in->adopting = true;
}

/* Everybody has ended: what was not read can be given to the next run. */
void input_end(Run *run) {
  Input *in = &run->input;
  if (!in->path) return;
  note_read(run);
  for (size_t i = 0; i < in->n_unread; i++) note(run, in->unread[i].id, "accepted", in->unread[i].end);
  if (in->end) note(run, in->id, "accepted", in->end);
  if (in->fd >= 0) close(in->fd);
  if (in->watch >= 0) close(in->watch);
  in->fd = in->watch = -1;
  free(in->unread);
  end_message(in);
  remove_file(run->root, in->path);
}
