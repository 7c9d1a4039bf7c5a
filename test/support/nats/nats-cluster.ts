/**
 * Three NATS servers as one hub. In a network of its own each is at a place of it; else they reach each other, and hosts reach them,
 * through wires of the loopback that can be cut. No vitest in here: the soak uses it too.
 */
import type { Lan, Place } from "./lan.ts";
import { freePort, NatsServer } from "./nats-server.ts";
import { Wire } from "./wire.ts";

/** What one host has of the network. */
export interface HostNetwork {
  urls: string[];
  /** What to put before a command so that it runs there. */
  via: readonly string[];
  cut(): void;
  mend(): void;
}

export class NatsCluster {
  readonly servers: NatsServer[];
  readonly #lan: Lan | undefined;
  readonly #places: readonly Place[];
  /** Those between servers: [from][to]. */
  readonly #routes: (Wire | undefined)[][];
  /** Those to the servers from one host each. */
  readonly #hosts: { wires: Wire[]; place?: Place }[] = [];

  private constructor(
    servers: NatsServer[],
    routes: (Wire | undefined)[][],
    lan: Lan | undefined,
    places: readonly Place[],
  ) {
    this.servers = servers;
    this.#routes = routes;
    this.#lan = lan;
    this.#places = places;
  }

  /** `more` are lines for the configuration of each. */
  static async start({ lan, more = "" }: { lan?: Lan | undefined; more?: string } = {}): Promise<NatsCluster> {
    const places = lan === undefined ? [] : [await lan.place(), await lan.place(), await lan.place()];
    const ports = await Promise.all(Array.from({ length: 3 }, freePort));
    const routes = lan === undefined ? await wires(ports) : [];
    const started = ports.map((port, i) => {
      const others =
        lan === undefined
          ? (routes[i] ?? []).flatMap((wire) => (wire === undefined ? [] : [`nats://127.0.0.1:${wire.port}`]))
          : places.map(({ address }, to) => `nats://${address}:${ports[to]}`).filter((_, to) => to !== i);
      // On the loopback nobody listens where it says it can be reached, so that the others come by the wires only.
      const reach = lan === undefined ? ', advertise: "127.0.0.1:1", no_advertise: true' : "";
      const listen = `${places[i]?.address ?? "127.0.0.1"}:${port}`;
      const cluster = `cluster { name: hub, listen: "${listen}"${reach}, routes: [${others.join(", ")}] }`;
      return NatsServer.start({ name: `hub-${i + 1}`, more: `${cluster}\n${more}`, place: places[i] });
    });
    return new NatsCluster(await Promise.all(started), routes, lan, places);
  }

  get urls(): string[] {
    return this.servers.map(({ url }) => url);
  }

  get monitors(): string[] {
    return this.servers.map(({ monitor }) => monitor);
  }

  /** Ways to the servers for one host; `cut` and `mend` are its network. */
  async network(): Promise<HostNetwork> {
    if (this.#lan !== undefined) {
      const place = await this.#lan.place();
      this.#hosts.push({ wires: [], place });
      return { urls: this.urls, via: place.via, cut: () => place.cut(), mend: () => place.mend() };
    }
    const wires = await Promise.all(this.servers.map(({ port }) => Wire.to(port)));
    this.#hosts.push({ wires });
    return {
      urls: wires.map(({ port }) => `nats://127.0.0.1:${port}`),
      via: [],
      cut: () => wires.forEach((wire) => void wire.cut()),
      mend: () => wires.forEach((wire) => void wire.mend()),
    };
  }

  /** One server without anybody; by wires, without the others. */
  isolate(server: number): { mend(): void } {
    const place = this.#places[server];
    if (place === undefined) return this.partition(server);
    place.cut();
    return place;
  }

  /** One server without the others, though a host reaches it still: in a network of its own the host of that number, by wires all. */
  partition(server: number, host = 0): { mend(): void } {
    if (this.#lan !== undefined) {
      const away = [this.#places[server], this.#hosts[host]?.place];
      for (const place of away) place?.split();
      return { mend: () => away.forEach((place) => void place?.mend()) };
    }
    const wires = this.#routes.flatMap((row, from) => row.filter((_, to) => from === server || to === server));
    for (const wire of wires) wire?.cut();
    return { mend: () => wires.forEach((wire) => void wire?.mend()) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.servers.map((server) => server[Symbol.asyncDispose]()));
    for (const wire of [...this.#routes, ...this.#hosts.map(({ wires }) => wires)].flat()) wire?.close();
    this.#lan?.close();
  }
}

async function wires(ports: readonly number[]): Promise<(Wire | undefined)[][]> {
  return await Promise.all(
    ports.map((_, from) => Promise.all(ports.map(async (port, to) => (from === to ? undefined : await Wire.to(port))))),
  );
}
