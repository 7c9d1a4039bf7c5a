/**
 * A fleet on a hub of three servers, and somebody who has the key of one of its hosts. With the configuration that midwatch 0.1 wrote the servers can
 * be made to send in any name: there only signatures hold. No vitest in here.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, headers, type MsgHdrs, type NatsConnection, nkeyAuthenticator, nkeys } from "@nats-io/transport-node";
import { uuidv7 } from "../../../src/core/ids.ts";
import { iso } from "../../../src/core/time.ts";
import { fleetNames } from "../../../src/nats/names.ts";
import { signerOf } from "../../../src/nats/signed/keys.ts";
import { Seals, type What } from "../../../src/nats/signed/seals.ts";
import { type NatsInitRecord, natsInit } from "../../../src/setup/nats-init.ts";
import { type CliResult, midwatch } from "../cli.ts";
import { patient } from "../patience.ts";
import { CLI, Lab, supportFile, until } from "../workspace.ts";
import { NatsCluster } from "./nats-cluster.ts";

const HOSTS = ["alpha", "beta", "gamma"];
const OLD = supportFile("../past/midwatch-0.1.0.tgz");
const MODULES = supportFile("../../node_modules");

export const NAMES = fleetNames("fleet");

export interface Wished {
  host?: string;
  kind?: "look" | "do";
  operation?: string;
  input?: unknown;
  /** Of the clock of who asks. */
  aheadMs?: number;
  lifeMs?: number;
}

export interface Signed {
  subject: string;
  payload: string;
  headers: Record<string, string>;
}

export class AttackedFleet {
  readonly folder: string;
  readonly hub: NatsCluster;
  readonly made: NatsInitRecord;
  readonly #connections: NatsConnection[] = [];
  readonly #labs: Lab[] = [];
  readonly #children: ChildProcess[] = [];

  private constructor(folder: string, hub: NatsCluster, made: NatsInitRecord) {
    this.folder = folder;
    this.hub = hub;
    this.made = made;
  }

  static async start(configuration: "of 0.1" | "of now"): Promise<AttackedFleet> {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), "midwatch-attacked-")));
    execFileSync("tar", ["-xzf", OLD, "-C", folder]);
    symlinkSync(MODULES, join(folder, "node_modules"));
    const old = join(folder, "package/dist/midwatch.js");
    execFileSync(process.execPath, [old, "nats", "init", ...HOSTS], {
      cwd: folder,
      stdio: "ignore",
      timeout: patient(60_000),
    });
    const file = join(folder, "nats/nats-server.conf");
    const first = readFileSync(file, "utf8");
    const made = await natsInit({ folder: join(folder, "nats"), hosts: HOSTS });
    const rights = configuration === "of 0.1" ? first : readFileSync(file, "utf8");
    const hub = await NatsCluster.start({ more: rights.slice(rights.indexOf("accounts {")) });
    const fleet = new AttackedFleet(folder, hub, made);
    await until(async () => (await fleet.person("hosts")).code === 0, 60_000, "the hub is up");
    return fleet;
  }

  env(name: string): NodeJS.ProcessEnv {
    return {
      ...process.env,
      MIDWATCH_NATS_SERVERS: this.hub.urls.join(","),
      MIDWATCH_NATS_NKEY: this.#nkey(name),
    };
  }

  person(...args: string[]): Promise<CliResult> {
    return midwatch(this.folder, args, this.env("people"));
  }

  /** A host of this version, with its `up`. */
  host(name: string): { lab: Lab; up: ChildProcess } {
    const lab = new Lab();
    this.#labs.push(lab);
    const args = [CLI, "up", "--no-http", "--workspace", lab.root, "--name", name, "--leader-ttl", "1s"];
    const env = { ...this.env(name), MIDWATCH_NATS_PEOPLE: this.made.people_key, MIDWATCH_GRACE: "500ms" };
    return { lab, up: lab.watch(spawn(process.execPath, args, { cwd: lab.folder, env, stdio: "ignore" })) };
  }

  /** A host that runs the program of 0.1; says where its workspace is. */
  oldHost(name: string): string {
    const cwd = join(this.folder, name);
    mkdirSync(cwd);
    const program = join(this.folder, "package/dist/midwatch.js");
    const args = [program, "up", "--no-http", "--name", name, "--leader-ttl", "1s"];
    const env = { ...this.env(name), MIDWATCH_COMPANION: "" }; // It knows no such name.
    this.#children.push(spawn(process.execPath, args, { cwd, env, stdio: "ignore" }));
    return cwd;
  }

  async isUp(...names: string[]): Promise<void> {
    const up = async (): Promise<boolean> => {
      const found = (await this.person("hosts", "--json")).stdout;
      return names.every((name) => new RegExp(`"host":"${name}".*"reachable":true`).test(found));
    };
    await until(up, 40_000, `${names.join(", ")} answer`);
  }

  async connect(name: string): Promise<NatsConnection> {
    const authenticator = nkeyAuthenticator(new TextEncoder().encode(this.#seed(name)));
    const inboxPrefix = `_INBOX_${name}`;
    const connection = await connect({ servers: this.hub.urls, authenticator, inboxPrefix });
    this.#connections.push(connection);
    return connection;
  }

  /** What this key signs, as it stands in the headers; at another time than now when that is given. */
  seal(
    key: string,
    what: What,
    subject: string,
    payload: string,
    more = "",
    atMs = Date.now(),
  ): Record<string, string> {
    const seed = this.#seed(key);
    const signer = signerOf(seed, nkeys.fromSeed(Buffer.from(seed)).getPublicKey());
    const seals = new Seals({ fleet: "fleet", signer, people: [] });
    const clock = Date.now;
    Date.now = () => atMs;
    try {
      return seals.headers(what, subject, payload, more);
    } finally {
      Date.now = clock;
    }
  }

  question(key: string | undefined, wished: Wished = {}): Signed {
    const { host = "beta", kind = "do", operation = "run", input, aheadMs = 0, lifeMs = 120_000 } = wished;
    const at = Date.now() + aheadMs;
    const fields = {
      v: 1,
      id: uuidv7(),
      at: iso(at),
      expires: iso(at + lifeMs),
      operation,
      input,
      changes: kind === "do",
    };
    const [subject, payload] = [NAMES.ask(host, kind), JSON.stringify(fields)];
    return { subject, payload, headers: key === undefined ? {} : this.seal(key, "question", subject, payload) };
  }

  async #stored(as: NatsConnection, { payload, headers: fields }: Omit<Signed, "subject">): Promise<number> {
    const answer = await as.request(NAMES.events.of("alpha"), payload, {
      headers: msgHeaders(fields),
      timeout: patient(5000),
    });
    return answer.json<{ seq: number }>().seq;
  }

  /** The attack: kept under the own name, and asked for with the name of another as the place of the answer. */
  async trick(as: NatsConnection, sent: Signed): Promise<void> {
    const get = `$JS.API.DIRECT.GET.${NAMES.events.stream}`;
    const asked = JSON.stringify({ seq: await this.#stored(as, sent) });
    // Any of the three servers answers, and one may not have it yet.
    let inRow = 0;
    const has = async (): Promise<boolean> => {
      const { headers: found } = await as.request(get, asked, { timeout: patient(5000) });
      inRow = found?.has("Nats-Sequence") ? inRow + 1 : 0;
      return inRow === 10;
    };
    await until(has, 20_000, "all servers have it");
    as.publish(get, asked, { reply: sent.subject });
    await as.flush();
  }

  #seed(name: string): string {
    return readFileSync(this.#nkey(name), "utf8").trim();
  }

  #nkey(name: string): string {
    return join(this.folder, "nats", `${name}.nk`);
  }

  async end(): Promise<void> {
    for (const connection of this.#connections) await connection.close();
    for (const child of this.#children) child.kill("SIGKILL");
    for (const lab of this.#labs) await lab.end();
    await this.hub[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 5 });
  }
}

export function msgHeaders(fields: Readonly<Record<string, string>>): MsgHdrs {
  const made = headers();
  for (const [name, value] of Object.entries(fields)) made.set(name, value);
  return made;
}
