/**
 * Where the rosters of a fleet's keys lie on this machine: the newest that it saw, in the state folder, so that nobody can show it an older one;
 * and beside the key of people those that `nats init` made.
 */
import { createHash } from "node:crypto";
import { dirname, join, resolve } from "node:path";
import type { Config } from "../core/config/config.ts";
import type { StateFolder } from "../disk/guard/state-folder.ts";
import { readJson } from "../disk/replace.ts";
import type { KeyOptions } from "../nats/engine.ts";
import type { SignedRoster } from "../nats/signed/roster.ts";

/** fleets/<SHA-256>.json in the state folder. Each roster is signed: it is believed for that, not for where it lies. */
interface FleetRecord {
  v: 1;
  fleet: string;
  servers: string;
  rosters: readonly SignedRoster[];
}

export const ROSTER_FILE = "roster.json";

export function rosterFiles(config: Config, folder: string, state: StateFolder): NonNullable<KeyOptions["rosters"]> {
  const { nats_servers: servers, nats_fleet: fleet, nats_people: people, nats_nkey: nkey } = config;
  const name = createHash("sha256")
    .update(JSON.stringify([servers, fleet, people]))
    .digest("hex");
  const beside = nkey === "" ? undefined : join(dirname(resolve(folder, nkey)), ROSTER_FILE);
  return {
    kept: () => state.read<Partial<FleetRecord>>("fleets", name)?.rosters,
    keep: (rosters) => state.write("fleets", name, { v: 1, fleet, servers, rosters } satisfies FleetRecord),
    made: beside === undefined ? undefined : readJson<Partial<FleetRecord>>(beside).value?.rosters,
  };
}
