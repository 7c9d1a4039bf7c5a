/** Whether the hub of a fleet keeps its hosts apart: what `doctor` says of it. */
import type { Config } from "../core/config/config.ts";
import { MidwatchError } from "../core/errors.ts";
import { Hub, type HubSettings } from "../nats/hub.ts";
import { USER_INFO } from "../nats/server-config.ts";
import { current, rosterIn } from "../nats/signed/roster.ts";

interface UserInfo {
  account?: string;
  permissions?: unknown;
}

type Answer = ["ok" | "warning" | "failed", string];

const AGAIN =
  "run `midwatch nats init` again in the folder of the keys, then `nats-server --signal reload` (docs/scale.md)";

/** `kept` are the rosters that this machine has seen. */
export async function examineFleet(config: Config, settings: HubSettings, kept: unknown): Promise<Answer> {
  const hub = await Hub.open(settings);
  try {
    if (hub.isOpen && !hub.isKeyless)
      return [
        "failed",
        "the hub asks nobody for a key: whoever reaches it may write anything there; `midwatch nats init` makes keys",
      ];
    if (hub.isOpen)
      return [
        "warning",
        "the hub asks nobody for a key: every user of this machine may ask its hosts for anything; `midwatch nats init` makes keys",
      ];
    const info = await hub
      .request(USER_INFO, "")
      .then((message) => message.json<{ data?: UserInfo }>().data)
      .catch((error: unknown) => {
        if (error instanceof MidwatchError && error.code === "BAD_HUB") return undefined;
        throw error;
      });
    // The first configurations gave hosts no right to ask this, and people no bounds at all.
    if (info?.permissions === undefined)
      return [
        "warning",
        `the configuration of the hub is an old one: a host could have the server write for it; ${AGAIN}`,
      ];
    const roster = rosterIn((Array.isArray(kept) ? kept : []).at(-1));
    const isPersons = hub.signer !== undefined && current(roster?.people ?? []).includes(hub.signer.key);
    if (config.nats_people === "" && !isPersons)
      return ["warning", "nats_people is not set: as a host this answers nobody (docs/scale.md)"];
    return [
      "ok",
      `${settings.servers.join(", ")}; ${roster === undefined ? "no roster seen yet" : `roster ${roster.serial}`}`,
    ];
  } finally {
    await hub.close();
  }
}
