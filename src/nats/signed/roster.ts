/**
 * The roster: whose keys count in a fleet. People sign it, its number only grows, and whoever has seen one takes none with a lower number. A
 * reader begins with the keys that a person gave it and goes on from roster to roster, each signed by a key that the one before it names: so
 * people can change their own key without a visit to every host.
 */
import { isFields, parseJson } from "../../core/json.ts";
import { isPublicKey, isSignedBy, type Signer } from "./keys.ts";

/** What was signed with a key that has gone counts if the hub stored it before. */
export interface KeyTerm {
  key: string;
  until?: string;
}

export interface Roster {
  v: 1;
  fleet: string;
  serial: number;
  at: string;
  people: KeyTerm[];
  hosts: Record<string, KeyTerm[]>;
}

/** As it travels: the text is signed as it stands. */
export interface SignedRoster {
  text: string;
  /** By public key. */
  signatures: Record<string, string>;
}

/** What a reader holds to. */
export interface Known {
  /** 0: no roster yet, only the keys that a person gave. */
  serial: number;
  people: readonly KeyTerm[];
  hosts: Readonly<Record<string, readonly KeyTerm[]>>;
  /** The rosters that led here, and older ones. */
  rosters: readonly SignedRoster[];
}

/** More are nobody's roster: a person would have changed a key a thousand times. */
const MOST = 1000;
const HOST = /^[a-z0-9][a-z0-9_-]{0,63}$/;

export function beginWith(people: readonly string[]): Known {
  return { serial: 0, people: people.map((key) => ({ key })), hosts: {}, rosters: [] };
}

/** What is known with these rosters too; the same object when they bring nothing new. */
export function learn(known: Known, offered: unknown, fleet: string): Known {
  if (!Array.isArray(offered) || offered.length > MOST) return known;
  let now = known;
  for (const one of offered) {
    const roster = rosterIn(one);
    if (roster === undefined || roster.fleet !== fleet || roster.serial <= now.serial) continue;
    const { text, signatures } = one as SignedRoster;
    const isTheirs = current(now.people).some((key) => {
      const signature = signatures[key];
      return typeof signature === "string" && isSignedBy(key, signedText(text), signature);
    });
    if (isTheirs) now = { serial: roster.serial, people: roster.people, hosts: roster.hosts, rosters: offered };
  }
  return now;
}

export function signRoster(roster: Roster, signers: readonly Signer[]): SignedRoster {
  const text = JSON.stringify(roster);
  return {
    text,
    signatures: Object.fromEntries(signers.map((signer) => [signer.key, signer.sign(signedText(text))])),
  };
}

/** Those that count now. */
export function current(keys: readonly KeyTerm[]): string[] {
  return keys.flatMap(({ key, until }) => (until === undefined ? [key] : []));
}

/** Those that counted when the hub stored something. */
export function keysAt(keys: readonly KeyTerm[], storedMs: number): string[] {
  return keys.flatMap(({ key, until }) => (until === undefined || storedMs < Date.parse(until) ? [key] : []));
}

/** Undefined when it is none. */
export function rosterIn(one: unknown): Roster | undefined {
  if (!isFields(one) || typeof one["text"] !== "string" || !isFields(one["signatures"])) return undefined;
  const found = parseJson(one["text"]);
  if (!isFields(found) || found["v"] !== 1 || typeof found["fleet"] !== "string") return undefined;
  const { serial, people, hosts } = found;
  const isWhole =
    Number.isSafeInteger(serial) &&
    areKeys(people) &&
    current(people).length > 0 &&
    isFields(hosts) &&
    Object.entries(hosts).every(([host, keys]) => HOST.test(host) && areKeys(keys));
  return isWhole ? (found as unknown as Roster) : undefined;
}

function areKeys(value: unknown): value is KeyTerm[] {
  return (
    Array.isArray(value) &&
    value.every(
      (one) =>
        isFields(one) &&
        isPublicKey(one["key"]) &&
        (one["until"] === undefined || Number.isFinite(Date.parse(String(one["until"])))),
    )
  );
}

function signedText(text: string): string {
  return `midwatch roster 1\n${text}`;
}
