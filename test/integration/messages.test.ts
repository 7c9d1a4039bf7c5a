import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Message } from "../../src/core/types.ts";
import type { RunRecord, Workspace } from "../../src/fleet/workspace.ts";
import { keeperOf, kill9, whileHeld } from "../support/fault/keeper-kill.ts";
import { lab } from "../support/lab.ts";
import { patient } from "../support/patience.ts";
import { writeConfig } from "../support/trusted.ts";
import { CLI, type Lab, supportFile, text, until } from "../support/workspace.ts";

const MIDWATCH = `"${process.execPath}" "${CLI}"`;
const LISTENER = [process.execPath, supportFile("worker/listener.ts")];

interface Heard {
  length: number;
  sha: string;
  head: string;
}

const lines = (log: string): string[] => text(log).split("\n").slice(0, -1);
const heard = (log: string): Heard[] =>
  lines(log)
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Heard);
const sha = (of: string): string => createHash("sha256").update(of).digest("hex");
const states = (all: readonly Message[]): string[] => all.map(({ state }) => state);

/** The place in its sender's order, of each message heard: `3.7`. */
const places = (log: string): string[] => heard(log).map(({ head }) => head.split(".").slice(0, 2).join("."));

function withTalker(at: Lab, more: object = {}): Workspace {
  const config = { drivers: { talker: supportFile("cli/talker-driver.ts") }, ...more };
  writeConfig(at.folder, config);
  return at.open();
}

describe("messages to a command", () => {
  it("reach it once, whole and in order, from the prompt on; then its input ends", async () => {
    const at = lab();
    const started = await at.cli("run", "--json", "--interactive", "the prompt", "--", ...LISTENER);
    const record = JSON.parse(started.stdout) as RunRecord;
    const odd = 'a "quote", a \\ and a \u20ac, a tab\t, \u0001 and \ud83d\ude00';
    const sent = await at.cli("send", "--json", "--wait", record.agent, odd);
    expect([sent.code, JSON.parse(sent.stdout).state]).toEqual([0, "consumed"]);
    expect((await at.cli("send", record.agent, "--close")).code).toBe(0);
    expect((await at.workspace.runs.wait([record.agent]))[0]).toMatchObject({
      outcome: "completed",
      exit: { code: 0 },
    });
    expect(heard(record.log).map((one) => one.sha)).toEqual([sha("the prompt"), sha(odd)]);
    expect(lines(record.log).at(-1)).toBe("end");
    const listed = (await at.cli("messages", "--json", record.agent)).stdout.trim().split("\n");
    expect(listed.map((line) => JSON.parse(line))).toMatchObject([
      { from: "prompt", run: 1, text: "the prompt", state: "consumed", taken_by: null, why: null },
      { from: "person", run: 1, text: odd, state: "consumed" },
    ]);
    expect(existsSync(join(at.runDir(record), "input"))).toBe(false);
  });

  it("a hundred at once, of 1 byte to 200 KB, from ten processes: each once, whole, in its sender's order", async () => {
    const at = lab();
    const record = await at.workspace.runs.start({ argv: LISTENER, interactive: true });
    const accepted: { place: string; sha: string }[] = [];
    const senders = Array.from({ length: 10 }, (_, i) => {
      const child = at.node(supportFile("worker/send-worker.ts"), at.root, record.agent, String(i), "10", "200000");
      child.on("message", (message) => accepted.push(message as (typeof accepted)[number]));
      return once(child, "exit");
    });
    expect((await Promise.all(senders)).map(([code]) => code)).toEqual(Array(10).fill(0));
    await at.workspace.mail.send(record.agent, "x");
    await at.workspace.mail.close(record.agent);
    await at.workspace.runs.wait([record.agent], { timeoutMs: patient(60_000) });
    expect(accepted.length).toBe(100);
    const all = heard(record.log);
    expect(all.map((one) => one.sha).sort()).toEqual([...accepted.map((one) => one.sha), sha("x")].sort());
    const order = places(record.log);
    for (let sender = 0; sender < 10; sender++)
      expect(order.filter((place) => place.startsWith(`${sender}.`))).toEqual(
        Array.from({ length: 10 }, (_, i) => `${sender}.${i}`),
      );
    // In the order of acceptance over all senders.
    const kept = (await at.workspace.mail.list(record.agent)).map((message) => sha(message.text));
    expect(all.map((one) => one.sha)).toEqual(kept);
    expect(new Set(states(await at.workspace.mail.list(record.agent)))).toEqual(new Set(["consumed"]));
  });

  it("senders killed at any moment: what was accepted arrives once and whole, nothing arrives torn", async () => {
    const at = lab();
    const record = await at.workspace.runs.start({ argv: LISTENER, interactive: true });
    const accepted: { place: string; sha: string }[] = [];
    for (let round = 0; round < 3; round++) {
      const senders = Array.from({ length: 4 }, (_, i) => {
        const child = at.node(
          supportFile("worker/send-worker.ts"),
          at.root,
          record.agent,
          String(round * 4 + i),
          "0",
          "150000",
        );
        child.on("message", (message) => accepted.push(message as (typeof accepted)[number]));
        return child;
      });
      const before = accepted.length;
      await until(() => accepted.length >= before + 12, 20_000, "messages are being accepted");
      for (const child of senders) {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 30));
        child.kill("SIGKILL");
      }
      const alive = senders.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
      await Promise.all(alive.map((child) => once(child, "exit")));
    }
    await at.workspace.mail.send(record.agent, "the last one");
    await at.workspace.mail.close(record.agent);
    await at.workspace.runs.wait([record.agent], { timeoutMs: patient(60_000) });
    const shas = heard(record.log).map((one) => one.sha);
    expect(new Set(shas).size).toBe(shas.length);
    expect(accepted.filter((one) => !shas.includes(one.sha))).toEqual([]);
    const kept = (await at.workspace.mail.list(record.agent)).map((message) => sha(message.text));
    expect(shas).toEqual(kept);
    expect(shas.at(-1)).toBe(sha("the last one"));
  });

  it("an agent that does not read holds nobody up: the state is true, the stop works, what it never read is not lost", async () => {
    const at = lab();
    const record = await at.workspace.runs.start({ argv: ["sleep", "300"], interactive: true });
    for (const size of [10, 200_000, 10])
      expect(await at.workspace.mail.send(record.agent, "y".repeat(size))).toMatchObject({ state: "accepted" });
    const given = (): Promise<Message[]> => at.workspace.mail.list(record.agent);
    await until(async () => (await given())[0]?.state === "injected");
    const waited = await at.cli("send", "--json", "--wait", "--timeout", "300ms", record.agent, "more");
    expect([waited.code, JSON.parse(waited.stdout).state]).toEqual([1, "accepted"]);
    expect(states(await given())).toEqual(["injected", "accepted", "accepted", "accepted"]);
    expect((await at.workspace.runs.stop([record.agent]))[0]).toMatchObject({ verified: true });
    expect(states(await given())).toEqual(Array(4).fill("accepted"));
  });

  it("is refused where nothing could ever read it, and said how", async () => {
    const at = lab();
    const deaf = await at.sh("exec sleep 300");
    const over = await at.workspace.runs.start({ argv: ["true"], interactive: true });
    await at.workspace.runs.wait([over.agent]);
    for (const { agent } of [deaf, over]) {
      const { code, stderr } = await at.cli("send", "--json", agent, "hello");
      expect([code, JSON.parse(stderr).error.code]).toEqual([4, "REFUSED_INPUT"]);
    }
    const bad = [
      ["send", deaf.agent],
      ["send", deaf.agent, " "],
      ["run", "--interactive", "--stdin", "/dev/null", "--", "cat"],
      ["run", "prompt", "--", "cat"],
    ];
    for (const args of bad) expect((await at.cli(...args)).code).toBe(2);
    expect((await at.cli("send", deaf.agent, "--close")).code).toBe(4);
    expect(await at.workspace.mail.list(deaf.agent)).toEqual([]);
  });

  it("an agent sends to agents of its own task, and to no others", async () => {
    const at = lab();
    const { task } = at.workspace.runs.makeTask("together");
    const listener = await at.workspace.runs.start({ argv: LISTENER, interactive: true, task, name: "mate" });
    const stranger = await at.workspace.runs.start({ argv: LISTENER, interactive: true, name: "stranger" });
    const script = `${MIDWATCH} send ${listener.agent} hello; echo $?; ${MIDWATCH} send ${stranger.agent} hello; echo $?`;
    const sender = await at.workspace.runs.start({ argv: ["sh", "-c", script], task, name: "sender" });
    await at.workspace.runs.wait([sender.agent]);
    expect(lines(sender.log).filter((line) => /^\d$/.test(line))).toEqual(["0", "4"]);
    expect(text(sender.log.replace("_stream.jsonl", "_stderr.log"))).toContain("REFUSED_RIGHT");
    expect(await at.workspace.mail.list(listener.agent)).toMatchObject([{ from: sender.agent, text: "hello" }]);
    expect(await at.workspace.mail.list(stranger.agent)).toEqual([]);
  });
});

describe("messages to a CLI", () => {
  it("are consumed when its stream says so; finished and left alone, it gets the end of its input", async () => {
    const at = lab({ interactive_idle: "700ms" });
    const workspace = withTalker(at);
    const record = await workspace.runs.start({ driver: "talker", prompt: "begin", interactive: true, queue: true });
    await workspace.mail.send(record.agent, "sent before it had its turn");
    const loop = workspace.up.loop();
    await loop.round();
    await until(async () => states(await workspace.mail.list(record.agent)).join() === "consumed,consumed");
    expect((await workspace.mail.list(record.agent))[0]?.text).toMatch(/^begin\n/);
    expect(at.intent(record).argv.join(" ")).not.toContain("begin");
    // Read, but not taken up as far as its stream tells; and it has not finished, so its input stays open.
    const silent = await workspace.mail.send(record.agent, "THINK IN SILENCE");
    await until(async () => states(await workspace.mail.list(record.agent)).at(-1) === "injected");
    expect(await workspace.mail.delivered(silent, { timeoutMs: 500 })).toMatchObject({ state: "injected" });
    await loop.round();
    expect(existsSync(join(at.runDir(record), "input.closed"))).toBe(false);
    await workspace.mail.send(record.agent, "go on");
    await until(() => text(record.log).includes("heard go on"));
    await until(async () => {
      await loop.round();
      return existsSync(join(at.runDir(record), "input.closed"));
    });
    expect((await workspace.runs.wait([record.agent]))[0]).toMatchObject({ outcome: "completed", exit: { code: 0 } });
    const pretty = (await at.cli("logs", "--pretty", record.agent)).stdout;
    expect(pretty).toMatch(/-- took up a message\nheard go on\n-- done\n$/);
    expect((await at.cli("logs", "--pretty", "--raw", record.agent)).code).toBe(2);
    const prompts = lines(record.log).filter((line) => line.includes('"isReplay":true') && line.includes("begin"));
    expect(prompts.length).toBe(1);
  });

  it("wait for a run that takes them: restart --resume tells them to the session, once", async () => {
    const at = lab();
    const workspace = withTalker(at);
    const record = await workspace.runs.start({ driver: "talker", prompt: "begin", interactive: true });
    await workspace.mail.close(record.agent);
    await workspace.runs.wait([record.agent]);
    expect(await workspace.mail.send(record.agent, "first of two")).toMatchObject({ state: "accepted" });
    await at.cli("send", record.agent, "second of two");
    expect(states(await workspace.mail.list(record.agent))).toEqual(["consumed", "accepted", "accepted"]);
    const second = JSON.parse(
      (await at.cli("restart", "--json", record.agent, "--resume", "now:")).stdout,
    ) as RunRecord;
    await until(() => text(second.log).includes("heard now:\\n\\nfirst of two\\n\\nsecond of two"));
    expect(await workspace.mail.list(record.agent)).toMatchObject([
      { run: 1, state: "consumed", taken_by: null },
      { run: 1, state: "consumed", taken_by: 2 },
      { run: 1, state: "consumed", taken_by: 2 },
      { run: 2, state: "consumed", taken_by: null },
    ]);
    await workspace.runs.stop([record.agent]);
    const third = await workspace.runs.restart(record.agent, { resume: true });
    await until(() => text(third.log).includes("heard You were interrupted"));
    expect(text(third.log)).not.toContain("first of two");
  });

  it("a prompt that was never read is told by the next run, and only by that", async () => {
    const at = lab();
    const workspace = withTalker(at);
    const record = await workspace.runs.start({
      driver: "talker",
      prompt: "begin",
      interactive: true,
      args: ["--deaf"],
    });
    await workspace.runs.stop([record.agent], { graceMs: 0 });
    expect(await workspace.mail.list(record.agent)).toMatchObject([{ from: "prompt", state: "accepted" }]);
    await workspace.mail.send(record.agent, "and more");
    for (const resume of [false, true]) {
      await workspace.runs.restart(record.agent, { resume });
      await workspace.runs.stop([record.agent], { graceMs: 0 });
    }
    const told = (await workspace.mail.list(record.agent)).filter(({ from }) => from === "prompt");
    expect(told.map(({ text: words }) => words.split("You are the agent").length - 1)).toEqual([1, 1, 1]);
    expect(told[2]?.text).toMatch(/^and more\n\nbegin\n/);
  });

  it("an agent whose folder was made unsafe does not fail a wait for another", async () => {
    const at = lab({ interactive_idle: "200ms" });
    const workspace = withTalker(at);
    const odd = await workspace.runs.start({ driver: "talker", prompt: "begin", interactive: true, name: "odd" });
    await until(() => text(odd.log).includes("result"));
    const [dir, aside] = [at.runDir(odd), join(at.folder, "aside")];
    const keeper = keeperOf(at, odd);
    await whileHeld(keeper, () => {
      renameSync(dir, aside);
      symlinkSync(aside, dir);
    });
    onTestFinished(() =>
      whileHeld(keeper, () => {
        rmSync(dir);
        renameSync(aside, dir);
      }),
    );
    const other = await workspace.runs.start({ argv: ["sleep", "4"] });
    expect(await workspace.runs.wait([other.agent])).toMatchObject([{ outcome: "completed" }]);
    expect(text(join(at.root, "events.log"))).toContain(`${odd.agent} cannot be looked after`);
  });

  it("sent to a one-shot run while it runs, they are its next prompt; a restart that fails takes none", async () => {
    const at = lab();
    const go = join(at.folder, "go");
    const script = `
      const fs = require("node:fs");
      console.log(JSON.stringify({ session: "s-1", text: fs.readFileSync(0, "utf8") }));
      const timer = setInterval(() => fs.existsSync(${JSON.stringify(go)}) && clearInterval(timer), 20);`;
    const drivers = {
      once: { program: process.execPath, args: ["-e", script, ["--", "{resume}"]], json: true, session: "session" },
    };
    const configure = (more: object): void => writeConfig(at.folder, { drivers: more });
    configure(drivers);
    const workspace = at.open();
    const { agent, log } = await workspace.runs.start({ driver: "once", prompt: "begin" });
    await until(() => text(log).includes("begin"));
    const sent = await at.cli("send", agent, "and the docs");
    expect([sent.code, sent.stdout]).toEqual([0, expect.stringContaining("accepted")]);
    writeFileSync(go, "");
    await workspace.runs.wait([agent]);
    configure({ once: { ...drivers.once, program: join(at.folder, "gone") } });
    expect((await at.cli("restart", agent, "--resume")).code).not.toBe(0);
    expect(states(await workspace.mail.list(agent))).toEqual(["accepted"]);
    configure(drivers);
    expect((await at.cli("restart", agent, "--resume")).code).toBe(0);
    await workspace.runs.wait([agent]);
    expect(JSON.parse(lines(log).at(-1) ?? "").text).toBe("and the docs");
    expect(await workspace.mail.list(agent)).toMatchObject([{ run: 1, taken_by: 2, state: "consumed" }]);
  });

  it("go on after its keeper was killed while it did not read", async () => {
    const at = lab();
    const go = join(at.folder, "go");
    const script = `read -r a; echo "$a"; while [ ! -e "${go}" ]; do sleep 0.02; done; while read -r a; do echo "$a"; done`;
    const record = await at.workspace.runs.start({ argv: ["sh", "-c", script], interactive: true });
    await at.workspace.mail.delivered(await at.workspace.mail.send(record.agent, "one"), {
      timeoutMs: patient(10_000),
    });
    await kill9(keeperOf(at, record));
    await at.workspace.mail.send(record.agent, "two"); // Whoever comes next sees to an heir.
    writeFileSync(go, "");
    await until(() => text(record.log) === "one\ntwo\n");
    await at.workspace.mail.close(record.agent);
    expect((await at.workspace.runs.wait([record.agent], { timeoutMs: patient(20_000) }))[0]?.phase).toBe("drained");
  });

  it("a CLI that takes none while it runs refuses --interactive before anything is made", async () => {
    const at = lab();
    writeConfig(at.folder, { drivers: { mute: { program: process.execPath } } });
    const { code, stderr } = await at.cli("run", "--interactive", "--driver", "mute", "hello");
    expect([code, stderr]).toEqual([2, expect.stringContaining("takes no messages")]);
    expect((await at.workspace.runs.list({ all: true })).length).toBe(0);
  });

  it("secrets in a message stay in its file: what is listed is masked", async () => {
    const at = lab();
    const { agent, ...record } = await at.workspace.runs.start({ argv: LISTENER, interactive: true });
    const key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz";
    const sent = await at.cli("send", "--json", "--wait", agent, `use ${key}`);
    const listed = await at.cli("messages", agent);
    expect(sent.stdout + listed.stdout).not.toContain(key);
    expect(readFileSync(join(at.runDir({ agent, ...record }), "messages.jsonl"), "utf8")).toContain(key);
    expect(heard(record.log)[0]?.sha).toBe(sha(`use ${key}`));
  });
});
