/** The files of a new hub: the server's configuration and a key for people and for each host. Keys that are there stay. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { MidwatchError } from "../core/errors.ts";
import { replaceUserFile } from "../disk/user-file.ts";
import { natsClient } from "../nats/client.ts";
import { type ServerConfigOptions, serverConfig } from "../nats/server-config.ts";

export interface NatsInitOptions extends Pick<ServerConfigOptions, "fleet" | "listen" | "tls"> {
  folder: string;
  hosts: readonly string[];
}

export interface NatsInitRecord {
  config: string;
  /** The seed that people use. */
  people: string;
  hosts: { host: string; nkey: string }[];
}

const PEOPLE = "people";

export async function natsInit({ folder, fleet, hosts, listen, tls }: NatsInitOptions): Promise<NatsInitRecord> {
  const bad = hosts.find((host) => !/^[a-z0-9][a-z0-9_-]{0,63}$/.test(host) || host === PEOPLE);
  if (bad !== undefined)
    throw new MidwatchError("BAD_ID", `${JSON.stringify(bad)} cannot be the name of a host.`, {
      hint: "Use a-z, 0-9, - and _.",
    });
  const { nkeys } = (await natsClient()).transport;
  const keyOf = (name: string): { path: string; key: string } => {
    const path = join(folder, `${name}.nk`);
    const seed = seedIn(path) ?? Buffer.from(nkeys.createUser().getSeed()).toString();
    if (seedIn(path) === undefined) replaceUserFile(path, `${seed}\n`);
    return { path, key: nkeys.fromSeed(Buffer.from(seed)).getPublicKey() };
  };
  const people = keyOf(PEOPLE);
  const made = hosts.map((name) => ({ name, ...keyOf(name) }));
  const config = join(folder, "nats-server.conf");
  const text = serverConfig({
    ...{ fleet, listen, people: people.key, hosts: made, storeDir: resolve(folder, "store") },
    tls: tls && {
      cert: resolve(tls.cert),
      key: resolve(tls.key),
      ca: tls.ca === undefined ? undefined : resolve(tls.ca),
    },
  });
  replaceUserFile(config, text);
  return { config, people: people.path, hosts: made.map(({ name, path }) => ({ host: name, nkey: path })) };
}

function seedIn(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trim() || undefined;
  } catch {
    return undefined;
  }
}
