/**
 * How a run ended. Neither an exit code nor a CLI's own word is enough: CLIs exit 0 after a signal, after a broken stream or with
 * every tool denied, and say "success" of an error. So a run is `completed` only when exit and result agree.
 */

import { stripVTControlCharacters } from "node:util";
import { maskText } from "../core/mask/mask.ts";
import { oneLine } from "../core/text/one-line.ts";
import type { Ending, Judged } from "./driver.ts";

const REASON_LENGTH = 400;

/** What decides before anything the CLI says: a limit, a stop, an end that nobody saw. */
function judgeOutside(ending: Ending): Judged | null {
  if (ending.limit !== null) return { outcome: "limit", reason: sentence(`it reached its ${ending.limit} limit`) };
  if (ending.stopRequested) return { outcome: "stopped", reason: "A stop was asked for." };
  const { code, signal } = ending.exit;
  return code === null && signal === null ? { outcome: "lost", reason: unseen(ending) } : null;
}

/** What the CLI itself said last is worth telling; it does not stand for the exit. */
function unseen({ result: { finished } }: Ending): string {
  if (finished === null) return "Nobody saw how it ended.";
  if (finished.ok) return "Its result says completed; nobody saw its exit.";
  return sentence(`its result says failed (${finished.why ?? "no reason given"}); nobody saw its exit`);
}

/** For CLIs that end their stream with a result. `exits` puts words to exit codes that mean something. */
export function judgeStream(ending: Ending, exits: Readonly<Record<number, string>> = {}): Judged {
  return judgeOutside(ending) ?? judgeInterrupted(ending, judgeResult(ending, exits));
}

function judgeResult(ending: Ending, exits: Readonly<Record<number, string>>): Judged {
  const { finished, trouble, tools, denied } = ending.result;
  const end = exitWords(ending, exits);
  const resets = trouble?.resets_at ? ` (resets at ${trouble.resets_at})` : "";
  if (finished === null) {
    const refused = denied > 0 ? "a tool was not permitted" : null;
    return failed(`it ended without a result (${end})${colon(trouble?.text ?? refused ?? lastWords(ending))}${resets}`);
  }
  if (!finished.ok && finished.limit)
    return { outcome: "limit", reason: sentence(finished.why ?? "it reached a limit") };
  if (!finished.ok) return failed(`${finished.why ?? trouble?.text ?? "it reported an error"}${resets}`);
  if (ending.exit.code !== 0) return failed(`it reported success and then failed (${end})${colon(lastWords(ending))}`);
  if (tools > 0 && denied >= tools) {
    return failed("every tool it wanted to use was denied: give it more permission");
  }
  return { outcome: "completed", reason: null };
}

/** For programs whose exit code is all there is. */
export function judgeExit(ending: Ending, success: readonly number[] = [0]): Judged {
  const { code } = ending.exit;
  const completed = code !== null && success.includes(code);
  const judged: Judged = completed
    ? { outcome: "completed", reason: null }
    : failed(`it failed (${exitWords(ending, {})})${colon(lastWords(ending))}`);
  return judgeOutside(ending) ?? judgeInterrupted(ending, judged);
}

/** What a CLI says when it is interrupted is not why it ended; and one that completes all the same has completed. */
function judgeInterrupted({ interrupted }: Ending, judged: Judged): Judged {
  if (!interrupted || judged.outcome !== "failed") return judged;
  return { outcome: "limit", reason: sentence(`it was interrupted: it passed its ${interrupted} limit`) };
}

function failed(why: string): Judged {
  return { outcome: "failed", reason: sentence(why) };
}

function exitWords({ exit: { code, signal } }: Ending, exits: Readonly<Record<number, string>>): string {
  if (signal !== null) return `ended by ${signal}`;
  const meaning = code === null ? undefined : exits[code];
  return `exit code ${code}${meaning === undefined ? "" : `, ${meaning}`}`;
}

function colon(text: string | null): string {
  return text === null ? "" : `: ${text}`;
}

/** Stderr tells why a program gave up; of one that was killed or exited with 0 it tells only chatter. */
function lastWords({ exit, stderr }: Ending): string | null {
  if (!exit.code) return null;
  const lines = (stderr ?? "").split("\n").filter((line) => line.trim() !== "");
  return lines.findLast((line) => /error|fatal|invalid|cannot|not found|unknown/i.test(line)) ?? lines.at(-1) ?? null;
}

/** One line, bounded, without colours and secrets: API errors repeat keys. */
function sentence(text: string): string {
  const line = oneLine(maskText(stripVTControlCharacters(text)), REASON_LENGTH);
  const upper = line.charAt(0).toUpperCase() + line.slice(1);
  return /[.!?…]$/.test(upper) ? upper : `${upper}.`;
}
