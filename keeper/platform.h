/* What Linux and macOS do differently: platform_linux.c and platform_darwin.c hold one side each. Who a process is (proc_* in
   keeper.h) and cgroups belong to it too. The macOS side compiles; it was never run. */
#ifndef PLATFORM_H
#define PLATFORM_H
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* Whether the kernel gives a run's orphans to its keeper. Where it does not, they are searched for: guarantee "scan". The tests
   build such a keeper for Linux too, so that this way of life is tried. */
#if defined(__linux__) && !defined(WITHOUT_SUBREAPER)
enum { OWNS_ORPHANS = 1 };
#else
enum { OWNS_ORPHANS = 0 };
#endif

void platform_begin(void);                /* our name in the process table */
void close_inherited(void);               /* all descriptors above 2 */
void platform_own_orphans(void);
void platform_forget_start(void);         /* gives back the pages that only a start needs */
int signals_open(const sigset_t *set);    /* a descriptor for poll; the set is blocked already */
enum { ASKS_STOP = 1, ASKS_LOOK = 2 };
int signals_take(int signals);            /* what they ask for */
long max_rss_kb(const struct rusage *use);
bool fill_random(void *bytes, size_t n);
int64_t changed_ns(const struct stat *st); /* what nobody can set back */
int open_unreadable_folder(int dir, const char *name); /* made readable first; no link followed */

#ifdef __APPLE__
#include <sys/types.h>
#include <unistd.h>
#define __WALL 0
#define O_NOATIME 0
/* Apple's fsync leaves the bytes in the drive's cache. */
int full_sync(int fd);
#define fsync full_sync
#define fdatasync full_sync
int dup3(int from, int to, int flags);
int pipe2(int fd[2], int flags);
int posix_fallocate(int fd, off_t from, off_t n);
void *memrchr(const void *bytes, int c, size_t n);
#endif
#endif
