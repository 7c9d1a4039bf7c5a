/* hold-lock FILE: holds what SQLite locks for BEGIN EXCLUSIVE on a file until it is killed; says so. */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
  int fd = argc == 2 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
  struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0x40000002, .l_len = 510};
  if (fd < 0 || fcntl(fd, F_SETLK, &l) < 0) return 1;
  puts("held");
  fflush(stdout);
  for (;;) pause();
}
