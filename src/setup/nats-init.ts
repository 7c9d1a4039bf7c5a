/** The files of a hub: the server's configuration, a key for people and for each host, and the roster that says whose key is whose. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import { iso } from "../core/time.ts";
import { readJson } from "../disk/replace.ts";
import { replaceUserFile } from "../disk/user-file.ts";
import { type NatsClient, natsClient } from "../nats/client.ts";
import { type ServerConfigOptions, serverConfig } from "../nats/server-config.ts";
import { type Signer, signerOf } from "../nats/signed/keys.ts";
import { current, type KeyTerm, type Roster, rosterIn, type SignedRoster, signRoster } from "../nats/signed/roster.ts";
import { ROSTER_FILE } from "../up/roster-files.ts";

export interface NatsInitOptions extends Partial<Pick<ServerConfigOptions, "fleet" | "listen" | "tls">> {
  folder: string;
  /** More hosts; those of the roster stay. */
  hosts: readonly string[];
  /** Whose key is made anew: hosts, or `people`. */
  rotate?: readonly string[];
  /** Hosts that have no place in the fleet any more. */
  revoke?: readonly string[];
}

export interface NatsInitRecord {
  config: string;
  /** The seed that people use. */
  people: string;
  /** Its public key: `nats_people` of each host. */
  people_key: string;
  hosts: { host: string; nkey: string }[];
  /** Goes to the hub with the next thing that a person asks of the fleet. */
  roster: string;
  serial: number;
}

/** roster.json: what the next call goes on from. */
interface RosterFile {
  v: 1;
  fleet: string;
  listen: string;
  tls?: ServerConfigOptions["tls"];
  rosters: SignedRoster[];
}

type Nkeys = NatsClient["transport"]["nkeys"];

const PEOPLE = "people";
const LISTEN = "127.0.0.1:4222";

export async function natsInit(options: NatsInitOptions): Promise<NatsInitRecord> {
  const { folder, rotate = [] } = options;
  const path = join(folder, ROSTER_FILE);
  const file = readJson<Partial<RosterFile>>(path).value;
  const fleet = options.fleet ?? file?.fleet ?? "fleet";
  const listen = options.listen ?? file?.listen ?? LISTEN;
  const tls = absolute(options.tls ?? file?.tls);
  const before = file?.fleet === fleet ? (file.rosters ?? []) : [];
  const last = rosterIn(before.at(-1));
  const names = hostsOf(last, options);
  const keys = await Keys.open(folder, last);
  const signers = [keys.of(PEOPLE, rotate.includes(PEOPLE)), ...keys.replaced];
  const [people] = signers as [Signer];
  const hosts = names.map((name) => ({ name, key: keys.of(name, rotate.includes(name)).key }));
  const roster = nextRoster(fleet, last, people.key, hosts);
  const rosters = roster === last ? before : [...before, signRoster(roster, signers)];
  const config = join(folder, "nats-server.conf");
  const storeDir = resolve(folder, "store");
  replaceUserFile(config, serverConfig({ fleet, listen, people: people.key, hosts, tls, storeDir }));
  replaceUserFile(path, `${JSON.stringify({ v: 1, fleet, listen, tls, rosters } satisfies RosterFile, null, 1)}\n`);
  return {
    ...{ config, people: keys.path(PEOPLE), people_key: people.key, roster: path, serial: roster.serial },
    hosts: names.map((host) => ({ host, nkey: keys.path(host) })),
  };
}

/** Those that are there and those that are named, without those that are taken out. */
function hostsOf(last: Roster | undefined, { hosts, rotate = [], revoke = [] }: NatsInitOptions): string[] {
  const there = Object.entries(last?.hosts ?? {}).flatMap(([name, keys]) => (current(keys).length > 0 ? [name] : []));
  const all = [...new Set([...there, ...hosts])].filter((name) => !revoke.includes(name));
  const bad = hosts.find((host) => !/^[a-z0-9][a-z0-9_-]{0,63}$/.test(host) || host === PEOPLE);
  if (bad !== undefined)
    throw new MidwatchError("BAD_ID", `${JSON.stringify(bad)} cannot be the name of a host.`, {
      hint: "Use a-z, 0-9, - and _.",
    });
  const unknown =
    revoke.find((name) => !there.includes(name)) ?? rotate.find((name) => name !== PEOPLE && !all.includes(name));
  if (unknown === undefined) return all;
  throw new MidwatchError("NOT_FOUND_HOST", `The roster has no host ${JSON.stringify(unknown)}.`, {
    hint: `It has ${there.join(", ") || "none"}; a person's key is \`${PEOPLE}\`, which can be rotated.`,
  });
}

/** The same object when nobody's key has changed. */
function nextRoster(
  fleet: string,
  last: Roster | undefined,
  people: string,
  hosts: readonly { name: string; key: string }[],
): Roster {
  const at = iso();
  const terms = (before: readonly KeyTerm[], key: string | undefined): KeyTerm[] => [
    ...before.map((one) => (one.until === undefined && one.key !== key ? { ...one, until: at } : one)),
    ...(key === undefined || current(before).includes(key) ? [] : [{ key }]),
  ];
  const names = new Set([...Object.keys(last?.hosts ?? {}), ...hosts.map(({ name }) => name)]);
  const next: Roster = {
    ...{ v: 1, fleet, serial: (last?.serial ?? 0) + 1, at, people: terms(last?.people ?? [], people) },
    hosts: Object.fromEntries(
      [...names].map((name) => [name, terms(last?.hosts[name] ?? [], hosts.find((host) => host.name === name)?.key)]),
    ),
  };
  const keysIn = ({ people: all, hosts: each }: Roster): string => JSON.stringify([all, each]);
  return last !== undefined && keysIn(next) === keysIn(last) ? last : next;
}

/** The files NAME.nk. One that is there stays, unless its key was taken out of the roster or a new one is asked for. */
class Keys {
  /** Those that a new one took the place of: they sign for it a last time. */
  readonly replaced: Signer[] = [];
  readonly #folder: string;
  readonly #gone: ReadonlySet<string>;
  readonly #nkeys: Nkeys;

  private constructor(folder: string, last: Roster | undefined, nkeys: Nkeys) {
    this.#folder = folder;
    this.#nkeys = nkeys;
    const terms = [...(last?.people ?? []), ...Object.values(last?.hosts ?? {}).flat()];
    this.#gone = new Set(terms.flatMap(({ key, until }) => (until === undefined ? [] : [key])));
  }

  static async open(folder: string, last: Roster | undefined): Promise<Keys> {
    return new Keys(folder, last, (await natsClient()).transport.nkeys);
  }

  path(name: string): string {
    return join(this.#folder, `${name}.nk`);
  }

  of(name: string, anew: boolean): Signer {
    const seed = seedIn(this.path(name));
    const found = seed === undefined ? undefined : this.#signer(seed);
    if (found !== undefined && !anew && !this.#gone.has(found.key)) return found;
    const made = Buffer.from(this.#nkeys.createUser().getSeed()).toString();
    replaceUserFile(this.path(name), `${made}\n`);
    if (found !== undefined && name === PEOPLE) this.replaced.push(found);
    return this.#signer(made);
  }

  #signer(seed: string): Signer {
    return signerOf(seed, this.#nkeys.fromSeed(Buffer.from(seed)).getPublicKey());
  }
}

function absolute(tls: ServerConfigOptions["tls"]): ServerConfigOptions["tls"] {
  return (
    tls && { cert: resolve(tls.cert), key: resolve(tls.key), ca: tls.ca === undefined ? undefined : resolve(tls.ca) }
  );
}

function seedIn(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}
