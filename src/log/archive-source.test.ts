import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { expect, it } from "vitest";
import { folder } from "../../test/support/folder.ts";
import { packFile } from "../disk/archive.ts";
import { ArchiveSource } from "./archive-source.ts";

const FOOTER = 9;

/** An archive of one frame, with what a damage made of its bytes. */
function damaged(damage: (archive: Buffer) => Buffer): string {
  const place = folder();
  const [plain, packed] = [join(place, "x.log"), join(place, "x.log.zst")];
  writeFileSync(plain, "a line\n".repeat(1000));
  for (const _ of packFile(plain, packed, () => undefined));
  writeFileSync(packed, damage(readFileSync(packed)));
  return packed;
}

it.each([2, 1 << 20, 0x3fff_ffff, 0xffff_ffff])(
  "a seek table that claims %d entries is damage, and nothing is held for it",
  (count) => {
    const path = damaged((archive) => {
      archive.writeUInt32LE(count, archive.length - FOOTER);
      return archive;
    });
    const before = process.memoryUsage().arrayBuffers;
    expect(() => ArchiveSource.open(path)).toThrow(expect.objectContaining({ code: "CORRUPT_ARCHIVE" }));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1 << 20);
  },
);

it("a frame that unpacks to more than its entry says is damage, found before the rest is unpacked", () => {
  const bomb = zstdCompressSync(Buffer.alloc(256 << 20));
  const path = damaged((archive) => {
    const tail = archive.subarray(archive.readUInt32LE(archive.length - FOOTER - 8)); // Behind the frame.
    tail.writeUInt32LE(bomb.length, tail.length - FOOTER - 8);
    return Buffer.concat([bomb, tail]);
  });
  const source = ArchiveSource.open(path);
  const before = process.memoryUsage().rss;
  expect(() => source?.frame(0)).toThrow(expect.objectContaining({ code: "CORRUPT_ARCHIVE" }));
  source?.close();
  expect(process.memoryUsage().rss - before).toBeLessThan(100 << 20);
});

it("an entry of more bytes than a frame can have is damage", () => {
  const path = damaged((archive) => {
    archive.writeUInt32LE(0xffff_ffff, archive.length - FOOTER - 4);
    return archive;
  });
  expect(() => ArchiveSource.open(path)).toThrow(expect.objectContaining({ code: "CORRUPT_ARCHIVE" }));
});
