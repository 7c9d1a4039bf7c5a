/** Any interleaving of a shell's pieces with whole lines of others gives all events back, whatever place a reader begins at. */
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { folder } from "../../test/support/folder.ts";
import { EmbeddedLog } from "./embedded.ts";
import type { Stored } from "./engine.ts";
import { makeEvent } from "./event.ts";
import { Joining, type Part, type Piece, partsOf, REACH_BYTES, type Taken } from "./pieces.ts";

interface Written {
  bytes: Buffer;
  expected: string[];
}

const ours = (content: string): Buffer =>
  Buffer.from(
    `${JSON.stringify(makeEvent({ interaction: 1, actor: "ours", type: "note", content, data: { v: 1 } }))}\n`,
  );

/** As jq prints it, in one line or in several. */
const shell = (content: string, pretty: boolean): Buffer => {
  const event = { interaction: 1, actor: "shell", type: "note", content, timestamp: "2026-11-15T19:00:00Z" };
  return Buffer.from(`${JSON.stringify(event, undefined, pretty ? 2 : 0)}\n`);
};

/** Text that is hard to take apart: JSON in JSON, several bytes a character, beginnings of events. */
const text = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 40 }),
  fc
    .array(
      fc.constantFrom('{"v":1,', '{"interaction":', "{", "}", "{}", '"', "\\", "ä", "→", "🦉", " ", "\n", "\\n", "x"),
    )
    .map((parts) => parts.join("")),
);

interface Turn {
  content: string;
  pretty: boolean;
  /** Where it is interrupted, as parts of its length. */
  cuts: number[];
  /** What comes in between: the first directly behind the piece, or behind a newline that its writer put there. */
  between: { newline: boolean; contents: string[] }[];
  dies: boolean;
}

const turns = fc.array(
  fc.record<Turn>({
    content: text,
    pretty: fc.boolean(),
    cuts: fc.array(fc.integer({ min: 0, max: 999 }), { maxLength: 5 }),
    between: fc.array(fc.record({ newline: fc.boolean(), contents: fc.array(text, { minLength: 1, maxLength: 3 }) }), {
      minLength: 5,
      maxLength: 5,
    }),
    dies: fc.boolean(),
  }),
  { maxLength: 8 },
);

/** A shell that dies was interrupted at least once; the next begins behind what it left, 16 bytes at least in its first write. */
function write(list: readonly Turn[], deaths: boolean): Written {
  const parts: Buffer[] = [];
  const expected: string[] = [];
  for (const { content, pretty, cuts, between, dies } of list) {
    const line = shell(content, pretty);
    const least = deaths ? 16 : 1;
    const at = [...new Set(cuts.map((cut) => Math.max(least, Math.floor((cut / 1000) * line.length))))].sort(
      (a, b) => a - b,
    );
    const pieces = [0, ...at].map((from, i) => line.subarray(from, at[i]));
    const died = deaths && dies ? Math.floor(pieces.length / 2) : pieces.length;
    for (const [i, piece] of pieces.slice(0, died).entries()) {
      parts.push(piece);
      if (i === pieces.length - 1) expected.push(content);
      else {
        const { newline, contents } = between[i] as Turn["between"][number];
        parts.push(Buffer.from(newline ? "\n" : ""), ...contents.map(ours));
        expected.push(...contents);
      }
    }
    // Killed in the write that nobody came behind.
    const [begun] = pieces.slice(died);
    if (begun === undefined) continue;
    const last = begun.subarray(0, Math.min(30, begun.length >> 1));
    parts.push(last);
    // All but the newline, which others write.
    if (pieces.slice(0, died).reduce((sum, { length }) => sum + length, last.length) >= line.length - 1)
      expected.push(content);
  }
  parts.push(ours("the end"));
  return { bytes: Buffer.concat(parts), expected: [...expected, "the end"] };
}

/** All parts of a file through one row of pieces. */
function joinAll(bytes: Buffer): { contents: string[]; dead: Piece[] } {
  const joining = new Joining();
  const contents: string[] = [];
  const dead: Piece[] = [];
  const take = (part: Part): void => {
    if (part.event !== undefined) {
      contents.push(part.event.content);
      return;
    }
    const taken = joining.take(part);
    dead.push(...taken.dead);
    if (taken.event !== undefined) contents.push(taken.event.content);
  };
  for (let from = 0; from < bytes.length; ) {
    const end = bytes.indexOf(10, from);
    if (end > from) for (const part of partsOf(bytes.subarray(from, end), from)) take(part);
    from = end + 1;
  }
  return { contents, dead: [...dead, ...joining.giveUp(() => true)] };
}

/** Read in steps while it is written, each with a reader of its own; the places are those of the file. */
async function readInSteps(bytes: Buffer, steps: readonly number[], log: EmbeddedLog, path: string): Promise<Read> {
  const read: Read = { events: [], bad: [] };
  let after: string | undefined;
  writeFileSync(path, "");
  for (let from = 0; from < bytes.length; ) {
    const to = from + (steps[read.events.length % steps.length] ?? bytes.length);
    appendFileSync(path, bytes.subarray(from, to));
    from = to;
    after = await readOn(log, after, read, read.events.length % 3);
  }
  await readOn(log, after, read, Number.POSITIVE_INFINITY);
  return read;
}

interface Read {
  events: string[];
  bad: string[];
}

/** To the end, or to the `most`th item, as one that is stopped. Where it came to. */
async function readOn(log: EmbeddedLog, from: string | undefined, to: Read, most: number): Promise<string | undefined> {
  let [after, n] = [from, 0];
  for await (const item of log.read({ after })) {
    if (n++ >= most) break;
    if ("bad" in item) to.bad.push(`${item.bad.seq} ${item.bad.length}`);
    else to.events.push(shown(item));
    expect(await log.holds(item.next)).toBe(true);
    after = item.next;
  }
  return after;
}

const shown = ({ event, seq }: Stored): string => `${seq} ${event.id} ${event.content}`;

const sorted = (list: readonly string[]): string[] => list.toSorted();

describe("pieces of lines", () => {
  it("R-003.9: whatever stands between the pieces, every event is there once, and nothing is left over", () => {
    fc.assert(
      fc.property(turns, (list) => {
        const { bytes, expected } = write(list, false);
        const { contents, dead } = joinAll(bytes);
        expect(dead.map((piece) => piece.bytes.toString())).toEqual([]);
        expect(sorted(contents)).toEqual(sorted(expected));
      }),
      { numRuns: 600 },
    );
  });

  it("R-003.9: a shell that dies costs its own event, not that of the next", () => {
    fc.assert(
      fc.property(turns, (list) => {
        const { bytes, expected } = write(list, true);
        expect(sorted(joinAll(bytes).contents)).toEqual(sorted(expected));
      }),
      { numRuns: 600 },
    );
  });

  it("R-003.9: a reader that begins anywhere, and one that goes on while the file grows, come to the same events with the same ids and places", async () => {
    const path = join(folder(), "events.log");
    const log = new EmbeddedLog(path);
    const steps = fc.array(fc.integer({ min: 1, max: 900 }), { minLength: 1, maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(turns, steps, fc.boolean(), async (list, sizes, deaths) => {
        const { bytes, expected } = write(list, deaths);
        writeFileSync(path, bytes);
        const all: Stored[] = [];
        const bad: string[] = [];
        for await (const item of log.read())
          if ("bad" in item) bad.push(`${item.bad.seq} ${item.bad.length}`);
          else all.push(item);
        expect(sorted(all.map(({ event }) => event.content))).toEqual(sorted(expected));
        for (const [i, { next }] of all.entries()) {
          const rest: Read = { events: [], bad: [] };
          await readOn(log, next, rest, Number.POSITIVE_INFINITY);
          expect(rest.events).toEqual(all.slice(i + 1).map(shown));
          // One that did not know what waited there: a place that was found by counting lines back.
          const plain: Read = { events: [], bad: [] };
          await readOn(log, next.replace(/-.*/, ""), plain, Number.POSITIVE_INFINITY);
          expect(plain.events).toEqual(rest.events);
        }
        const grown = await readInSteps(bytes, sizes, log, path);
        expect(grown.events).toEqual(all.map(shown));
        expect(sorted(grown.bad)).toEqual(sorted(bad));
      }),
      { numRuns: 60 },
    );
    await log.close();
  });
});

describe("the bounds of joining", () => {
  const half = shell("x".repeat(200), false);
  const piece = (bytes: Buffer, seq: number): Piece => ({ seq, bytes, reason: "not JSON" });

  it("no piece is joined with one that is 4 MiB away, or behind 64 others", () => {
    const far = new Joining();
    far.take(piece(half.subarray(0, 100), 0));
    const late = far.take(piece(half.subarray(100, -1), REACH_BYTES));
    expect(late.event).toBeUndefined();
    expect(late.dead.map(({ seq }) => seq)).toEqual([0, REACH_BYTES]);
    const many = new Joining();
    many.take(piece(Buffer.from('{"x":"'), 0));
    const dead = Array.from({ length: 64 }, (_, i) => many.take(piece(Buffer.from("text"), 10 + i)).dead).flat();
    expect(dead).toHaveLength(65);
  });

  it("a joined line has no type of ours and no term, and its id is that of its place", () => {
    const event = { interaction: 1, actor: "midwatch", type: "note", content: "x", timestamp: "2026-11-15T19:00:00Z" };
    const take = (more: object): Taken => {
      const bytes = Buffer.from(JSON.stringify({ ...event, ...more }));
      const joining = new Joining();
      joining.take(piece(bytes.subarray(0, 40), 0));
      return joining.take(piece(bytes.subarray(40), 500));
    };
    expect(take({ type: "agent.ended" }).event).toBeUndefined();
    expect(take({ term: 3 }).event).toBeUndefined();
    expect(take({ id: "an-id-of-another" }).event?.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8/);
    expect(take({}).event?.content).toBe("x");
  });

  it("what is torn or of another kind stands for itself", () => {
    const alone = (text: string, reason: string): number =>
      new Joining().take({ seq: 0, bytes: Buffer.from(text), reason }).dead.length;
    expect(alone('{"v":1,"id":"x","content":"ab', "not JSON")).toBe(1);
    expect(alone("no beginning", "not JSON")).toBe(1);
    expect(alone('{"v":2,"id":"x"}', "its version is 2, not 1")).toBe(1);
    expect(alone('{"interaction":1,"con', "not JSON")).toBe(0);
  });
});
