/* index-check LOG INDEX: recomputes every entry of an index from the log of an ended run. Exit 0 when all are right.
   A second opinion on purpose: nothing here is shared with the keeper. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned char *read_all(const char *path, size_t *n) {
  FILE *f = fopen(path, "rb");
  if (!f) { perror(path); exit(2); }
  unsigned char *bytes = NULL;
  size_t cap = 0;
  *n = 0;
  do {
    if (*n == cap && !(bytes = realloc(bytes, cap = cap ? cap * 2 : 1 << 16))) exit(2);
    *n += fread(bytes + *n, 1, cap - *n, f);
  } while (*n == cap);
  fclose(f);
  return bytes;
}

static uint32_t crc32c(const unsigned char *p, size_t n) {
  uint32_t crc = ~0u;
  while (n--) {
    crc ^= *p++;
    for (int k = 0; k < 8; k++) crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
  }
  return ~crc;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  size_t log_size, size;
  unsigned char *log = read_all(argv[1], &log_size), *index = read_all(argv[2], &size);
  uint64_t at = 0, line = 0;
  int bad = size % 32 != 0;
  if (bad) printf("%zu bytes are not whole entries\n", size);
  for (size_t i = 0; i + 32 <= size && bad < 10; i += 32) {
    uint64_t entry[4];
    memcpy(entry, index + i, 32);
    const char *what = NULL;
    if (entry[1] <= at || entry[1] > log_size || log[entry[1] - 1] != '\n') what = "offset";
    else {
      uint64_t lines = 0;
      for (uint64_t k = at; k < entry[1]; k++) lines += log[k] == '\n';
      if (line + lines != entry[0]) what = "line";
      else if (lines > 1024) what = "distance";
      else if (crc32c(log + at, entry[1] - at) != entry[3]) what = "checksum";
      line += lines;
      at = entry[1];
    }
    if (what) { bad++; printf("entry %zu: wrong %s: line %" PRIu64 " offset %" PRIu64 "\n", i / 32, what, entry[0], entry[1]); }
  }
  for (size_t k = at; k < log_size; k++)
    if (log[k] == '\n') { bad++; printf("ends at %" PRIu64 ", a later line is not covered\n", at); break; }
  free(log);
  free(index);
  return bad != 0;
}
