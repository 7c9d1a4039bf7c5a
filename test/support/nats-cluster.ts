/** Three NATS servers as one hub. No vitest in here: the soak uses it too. */
import { freePort, NatsServer } from "./nats-server.ts";

export class NatsCluster {
  readonly servers: NatsServer[];

  private constructor(servers: NatsServer[]) {
    this.servers = servers;
  }

  static async start(): Promise<NatsCluster> {
    const ports = await Promise.all(Array.from({ length: 3 }, freePort));
    const routes = ports.map((port) => `nats://127.0.0.1:${port}`).join(", ");
    const started = ports.map((port, i) =>
      NatsServer.start({
        name: `hub-${i + 1}`,
        more: `cluster { name: hub, listen: "127.0.0.1:${port}", routes: [${routes}] }`,
      }),
    );
    return new NatsCluster(await Promise.all(started));
  }

  get urls(): string[] {
    return this.servers.map(({ url }) => url);
  }

  get monitors(): string[] {
    return this.servers.map(({ monitor }) => monitor);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.servers.map((server) => server[Symbol.asyncDispose]()));
  }
}
