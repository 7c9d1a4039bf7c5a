/* Who the processes are, for callers that have no /proc to read: `who` and `mentioned`. */
#include "keeper.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_arguments(Text *t, pid_t pid) {
  char text[4096];
  ssize_t n = proc_arguments(pid, text);
  text_add(t, ",\"args\":[");
  for (char *at = text; n > 0 && at < text + n; at += strlen(at) + 1) {
    if (at > text) text_add(t, ",");
    text_json(t, at);
  }
  text_add(t, "]");
}

static void tell(void *context, pid_t pid) {
  Text *t = context;
  Proc p;
  if (!proc_read(pid, &p)) return;
  text_add(t, "{\"pid\":%d,\"parent\":%d,\"start_ticks\":%llu,\"state\":\"%c\",\"name\":", (int)pid, (int)p.parent, (unsigned long long)p.start, p.state);
  text_json(t, p.name);
  add_arguments(t, pid);
  char *cwd = proc_cwd(pid);
  text_add(t, ",\"cwd\":");
  text_json(t, cwd);
  text_add(t, "}\n");
  free(cwd);
}

/* who [PID...]: this host, then a process a line; without a number all. One that is not there has no line. */
int who_verb(char **pids, size_t n) {
  Text t = {0};
  char boot[64], ns[32];
  host_identity(boot, ns);
  text_add(&t, "{\"boot_id\":\"%s\",\"pid_ns\":\"%s\"}\n", boot, ns);
  for (size_t i = 0; i < n; i++) tell(&t, (pid_t)atoi(pids[i]));
  if (!n) proc_each(tell, &t);
  int failed = write_all(1, t.at, t.len);
  text_free(&t);
  return failed ? 1 : 0;
}

typedef struct { const char *text; pid_t asker; bool found; } Mention;

static void look_for(void *context, pid_t pid) {
  Mention *m = context;
  if (m->found || pid == getpid() || pid == m->asker) return;
  char args[4096];
  ssize_t n = proc_arguments(pid, args);
  size_t length, k = strlen(m->text);
  char *env = proc_environ(pid, 4 << 20, &length);
  m->found = (n > 0 && memmem(args, (size_t)n, m->text, k)) || (env && memmem(env, length, m->text, k));
  free(env);
}

/* mentioned TEXT: does any other process have it in its arguments or environment? */
int mentioned_verb(const char *text) {
  Mention m = {text, getppid(), false};
  proc_each(look_for, &m);
  return write_all(1, m.found ? "yes\n" : "no\n", m.found ? 4 : 3) < 0;
}
