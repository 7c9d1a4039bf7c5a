#include "keeper.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int write_all(int fd, const void *bytes, size_t n) {
  const char *at = bytes;
  while (n) {
    ssize_t w = write(fd, at, n); /* a full disk gives a short write first, ENOSPC only on the next one */
    if (w < 0) { if (errno == EINTR) continue; return -1; }
    at += w;
    n -= (size_t)w;
  }
  return 0;
}

static int enter(int at, const char *name, bool make) {
  int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  int fd = openat(at, name, flags);
  if (fd < 0 && errno == ENOENT && make) {
    if (mkdirat(at, name, 0700) < 0 && errno != EEXIST) return -1;
    fd = openat(at, name, flags);
  }
  return fd;
}

/* Opens the folder that holds `path`, one component at a time and without following links below `root`, so that nobody
   can make us write elsewhere by swapping a folder for a link. Above root links are the user's own business. */
int open_parent(const char *root, const char *path, bool make, const char **name) {
  size_t n = strlen(root);
  if (strncmp(path, root, n) != 0 || path[n] != '/') { errno = EINVAL; return -1; }
  char buffer[4096];
  if (strlen(path) >= sizeof buffer) { errno = ENAMETOOLONG; return -1; }
  int fd = open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT && make) {
    strcpy(buffer, root);
    for (char *slash = strchr(buffer + 1, '/');; slash = strchr(slash + 1, '/')) {
      if (slash) *slash = 0;
      if (mkdir(buffer, 0700) < 0 && errno != EEXIST) return -1;
      if (!slash) break;
      *slash = '/';
    }
    fd = open(root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  }
  strcpy(buffer, path + n + 1);
  char *at = buffer;
  for (char *slash; fd >= 0 && (slash = strchr(at, '/')); at = slash + 1) {
    *slash = 0;
    errno = EINVAL;
    int next = strcmp(at, "..") == 0 ? -1 : enter(fd, at, make);
    int saved = errno;
    close(fd);
    fd = next;
    errno = saved;
  }
  if (fd >= 0 && name) *name = path + n + 1 + (at - buffer);
  return fd;
}

char *read_small(int dir, const char *name, size_t limit) {
  int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  struct stat st;
  if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) { close(fd); fd = -1; }
  if (fd < 0) return NULL;
  if (st.st_size > 0 && (uint64_t)st.st_size < limit) limit = (size_t)st.st_size; /* of /proc's files no size is known */
  char *text = must(malloc(limit + 1));
  size_t n = 0;
  for (ssize_t r; n < limit && (r = read(fd, text + n, limit - n)) > 0;) n += (size_t)r;
  close(fd);
  text[n] = 0;
  return text;
}

static int open_temporary(int dir, const char *name, char tmp[300]) {
  snprintf(tmp, 300, ".%s.%d.tmp", name, (int)getpid());
  unlinkat(dir, tmp, 0);
  return openat(dir, tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* `failed` is 0, or the errno of what went wrong before. */
static int put_in_place(int dir, const char *name, const char *tmp, int fd, int failed) {
  if (!failed && fsync(fd) < 0) failed = errno;
  if (close(fd) < 0 && !failed) failed = errno;
  if (!failed && renameat(dir, tmp, dir, name) < 0) failed = errno;
  if (failed) { unlinkat(dir, tmp, 0); errno = failed; return -1; }
  return fsync(dir); /* the name itself must survive a power cut */
}

int replace_file(int dir, const char *name, const char *bytes, size_t n) {
  char tmp[300];
  int fd = open_temporary(dir, name, tmp);
  if (fd < 0) return -1;
  return put_in_place(dir, name, tmp, fd, write_all(fd, bytes, n) < 0 ? errno : 0);
}

int copy_file(int dir, const char *name, int from, int64_t most) {
  char tmp[300], part[8192];
  int fd = open_temporary(dir, name, tmp), failed = 0;
  if (fd < 0) return -1;
  int64_t at = 0;
  for (ssize_t n; !failed && (n = pread(from, part, sizeof part, (off_t)at)) > 0; at += n)
    failed = at + n > most ? EFBIG : write_all(fd, part, (size_t)n) < 0 ? errno : 0;
  return put_in_place(dir, name, tmp, fd, failed);
}

int append_line(int dir, const char *name, const char *line, size_t n) {
  int fd = openat(dir, name, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
  struct stat st;
  if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1)) { close(fd); fd = -1; } /* somebody else's file by another name */
  if (fd < 0) return -1;
  Text t = {0};
  char last = '\n';
  off_t end = lseek(fd, 0, SEEK_END);
  if (end > 0 && pread(fd, &last, 1, end - 1) == 1 && last != '\n') text_add(&t, "\n"); /* somebody's torn line stays its own */
  text_bytes(&t, line, n);
  bool whole = write(fd, t.at, t.len) == (ssize_t)t.len;
  text_free(&t);
  close(fd);
  return whole ? 0 : -1;
}

int64_t remove_file(const char *root, const char *path) {
  const char *name;
  int dir = open_parent(root, path, false, &name);
  struct stat st;
  int64_t bytes = dir >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && unlinkat(dir, name, 0) == 0 ? st.st_size : -1;
  if (dir >= 0) close(dir);
  return bytes;
}

static int open_folder(int dir, const char *name) {
  int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0 || errno != EACCES) return fd;
  return open_unreadable_folder(dir, name);
}

static bool remove_below(int dir, const char *name, dev_t device, int depth, int64_t *bytes) {
  struct stat st;
  if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0) return errno == ENOENT;
  if (!S_ISDIR(st.st_mode)) {
    if (st.st_nlink == 1 && S_ISREG(st.st_mode)) *bytes += (int64_t)st.st_blocks * 512;
    return unlinkat(dir, name, 0) == 0 || errno == ENOENT;
  }
  if (st.st_dev != device || depth > 512) return false; /* never into another mount */
  int fd = open_folder(dir, name);
  if (fd < 0) return false;
  if ((st.st_mode & S_IRWXU) != S_IRWXU) fchmod(fd, 0700); /* tools leave read-only caches */
  DIR *d = fdopendir(fd);
  if (!d) { close(fd); return false; }
  bool all = true;
  for (struct dirent *e; (e = readdir(d));)
    if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
      all = remove_below(fd, e->d_name, device, depth + 1, bytes) && all;
  closedir(d);
  return (unlinkat(dir, name, AT_REMOVEDIR) == 0 || errno == ENOENT) && all;
}

int64_t remove_tree(int dir, const char *name) {
  struct stat st;
  if (fstat(dir, &st) < 0) return -1;
  int64_t bytes = 0;
  return remove_below(dir, name, st.st_dev, 0, &bytes) ? bytes : -1;
}

bool same_file(const char *path, int fd) {
  struct stat a, b;
  return lstat(path, &a) == 0 && fstat(fd, &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}
