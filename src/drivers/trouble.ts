/** What stands between an agent and its model, told from the words and the HTTP status in an error. */
import type { Trouble, TroubleActivity } from "./driver.ts";
import { resetTime } from "./resets.ts";

/** The first that fits. Limits come before the status words: a quota is a 429 with a longer wait. */
const WORDS: readonly [Trouble, RegExp][] = [
  [
    "quota",
    /usage limit|(?:weekly|daily|monthly|session|\d-hour|your) limit|quota|credit balance|out of credits|billing|insufficient.(?:funds|credit)|payment required/i,
  ],
  ["rate_limit", /rate.?limit|too many requests|resource.?exhausted|throttl/i],
  ["overloaded", /overloaded|over capacity|at capacity|high demand|model is currently unavailable/i],
  [
    "auth",
    /unauthori[sz]ed|unauthenticated|authenticat|invalid (?:x-)?api.?key|api.?key (?:not valid|expired|is missing)|incorrect api key|not logged in|run \/login|permission_denied|token (?:has )?expired/i,
  ],
  [
    "network",
    /\bE(?:CONN\w+|NOTFOUND|AI_AGAIN|TIMEDOUT|PIPE|HOSTUNREACH|NETUNREACH)\b|socket|fetch failed|unable to connect|cannot connect|stream disconnected|error sending request|network|connection (?:error|refused|reset|closed|lost|timed)|timed? ?out|\bdns\b/i,
  ],
  ["api_error", /api.?error|server.?error|internal error|bad gateway|service unavailable|unexpected status/i],
];

/** An API may answer with a whole page: its first words tell. */
const TEXT_LENGTH = 2000;
const STATUS = /(?:status(?: code)?:?|api error:?|http|"code":|error code:?)\s*\(?([45]\d\d)\b/i;

/** The kind of trouble, or null when the text speaks of none. */
export function troubleOf(text: string, status: number | null): Trouble | null {
  const code = status ?? statusIn(text);
  const spoken = WORDS.find(([, words]) => words.test(text))?.[0] ?? null;
  // Money that has run out comes as 400, 402, 403 or 429, whoever answers.
  if (code === 402 || (spoken === "quota" && code !== null && code >= 400 && code < 500)) return "quota";
  if (code === 401 || code === 403) return "auth";
  if (code === 429) return "rate_limit";
  if (code === 529) return "overloaded";
  if (code === 503 && spoken === "overloaded") return "overloaded";
  if (code !== null && code >= 400) return "api_error";
  return spoken;
}

export function statusIn(text: string): number | null {
  const found = STATUS.exec(text)?.[1];
  return found === undefined ? null : Number(found);
}

export interface TroubleFacts {
  text: string;
  status?: number | null;
  /** When the text does not say. */
  resetsAt?: string | null;
  /** When neither words nor status tell. */
  otherwise?: Trouble;
  fatal: boolean;
  atMs: number | null;
}

export function trouble(facts: TroubleFacts): TroubleActivity {
  const { fatal, atMs } = facts;
  const text = facts.text.slice(0, TEXT_LENGTH);
  const status = facts.status ?? statusIn(text);
  return {
    kind: "trouble",
    trouble: troubleOf(text, status) ?? facts.otherwise ?? "api_error",
    text,
    status,
    resets_at: facts.resetsAt ?? resetTime(text, atMs),
    fatal,
  };
}
