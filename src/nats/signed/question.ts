/** Whether a host does what it is asked: a person signed it, for this host, just now, and it was not heard before. Facts in, a reason out. */
import { type ErrorCode, MidwatchError } from "../../core/errors.ts";
import type { Seal } from "./seals.ts";

/** So long a question can be heard after it was asked. */
export const LIFE_MS = 120_000;
/** So far the clock of who asks may be ahead. */
const AHEAD_MS = 60_000;

export interface Heard {
  /** What the signature is worth; of a key that is a person's. */
  seal: Seal;
  /** Nobody on this hub has a key, and only this machine reaches it. */
  keyless: boolean;
  /** Tells nothing but that we are there. */
  harmless: boolean;
  /** Headers that a server adds to what a stream held: somebody had it sent to us, who could not send it. */
  fromStream: boolean;
  /** Where the answer would go is nobody's inbox. */
  strangeReply: boolean;
  id: unknown;
  atMs: number;
  expiresMs: number;
  nowMs: number;
  /** This process has heard the same before. */
  again: boolean;
}

/** Undefined: it may be done. */
export function whyRefused(heard: Heard): MidwatchError | undefined {
  const { seal, keyless, harmless, atMs, expiresMs, nowMs } = heard;
  if (heard.fromStream) return refused("REFUSED_SIGNATURE", "The question came out of a stream", NOT_ASKED);
  if (heard.strangeReply) return refused("REFUSED_SIGNATURE", "The answer would go to nobody's inbox", NOT_ASKED);
  if (harmless || (keyless && seal === "open")) return undefined;
  if (seal === "open") return refused("REFUSED_SIGNATURE", "This host knows no person's key", NO_PEOPLE);
  if (seal === "unsigned") return refused("REFUSED_SIGNATURE", "The question is not signed", UNSIGNED);
  if (seal !== "signed") return refused("REFUSED_SIGNATURE", "No person that this host knows signed this", UNKNOWN);
  if (typeof heard.id !== "string" || !/^[0-9a-f-]{1,64}$/.test(heard.id))
    return refused("REFUSED_SIGNATURE", "The question has no id", UNSIGNED);
  if (!(expiresMs - atMs <= LIFE_MS))
    return refused("REFUSED_TIME", "The question would hold for longer than two minutes", CLOCKS);
  if (atMs > nowMs + AHEAD_MS)
    return refused(
      "REFUSED_TIME",
      `The question was asked ${seconds(atMs - nowMs)} from now by this host's clock`,
      CLOCKS,
    );
  if (nowMs > expiresMs)
    return refused(
      "REFUSED_TIME",
      `The question expired ${seconds(nowMs - expiresMs)} ago by this host's clock`,
      CLOCKS,
    );
  if (heard.again) return refused("REFUSED_SIGNATURE", "The question was heard before", "Ask anew.");
  return undefined;
}

const NOT_ASKED = "Ask with `midwatch`, and with the key of people.";
const NO_PEOPLE = "On the host set nats_people to the key that `midwatch nats init` prints (docs/scale.md).";
const UNSIGNED = "Ask with the key of people (nats_nkey), and with a midwatch that signs: 0.2 or newer.";
const UNKNOWN =
  "Ask with the key of people. If it was changed: the host takes it from the roster, or from its nats_people.";
const CLOCKS = "Set the clocks of both machines (NTP), then ask anew.";

function refused(code: ErrorCode, why: string, hint: string): MidwatchError {
  return new MidwatchError(code, `${why}: it is not done.`, { hint });
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}
