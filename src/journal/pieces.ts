/**
 * Lines that their writers did not write at once. A shell's `echo` of a long text is several writes, and `jq` prints an event on several
 * lines; whole lines of others may stand in between, also directly behind a piece, without a newline. What is left when the whole lines
 * are taken out is put together again in the order of the file. Pure: what comes of it hangs on the bytes alone.
 *
 * Of such writers one at a time is at work (they hold a lock), so there is one row of pieces. It begins with a `{`, it may begin anew
 * behind a writer that died, and it is an event as soon as the pieces from one of these beginnings on are one. The event stands where its
 * last piece does: a reader that has passed the first piece still gets it.
 */
import { isReserved, type JournalEvent, placeId, readEvent } from "./event.ts";

/** No piece is joined with one that begins further away. */
export const REACH_BYTES: number = 4 << 20;
const PIECES_MAX = 64;
const JOINED_MAX = 2 << 20;

/** A line, or one of the parts of a line that several wrote. */
export interface Part {
  seq: number;
  bytes: Buffer;
  event: JournalEvent | undefined;
  /** Why it is no event. */
  reason: string;
}

export type Piece = Omit<Part, "event">;

const OPENS = "{".charCodeAt(0);
/** How lines of ours begin; whoever writes them writes them at once, so one that is torn is nobody's piece. */
const OURS = '{"v":1,"id":';
const SHELL = '{"interaction":';
const BEGINNINGS = ['{"v":1,', SHELL];
/** An event may hold others; and nobody has more writers die on one line. */
const CUTS_MAX = 8;

/**
 * Quotes inside an event are escaped, so the beginning of one cannot stand in the text of another. What is cut in vain is put together
 * again as any pieces are.
 */
export function partsOf(bytes: Buffer, seq: number): Part[] {
  const whole = partOf(bytes, seq);
  if (whole.event !== undefined) {
    const space = SPACE.exec(bytes.toString("latin1", 0, HEAD))?.[0].length ?? 0; // It may be somebody's piece.
    return space === 0 ? [whole] : [partOf(bytes.subarray(0, space), seq), { ...whole, seq: seq + space }];
  }
  const last = lastEvent(bytes, seq);
  const rest = last === undefined ? bytes : bytes.subarray(0, last.seq - seq);
  const cuts = cutsOf(rest);
  if (last === undefined && cuts.length === 0) return [whole];
  const parts = [0, ...cuts].map((from, i) => partOf(rest.subarray(from, cuts[i]), seq + from, "torn"));
  return last === undefined ? parts : [...parts, last];
}

function partOf(bytes: Buffer, seq: number, why?: string): Part {
  const { event, reason } = readEvent(bytes, seq);
  return { seq, bytes, event, reason: (reason && why) ?? reason ?? "" };
}

/** The whole event at the end of a line. */
function lastEvent(bytes: Buffer, seq: number): Part | undefined {
  for (let tries = 0, before = bytes.length; tries < CUTS_MAX && before > 0; tries++) {
    const at = Math.max(...BEGINNINGS.map((beginning) => bytes.lastIndexOf(beginning, before - 1)));
    if (at <= 0) return undefined;
    const part = partOf(bytes.subarray(at), seq + at);
    if (part.event !== undefined) return part;
    before = at;
  }
  return undefined;
}

/** Where else something begins: behind a writer that died in mid-line. */
function cutsOf(bytes: Buffer): number[] {
  const cuts: number[] = [];
  for (const beginning of [OURS, SHELL])
    for (let at = bytes.indexOf(beginning, 1); at > 0 && cuts.length < CUTS_MAX; at = bytes.indexOf(beginning, at + 1))
      cuts.push(at);
  if (bytes.length > 1 && bytes.at(-1) === OPENS) cuts.push(bytes.length - 1);
  return cuts.sort((a, b) => a - b);
}

/** It has no more authority than a line that is appended by hand: no type of ours, no term, and its id is that of its place. */
function joined(bytes: Buffer, seq: number): JournalEvent | undefined {
  const { event } = readEvent(bytes, seq);
  if (event === undefined || isReserved(event.type) || event.term !== undefined) return undefined;
  return { ...event, id: placeId("joined", seq, bytes) };
}

/** What has an end is no beginning. */
const OPEN_ENDED = ["not JSON", "not UTF-8", "torn"];
const BEGINS = /^\s*\{\s*(?:"|$)/;
const OBJECT = /^\s*\{\s*"/;
const SPACE = /^\s+(?=\{"v":1,"id":)/;
const ENDS = /\}\s*$/;
/** So many bytes are looked at to see it. */
const HEAD = 64;

export interface Taken {
  event?: JournalEvent;
  /** What no later piece can make an event of. */
  dead: Piece[];
}

interface Held extends Piece {
  /** Whether an event may begin here. */
  begins: boolean;
  /** Of a reader that began behind it: it is no news. */
  told: boolean;
  /** The time of the first whole event behind it. */
  since: string | undefined;
}

/** The pieces that wait for the next. */
export class Joining {
  #held: Held[] = [];
  #bytes = 0;
  /** Where the first piece is that nobody was told of. */
  get open(): number | undefined {
    return this.#held.find(({ told }) => !told)?.seq;
  }

  get isEmpty(): boolean {
    return this.#held.length === 0;
  }

  take({ seq, bytes, reason }: Piece): Taken {
    const dead = this.passed(seq + bytes.length);
    const head = bytes.toString("latin1", 0, HEAD);
    const isOpen = OPEN_ENDED.includes(reason);
    const begins = isOpen && BEGINS.test(head);
    // Too long, a torn line of ours, an object that is no event, or what no piece is before: it stands for itself.
    const isWhole = head.startsWith(OURS) || (!isOpen && OBJECT.test(head));
    if (bytes.length > JOINED_MAX || isWhole || (this.isEmpty && !begins))
      return { dead: [...dead, { seq, bytes, reason }] };
    this.#held.push({ seq, bytes: Buffer.from(bytes), reason, begins, told: false, since: undefined });
    this.#bytes += bytes.length;
    const { event, from } = this.#complete() ?? { from: 0 };
    if (event === undefined) return { dead: [...dead, ...this.passed(seq + bytes.length)] };
    dead.push(...this.#drop(from));
    this.#drop(this.#held.length); // They are in the event.
    return { event, dead };
  }

  /** The event that ends here, and with which piece it began. */
  #complete(): { event: JournalEvent; from: number } | undefined {
    const { seq, bytes } = this.#held.at(-1) as Held;
    if (!ENDS.test(bytes.toString("latin1", Math.max(0, bytes.length - HEAD)))) return undefined;
    for (const [from, { begins }] of this.#held.entries()) {
      const event = begins ? joined(Buffer.concat(this.#held.slice(from).map((one) => one.bytes)), seq) : undefined;
      if (event !== undefined) return { event, from };
    }
    return undefined;
  }

  /** The file has been read up to here. */
  passed(seq: number): Piece[] {
    const dead: Piece[] = [];
    while (!this.isEmpty && this.#isTooFar(seq)) dead.push(...this.#drop(this.#nextBeginning()));
    return dead;
  }

  #nextBeginning(): number {
    const next = this.#held.findIndex(({ begins }, i) => i > 0 && begins);
    return next < 0 ? this.#held.length : next;
  }

  /** What waits too long. */
  giveUp(isOld: (since: string | undefined) => boolean): Piece[] {
    const dead: Piece[] = [];
    while (!this.isEmpty) {
      const next = this.#nextBeginning();
      if (!isOld(this.#held[next - 1]?.since)) break;
      dead.push(...this.#drop(next));
    }
    return dead;
  }

  /** A whole event stands here. */
  saw({ timestamp }: JournalEvent): void {
    for (const piece of this.#held) piece.since ??= timestamp;
  }

  /** Whoever reads from here on had no part in what is held. */
  forgetNews(): void {
    for (const piece of this.#held) piece.told = true;
  }

  #isTooFar(seq: number): boolean {
    const first = (this.#held[0] as Held).seq;
    return first + REACH_BYTES < seq || this.#held.length > PIECES_MAX || this.#bytes > JOINED_MAX;
  }

  #drop(count: number): Piece[] {
    const out = this.#held.splice(0, count);
    this.#bytes = this.#held.reduce((sum, { bytes }) => sum + bytes.length, 0);
    return out.filter(({ told }) => !told);
  }
}
