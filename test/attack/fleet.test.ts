/**
 * Somebody has the key of one host of a fleet, alpha, and wants to command the others. The servers run with the configuration of 0.1, by which they can
 * be made to send anything in any name (a question to JetStream may name any subject for its answer): what holds there are signatures. The
 * last group tries the same with the configuration of now, where it does not even arrive.
 */
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { makeEvent } from "../../src/journal/event.ts";
import { ELECTION } from "../../src/journal/term.ts";
import { NatsEngine } from "../../src/nats/engine.ts";
import { told } from "../support/data/events.ts";
import { AttackedFleet, msgHeaders, NAMES, type Signed, type Wished } from "../support/nats/attacked-fleet.ts";
import { hasNats } from "../support/nats/nats-program.ts";
import { patient } from "../support/patience.ts";
import type { Lab } from "../support/workspace.ts";

const SOON = { timeout: patient(20_000), interval: 50 };
const yesOrNo = [() => true, () => false] as const;
const DAY_MS = 24 * 3_600_000;
const note = (content: string, origin: string) =>
  JSON.stringify({ ...makeEvent({ interaction: 1, actor: "a", type: "note", content }), origin });

describe.skipIf(!hasNats("current"))("who has the key of one host", { timeout: patient(60_000) }, () => {
  let fleet: AttackedFleet;
  let beta: ReturnType<AttackedFleet["host"]>;
  let alpha: NatsConnection;
  let people: NatsConnection;
  let mark: string;
  beforeAll(async () => {
    fleet = await AttackedFleet.start("of 0.1");
    beta = fleet.host("beta");
    await fleet.isUp("beta");
    alpha = await fleet.connect("alpha");
    people = await fleet.connect("people");
    mark = join(fleet.folder, "mark");
  }, patient(120_000));
  afterAll(() => fleet?.end(), patient(60_000));

  const run = (): unknown => ({ json: true, fields: { command: ["touch", mark] } });
  const question = (key: string | undefined, wished: Wished = {}): Signed =>
    fleet.question(key, { input: run(), ...wished });
  /** As somebody would who may publish everywhere: a person, or a hub that is not ours any more. */
  const send = async ({
    subject,
    payload,
    headers,
  }: Signed): Promise<{ answer?: unknown; error?: { code: string } }> => {
    const options = { headers: msgHeaders(headers), timeout: patient(10_000) };
    return (await people.request(subject, payload, options)).json();
  };
  const errors = (at: Pick<Lab, "root">): string =>
    told(at, "error")
      .map(({ content }) => content)
      .join("\n");
  /** Refused, told in the journal of the host, and not done. */
  const isRefused = async (sent: Signed, code: string, words: string): Promise<void> => {
    expect(await send(sent)).toMatchObject({ error: { code, message: expect.stringContaining(words) } });
    expect(errors(beta.lab)).toContain(words);
    expect(existsSync(mark)).toBe(false);
  };

  it("is not heard when the server sends a question in its name; a host of 0.1 ran it", async () => {
    fleet.oldHost("gamma");
    await fleet.isUp("gamma");
    const input = { json: true, fields: { command: ["touch", `${mark}-gamma`] } };
    await fleet.trick(alpha, question(undefined, { host: "gamma", input }));
    await expect.poll(() => existsSync(`${mark}-gamma`), SOON).toBe(true);
    const captured = question("people");
    for (const sent of [question(undefined), question("alpha"), captured]) await fleet.trick(alpha, sent);
    await expect.poll(() => errors(beta.lab), SOON).toContain("came out of a stream");
    expect(existsSync(mark)).toBe(false);
    // It was a good one, but for the way that it came.
    expect(await send(captured)).toMatchObject({ answer: { kind: "stream" } });
    await expect.poll(() => existsSync(mark), SOON).toBe(true);
    rmSync(mark);
  });

  it("gets nothing done with a copy of what a person asked, even if it can take the claim away", async () => {
    const sent = question("people");
    const { id } = JSON.parse(sent.payload);
    expect(await send(sent)).toMatchObject({ answer: { kind: "stream" } });
    await expect.poll(() => existsSync(mark), SOON).toBe(true);
    rmSync(mark);
    const claim = NAMES.registers.subject(`asks/beta/${id}`);
    await people.request(claim, "", { headers: msgHeaders({ "KV-Operation": "DEL" }), timeout: patient(5000) });
    await isRefused(sent, "REFUSED_SIGNATURE", "heard before");
  });

  it("gets nothing done with a question that expired, is of tomorrow, or would hold for ever", async () => {
    await isRefused(question("people", { aheadMs: -600_000 }), "REFUSED_TIME", "expired");
    await isRefused(question("people", { aheadMs: 600_000 }), "REFUSED_TIME", "from now by this host's clock");
    await isRefused(question("people", { lifeMs: DAY_MS }), "REFUSED_TIME", "longer than two minutes");
  });

  it("gets nothing done with a signature for another host, operation, input or kind", async () => {
    const unknown = "No person that this host knows";
    const forAlpha = question("people", { host: "alpha" });
    await isRefused({ ...forAlpha, subject: NAMES.ask("beta", "do") }, "REFUSED_SIGNATURE", unknown);
    const look = question("people", { kind: "look", operation: "ls", input: { fields: {} } });
    const changed = (from: string, to: string): Signed => ({ ...look, payload: look.payload.replace(from, to) });
    await isRefused(changed('"ls"', '"run"'), "REFUSED_SIGNATURE", unknown);
    await isRefused(changed('"fields":{}', `"fields":${JSON.stringify({ all: true })}`), "REFUSED_SIGNATURE", unknown);
    await isRefused({ ...look, subject: NAMES.ask("beta", "do") }, "REFUSED_SIGNATURE", unknown);
    expect(await send(look)).toMatchObject({ answer: { kind: "list" } });
  });

  it("gets nothing done with the key of a host, not even of the one that is asked, nor without any", async () => {
    for (const key of ["alpha", "beta"]) await isRefused(question(key), "REFUSED_SIGNATURE", "No person");
    await isRefused(question(undefined), "REFUSED_SIGNATURE", "not signed");
  });

  it("does not make a host write in its place by asking it to answer there", async () => {
    const subject = NAMES.events.of("gamma");
    const sent = question("people", { kind: "look", operation: "ls", input: { fields: {} } });
    people.publish(sent.subject, sent.payload, { headers: msgHeaders(sent.headers), reply: subject });
    await expect.poll(() => errors(beta.lab), SOON).toContain("nobody's inbox");
    expect((await fleet.person("events", "--all-hosts", "--json")).stdout).not.toContain('"kind":"list"');
  });

  it("forges no event: what it signs in another name is left out and told, also by the host itself", async () => {
    const subject = NAMES.events.of("beta");
    const forged = note("forged and signed by alpha", "beta");
    await fleet.trick(alpha, { subject, payload: forged, headers: fleet.seal("alpha", "event", subject, forged) });
    const own = note("of alpha, says beta", "beta");
    const ownSubject = NAMES.events.of("alpha");
    const headers = msgHeaders(fleet.seal("alpha", "event", ownSubject, own));
    await alpha.request(ownSubject, own, { headers, timeout: patient(5000) });
    const unsigned = note("of nobody", "beta");
    await fleet.trick(alpha, { subject, payload: unsigned, headers: {} });
    await beta.lab.workspace.journal.append({ interaction: 1, actor: "A", type: "note", content: "of beta" });
    const read = async () => await fleet.person("events", "--all-hosts", "--json", "-n", "1000", "--type", "note");
    for (const content of ["of beta", "of nobody"])
      await expect.poll(async () => (await read()).stdout, SOON).toContain(`"${content}"`);
    const { stdout, stderr } = await read();
    const shown = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { content: string; signed: boolean });
    const of = (content: string) => shown.filter((one) => one.content === content).map(({ signed }) => signed);
    expect([of("of beta"), of("of nobody")]).toEqual([[true], [false]]);
    expect(stdout).not.toMatch(/forged and signed|says beta/);
    expect(stderr).toContain("midwatch.fleet.ev.beta at the hub does not count: it carries a wrong signature");
    expect(stderr).toContain(
      "midwatch.fleet.ev.alpha at the hub does not count: it says that it comes from another host",
    );
    expect((await fleet.person("events", "--all-hosts", "-n", "1000")).stdout).toContain("of nobody (unsigned)");
    expect(errors(beta.lab)).toContain("midwatch.fleet.ev.beta at the hub does not count");
  });

  it("forges no event by a copy: an old one of a host is not news", async () => {
    const manager = await fleet.connect("people");
    await beta.lab.workspace.journal.append({ interaction: 1, actor: "A", type: "note", content: "said once" });
    const read = async (): Promise<string[]> => {
      const { stdout } = await fleet.person("events", "--all-hosts", "--json", "-n", "1000", "--type", "note");
      return stdout.split("\n").filter((line) => line.includes("said once"));
    };
    await expect.poll(read, SOON).toHaveLength(1);
    const { jetstreamManager } = await import("@nats-io/jetstream");
    const { streams } = await jetstreamManager(manager, { checkAPI: false });
    const subject = NAMES.events.of("beta");
    const copied = await streams.getMessage(NAMES.events.stream, { last_by_subj: subject });
    const fields = Object.fromEntries(
      ["Midwatch-At", "Midwatch-Seal"].map((name) => [name, copied?.header.get(name) ?? ""]),
    );
    await fleet.trick(alpha, { subject, payload: copied?.string() ?? "", headers: fields });
    await beta.lab.workspace.journal.append({ interaction: 1, actor: "A", type: "note", content: "and more" });
    await expect.poll(async () => (await fleet.person("events", "--all-hosts")).stdout, SOON).toContain("and more");
    expect(await read()).toHaveLength(1);
  });

  it("elects no leader, and deposes none", async () => {
    const engine = new NatsEngine({
      ...{ servers: fleet.hub.urls, name: "test", fleet: "fleet", origin: "cli" },
      ...{ nkey: fleet.made.people, people: [fleet.made.people_key] },
    });
    const subject = NAMES.events.leader("leader");
    const election = (term: number) => makeEvent({ interaction: 0, actor: "x", type: ELECTION, content: "", term });
    for (const headers of [{}, fleet.seal("alpha", "event", subject, JSON.stringify(election(1e6)))])
      await fleet.trick(alpha, { subject, payload: JSON.stringify(election(1e6)), headers });
    // While the server is storing what was forged, nobody is elected either.
    const elected = async (): Promise<boolean> => await engine.append([election(1)]).then(...yesOrNo);
    await expect.poll(elected, SOON).toBe(true);
    await engine.append([makeEvent({ interaction: 1, actor: "x", type: "note", content: "led", term: 1 })]);
    const terms: unknown[] = [];
    for await (const item of engine.read())
      if ("event" in item && item.event.actor === "x") terms.push(item.event.term);
    // An unsigned one is shown, and says no term.
    expect(terms.filter((term) => term !== undefined)).toEqual([1, 1]);
    await engine.close();
  });

  it("drains nobody, and forges no register: not with its own signature, not by an old one", async () => {
    const register = (key: string, value: unknown): [string, string] => [
      NAMES.registers.subject(key),
      JSON.stringify(value),
    ];
    const [drain, drained] = register("drain/beta", { v: 1, since: "2026-01-01T00:00:00Z" });
    await fleet.trick(alpha, {
      subject: drain,
      payload: drained,
      headers: fleet.seal("alpha", "register", drain, drained),
    });
    await expect
      .poll(async () => (await fleet.person("hosts")).stderr, SOON)
      .toContain("drain.beta at the hub does not count");
    await fleet.trick(alpha, { subject: drain, payload: drained, headers: {} });
    const unsigned = async () => (await fleet.person("hosts")).stderr;
    await expect.poll(unsigned, SOON).toContain("it is not signed, so it drains nobody");
    expect((await fleet.person("hosts", "--json")).stdout).not.toContain('"draining":true');
    // What only looks like a register of ours can be replaced as one that is not there.
    expect((await fleet.person("drain", "beta")).code).toBe(0);
    await expect.poll(async () => (await fleet.person("hosts")).stdout, SOON).toContain("draining");
    expect((await fleet.person("drain", "--off", "beta")).code).toBe(0);

    beta.up.kill("SIGSTOP"); // It would write its own again within a second.
    try {
      const found = JSON.parse(
        (await fleet.person("hosts", "--json")).stdout.split("\n").find((one) => one.includes('"beta"')) ?? "",
      );
      const [subject, payload] = register("hosts/beta", { ...found, running: 0, load: 0 });
      for (const [seal, why] of [
        [fleet.seal("alpha", "register", subject, payload), "it carries a wrong signature"],
        [fleet.seal("beta", "register", subject, payload, "", Date.now() - 600_000), "it is a copy of an old one"],
      ] as const) {
        await fleet.trick(alpha, { subject, payload, headers: seal });
        const told = async () => (await fleet.person("hosts")).stderr;
        await expect.poll(told, SOON).toContain(`hosts.beta at the hub does not count: ${why}`);
        expect((await fleet.person("hosts", "--json")).stdout).not.toContain('"host":"beta"');
      }
    } finally {
      beta.up.kill("SIGCONT");
    }
    await fleet.isUp("beta");
    expect(errors(beta.lab)).toContain("hosts.beta at the hub does not count");
  });

  it("is not believed in the name of a host of 0.1, which is shown as unsigned and gets no agent unasked", async () => {
    const hosts = (await fleet.person("hosts", "--json")).stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(hosts.map(({ host, signature }) => [host, signature])).toEqual([
      ["beta", "signed"],
      ["gamma", "missing"],
    ]);
    expect((await fleet.person("hosts")).stdout).toContain("up, unsigned");
    const listed = (await fleet.person("ls", "--all-hosts", "--all", "--json")).stdout.trim().split("\n");
    const signed = new Set(listed.map((line) => JSON.parse(line)).map(({ host, signed: is }) => `${host} ${is}`));
    expect(signed).toEqual(new Set(["beta true", "gamma false"]));
    const list = await fleet.person("ls", "--all-hosts", "--all");
    expect(list.stderr).toContain("gamma: its answers are not signed");
    expect(list.stdout).toMatch(/gamma\/\S+ \(unsigned\)/);
    expect(list.stdout).not.toMatch(/beta\/\S+ \(unsigned\)/);
    // Only beta is left, although gamma has less to do.
    for (let i = 0; i < 3; i++)
      expect((await fleet.person("run", "--json", "--anywhere", "--", "true")).stdout).toContain('"host":"beta"');
    await fleet.person("drain", "beta");
    const none = await fleet.person("run", "--anywhere", "--", "true");
    expect(none.stderr).toContain("gamma: what it tells is not signed");
    await fleet.person("drain", "--off", "beta");
    const named = await fleet.person("run", "--json", "--host", "gamma", "--", "true");
    expect([named.code, named.stdout]).toEqual([0, expect.stringContaining('"host":"gamma"')]);
    expect(named.stderr).toContain("its answers are not signed");
  });
});

describe.skipIf(!hasNats("current"))("on a hub with a configuration of now", { timeout: patient(60_000) }, () => {
  it("nothing of it arrives: an answer stays in the account of the host that asked", async () => {
    const fleet = await AttackedFleet.start("of now");
    try {
      const beta = fleet.host("beta");
      await fleet.isUp("beta");
      const alpha = await fleet.connect("alpha");
      const mark = join(fleet.folder, "mark");
      const input = { json: true, fields: { command: ["touch", mark] } };
      for (const key of [undefined, "people"]) await fleet.trick(alpha, fleet.question(key, { input }));
      for (const subject of [
        NAMES.events.of("beta"),
        NAMES.events.leader("leader"),
        NAMES.registers.subject("drain/beta"),
      ])
        await fleet.trick(alpha, { subject, payload: note("forged", "beta"), headers: {} });
      // Whatever the server sent before it is there when this is.
      await beta.lab.workspace.journal.append({ interaction: 1, actor: "A", type: "note", content: "of beta" });
      const events = async () => (await fleet.person("events", "--all-hosts", "--json", "-n", "1000")).stdout;
      await expect.poll(events, SOON).toContain("of beta");
      const forged = (await events()).split("\n").filter((line) => line.includes('"forged"'));
      // Only what alpha keeps under its own name.
      expect(forged.filter((line) => line.includes('"type":"note"'))).toHaveLength(0);
      expect((await fleet.person("hosts", "--json")).stdout).toMatch(/"host":"beta".*"draining":false/);
      expect(told(beta.lab, "error")).toEqual([]);
      expect(existsSync(mark)).toBe(false);
    } finally {
      await fleet.end();
    }
  });
});
