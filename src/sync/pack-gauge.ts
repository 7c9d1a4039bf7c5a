/**
 * How much a pack would become, told from its bytes as they arrive and before git unpacks them: a remote of one megabyte can hold
 * files of gigabytes. An object's size stands before its bytes, and a delta begins with the sizes of its base and of what it makes. Of a
 * delta only what it adds to its base counts: the long history of a file that grows line by line adds little each time.
 */
import { once } from "node:events";
import { createInflate, inflateSync } from "node:zlib";

export interface PackBounds {
  objects: number;
  /** Of one object. A file of a journal has at most 16 MiB. */
  objectBytes: number;
  /** Of all together. */
  bytes: number;
  /** How many times its own size a pack may become, beyond `free` bytes. Lines of JSON come to 5 to 20. */
  ratio: number;
  free: number;
}

export const PACK_BOUNDS: Readonly<PackBounds> = {
  objects: 1_000_000,
  objectBytes: 64 << 20,
  bytes: 1 << 30,
  ratio: 200,
  free: 32 << 20,
};

const [OFS_DELTA, REF_DELTA] = [6, 7];
const SHA_BYTES = 20;
/** Objects up to this size are unpacked at once. Packed they are hardly longer. */
const SMALL = 64 << 10;
const SMALL_PACKED: number = SMALL + (16 << 10);

/** Why the pack is not wanted, as soon as that is known. Reads no further then. */
export async function packExcess(
  pack: AsyncIterable<Buffer>,
  bounds: PackBounds = PACK_BOUNDS,
): Promise<string | undefined> {
  const source = new Source(pack);
  try {
    await gauge(source, bounds);
    while (await source.pull()) source.drop();
    return undefined;
  } catch (error) {
    if (error instanceof Excess) return error.message;
    if (error instanceof Ended) return source.read === 0 ? undefined : "it ends too early"; // Nothing new: no pack.
    return "it is damaged";
  } finally {
    await source.close();
  }
}

class Excess extends Error {}
class Ended extends Error {}

async function gauge(source: Source, bounds: PackBounds): Promise<void> {
  const head = await source.take(12);
  if (head.toString("latin1", 0, 4) !== "PACK") throw new Excess("it is not a pack");
  const objects = head.readUInt32BE(8);
  if (objects > bounds.objects) throw new Excess(`it has ${objects} objects`);
  let [announced, made] = [0, 0];
  const announce = (size: number, adds: number): void => {
    announced += adds;
    if (size > bounds.objectBytes) throw new Excess(`one of its files has ${size} bytes`);
    if (announced > bounds.bytes) throw new Excess(`it becomes more than ${bounds.bytes} bytes`);
  };
  const make = (bytes: number): void => {
    made += bytes;
    if (made > bounds.free && made > bounds.ratio * source.read)
      throw new Excess(`${source.read} bytes of it become ${made}`);
  };
  for (let i = 0; i < objects; i++) {
    const { type, size } = await entry(source);
    announce(size, type === OFS_DELTA || type === REF_DELTA ? 0 : size);
    const start = await inflate(source, size, make);
    if (type !== OFS_DELTA && type !== REF_DELTA) continue;
    const [base, after] = varint(start, 0);
    const [result] = varint(start, after);
    announce(result, Math.max(0, result - base));
    // What it copies costs no byte of the pack; what it inserts stands in it and was counted.
    make(Math.max(0, result - base - size));
  }
}

/** The head of an object, up to its packed bytes. */
async function entry(source: Source): Promise<{ type: number; size: number }> {
  let byte = await source.byte();
  const type = (byte >> 4) & 7;
  let size = byte & 15;
  for (let unit = 16; byte >= 128; unit *= 128) {
    byte = await source.byte();
    size += (byte & 127) * unit;
  }
  if (type === REF_DELTA) await source.take(SHA_BYTES);
  if (type === OFS_DELTA) while ((await source.byte()) >= 128);
  return { type, size };
}

function varint(bytes: Buffer, from: number): [value: number, after: number] {
  let [value, at] = [0, from];
  for (let unit = 1; ; unit *= 128) {
    const byte = bytes[at++];
    if (byte === undefined) throw new Error("too short");
    value += (byte & 127) * unit;
    if (byte < 128) return [value, at];
  }
}

/** Goes over the packed bytes of one object, and gives the first that it becomes. */
async function inflate(source: Source, size: number, make: (bytes: number) => void): Promise<Buffer> {
  if (size > SMALL) return await inflateLarge(source, make);
  for (;;) {
    try {
      const { buffer, engine } = inflateSync(source.waiting, {
        info: true,
        maxOutputLength: SMALL,
      } as object) as unknown as {
        buffer: Buffer;
        engine: { bytesWritten: number };
      };
      source.drop(engine.bytesWritten);
      make(buffer.length);
      return buffer;
    } catch (error) {
      const isCut = (error as NodeJS.ErrnoException).code === "Z_BUF_ERROR" && source.waiting.length < SMALL_PACKED;
      if (!isCut) throw error;
      if (!(await source.pull())) throw new Ended();
    }
  }
}

async function inflateLarge(source: Source, make: (bytes: number) => void): Promise<Buffer> {
  const engine = createInflate();
  let first: Buffer | undefined;
  let [fault, ended]: [unknown, boolean] = [undefined, false];
  engine.on("data", (part: Buffer) => {
    first ??= part;
    try {
      make(part.length);
    } catch (error) {
      engine.destroy(error as Error);
    }
  });
  engine.on("error", (error) => {
    fault = error;
  });
  engine.on("end", () => {
    ended = true;
  });
  const closed = once(engine, "close").catch(() => undefined);
  for (let given = 0; ; ) {
    const part = source.waiting;
    given += part.length;
    await Promise.race([new Promise<void>((done) => engine.write(part, () => done())), closed]);
    if (fault !== undefined) throw fault;
    // It stops at the end of its object; what it did not take belongs to the next.
    const rest = given - engine.bytesWritten;
    source.drop(part.length - rest);
    if (rest > 0 || ended) break;
    if (!(await source.pull())) throw new Ended();
  }
  engine.end();
  await closed;
  if (fault !== undefined) throw fault;
  return first ?? Buffer.alloc(0);
}

/** Bytes that have arrived and were not looked at yet. */
class Source {
  waiting: Buffer = Buffer.alloc(0);
  /** How many have arrived. */
  read = 0;
  readonly #parts: AsyncIterator<Buffer>;

  constructor(pack: AsyncIterable<Buffer>) {
    this.#parts = pack[Symbol.asyncIterator]();
  }

  /** False at the end. */
  async pull(): Promise<boolean> {
    const { done, value } = await this.#parts.next();
    if (done === true) return false;
    this.read += value.length;
    this.waiting = this.waiting.length === 0 ? value : Buffer.concat([this.waiting, value]);
    return true;
  }

  async close(): Promise<void> {
    await this.#parts.return?.();
  }

  drop(bytes: number = this.waiting.length): void {
    this.waiting = this.waiting.subarray(bytes);
  }

  async take(bytes: number): Promise<Buffer> {
    while (this.waiting.length < bytes) if (!(await this.pull())) throw new Ended();
    const taken = this.waiting.subarray(0, bytes);
    this.drop(bytes);
    return taken;
  }

  async byte(): Promise<number> {
    return (await this.take(1))[0] as number;
  }
}
