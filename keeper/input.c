/* The input of an interactive run: a FIFO that stays open, fed from messages.jsonl line by line. The keeper is its only writer: a
   sender appends a line and goes, so one that dies half-way tears no message, and none waits for an agent that does not read. */
#include "keeper.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ID = 36, AT_ONCE = 64 }; /* messages a look: others come to their turn */
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
static void add_code(Text *t, unsigned code) {
  char c[3];
  if (code >= 0xd800 && code < 0xe000) code = 0xfffd; /* half a pair: pairs are written as UTF-8 */
  if (code < 0x80) { c[0] = (char)code; text_bytes(t, c, 1); return; }
  size_t n = code < 0x800 ? 2 : 3;
  c[0] = (char)(n == 2 ? 0xc0 | code >> 6 : 0xe0 | code >> 12);
  if (n == 3) c[1] = (char)(0x80 | (code >> 6 & 0x3f));
  c[n - 1] = (char)(0x80 | (code & 0x3f));
  text_bytes(t, c, n);
}

static bool add_escape(Text *t, const char **at, const char *end) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  if (*at == end) return false;
  const char *found = strchr(from, **at);
  if (found && *found) { text_bytes(t, &to[found - from], 1); (*at)++; return true; }
  if (**at != 'u' || end - *at < 5) return false;
  char hex[5] = {(*at)[1], (*at)[2], (*at)[3], (*at)[4], 0}, *stop;
  unsigned code = (unsigned)strtoul(hex, &stop, 16);
  if (*stop) return false;
  add_code(t, code);
  *at += 5;
  return true;
}

/* The string of `,"input":"..."}`, which ends the line of a message; a torn line has no such end. Inside another string every
   quote is escaped, so the key is found where it is. */
static bool decode(const char *line, size_t n, Text *out) {
  static const char key[] = ",\"input\":\"";
  const char *at = n > ID + 8 && memcmp(line, "{\"id\":\"", 7) == 0 ? memmem(line, n, key, sizeof key - 1) : NULL, *end = line + n;
  if (!at) return false;
  for (at += sizeof key - 1; at < end && *at != '"';) {
    size_t plain = 0;
    while (at + plain < end && at[plain] != '"' && at[plain] != '\\') plain++;
    text_bytes(out, at, plain);
    at += plain;
    if (at < end && *at == '\\' && (at++, !add_escape(out, &at, end))) return false;
  }
  return out->len && end - at == 2 && at[1] == '}';
}

/* The next whole line, without its newline. */
static bool read_line(Run *run, Text *line) {
  Input *in = &run->input;
  struct stat st;
  int fd = openat(run->dir_fd, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  bool whole = false;
  text_clear(line);
  if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
    if (st.st_ino != in->file || st.st_size < in->at) { in->file = st.st_ino; in->at = 0; } /* it was deleted: what is there now is new */
    char part[16 * 1024];
    for (ssize_t n; !whole && (n = pread(fd, part, sizeof part, (off_t)(in->at + (int64_t)line->len))) > 0;) {
      char *newline = memchr(part, '\n', (size_t)n);
      text_bytes(line, part, newline ? (size_t)(newline - part) : (size_t)n);
      whole = newline != NULL;
    }
  }
  if (fd >= 0) close(fd);
  return whole;
}

/* Said before its first byte goes: whoever takes over must know that it may have arrived in part. */
static bool take_next(Run *run) {
  Input *in = &run->input;
  Text line = {0};
  bool took = false;
  while (!took && read_line(run, &line)) {
    int64_t end = in->at + (int64_t)line.len + 1;
    if (decode(line.at, line.len, &in->bytes)) {
      memcpy(in->id, line.at + 7, ID);
      took = note(run, in->id, "injecting", end);
      if (!took) break; /* no room: nothing was sent, and the next look finds it again */
    }
    in->at = end;
    if (!took) text_clear(&in->bytes);
  }
  if (!took) text_free(&in->bytes);
  text_free(&line);
  return took;
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
  u->end = in->at;
}

/* ---- the life of the FIFO ---- */
bool input_waits(const Run *run) { return run->input.n_unread || run->input.bytes.len; }

bool input_pump(Run *run) {
  Input *in = &run->input;
  if (!in->path) return false;
  bool moved = note_read(run);
  for (int i = 0; in->fd >= 0 && i < AT_ONCE; i++) {
    if (!in->bytes.len && !take_next(run)) {
      if (faccessat(run->dir_fd, "input.closed", F_OK, 0) == 0) { close(in->fd); in->fd = -1; } /* the agent reads what is there, then its end */
      break;
    }
    while (in->sent < in->bytes.len) {
      ssize_t w = write(in->fd, in->bytes.at + in->sent, in->bytes.len - in->sent);
      if (w < 0) return moved; /* full: the agent does not read just now */
      in->sent += (size_t)w;
      in->written += w;
      moved = true;
    }
    if (*in->id && !note(run, in->id, "injected", in->at)) return moved; /* no room: said at the next look */
    if (*in->id) remember_unread(in);
    text_free(&in->bytes);
    in->sent = 0;
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
  Text line = {0};
  int64_t done = 0, begun = 0;
  char id[ID + 1] = {0};
  while (read_line(run, &line)) {
    in->at += (int64_t)line.len + 1;
    if (json_has(line.at, "state", "injected")) done = json_int(line.at, "end", done);
    if (!json_has(line.at, "state", "injecting") || line.len <= ID + 8) continue;
    begun = json_int(line.at, "end", begun);
    memcpy(id, line.at + 7, ID);
  }
  text_free(&line);
  in->at = done;
  if (begun <= done) return;
  in->at = begun; /* twice would be worse than to say so */
  text_add(&in->bytes, "\n"); /* what came of it is a line of its own */
  note(run, id, "failed", begun);
}

/* Everybody has ended: what was not read can be given to the next run. */
void input_end(Run *run) {
  Input *in = &run->input;
  if (!in->path) return;
  note_read(run);
  for (size_t i = 0; i < in->n_unread; i++) note(run, in->unread[i].id, "accepted", in->unread[i].end);
  if (in->bytes.len && *in->id) note(run, in->id, "accepted", in->at);
  if (in->fd >= 0) close(in->fd);
  if (in->watch >= 0) close(in->watch);
  in->fd = in->watch = -1;
  free(in->unread);
  text_free(&in->bytes);
  remove_file(run->root, in->path);
}
