/** A real NATS server on a free port of the loopback, with a folder of its own. No vitest in here: the soak uses it too. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, connect as dial } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findNats } from "./nats-program.ts";

const START_MS = 20_000;

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
  /** A configuration that is there already; it has to listen on `port`. */
  file?: string;
}

export class NatsServer {
  readonly port: number;
  readonly monitor: string;
  readonly folder: string;
  readonly #program: string;
  #child: ChildProcess | undefined;

  private constructor(program: string, folder: string, port: number, monitorPort: number) {
    this.#program = program;
    this.folder = folder;
    this.port = port;
    this.monitor = `http://127.0.0.1:${monitorPort}`;
  }

  static async start(options: NatsOptions = {}): Promise<NatsServer> {
    const program = findNats(options.which ?? "current");
    if (program === undefined) throw new Error("there is no nats-server: node scripts/nats-server.mjs");
    const folder = mkdtempSync(join(options.under ?? tmpdir(), "midwatch-nats-"));
    mkdirSync(join(folder, "store"));
    const [port, monitorPort] = [options.port ?? (await freePort()), await freePort()];
    const { name = "hub-1", jetstream = "sync_interval: always", more = "" } = options;
    const config = [
      `server_name: ${name}`,
      `listen: 127.0.0.1:${port}`,
      `http: 127.0.0.1:${monitorPort}`,
      "max_payload: 8MB",
      `jetstream { store_dir: ${JSON.stringify(join(folder, "store"))}\n ${jetstream} }`,
      more,
    ];
    const text = options.file === undefined ? config.join("\n") : readFileSync(options.file, "utf8");
    writeFileSync(join(folder, "nats.conf"), `${text}\n`);
    const server = new NatsServer(program, folder, port, monitorPort);
    try {
      await server.up();
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
    return server;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  /** With what it had on its disk. */
  async up(): Promise<void> {
    const child = spawn(this.#program, ["-c", join(this.folder, "nats.conf"), "-l", join(this.folder, "nats.log")], {
      stdio: "ignore",
    });
    this.#child = child;
    const until = performance.now() + START_MS;
    while (!(await answers(this.port))) {
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

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = dial(port, "127.0.0.1");
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
