/**
 * The connection of one process to the NATS servers that several machines share. It is checked when it is made: a server before 2.12
 * ignores what the fence and the batches rest on, without an error, and so is refused. Whether the servers sync to the disk before they
 * acknowledge is asked too; where they do not, or do not tell, the hub works and says that it is not durable.
 */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { JetStreamManager } from "@nats-io/jetstream";
import type { ConnectionOptions, Msg, MsgHdrs, NatsConnection } from "@nats-io/transport-node";
import { MidwatchError } from "../core/errors.ts";
import { type NatsClient, natsClient } from "./client.ts";
import { away, refusal } from "./fault.ts";
import { type Signer, signerOf } from "./signed/keys.ts";

const REQUEST_MS = 5000;
/** A question to the manager is made again after this, for this long. */
const MANAGER_MS = 2000;
const PATIENCE_MS = 5000;
const AGAIN_MS = 100;
export const VARZ = "$SYS.REQ.SERVER.PING.VARZ";
const VARZ_MS = 1000;
const LEAST = [2, 12] as const;
/** In a cluster each value is kept by three servers; one by itself keeps it alone. */
const REPLICAS = 3;

export interface HubSettings {
  /** One or more of `nats://host:port` or `tls://host:port`. */
  servers: readonly string[];
  /** Of the process, for people who look at the server. */
  name: string;
  /** Under whose name answers come to us: rights are given by it. */
  inbox?: string | undefined;
  /** A file with a JWT and its seed, as `nsc` writes it. */
  creds?: string | undefined;
  /** A file that holds the seed of an nkey. */
  nkey?: string | undefined;
  /** Files: who signed the servers' certificates, and our own. */
  tls?: { ca?: string | undefined; cert?: string | undefined; key?: string | undefined } | undefined;
  /** Monitoring addresses of the servers, where the system account does not export VARZ. */
  monitors?: readonly string[] | undefined;
}

export interface Durability {
  durable: boolean;
  problems: string[];
}

export class Hub {
  readonly connection: NatsConnection;
  readonly manager: JetStreamManager;
  readonly client: NatsClient;
  readonly replicas: number;
  /** Signs with the key by which the hub knows us; undefined without one. */
  readonly signer: Signer | undefined;
  /** Whether all that the client does with headers is to have them encoded: then bytes will do (headers.ts). */
  readonly encodesHeaders: boolean;
  readonly #settings: HubSettings;
  #durability: Promise<Durability> | undefined;
  #isHere = true;
  /** Those who wait for an answer; none comes once the connection is gone. */
  readonly #waiting = new Set<(error: MidwatchError) => void>();

  private constructor(
    client: NatsClient,
    connection: NatsConnection,
    manager: JetStreamManager,
    settings: HubSettings,
  ) {
    this.client = client;
    this.connection = connection;
    this.manager = manager;
    this.#settings = settings;
    this.signer = signerIn(client, settings);
    this.encodesHeaders = typeof (client.transport.headers() as { encode?: unknown }).encode === "function";
    this.replicas = connection.info?.cluster === undefined ? 1 : REPLICAS;
    void this.#look();
  }

  /** Whether there is a connection now. Without one a question fails at once instead of waiting for its time-out. */
  get isHere(): boolean {
    return this.#isHere && !this.connection.isClosed();
  }

  async #look(): Promise<void> {
    for await (const { type } of this.connection.status()) {
      if (type === "disconnect" || type === "staleConnection") {
        this.#isHere = false;
        for (const give of this.#waiting) give(away(undefined, "The connection to the hub broke"));
      }
      // The servers of a cluster may differ: one that is too old is as good as none.
      if (type === "reconnect") this.#isHere = isCurrent(this.connection.info?.version ?? "");
    }
  }

  /** Throws BAD_HUB when it can never work, HUB_AWAY when it cannot be reached now. */
  static async open(settings: HubSettings): Promise<Hub> {
    const client = await natsClient();
    let connection: NatsConnection;
    try {
      connection = await client.transport.connect(optionsOf(client, settings));
    } catch (error) {
      throw refusal(error) ?? away(error, `${settings.servers.join(", ")} cannot be reached`);
    }
    try {
      const version = connection.info?.version ?? "";
      if (!isCurrent(version))
        throw new MidwatchError("BAD_HUB", `The hub runs nats-server ${version}; midwatch needs 2.12 or newer.`, {
          hint: "Older ones ignore what keeps a deposed leader from writing. Install a current one: one program, from nats.io or Debian forky.",
        });
      const manager = await client.jetstream.jetstreamManager(connection, { checkAPI: false, timeout: MANAGER_MS });
      return new Hub(client, connection, manager, settings);
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  /** It asks nobody for a key. */
  get isOpen(): boolean {
    const { auth_required, tls_verify } = this.connection.info ?? {};
    return auth_required !== true && tls_verify !== true;
  }

  /** Whoever can reach it may ask our hosts for anything, and more than this machine can reach it. */
  get isOpenToAll(): boolean {
    return this.isOpen && !this.#settings.servers.every(isLoopback);
  }

  /** Neither it nor we have a key, and only this machine reaches it: there is nothing to sign with. */
  get isKeyless(): boolean {
    return this.isOpen && !this.isOpenToAll && this.signer === undefined;
  }

  headers(fields: Readonly<Record<string, string>> = {}): MsgHdrs {
    const made = this.client.transport.headers();
    for (const [name, value] of Object.entries(fields)) made.set(name, value);
    return made;
  }

  async request(
    subject: string,
    payload: Uint8Array | string,
    headers?: MsgHdrs,
    timeout: number = REQUEST_MS,
  ): Promise<Msg> {
    const options = { timeout, ...(headers === undefined ? {} : { headers }) };
    return await this.#answered(() => this.connection.request(subject, payload, options));
  }

  /** The hub has taken in all that was sent before. */
  async flush(): Promise<void> {
    await this.#answered(() => this.connection.flush());
  }

  /** A call of the manager, with our errors. It may be made again: while a stream gets its leader nobody answers for it. */
  async ask<T>(act: (manager: JetStreamManager) => Promise<T>): Promise<T> {
    for (const until = performance.now() + PATIENCE_MS; ; await sleep(AGAIN_MS)) {
      try {
        return await this.once(act);
      } catch (error) {
        const passing = error instanceof MidwatchError && error.code === "HUB_AWAY" && this.isHere;
        if (!passing || performance.now() > until) throw error;
      }
    }
  }

  /** The same, made once. */
  async once<T>(act: (manager: JetStreamManager) => Promise<T>): Promise<T> {
    return await this.#answered(() => act(this.manager));
  }

  async #answered<T>(act: () => Promise<T>): Promise<T> {
    if (!this.isHere) throw away(undefined, "There is no connection to the hub");
    const { promise: lost, reject } = Promise.withResolvers<never>();
    this.#waiting.add(reject);
    try {
      return await Promise.race([act(), lost]);
    } catch (error) {
      throw refusal(error) ?? away(error, "The hub gives no answer");
    } finally {
      this.#waiting.delete(reject);
    }
  }

  /** Asked once: a server cannot change it while it runs. */
  durability(): Promise<Durability> {
    this.#durability ??= this.#askDurability();
    return this.#durability;
  }

  async #askDurability(): Promise<Durability> {
    const servers = [...(await this.#varzBySystem()), ...(await varzByHttp(this.#settings.monitors ?? []))];
    const unsafe = servers.filter(({ jetstream }) => jetstream?.config?.sync_always !== true);
    const names = unsafe.map(({ server_name }) => server_name ?? "?").join(", ");
    const problems =
      unsafe.length > 0
        ? [`The hub (${names}) does not sync to the disk before it acknowledges, ${UNSAFE}`]
        : servers.length < this.replicas
          ? [UNKNOWN]
          : [];
    return { durable: problems.length === 0, problems };
  }

  /** Answers of all servers, where the system account exports the question to ours. */
  async #varzBySystem(): Promise<Varz[]> {
    const found: Varz[] = [];
    try {
      const answers = await this.connection.requestMany(VARZ, "", {
        maxWait: VARZ_MS,
        strategy: "stall",
        stall: VARZ_MS / 4,
        maxMessages: this.connection.info?.cluster === undefined ? 1 : 64,
      });
      for await (const answer of answers) found.push(answer.json<{ data?: Varz }>().data ?? {});
    } catch {
      // Not exported, or not allowed: then nothing is known this way.
    }
    return found;
  }

  async close(): Promise<void> {
    await this.connection.close();
  }
}

export function isLoopback(server: string): boolean {
  const text = server.includes("://") ? server.replace(/^\w+:/, "http:") : `http://${server}`;
  const host = URL.canParse(text) ? new URL(text).hostname : "";
  return host === "localhost" || host === "[::1]" || /^127(\.\d+){3}$/.test(host);
}

const UNSAFE = "so a power cut takes what it acknowledged: set `sync_interval: always` under `jetstream`.";
const UNKNOWN =
  "Whether the hub syncs to the disk before it acknowledges is not known: export VARZ as `midwatch nats init` does, or set nats_monitor.";

interface Varz {
  server_name?: string;
  jetstream?: { config?: { sync_always?: boolean } };
}

async function varzByHttp(monitors: readonly string[]): Promise<Varz[]> {
  const answers = monitors.map(async (url) => {
    const response = await fetch(new URL("/varz", url), { redirect: "error", signal: AbortSignal.timeout(VARZ_MS) });
    return (await response.json()) as Varz;
  });
  const settled = await Promise.allSettled(answers);
  return settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
}

function optionsOf(
  { transport }: NatsClient,
  { servers, name, inbox, creds, nkey, tls }: HubSettings,
): ConnectionOptions {
  const options: ConnectionOptions = {
    servers: [...servers],
    name,
    ...(inbox === undefined ? {} : { inboxPrefix: inbox }),
    timeout: REQUEST_MS,
    // Whoever uses it knows what to do while the hub is away, so it is looked for as long as we live.
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 100,
    pingInterval: 5000,
    maxPingOut: 2,
  };
  if (creds !== undefined) options.authenticator = transport.credsAuthenticator(read("nats_creds", creds));
  if (nkey !== undefined)
    options.authenticator = transport.nkeyAuthenticator(new TextEncoder().encode(seedIn("nats_nkey", nkey)));
  const { ca, cert, key } = tls ?? {};
  // Once TLS is asked for, a server without it is refused: nobody on the way can talk us out of it.
  if (ca !== undefined || cert !== undefined || servers.some((server) => server.startsWith("tls:")))
    options.tls = {
      ...(ca === undefined ? {} : { caFile: ca }),
      ...(cert === undefined ? {} : { certFile: cert }),
      ...(key === undefined ? {} : { keyFile: key }),
    };
  return options;
}

function signerIn({ transport }: NatsClient, { nkey, creds }: HubSettings): Signer | undefined {
  const seed = nkey !== undefined ? seedIn("nats_nkey", nkey) : creds !== undefined ? seedIn("nats_creds", creds) : "";
  if (seed === "") return undefined;
  return signerOf(seed, transport.nkeys.fromSeed(new TextEncoder().encode(seed)).getPublicKey());
}

/** By itself in the file, or among the credentials that `nsc` writes. */
function seedIn(what: string, path: string): string {
  const text = Buffer.from(read(what, path)).toString("utf8").trim();
  return /^SU[A-Z2-7]{56}$/m.exec(text)?.[0] ?? text;
}

function read(what: string, path: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new MidwatchError("BAD_HUB", `The file of ${what} cannot be read.`, {
      hint: "Check its path and its mode.",
      cause: error,
    });
  }
}

function isCurrent(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > LEAST[0] || (major === LEAST[0] && minor >= LEAST[1]);
}
