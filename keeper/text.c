#include "keeper.h"
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void *must(void *p) {
  if (!p) { static const char m[] = "midwatch-keeper: out of memory\n"; if (write(2, m, sizeof m - 1) < 0) {} _exit(5); }
  return p;
}

static void reserve(Text *t, size_t more) {
  if (t->len + more + 1 <= t->cap) return;
  size_t cap = t->cap ? t->cap : 256;
  while (cap < t->len + more + 1) cap *= 2;
  t->at = must(realloc(t->at, cap));
  t->cap = cap;
}

void text_bytes(Text *t, const void *bytes, size_t n) {
  reserve(t, n);
  if (n) memcpy(t->at + t->len, bytes, n);
  t->len += n;
  t->at[t->len] = 0;
}

void text_add(Text *t, const char *format, ...) {
  va_list a, b;
  va_start(a, format);
  va_copy(b, a);
  int n = vsnprintf(NULL, 0, format, a);
  va_end(a);
  if (n > 0) {
    reserve(t, (size_t)n);
    vsnprintf(t->at + t->len, (size_t)n + 1, format, b);
    t->len += (size_t)n;
  }
  va_end(b);
}

void text_json(Text *t, const char *s) {
  if (!s) { text_add(t, "null"); return; }
  text_bytes(t, "\"", 1);
  for (const unsigned char *c = (const unsigned char *)s; *c; c++) {
    if (*c == '"' || *c == '\\') text_add(t, "\\%c", *c);
    else if (*c < 0x20 || *c == 0x7f) text_add(t, "\\u%04x", *c);
    else text_bytes(t, c, 1);
  }
  text_bytes(t, "\"", 1);
}

void text_clear(Text *t) { t->len = 0; if (t->at) t->at[0] = 0; }
void text_free(Text *t) { free(t->at); *t = (Text){0}; }

void list_add(List *l, const char *s) {
  l->at = must(realloc(l->at, (l->n + 2) * sizeof *l->at));
  l->at[l->n++] = must(strdup(s));
  l->at[l->n] = NULL;
}

void list_free(List *l) {
  for (size_t i = 0; i < l->n; i++) free(l->at[i]);
  free(l->at);
  *l = (List){0};
}

static const char *json_value(const char *json, const char *key) {
  char quoted[64];
  snprintf(quoted, sizeof quoted, "\"%s\":", key);
  const char *at = json ? strstr(json, quoted) : NULL;
  if (!at) return NULL;
  at += strlen(quoted);
  while (*at == ' ') at++;
  return at;
}

int64_t json_int(const char *json, const char *key, int64_t otherwise) {
  const char *at = json_value(json, key);
  if (!at) return otherwise;
  char *end;
  errno = 0;
  long long v = strtoll(at, &end, 10);
  return end == at || errno ? otherwise : v;
}

bool json_has(const char *json, const char *key, const char *value) {
  const char *at = json_value(json, key);
  size_t n = strlen(value);
  return at && *at == '"' && strncmp(at + 1, value, n) == 0 && at[1 + n] == '"';
}

bool is_nonce(const char *s) { return s && strlen(s) == NONCE && strspn(s, "0123456789abcdef") == NONCE; }

bool is_run_name(const char *s) { /* an agent's id, a dot, a number */
  size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-");
  if (n < 1 || n > 64 || s[0] == '_' || s[0] == '-' || s[n] != '.') return false;
  size_t digits = strspn(s + n + 1, "0123456789");
  return digits > 0 && digits < 10 && s[n + 1] != '0' && !s[n + 1 + digits];
}

static int64_t clock_ms(clockid_t id) {
  struct timespec ts;
  clock_gettime(id, &ts);
  return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}
int64_t mono_ms(void) { return clock_ms(CLOCK_MONOTONIC); }
int64_t wall_ms(void) { return clock_ms(CLOCK_REALTIME); }

void iso_time(int64_t ms, char out[32]) {
  time_t s = (time_t)(ms / 1000);
  struct tm tm;
  gmtime_r(&s, &tm);
  char day[24];
  strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &tm);
  snprintf(out, 32, "%s.%03dZ", day, (int)(ms % 1000));
}

#define NAME(n) [n] = #n
/* Tables of our own: glibc has these names only since 2.32, and musl has none. */
const char *signal_name(int sig) {
  static const char *const names[] = {
    NAME(SIGHUP), NAME(SIGINT), NAME(SIGQUIT), NAME(SIGILL), NAME(SIGTRAP), NAME(SIGABRT), NAME(SIGBUS), NAME(SIGFPE), NAME(SIGKILL),
    NAME(SIGUSR1), NAME(SIGSEGV), NAME(SIGUSR2), NAME(SIGPIPE), NAME(SIGALRM), NAME(SIGTERM), NAME(SIGCHLD), NAME(SIGCONT), NAME(SIGSTOP),
    NAME(SIGTSTP), NAME(SIGTTIN), NAME(SIGTTOU), NAME(SIGURG), NAME(SIGXCPU), NAME(SIGXFSZ), NAME(SIGVTALRM), NAME(SIGPROF), NAME(SIGWINCH),
    NAME(SIGIO), NAME(SIGSYS),
#ifdef SIGPWR
    NAME(SIGPWR),
#endif
  };
  static char other[16];
  if (sig > 0 && (size_t)sig < sizeof names / sizeof *names && names[sig]) return names[sig];
  snprintf(other, sizeof other, "SIG%d", sig);
  return other;
}

const char *errno_name(int e) {
  static const char *const names[] = {
    NAME(EPERM), NAME(ENOENT), NAME(ESRCH), NAME(EINTR), NAME(EIO), NAME(ENXIO), NAME(E2BIG), NAME(ENOEXEC), NAME(EBADF), NAME(ECHILD),
    NAME(EAGAIN), NAME(ENOMEM), NAME(EACCES), NAME(EFAULT), NAME(EBUSY), NAME(EEXIST), NAME(EXDEV), NAME(ENODEV), NAME(ENOTDIR), NAME(EISDIR),
    NAME(EINVAL), NAME(ENFILE), NAME(EMFILE), NAME(ETXTBSY), NAME(EFBIG), NAME(ENOSPC), NAME(EROFS), NAME(EMLINK), NAME(EPIPE),
    NAME(ENAMETOOLONG), NAME(ENOSYS), NAME(ENOTEMPTY), NAME(ELOOP), NAME(EOPNOTSUPP), NAME(ESTALE), NAME(EDQUOT),
#ifdef ELIBBAD
    NAME(ELIBBAD),
#endif
  };
  static char other[16];
  if (e > 0 && (size_t)e < sizeof names / sizeof *names && names[e]) return names[e];
  snprintf(other, sizeof other, "E%d", e);
  return other;
}
