/** A stream as we need it. Older servers leave out what they do not know, and somebody may have made another one: so it is compared. */
import { setTimeout as sleep } from "node:timers/promises";
import type { JetStreamManager, StreamConfig, StreamInfo } from "@nats-io/jetstream";
import { MidwatchError } from "../core/errors.ts";
import { isDenied } from "./fault.ts";
import type { Hub } from "./hub.ts";

const NOT_FOUND = 10059;
const LOOK_MS = 300;

export type Wanted = Partial<StreamConfig> & Pick<StreamConfig, "name" | "subjects">;

/** A host may not make it: people do, by asking anything of the fleet. */
async function made({ manager: { streams } }: Hub, asked: Wanted): Promise<StreamInfo> {
  const adding = streams.add({ ...asked }); // It writes into what it is given.
  adding.catch(() => undefined);
  try {
    // Of several who make it at the same moment a cluster may answer one only: the others look.
    for (;;) {
      const info = await Promise.race([adding, sleep(LOOK_MS).then(() => known(streams, asked.name))]);
      if (info !== undefined) return info;
    }
  } catch (error) {
    if (!isDenied(error)) throw error;
    throw new MidwatchError("BAD_HUB", `The hub has no stream ${asked.name} yet, and this host may not make it.`, {
      hint: "`midwatch hosts` with the key of people makes it, once.",
      cause: error,
    });
  }
}

/** Undefined when there is none. */
export async function known(streams: JetStreamManager["streams"], name: string): Promise<StreamInfo | undefined> {
  try {
    return await streams.info(name);
  } catch (error) {
    if ((error as { code?: number }).code !== NOT_FOUND) throw error;
    return undefined;
  }
}

/** Made unless it is there. Throws BAD_HUB when it is not what was asked for. */
export async function ensureStream(hub: Hub, wanted: Wanted): Promise<StreamInfo> {
  const asked: Wanted = { ...wanted, num_replicas: hub.replicas };
  const info = await hub.ask(async ({ streams }) => (await known(streams, wanted.name)) ?? (await made(hub, asked)));
  const given: Record<string, unknown> = { ...info.config };
  const different = Object.entries(asked).filter(
    ([field, value]) => JSON.stringify(given[field] ?? false) !== JSON.stringify(value),
  );
  if (different.length === 0) return info;
  const fields = different.map(
    ([field, value]) => `${field} is ${JSON.stringify(given[field])}, not ${JSON.stringify(value)}`,
  );
  throw new MidwatchError("BAD_HUB", `The stream ${wanted.name} is not as it has to be: ${fields.join(", ")}.`, {
    hint: "Choose another name for the fleet (nats_fleet), or let midwatch make the stream.",
  });
}
