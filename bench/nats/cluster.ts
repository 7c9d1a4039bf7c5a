/** Three servers as one hub. They reach each other directly: what they send must not go through the process that is measured. */
import { setTimeout as sleep } from "node:timers/promises";
import type { JetStreamManager, StreamInfo } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { freePort, NatsServer } from "../../test/support/nats/nats-server.ts";

const PATIENCE_MS = 20_000;
/** The server that leads all streams and that all clients are connected to, so that the way is the same for all. */
const FIRST = "hub-1";

export class Cluster implements AsyncDisposable {
  readonly servers: NatsServer[];

  private constructor(servers: NatsServer[]) {
    this.servers = servers;
  }

  static async start(under: string): Promise<Cluster> {
    const ports = await Promise.all(Array.from({ length: 3 }, freePort));
    const routes = ports.map((port) => `nats://127.0.0.1:${port}`).join(", ");
    const servers = ports.map((port, i) => {
      const more = `cluster { name: hub, listen: "127.0.0.1:${port}", routes: [${routes}] }`;
      return NatsServer.start({ name: `hub-${i + 1}`, under, more });
    });
    return new Cluster(await Promise.all(servers));
  }

  get url(): string {
    return (this.servers[0] as NatsServer).url;
  }

  /** Waits until all copies are there and the first server leads it. */
  async settled(connection: NatsConnection, manager: JetStreamManager, stream: string): Promise<StreamInfo> {
    for (const until = performance.now() + PATIENCE_MS; ; await sleep(100)) {
      const info = await manager.streams.info(stream);
      const copies = info.cluster?.replicas ?? [];
      if (copies.length === 2 && copies.every(({ current }) => current)) {
        if (info.cluster?.leader === FIRST) return info;
        const wish = JSON.stringify({ placement: { preferred: FIRST } });
        await connection.request(`$JS.API.STREAM.LEADER.STEPDOWN.${stream}`, wish, { timeout: 2000 });
      }
      if (performance.now() > until) throw new Error(`${stream} did not settle: ${JSON.stringify(info.cluster)}`);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.servers.map((server) => server[Symbol.asyncDispose]()));
  }
}
