/**
 * Three NATS servers as one hub. They reach each other, and hosts reach them, through wires that can be cut. No vitest in here: the soak
 * uses it too.
 */
import { freePort, NatsServer } from "./nats-server.ts";
import { Wire } from "./wire.ts";

export class NatsCluster {
  readonly servers: NatsServer[];
  /** Those between servers: [from][to]. */
  readonly #routes: (Wire | undefined)[][];
  /** Those to the servers from one host each. */
  readonly #hosts: Wire[][] = [];

  private constructor(servers: NatsServer[], routes: (Wire | undefined)[][]) {
    this.servers = servers;
    this.#routes = routes;
  }

  static async start(): Promise<NatsCluster> {
    const ports = await Promise.all(Array.from({ length: 3 }, freePort));
    const routes = await Promise.all(
      ports.map((_, from) =>
        Promise.all(ports.map(async (port, to) => (from === to ? undefined : await Wire.to(port)))),
      ),
    );
    const started = ports.map((port, i) => {
      const others = (routes[i] ?? []).flatMap((wire) => (wire === undefined ? [] : [`nats://127.0.0.1:${wire.port}`]));
      // Nobody listens where it says it can be reached, so that the others come by the wires only.
      const cluster = `name: hub, listen: "127.0.0.1:${port}", advertise: "127.0.0.1:1", routes: [${others.join(", ")}]`;
      return NatsServer.start({ name: `hub-${i + 1}`, more: `cluster { ${cluster}, no_advertise: true }` });
    });
    return new NatsCluster(await Promise.all(started), routes);
  }

  get urls(): string[] {
    return this.servers.map(({ url }) => url);
  }

  get monitors(): string[] {
    return this.servers.map(({ monitor }) => monitor);
  }

  /** Ways to the servers for one host; `cut` and `mend` are its network. */
  async network(): Promise<{ urls: string[]; cut(): void; mend(): void }> {
    const wires = await Promise.all(this.servers.map(({ port }) => Wire.to(port)));
    this.#hosts.push(wires);
    return {
      urls: wires.map(({ port }) => `nats://127.0.0.1:${port}`),
      cut: () => wires.forEach((wire) => void wire.cut()),
      mend: () => wires.forEach((wire) => void wire.mend()),
    };
  }

  /** One server without the others, though hosts reach it still. */
  partition(server: number): { mend(): void } {
    const wires = this.#routes.flatMap((row, from) => row.filter((_, to) => from === server || to === server));
    for (const wire of wires) wire?.cut();
    return { mend: () => wires.forEach((wire) => void wire?.mend()) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.servers.map((server) => server[Symbol.asyncDispose]()));
    for (const wire of [...this.#routes, ...this.#hosts].flat()) wire?.close();
  }
}
