/** A real NATS server on a free port of the loopback, with a folder of its own. No vitest in here: the soak uses it too. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, connect as dial } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { patient } from "../patience.ts";
import type { Place } from "./lan.ts";
import { findNats } from "./nats-program.ts";

const START_MS = patient(20_000);
const HERE = { address: "127.0.0.1", via: [] } as const;

export interface NatsOptions {
  which?: "current" | "old";
  /** Lines inside `jetstream { }`; as it has to be when it is missing. */
  jetstream?: string;
  /** More lines of the configuration. */
  more?: string;
  name?: string;
  port?: number;
  /** Where its folder is made; the system's folder of temporary files by default. */
  under?: string;
  /** Where it is, when not on the loopback of this process. */
  place?: Pick<Place, "address" | "via"> | undefined;
  /** A configuration that is there already; it has to listen on `port`. */
  file?: string;
}

export class NatsServer {
  readonly port: number;
  readonly monitor: string;
  readonly folder: string;
  readonly #place: Pick<Place, "address" | "via">;
  readonly #program: string;
  #child: ChildProcess | undefined;

  private constructor(program: string, folder: string, place: Pick<Place, "address" | "via">, ports: [number, number]) {
    this.#program = program;
    this.folder = folder;
    this.#place = place;
    this.port = ports[0];
    this.monitor = `http://${place.address}:${ports[1]}`;
  }

  static async start(options: NatsOptions = {}): Promise<NatsServer> {
    const program = findNats(options.which ?? "current");
    if (program === undefined) throw new Error("there is no nats-server: node scripts/nats-server.mjs");
    const folder = mkdtempSync(join(options.under ?? tmpdir(), "midwatch-nats-"));
    mkdirSync(join(folder, "store"));
    const [port, monitorPort] = [options.port ?? (await freePort()), await freePort()];
    const { name = "hub-1", jetstream = "sync_interval: always", more = "", place = HERE } = options;
    const config = [
      `server_name: ${name}`,
      `listen: ${place.address}:${port}`,
      `http: ${place.address}:${monitorPort}`,
      "max_payload: 8MB",
      `jetstream { store_dir: ${JSON.stringify(join(folder, "store"))}\n ${jetstream} }`,
      more,
    ];
    const text = options.file === undefined ? config.join("\n") : readFileSync(options.file, "utf8");
    writeFileSync(join(folder, "nats.conf"), `${text}\n`);
    const server = new NatsServer(program, folder, place, [port, monitorPort]);
    try {
      await server.up();
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
    return server;
  }

  get url(): string {
    return `nats://${this.#place.address}:${this.port}`;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** With what it had on its disk. */
  async up(): Promise<void> {
    const args = ["-c", join(this.folder, "nats.conf"), "-l", join(this.folder, "nats.log")];
    const [program = "", ...rest] = [...this.#place.via, this.#program, ...args];
    const child = spawn(program, rest, { stdio: "ignore" });
    this.#child = child;
    const until = performance.now() + START_MS;
    while (!(await answers(this.#place.address, this.port))) {
      if (child.exitCode !== null || performance.now() > until) throw new Error(`nats-server: ${this.log()}`);
      await sleep(20);
    }
  }

  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await ended;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  log(): string {
    try {
      return readFileSync(join(this.folder, "nats.log"), "utf8");
    } catch {
      return "";
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 5 });
  }
}

function answers(address: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = dial(port, address);
    socket.setTimeout(1000, () => socket.destroy());
    // It greets who connects.
    socket.once("data", () => {
      resolve(true);
      socket.destroy();
    });
    socket.once("error", () => resolve(false));
    socket.once("close", () => resolve(false));
  });
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}
