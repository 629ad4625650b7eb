// A disk with faults, for LD_PRELOAD. The file named by $FAULTY_DISK says what happens to the database files
// (sessions.db and its WAL) from now on: "<ms of delay per sync> <errno of syncs> <errno of writes>", 0 for none.
// Each sync adds one byte to "$FAULTY_DISK.syncs".
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct { int delay, sync_error, write_error; } faults;

static faults current(void) {
  faults found = {0, 0, 0};
  char text[64];
  const char *path = getenv("FAULTY_DISK");
  int control = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (control < 0) return found;
  ssize_t length = read(control, text, sizeof text - 1);
  close(control);
  if (length <= 0) return found;
  text[length] = 0;
  sscanf(text, "%d %d %d", &found.delay, &found.sync_error, &found.write_error);
  return found;
}

static int is_database(int file) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return 0;
  path[length] = 0;
  return strstr(path, "/sessions.db") != NULL;
}

static void count_sync(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s.syncs", getenv("FAULTY_DISK"));
  int counter = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (counter < 0) return;
  if (write(counter, ".", 1) < 0) abort();
  close(counter);
}

static int faulty_sync(const char *name, int file) {
  int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  if (!is_database(file)) return real(file);
  count_sync();
  faults now = current();
  struct timespec pause = {now.delay / 1000, (now.delay % 1000) * 1000000L};
  if (now.delay > 0) nanosleep(&pause, NULL);
  if (now.sync_error == 0) return real(file);
  errno = now.sync_error;
  return -1;
}

int fsync(int file) { return faulty_sync("fsync", file); }
int fdatasync(int file) { return faulty_sync("fdatasync", file); }

static ssize_t faulty_write(const char *name, int file, const void *data, size_t size, off64_t at) {
  ssize_t (*real)(int, const void *, size_t, off64_t) =
      (ssize_t (*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, name);
  faults now = is_database(file) ? current() : (faults){0, 0, 0};
  if (now.write_error == 0) return real(file, data, size, at);
  errno = now.write_error;
  return -1;
}

ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) {
  return faulty_write("pwrite64", file, data, size, at);
}
ssize_t pwrite(int file, const void *data, size_t size, off64_t at) {
  return faulty_write("pwrite64", file, data, size, at);
}
