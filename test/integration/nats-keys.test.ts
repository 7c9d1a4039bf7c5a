/** Keys of a fleet change hands as docs/scale.md says: on the hub, in the roster, at hosts that nobody visits. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect, type NatsConnection, nkeyAuthenticator, nkeys } from "@nats-io/transport-node";
import { describe, expect, it, onTestFinished } from "vitest";
import { uuidv7 } from "../../src/core/ids.ts";
import { iso } from "../../src/core/time.ts";
import { fleetNames } from "../../src/nats/names.ts";
import { signerOf } from "../../src/nats/signed/keys.ts";
import { Seals } from "../../src/nats/signed/seals.ts";
import { type CliResult, midwatch } from "../support/cli.ts";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";
import { msgHeaders } from "../support/nats/attacked-fleet.ts";
import { hasNats } from "../support/nats/nats-program.ts";
import { freePort, NatsServer } from "../support/nats/nats-server.ts";
import { patient } from "../support/patience.ts";
import { CLI, type Lab } from "../support/workspace.ts";

const SOON = { timeout: patient(30_000), interval: 100 };
const NAMES = fleetNames("fleet");

interface Fleet {
  server: NatsServer;
  keys: string;
  init(...args: string[]): Promise<{ people_key: string; serial: number }>;
  reload(): void;
  person(...args: string[]): Promise<CliResult>;
  up(at: Lab, name: string, people: string): ChildProcess;
  seed(file: string): string;
  /** With the key in this file. */
  connect(file: string): Promise<NatsConnection>;
}

async function fleet(): Promise<Fleet> {
  const cwd = folder();
  const keys = join(cwd, "nats");
  const port = await freePort();
  const init = async (...args: string[]) => {
    const made = await midwatch(cwd, ["nats", "init", "--json", ...args]);
    expect(made, made.stderr).toMatchObject({ code: 0 });
    return JSON.parse(made.stdout) as { people_key: string; serial: number };
  };
  await init("alpha", "beta", "--listen", `127.0.0.1:${port}`);
  const config = join(keys, "nats-server.conf");
  const server = await NatsServer.start({ file: config, port });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const env = (name: string) => ({
    ...process.env,
    MIDWATCH_NATS_SERVERS: server.url,
    MIDWATCH_NATS_NKEY: join(keys, `${name}.nk`),
  });
  const seed = (file: string): string => readFileSync(join(keys, file), "utf8").trim();
  return {
    ...{ server, keys, init, seed },
    reload: () => {
      writeFileSync(join(server.folder, "nats.conf"), readFileSync(config));
      server.signal("SIGHUP");
    },
    person: (...args) => midwatch(cwd, args, env("people")),
    up: (at, name, people) => {
      const args = [CLI, "up", "--no-http", "--workspace", at.root, "--name", name, "--leader-ttl", "1s"];
      const with_ = { ...env(name), MIDWATCH_NATS_PEOPLE: people };
      return at.watch(spawn(process.execPath, args, { cwd: at.folder, env: with_, stdio: "ignore" }));
    },
    connect: async (file) => {
      const authenticator = nkeyAuthenticator(new TextEncoder().encode(seed(file)));
      const connection = await connect({ servers: server.url, authenticator, reconnect: false });
      onTestFinished(() => connection.close());
      return connection;
    },
  };
}

const lines = <T>({ stdout }: CliResult): T[] =>
  stdout
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as T);

describe.skipIf(!hasNats("current"))("keys of a fleet", { timeout: patient(90_000) }, () => {
  it("of a host: the new one works, the old one opens nothing, and what it signed before still counts", async () => {
    const { init, reload, person, up, connect: open } = await fleet();
    const { people_key } = await init();
    expect((await person("hosts")).code).toBe(0);
    const at = lab();
    const say = (content: string) => at.workspace.journal.append({ interaction: 1, actor: "A", type: "note", content });
    const said = async () => {
      const found = await person("events", "--all-hosts", "--json", "-n", "1000", "--type", "note");
      return lines<{ content: string; signed: boolean }>(found).map(({ content, signed }) => [content, signed]);
    };
    const first = up(at, "alpha", people_key);
    await say("before");
    await expect.poll(said, SOON).toEqual([["before", true]]);
    expect(await init("--rotate", "alpha")).toMatchObject({ people_key, serial: 2 });
    await say("with a key that has gone");
    reload();
    await expect.poll(() => open("alpha.nk.bak").then(() => "open", String), SOON).toContain("Authorization");
    first.kill("SIGKILL");
    expect((await person("hosts")).code).toBe(1); // It brings the roster to the hub.
    expect(await said()).toEqual([["before", true]]);
    up(at, "alpha", people_key);
    await say("after");
    const all = ["before", "with a key that has gone", "after"].map((content) => [content, true]);
    await expect.poll(said, SOON).toEqual(all);
    expect(lines(await person("hosts", "--json"))).toMatchObject([{ host: "alpha", signature: "signed" }]);

    expect(await init("--revoke", "alpha")).toMatchObject({ serial: 3, hosts: [{ host: "beta" }] });
    reload();
    await expect.poll(() => open("alpha.nk").then(() => "open", String), SOON).toContain("Authorization");
    expect(await said()).toEqual(all);
    // Under the same name it is another host, with another key.
    const gone = (await fleetKey(init)) as string;
    expect(gone).not.toBe("");
  });

  it("of people: hosts follow without a visit, the old one commands nobody, and no older roster brings it back", async () => {
    const { init, reload, person, up, connect: open, seed } = await fleet();
    const { people_key } = await init();
    expect((await person("hosts")).code).toBe(0);
    const at = lab();
    up(at, "beta", people_key);
    const isUp = async () => (await person("hosts")).code;
    await expect.poll(async () => (await person("hosts", "--json")).stdout, SOON).toContain('"reachable":true');
    const changed = await init("--rotate", "people");
    expect(changed.people_key).not.toBe(people_key);
    reload();
    await expect.poll(() => open("people.nk.bak").then(() => "open", String), SOON).toContain("Authorization");
    await expect.poll(isUp, SOON).toBe(0);
    const mark = join(at.folder, "mark");
    const done = async () => (await person("run", "--host", "beta", "--", "touch", mark)).code;
    await expect.poll(done, SOON).toBe(0);
    await expect.poll(() => existsSync(mark), SOON).toBe(true);

    const people = await open("people.nk");
    const old = seed("people.nk.bak");
    const seals = new Seals({
      ...{ fleet: "fleet", people: [] },
      signer: signerOf(old, nkeys.fromSeed(Buffer.from(old)).getPublicKey()),
    });
    const askWithOld = async (): Promise<string> => {
      const subject = NAMES.ask("beta", "look");
      const times = { at: iso(), expires: iso(Date.now() + 120_000) };
      const payload = JSON.stringify({ v: 1, id: uuidv7(), operation: "ls", input: {}, changes: false, ...times });
      const headers = msgHeaders(seals.headers("question", subject, payload));
      return (await people.request(subject, payload, { headers, timeout: patient(5000) })).string();
    };
    expect(await askWithOld()).toContain("REFUSED_SIGNATURE");
    const roster = NAMES.registers.subject("roster");
    const { rosters } = JSON.parse(seed("roster.json")) as { rosters: { text: string }[] };
    const { jetstreamManager } = await import("@nats-io/jetstream");
    const { streams } = await jetstreamManager(people, { checkAPI: false });
    const [first, second] = rosters;
    // An older one, and one with the newest number that nobody signed.
    for (const put of [[first], [first, { ...second, text: second?.text.replace("alpha", "gamma") }]]) {
      await people.request(roster, JSON.stringify({ v: 1, rosters: put }), { timeout: patient(5000) });
      expect(await askWithOld()).toContain("REFUSED_SIGNATURE");
      expect(await isUp()).toBe(0);
      // The next person has put the newest back.
      const found = await streams.getMessage(NAMES.registers.stream, { last_by_subj: roster });
      expect(found?.json<{ rosters: unknown[] }>().rosters).toEqual(rosters);
    }
  });

  it("that a host does not know hide no other host: it is told, and shown with what is known of it", async () => {
    const { init, person, up } = await fleet();
    const { people_key } = await init();
    await person("hosts");
    up(lab(), "alpha", "");
    up(lab(), "beta", people_key);
    const reachable = async () =>
      lines<{ reachable: boolean }>(await person("hosts", "--json")).map((one) => one.reachable);
    await expect.poll(reachable, SOON).toEqual([true, true]);
    expect((await person("run", "--host", "beta", "--", "true")).code).toBe(0);
    const refused = await person("run", "--host", "alpha", "--", "true");
    expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining("This host knows no person's key") });
    const { code, stdout, stderr } = await person("ls", "--all-hosts", "--all", "--json");
    expect([code, stdout]).toEqual([0, expect.stringContaining('"host":"beta"')]);
    expect(stderr).toContain("alpha: This host knows no person's key");
  });

  it("`doctor` tells of a hub that asks for none, of an old configuration, and of a host that knows no person", async () => {
    const { server, keys, init } = await fleet();
    const { people_key } = await init();
    const at = lab();
    const doctor = async (more: NodeJS.ProcessEnv): Promise<string> => {
      const env = { ...process.env, MIDWATCH_NATS_SERVERS: server.url, ...more };
      const { stdout } = await midwatch(at.folder, ["doctor", "--json"], env);
      const found = stdout.split("\n").find((line) => line.includes('"check":"fleet"')) ?? "{}";
      const { state, message } = JSON.parse(found) as { state: string; message: string };
      return `${state}: ${message}`;
    };
    const alpha = { MIDWATCH_NATS_NKEY: join(keys, "alpha.nk"), MIDWATCH_NATS_HOST: "alpha" };
    expect(await doctor({ MIDWATCH_NATS_SERVERS: "" })).toBe("undefined: undefined");
    expect(await doctor({ ...alpha, MIDWATCH_NATS_PEOPLE: people_key })).toMatch(/^ok: /);
    expect(await doctor(alpha)).toMatch(/^warning: nats_people is not set/);
    await using open = await NatsServer.start();
    expect(await doctor({ MIDWATCH_NATS_SERVERS: open.url })).toMatch(/^warning: the hub asks nobody for a key/);
    const text = readFileSync(join(keys, "nats-server.conf"), "utf8");
    const people = /MIDWATCH \{[\s\S]*?nkey: (U\w+)/.exec(text)?.[1];
    const alphaKey = /HOST_alpha" \{[\s\S]*?nkey: (U\w+)/.exec(text)?.[1];
    const first = `accounts { MIDWATCH { jetstream: enabled, users: [{ nkey: ${people} }, { nkey: ${alphaKey}, permissions: { publish: "x", subscribe: "_INBOX_alpha.>" } }] } }`;
    await using old = await NatsServer.start({ more: first });
    const then = { ...alpha, MIDWATCH_NATS_SERVERS: old.url, MIDWATCH_NATS_PEOPLE: people_key };
    for (const key of ["alpha", "people"])
      expect(await doctor({ ...then, MIDWATCH_NATS_NKEY: join(keys, `${key}.nk`) })).toMatch(/^warning: .* an old one/);
  });
});

/** Makes alpha anew; says its public key, which no roster has named before. */
async function fleetKey(init: Fleet["init"]): Promise<string> {
  const { roster } = (await init("alpha")) as unknown as { roster: string };
  const { rosters } = JSON.parse(readFileSync(roster, "utf8")) as { rosters: { text: string }[] };
  const { hosts } = JSON.parse(rosters.at(-1)?.text ?? "{}") as {
    hosts: Record<string, { key: string; until?: string }[]>;
  };
  const keys = hosts["alpha"] ?? [];
  expect(keys.map(({ until }) => until === undefined)).toEqual([false, false, true]);
  expect(new Set(keys.map(({ key }) => key)).size).toBe(3);
  return keys.at(-1)?.key ?? "";
}
