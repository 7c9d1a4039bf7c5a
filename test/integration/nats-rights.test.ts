import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { createServer, connect as dial } from "node:net";
import { join } from "node:path";
import { Objm } from "@nats-io/obj";
import { connect, nkeyAuthenticator } from "@nats-io/transport-node";
import { describe, expect, it, onTestFinished } from "vitest";
import { midwatch } from "../support/cli.ts";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";
import { hasNats } from "../support/nats/nats-program.ts";
import { freePort, NatsServer } from "../support/nats/nats-server.ts";
import { patient } from "../support/patience.ts";
import { CLI, type Lab } from "../support/workspace.ts";

const SOON = { timeout: patient(20_000), interval: 200 };

/** What `midwatch nats init` wrote, with a server on it. */
async function hub(...more: string[]): Promise<{ server: NatsServer; keys: string; people: string }> {
  const cwd = folder();
  const port = await freePort();
  const made = await midwatch(cwd, [
    "nats",
    "init",
    "alpha",
    "beta",
    "--json",
    "--listen",
    `127.0.0.1:${port}`,
    ...more,
  ]);
  expect(made, made.stderr).toMatchObject({ code: 0 });
  const server = await NatsServer.start({ file: join(cwd, "nats", "nats-server.conf"), port });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return { server, keys: join(cwd, "nats"), people: JSON.parse(made.stdout).people_key };
}

function hasOpenssl(): boolean {
  const has = spawnSync("openssl", ["version"]).status === 0;
  if (!has) console.warn("SKIPPED: there is no openssl to make a certificate with. Next: apt-get install openssl");
  return has;
}

function upAs(at: Lab, name: string, env: NodeJS.ProcessEnv): ChildProcess {
  const args = [CLI, "up", "--no-http", "--workspace", at.root, "--name", name];
  return at.watch(spawn(process.execPath, args, { cwd: at.folder, env, stdio: ["ignore", "ignore", "pipe"] }));
}

describe.skipIf(!hasNats("current"))("rights in a fleet", { timeout: patient(60_000) }, () => {
  it("R-003.16: a host with its key works; with it nothing can be done under another name", async () => {
    const { server, keys, people: peopleKey } = await hub();
    for (const name of ["people", "alpha", "beta"]) expect(statSync(join(keys, `${name}.nk`)).mode & 0o777).toBe(0o600);
    const env = (name: string) => ({
      ...process.env,
      MIDWATCH_NATS_SERVERS: server.url,
      MIDWATCH_NATS_NKEY: join(keys, `${name}.nk`),
      ...(name === "people" ? {} : { MIDWATCH_NATS_PEOPLE: peopleKey }),
    });
    const authenticator = (name: string) => nkeyAuthenticator(readFileSync(join(keys, `${name}.nk`)).subarray(0, 58));
    const person = (...args: string[]) => midwatch(folder(), args, env("people"));
    expect(
      (await midwatch(folder(), ["hosts"], { ...process.env, MIDWATCH_NATS_SERVERS: server.url })).stderr,
    ).toContain("does not know our key");
    expect((await person("hosts")).stdout).toContain("No host has joined");

    const at = lab();
    const child = upAs(at, "alpha", { ...env("alpha"), MIDWATCH_NATS_LOGS: "archived", MIDWATCH_LEADER_TTL: "1s" });
    let said = "";
    child.stderr?.on("data", (part) => {
      said += part;
    });
    await expect.poll(() => said, SOON).toContain("fleet: this is alpha");
    expect(said).not.toContain("not known"); // The servers tell how they sync.
    await expect.poll(async () => (await person("hosts", "--json")).stdout, SOON).toContain('"reachable":true');
    const script = "env | grep -c MIDWATCH_NATS; sleep 300";
    const run = JSON.parse((await person("run", "--json", "--host", "alpha", "--", "sh", "-c", script)).stdout);
    await expect.poll(async () => (await person("logs", `alpha/${run.agent}`)).stdout, SOON).toBe("0\n");
    expect((await person("stop", "--grace", "0", `alpha/${run.agent}`)).code).toBe(0);
    await expect.poll(async () => (await person("events", "--all-hosts")).stdout, SOON).toContain("agent.ended");

    // Its finished log goes to the hub, and is read there when the host is gone.
    await at.workspace.files.archive(run.agent);
    const people = await connect({ servers: server.url, authenticator: authenticator("people") });
    onTestFinished(() => people.close());
    const stored = async (): Promise<boolean> => {
      const store = await new Objm(people).open("midwatch-logs-fleet-alpha", false);
      return (await store.info(`${run.agent}/1/stream.jsonl.zst`).catch(() => null)) !== null;
    };
    await expect.poll(stored, SOON).toBe(true);
    child.kill("SIGKILL");
    const copy = async () => await person("logs", `alpha/${run.agent}`);
    expect((await copy()).stderr, said).toContain("the copy at the hub");
    expect((await copy()).stdout).toBe("0\n");
    expect((await person("logs", "--json", `alpha/${run.agent}`)).stdout).toContain('"data":0');

    const alpha = await connect({
      servers: server.url,
      authenticator: authenticator("alpha"),
      inboxPrefix: "_INBOX_alpha",
    });
    onTestFinished(() => alpha.close());
    const denied = async (subject: string): Promise<boolean> => {
      try {
        await alpha.request(subject, "{}", { timeout: patient(2000) });
        return false;
      } catch (error) {
        return /permissions violation/i.test(String((error as Error).message) + String((error as Error).cause));
      }
    };
    const foreign = [
      ...[
        "midwatch.fleet.ev.beta",
        "midwatch.fleet.lead.leader",
        "midwatch.fleet.ask.beta.do",
        "midwatch.fleet.ask.beta.look",
      ],
      ...["midwatch.fleet.ask.alpha.do", "midwatch.other.ev.alpha", "anything"],
      ...["hosts.beta", "agents.beta", "asks.beta.1", "drain.alpha", "leases.leader"].map(
        (key) => `$KV.midwatch-fleet.${key}`,
      ),
      ...["DELETE", "PURGE", "UPDATE", "CREATE", "MSG.DELETE", "SNAPSHOT"].flatMap((verb) =>
        ["midwatch-events-fleet", "KV_midwatch-fleet"].map((stream) => `$JS.API.STREAM.${verb}.${stream}`),
      ),
      ...["$JS.API.CONSUMER.CREATE.midwatch-events-fleet", "$JS.API.STREAM.LIST", "$SYS.REQ.SERVER.PING.CONNZ"],
      "$O.midwatch-logs-fleet-beta.C.x",
    ];
    for (const subject of foreign) expect([subject, await denied(subject)]).toEqual([subject, true]);
    for (const subject of [">", "midwatch.fleet.>", "midwatch.fleet.ask.beta.do", "_INBOX_beta.>", "_INBOX_people.>"]) {
      const refused = await new Promise<string>((resolve) => {
        const subscription = alpha.subscribe(subject, { callback: (error) => resolve(error?.message ?? "heard") });
        setTimeout(() => resolve("nothing said"), patient(2000)).unref();
        void subscription.closed.then(() => resolve("closed"));
      });
      expect([subject, refused]).toEqual([subject, expect.stringMatching(/permissions violation|closed/i)]);
    }
  });

  it.skipIf(!hasOpenssl())("with TLS nobody on the way reads along", async () => {
    const certs = folder();
    const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: certs, stdio: "ignore" });
    openssl(
      ...["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"],
      ...[
        "-keyout",
        "hub.key",
        "-out",
        "hub.pem",
        "-subj",
        "/CN=hub",
        "-addext",
        "subjectAltName=DNS:localhost,IP:127.0.0.1",
      ],
    );
    const tls = ["--tls-cert", join(certs, "hub.pem"), "--tls-key", join(certs, "hub.key")];
    const word = "a word that nobody should read";
    for (const safe of [true, false]) {
      const { server, keys } = await hub(...(safe ? tls : []));
      const seen: Buffer[] = [];
      const between = createServer((socket) => {
        const on = dial(server.port, "127.0.0.1");
        for (const [from, to] of [[socket, on] as const, [on, socket] as const]) {
          from.on("data", (part: Buffer) => seen.push(part));
          from.on("error", () => to.destroy());
          from.pipe(to);
        }
      });
      await new Promise<void>((resolve) => between.listen(0, "127.0.0.1", resolve));
      onTestFinished(() => void between.close());
      const { port } = between.address() as { port: number };
      const env = {
        ...process.env,
        MIDWATCH_NATS_SERVERS: `${safe ? "tls" : "nats"}://127.0.0.1:${port}`,
        ...(safe ? { MIDWATCH_NATS_CA: join(certs, "hub.pem") } : {}),
      };
      const key = (name: string) => ({ ...env, MIDWATCH_NATS_NKEY: join(keys, `${name}.nk`) });
      const first = await midwatch(folder(), ["hosts"], key("people"));
      expect(first.stdout, first.stderr).toContain("No host");
      const at = lab();
      await at.workspace.journal.append({ interaction: 1, actor: "A", type: "note", content: word });
      upAs(at, "alpha", key("alpha"));
      const events = async () => (await midwatch(folder(), ["events", "--all-hosts"], key("people"))).stdout;
      await expect.poll(events, SOON).toContain(word);
      const traffic = Buffer.concat(seen);
      expect(traffic.length).toBeGreaterThan(1000);
      expect(traffic.includes(word)).toBe(!safe);
      expect(traffic.includes(readFileSync(join(keys, "alpha.nk"), "utf8").trim())).toBe(false);
      // TLS that was asked for is not left out, whatever the server says.
      const insisting = { ...key("people"), MIDWATCH_NATS_SERVERS: `tls://127.0.0.1:${port}` };
      expect((await midwatch(folder(), ["hosts"], { ...insisting, MIDWATCH_NATS_CA: "" })).code).toBe(5);
    }
  });
});
