/**
 * Who said what lies on the hub. The hub checks who may publish where; but a server can be made to send what it holds, and its rights can be
 * wrong. So everything carries its author's signature over its subject, its time and its bytes, and who reads it looks at that.
 */
import { createHash } from "node:crypto";
import type { MsgHdrs } from "@nats-io/transport-node";
import { isSignedBy, type Signer } from "./keys.ts";
import { beginWith, current, type Known, keysAt, learn } from "./roster.ts";

/** `<ms when it was signed>.<signature>` */
export const SEAL = "Midwatch-Seal";

/**
 * `signed` by who may write there; `unsigned` (0.1, or by a host that no roster names); `wrong`: by somebody else, or changed since; `old`: a copy
 * of what was signed long before the hub stored it; `open`: we know nobody's key, so nothing is looked at.
 */
export type Seal = "signed" | "unsigned" | "wrong" | "old" | "open";

export type What = "question" | "answer" | "event" | "register";

/** What stands at the hub, or came from there. */
export interface Sealed {
  subject: string;
  payload: Uint8Array | string;
  headers: MsgHdrs | undefined;
  /** Further words that are signed with it. */
  more?: string;
  /** Whose it is beside people's; people may write everything. */
  host?: string | undefined;
  /** When the hub stored it; not given for what was sent to us just now. */
  storedMs?: number;
}

/** How much later than it was signed the hub may have stored it: clocks differ, and disks are slow. */
const LATE_MS = 120_000;

export interface SealsOptions {
  fleet: string;
  signer: Signer | undefined;
  /** The host whose key it is, as that host itself sees it. */
  self?: string | undefined;
  /** Public keys of people, as a person gave them. None: nothing is verified. */
  people: readonly string[];
  /** Told once of each thing that a person should know: what stands there and its owner did not write, who does not sign. */
  doubt?: ((text: string) => void) | undefined;
}

export class Seals {
  readonly signer: Signer | undefined;
  readonly #options: SealsOptions;
  readonly #doubted = new Set<string>();
  #known: Known;
  #last = 0;
  /** By so much our clock is behind that of the hub. */
  #behindMs = 0;

  constructor(options: SealsOptions) {
    this.signer = options.signer;
    this.#options = options;
    this.#known = beginWith(options.people);
  }

  get known(): Known {
    return this.#known;
  }

  get isOpen(): boolean {
    return this.#options.people.length === 0;
  }

  /** Whether our own key is a person's. */
  get isPersons(): boolean {
    return this.signer !== undefined && current(this.#known.people).includes(this.signer.key);
  }

  /** Whether these rosters brought something new. */
  learn(offered: unknown): boolean {
    const before = this.#known;
    this.#known = learn(before, offered, this.#options.fleet);
    return this.#known !== before;
  }

  /** A clock that is behind would make everything look like a copy; one that is ahead does no harm. `hubMs` is the hub's time just now. */
  followClock(hubMs: number): void {
    if (Number.isFinite(hubMs)) this.#behindMs = Math.max(0, hubMs - Date.now());
  }

  /** The headers that sign; none without a key. No two have the same time, and none an earlier one than `least`. */
  headers(what: What, subject: string, payload: string, more = "", least = 0): Record<string, string> {
    if (this.signer === undefined) return {};
    const stamp = Math.max(Date.now() + this.#behindMs, this.#last + 1, least);
    this.#last = stamp;
    return { [SEAL]: `${stamp}.${this.signer.sign(signedText(what, subject, stamp, more, payload))}` };
  }

  judge(what: What, sealed: Sealed): Seal {
    const seal = this.#judged(what, sealed);
    if (seal === "wrong" || seal === "old") this.doubt(sealed.subject, REASONS[seal]);
    return seal;
  }

  doubt(subject: string, why: string): void {
    this.say(`${subject} at the hub does not count: ${why}`);
  }

  say(text: string): void {
    const { doubt } = this.#options;
    if (doubt === undefined || this.#doubted.has(text) || this.#doubted.size > MOST_DOUBTS) return;
    this.#doubted.add(text);
    doubt(text);
  }

  #judged(what: What, { subject, payload, headers, more = "", host, storedMs }: Sealed): Seal {
    if (this.isOpen) return "open";
    const text = headers?.get(SEAL) ?? "";
    const [stamp = "", signature = ""] = text.split(".");
    if (text === "") return "unsigned";
    const { people, hosts } = this.#known;
    const isSelf = host !== undefined && host === this.#options.self && this.signer !== undefined;
    const listed = host === undefined ? [] : Object.hasOwn(hosts, host) ? hosts[host] : undefined;
    const own = isSelf ? [{ key: this.signer?.key ?? "" }, ...(listed ?? [])] : listed;
    const all = [...(own ?? []), ...people];
    const keys = storedMs === undefined ? current(all) : keysAt(all, storedMs);
    const said = signedText(what, subject, Number(stamp), more, payload);
    if (!keys.some((key) => isSignedBy(key, said, signature))) return own === undefined ? "unsigned" : "wrong";
    return storedMs !== undefined && storedMs - Number(stamp) > LATE_MS ? "old" : "signed";
  }
}

const MOST_DOUBTS = 1000;
const REASONS = {
  wrong: "it carries a wrong signature",
  old: "it is a copy of an old one, or the clock of who signed it is behind",
} as const;

/** Whether what it says may be acted on. */
export function counts(seal: Seal): boolean {
  return seal === "signed" || seal === "open";
}

/** When it was signed; 0 when it was not. */
export function stampOf(headers: MsgHdrs | undefined): number {
  return Number((headers?.get(SEAL) ?? "").split(".")[0]) || 0;
}

function signedText(what: What, subject: string, stamp: number, more: string, payload: Uint8Array | string): string {
  return `midwatch ${what} 1\n${subject}\n${stamp}\n${more}\n${createHash("sha256").update(payload).digest("hex")}`;
}
