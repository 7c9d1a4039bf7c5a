/**
 * What a fleet is called on the hub. All its subjects begin with `midwatch.<fleet>`, so one server can carry several:
 *
 *     midwatch.F.ev.<host>        what a host wrote; only that host may publish it
 *     midwatch.F.lead.<role>      elections of leaders of the whole fleet
 *     midwatch.F.ask.<host>.look  questions to a host; `do` for what changes something there
 */
import { createHash } from "node:crypto";
import { MidwatchError } from "../core/errors.ts";
import { quote } from "../core/ids.ts";

const NAME = /^[a-z0-9][a-z0-9_-]{0,31}$/;

export interface Names {
  events: {
    stream: string;
    subjects: string[];
    of(origin: string): string;
    leader(role: string): string;
    /** Whose events these are; undefined for elections. */
    host(subject: string): string | undefined;
  };
  registers: {
    stream: string;
    subject(key: string): string;
    key(subject: string): string;
    /** The host that writes it; undefined for those of people. */
    host(key: string): string | undefined;
  };
  /** The store of a host's finished logs: one for each, so that it has rights on its own alone. */
  objects(host: string): string;
  ask(host: string, kind: "look" | "do"): string;
}

export function fleetNames(fleet: string): Names {
  if (!NAME.test(fleet))
    throw new MidwatchError("BAD_CONFIG", `${quote(fleet)} cannot be the name of a fleet.`, {
      hint: "Use up to 32 of a-z, 0-9, - and _; the default is fleet.",
    });
  const base = `midwatch.${fleet}`;
  const bucket = `midwatch-${fleet}`;
  const keys = `$KV.${bucket}.`;
  return {
    events: {
      stream: `midwatch-events-${fleet}`,
      subjects: [`${base}.ev.>`, `${base}.lead.>`],
      of: (origin) => `${base}.ev.${token(origin)}`,
      leader: (role) => `${base}.lead.${token(role)}`,
      host: (subject) => (subject.startsWith(`${base}.ev.`) ? subject.slice(`${base}.ev.`.length) : undefined),
    },
    registers: {
      stream: `KV_${bucket}`,
      subject: (key) => keys + escapeKey(key),
      key: (subject) => unescapeKey(subject.slice(keys.length)),
      host: (key) => /^(?:hosts|agents|asks)\/([^/]+)/.exec(key)?.[1],
    },
    objects: (host) => `midwatch-logs-${fleet}-${token(host)}`,
    ask: (host, kind) => `${base}.ask.${token(host)}.${kind}`,
  };
}

/** One part of a subject: what cannot stand in it is named by its hash. */
function token(text: string): string {
  if (/^[A-Za-z0-9_-]{1,64}$/.test(text)) return text;
  return `x${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
}

/** The parts of a key become parts of the subject, so that rights can be given by them; what cannot stand there becomes =XX. */
function escapeKey(key: string): string {
  const bytes = [...Buffer.from(key)].map((byte) => {
    const char = String.fromCharCode(byte);
    return char === "/" ? "." : /[A-Za-z0-9_-]/.test(char) ? char : `=${byte.toString(16).padStart(2, "0")}`;
  });
  return bytes.join("");
}

function unescapeKey(text: string): string {
  const parts = text.replaceAll(".", "/").match(/=[0-9a-f]{2}|[^=]/g) ?? [];
  const codes = parts.map((part) => (part.length === 3 ? Number.parseInt(part.slice(1), 16) : part.charCodeAt(0)));
  return Buffer.from(codes).toString();
}
