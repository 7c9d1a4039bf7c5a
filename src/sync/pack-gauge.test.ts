import { randomBytes } from "node:crypto";
import { deflateSync } from "node:zlib";
import { expect, it } from "vitest";
import { folder } from "../../test/support/folder.ts";
import { gitBytes } from "../process/git.ts";
import { PACK_BOUNDS, type PackBounds, packExcess } from "./pack-gauge.ts";

/** A pack as git makes it of these files. */
async function packOf(files: readonly Buffer[]): Promise<Buffer> {
  const place = folder();
  const run = async (args: string[], input?: Buffer | string): Promise<Buffer> => {
    const { code, stdout } = await gitBytes(place, args, { bare: true, ...(input === undefined ? {} : { input }) });
    expect(code).toBe(0);
    return stdout;
  };
  await run(["init", "--quiet", "--bare"]);
  const names: string[] = [];
  for (const file of files) names.push((await run(["hash-object", "-w", "--stdin"], file)).toString().trim());
  return await run(["pack-objects", "--stdout", "--quiet"], `${names.join("\n")}\n`);
}

async function* inParts(pack: Buffer, bytes: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < pack.length; at += bytes) yield pack.subarray(at, at + bytes);
}

const judge = (pack: Buffer, bounds: Partial<PackBounds> = {}, bytes = 65_536): Promise<string | undefined> =>
  packExcess(inParts(pack, bytes), { ...PACK_BOUNDS, ...bounds });

const grown = (lines: number): Buffer =>
  Buffer.from(Array.from({ length: lines }, (_, i) => `{"n":${i},"id":"${i * 7919}"}\n`).join(""));

it.each([29, 4096, 65_536, 1 << 24])(
  "goes over small, large, empty and delta objects in parts of %d bytes",
  async (bytes) => {
    const pack = await packOf([
      randomBytes(200_000),
      Buffer.alloc(0),
      grown(3000),
      grown(3001),
      grown(5000),
      randomBytes(10),
    ]);
    expect(await judge(pack, {}, bytes)).toBeUndefined();
  },
);

it("a file that grew in hundreds of steps counts once", async () => {
  const pack = await packOf(Array.from({ length: 300 }, (_, i) => grown(i + 200)));
  expect(await judge(pack, { bytes: 100_000, ratio: 20, free: 0 })).toBeUndefined();
  expect(await judge(pack, { bytes: 10_000 })).toBe("it becomes more than 10000 bytes");
});

it("refuses by number, by one object, by all, and by how much the bytes so far become", async () => {
  const pack = await packOf([randomBytes(100_000), randomBytes(100_001)]);
  expect(await judge(pack, { objects: 1 })).toBe("it has 2 objects");
  expect(await judge(pack, { objectBytes: 100_000 })).toBe("one of its files has 100001 bytes");
  expect(await judge(pack, { bytes: 200_000 })).toBe("it becomes more than 200000 bytes");
  expect(await judge(await packOf([Buffer.alloc(8 << 20)]), { free: 1 << 20 })).toMatch(/bytes of it become/);
});

it("sees what a delta makes by copies alone", async () => {
  const delta = Buffer.concat([Buffer.from([...varint(1000), ...varint(50 << 20)]), Buffer.alloc(30, 1)]);
  const head = Buffer.from("PACK\0\0\0\x02\0\0\0\x01", "latin1");
  const pack = Buffer.concat([
    head,
    Buffer.from([0xf0 | (delta.length & 15), delta.length >> 4]),
    randomBytes(20),
    deflateSync(delta),
    randomBytes(20),
  ]);
  expect(await judge(pack)).toMatch(/bytes of it become 524/);
  expect(await judge(pack, { objectBytes: 1 << 20 })).toBe("one of its files has 52428800 bytes");
});

it("takes no pack for what is none: cut off, changed, something else; no bytes at all are nothing new", async () => {
  const pack = await packOf([randomBytes(100_000), grown(3000)]);
  expect(await judge(pack.subarray(0, 5000))).toBe("it ends too early");
  expect(await judge(Buffer.from("<html>not found</html>"))).toBe("it is not a pack");
  const damaged = Buffer.from(pack);
  damaged.fill(0xff, 40, 60);
  expect(await judge(damaged)).toBeDefined();
  expect(await judge(Buffer.alloc(0))).toBeUndefined();
});

function varint(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...varint(Math.floor(value / 128))];
}
