/* Linked into build/badsync with --wrap=fdatasync: a disk that loses one write. The first sync fails and those after it do not,
   as the kernel does it: an error is told once. */
#include <errno.h>
#include <stdatomic.h>

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

int __wrap_fdatasync(int fd) {
  static atomic_uint calls;
  if (atomic_fetch_add(&calls, 1) > 0) return __real_fdatasync(fd);
  errno = EIO;
  return -1;
}
