/*
 * Loaded into a process before everything else: system calls on the files of a store fail as a page of shared memory says, and the wall clock is
 * wrong by as much as it says. Calls on other files are left alone. The page is a file that the driver writes to while the process runs:
 *
 *   0 faults   a set of bits, below          8  skew    milliseconds to add to the wall clock
 *   4 every    one call in so many fails    16  counts  of each fault that happened, in the order of the bits
 *  36 held     syncs wait                   40  lies    syncs of files succeed and do nothing
 *
 * It also writes down what each sync has made safe, a line each, so that the driver can take away the rest as a power cut would:
 *
 *   F inode birth size          the bytes of a file, as many as there were when the sync began
 *   D path TAB name TAB …       the names in a directory
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { WRITE_ENOSPC, WRITE_EIO, WRITE_SHORT, SYNC_EIO, READ_EIO, KINDS };

struct page {
  volatile uint32_t faults, every;
  volatile int64_t skew_ms;
  volatile uint32_t counts[KINDS];
  volatile uint32_t held, lies;
};

static struct page *page;
static const char *store;
static size_t store_length;
static volatile uint32_t calls;
static int syncs = -1;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("HOLDFAST_TORTURE_PAGE");
  store = getenv("HOLDFAST_TORTURE_STORE");
  if (path == NULL || store == NULL) return;
  store_length = strlen(store);
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void *at = mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (at != MAP_FAILED) page = at;
  const char *log = getenv("HOLDFAST_TORTURE_SYNCS");
  if (log != NULL) syncs = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

static const char *const parts[] = {"/sessions", "/watermarks", "/feed", "/holdfast.json", "/catalog.db", NULL};

/* Where a file of the store lies, or 0 if it is none. */
static int path_of(int fd, char *target, size_t size) {
  char name[64];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(name, target, size - 1);
  if (length < 0) return 0;
  target[length] = 0;
  if (strncmp(target, store, store_length) == 0) return 1;
  /* While the store is unmounted, the path of a file that is still open there begins at the store. */
  for (const char *const *part = parts; *part != NULL; part++) {
    if (strncmp(target, *part, strlen(*part)) != 0 || store_length + (size_t)length >= size) continue;
    memmove(target + store_length, target, (size_t)length + 1);
    memcpy(target, store, store_length);
    return 1;
  }
  return 0;
}

/* Whether this call is one that fails in this way. */
static int hits(int kind, int fd) {
  if (page == NULL || (page->faults & (1u << kind)) == 0) return 0;
  char target[4096];
  if (!path_of(fd, target, sizeof target)) return 0;
  uint32_t every = page->every == 0 ? 1 : page->every;
  if (__sync_add_and_fetch(&calls, 1) % every != 0) return 0;
  __sync_add_and_fetch(&page->counts[kind], 1);
  return 1;
}

#define REAL(name) ((__typeof__(&name))real(#name))
static void *real(const char *name) { return dlsym(RTLD_NEXT, name); }

static int fail(int error) {
  errno = error;
  return -1;
}

static int write_fails(int fd) {
  if (hits(WRITE_ENOSPC, fd)) return ENOSPC;
  if (hits(WRITE_EIO, fd)) return EIO;
  return 0;
}

ssize_t write(int fd, const void *bytes, size_t length) {
  int error = write_fails(fd);
  if (error != 0) return fail(error);
  if (length > 1 && hits(WRITE_SHORT, fd)) length /= 2;
  return REAL(write)(fd, bytes, length);
}

ssize_t writev(int fd, const struct iovec *pieces, int count) {
  int error = write_fails(fd);
  if (error != 0) return fail(error);
  if (count > 0 && pieces[0].iov_len > 1 && hits(WRITE_SHORT, fd)) return REAL(write)(fd, pieces[0].iov_base, pieces[0].iov_len / 2);
  return REAL(writev)(fd, pieces, count);
}

ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t at) {
  int error = write_fails(fd);
  if (error != 0) return fail(error);
  return REAL(pwrite64)(fd, bytes, length, at);
}

ssize_t pread64(int fd, void *bytes, size_t length, off64_t at) {
  if (hits(READ_EIO, fd)) return fail(EIO);
  return REAL(pread64)(fd, bytes, length, at);
}

/* The names in an open directory. It may be the last file that this process can have open, and its path may lead elsewhere by now. */
static void write_names(FILE *out, int fd) {
  struct entry {
    uint64_t inode;
    int64_t next;
    unsigned short length;
    unsigned char type;
    char name[];
  };
  _Alignas(8) char bytes[32768];
  lseek(fd, 0, SEEK_SET);
  for (long read; (read = syscall(SYS_getdents64, fd, bytes, sizeof bytes)) > 0;) {
    for (long at = 0; at < read;) {
      struct entry *entry = (struct entry *)(bytes + at);
      fprintf(out, "\t%s", entry->name);
      at += entry->length;
    }
  }
  lseek(fd, 0, SEEK_SET);
}

/* What a sync that begins now will make safe; NULL if that is of no interest. */
static char *safe(int fd) {
  char path[4096];
  struct statx now;
  if (syncs < 0 || !path_of(fd, path, sizeof path)) return NULL;
  if (statx(fd, "", AT_EMPTY_PATH, STATX_ALL, &now) != 0) return NULL;
  char *line = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&line, &length);
  if (S_ISDIR(now.stx_mode)) {
    fprintf(out, "D %s", path);
    write_names(out, fd);
    fputc('\n', out);
  } else {
    long long birth = now.stx_btime.tv_sec * 1000000000LL + now.stx_btime.tv_nsec;
    fprintf(out, "F %llu %lld %llu\n", (unsigned long long)now.stx_ino, birth, (unsigned long long)now.stx_size);
  }
  fclose(out);
  return line;
}

/* Nobody is told that a sync has succeeded before it is written down. */
static int synced(int result, char *line) {
  int error = errno;
  if (result == 0 && line != NULL) {
    ssize_t written = REAL(write)(syncs, line, strlen(line));
    (void)written;
  }
  free(line);
  errno = error;
  return result;
}

/* A sync waits for as long as syncs are held. */
static void wait_for(int fd) {
  char path[4096];
  if (page == NULL || !path_of(fd, path, sizeof path)) return;
  while (page->held != 0) usleep(2000);
}

/* The planted bug is one of fdatasync, with which the engine syncs files. Directories are synced with fsync. */
int fdatasync(int fd) {
  char path[4096];
  if (page != NULL && page->lies != 0 && path_of(fd, path, sizeof path)) return 0;
  if (hits(SYNC_EIO, fd)) return fail(EIO);
  wait_for(fd);
  char *line = safe(fd);
  return synced(REAL(fdatasync)(fd), line);
}

int fsync(int fd) {
  if (hits(SYNC_EIO, fd)) return fail(EIO);
  wait_for(fd);
  char *line = safe(fd);
  return synced(REAL(fsync)(fd), line);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  int result = REAL(clock_gettime)(clock, now);
  if (result == 0 && clock == CLOCK_REALTIME && page != NULL) now->tv_sec += page->skew_ms / 1000;
  return result;
}

int gettimeofday(struct timeval *now, void *zone) {
  int result = REAL(gettimeofday)(now, zone);
  if (result == 0 && page != NULL) now->tv_sec += page->skew_ms / 1000;
  return result;
}
