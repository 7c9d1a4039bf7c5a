/* `watch FOLDER`: prints a line "monotonic_ns event path" for each name that appears in FOLDER or below: m = made or moved
   there, w = closed after writing. Folders made later are watched too; what is already in them then is reported as m. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 8192 };
static char paths[MOST][512];
static int in;

static void say(char event, const char *folder, const char *name) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  printf("%lld %c %s/%s\n", t.tv_sec * 1000000000LL + t.tv_nsec, event, folder, name);
}

static void add(const char *folder) {
  int id = inotify_add_watch(in, folder, IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR);
  if (id < 0 || id >= MOST || paths[id][0]) return;
  snprintf(paths[id], sizeof paths[id], "%s", folder);
  DIR *d = opendir(folder);
  if (!d) return;
  for (struct dirent *e; (e = readdir(d));) {
    if (e->d_name[0] == '.') continue;
    char path[512];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= sizeof path) continue;
    if (e->d_type == DT_DIR) add(path);
    else say('m', folder, e->d_name);
  }
  closedir(d);
}

int main(int argc, char **argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  in = inotify_init1(IN_CLOEXEC);
  if (argc < 2 || in < 0) return 2;
  add(argv[1]);
  printf("ready\n");
  for (;;) {
    _Alignas(struct inotify_event) char buffer[65536];
    fflush(stdout);
    ssize_t n = read(in, buffer, sizeof buffer);
    if (n <= 0) return 3;
    for (char *at = buffer; at < buffer + n;) {
      struct inotify_event *e = (struct inotify_event *)at;
      at += sizeof *e + e->len;
      if (e->wd < 0 || e->wd >= MOST || !e->len) continue;
      say(e->mask & IN_CLOSE_WRITE ? 'w' : 'm', paths[e->wd], e->name);
      char path[800];
      snprintf(path, sizeof path, "%s/%s", paths[e->wd], e->name);
      if (e->mask & IN_ISDIR) add(path);
    }
  }
}
