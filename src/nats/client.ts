/** The packages that speak to NATS. They are optional: loaded here, when a hub is named, and nothing else of midwatch needs them. */
import type * as jetstream from "@nats-io/jetstream";
import type * as obj from "@nats-io/obj";
import type * as transport from "@nats-io/transport-node";
import { MidwatchError } from "../core/errors.ts";

export interface NatsClient {
  transport: typeof transport;
  jetstream: typeof jetstream;
  obj: typeof obj;
}

export async function natsClient(): Promise<NatsClient> {
  try {
    return {
      transport: await import("@nats-io/transport-node"),
      jetstream: await import("@nats-io/jetstream"),
      obj: await import("@nats-io/obj"),
    };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new MidwatchError("BAD_HUB", "Several machines need packages that are not installed.", {
      hint: "npm install @nats-io/transport-node@3 @nats-io/jetstream@3 @nats-io/obj@3 (with -g if midwatch is installed so)",
    });
  }
}
