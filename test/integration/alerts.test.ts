import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { DeadLetter } from "../../src/alert/alerts.ts";
import { makeAlert } from "../../src/alert/message.ts";
import { TIMING } from "../../src/alert/queue.ts";
import { send } from "../../src/alert/send.ts";
import type { RouteStatus } from "../../src/alert/state.ts";
import { EmbeddedLog } from "../../src/journal/embedded.ts";
import { makeEvent } from "../../src/journal/event.ts";
import { midwatch } from "../support/cli.ts";
import { lab } from "../support/lab.ts";
import { fastAlerts } from "../support/net/alerts.ts";
import { type Answer, eventsIn, type Received, Receiver } from "../support/net/receiver.ts";
import { patient } from "../support/patience.ts";
import { writeConfig } from "../support/trusted.ts";
import { CLI, type Lab, text, until } from "../support/workspace.ts";

async function receiver(answer?: (request: Received, before: number) => Answer): Promise<Receiver> {
  const made = await Receiver.open(answer);
  onTestFinished(() => made.close());
  return made;
}

function configure(at: Lab, alerts: unknown): void {
  writeConfig(at.folder, { alerts });
}

/** A variable for this test and the processes it starts. */
function variable(name: string, value: string): void {
  process.env[name] = value;
  onTestFinished(() => void delete process.env[name]);
}

async function error(at: Lab, content: string): Promise<void> {
  await at.workspace.journal.append({ interaction: 1, actor: "Agent A", type: "error", content });
}

const begun = (at: Lab): boolean => existsSync(join(at.root, "registers", "alerts", "1.json"));

function deadLetters(at: Lab): DeadLetter[] {
  return text(join(at.root, "alerts.dead.jsonl"))
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as DeadLetter);
}

async function status(at: Lab): Promise<Record<string, RouteStatus>> {
  const { stdout } = await midwatch(at.folder, ["alert", "status", "--json", "--workspace", at.root]);
  const lines = stdout.split("\n").filter(Boolean);
  return Object.fromEntries(lines.map((line) => JSON.parse(line)).map((one: RouteStatus) => [one.route, one]));
}

const SEEDED = {
  shape: `ghp_${"s3Ed".repeat(9)}`,
  run: "orange-piano-94713",
  up: "velvet-anchor-55021",
};

it("R-003.22: up tells webhooks, chats and commands of errors and ended agents, signed, once, without any secret", async () => {
  const at = lab();
  const hooks = await receiver();
  variable("TEST_HOOK_SECRET", hooks.secret);
  variable("TEST_CHAT_URL", hooks.url("/chat/T0/B0/sesame"));
  variable("TEST_UP_TOKEN", SEEDED.up);
  // A mail program in its simplest form: it gets the event as JSON on its input.
  writeFileSync(join(at.folder, "mail"), '#!/bin/sh\ncat >> "$1"\n', { mode: 0o755 });
  configure(at, {
    routes: {
      hook: { to: "webhook", url: hooks.url("/hook"), secret: { env: "TEST_HOOK_SECRET" }, private: true },
      chat: { to: "slack", url: { env: "TEST_CHAT_URL" }, private: true },
      mail: { to: "command", argv: ["./mail", "sent.json"] },
    },
    rules: [
      { type: "error", routes: ["hook", "chat", "mail"] },
      { type: "agent.ended", outcome: ["failed", "lost"], routes: ["hook"] },
    ],
  });
  await error(at, "old news");
  at.node(CLI, "up", "--no-http", "--workspace", at.root);
  await until(() => begun(at));
  const { agent } = await at
    .open({ env: { ...process.env, TEST_RUN_TOKEN: SEEDED.run } })
    .runs.start({ argv: ["false"] });
  const seeded = `sesame? ${Object.values(SEEDED).join(" ")} ${hooks.secret} ${process.env["TEST_CHAT_URL"]} end`;
  writeFileSync(
    join(at.root, "events.log"),
    `${JSON.stringify({ interaction: 1, actor: "sh", agent, type: "error", content: seeded, timestamp: new Date().toISOString() })}\n`,
    { flag: "a" },
  );
  await until(() => hooks.at("/hook").length === 2 && hooks.at("/chat/T0/B0/sesame").length === 1);
  await until(() => text(join(at.folder, "sent.json")).endsWith("\n"));
  const told = hooks.at("/hook").map((one) => ({ ...hooks.verified(one), id: one.headers["webhook-id"] }));
  expect(told).toContainEqual(
    expect.objectContaining({
      type: "agent.ended",
      data: expect.objectContaining({ severity: "error", text: `${agent} ended: failed` }),
    }),
  );
  for (const one of told) expect(one.data.event.id).toBe(one.id);
  const mailed = text(join(at.folder, "sent.json"));
  expect(JSON.parse(mailed)).toMatchObject({ type: "error", data: { event: { agent } } });
  const everything = [
    ...hooks.received.map(({ body }) => body),
    mailed,
    text(join(at.root, "registers/alerts/1.json")),
  ];
  for (const secret of [...Object.values(SEEDED), hooks.secret, "B0/sesame", "old news"])
    expect(everything.join("\n")).not.toContain(secret);
  await until(async () =>
    Object.values(await status(at)).every(({ state, waiting }) => state === "ok" && waiting === 0),
  );
  expect(await at.open().up.health()).toMatchObject({ alerts: { routes: 3, failing: [], waiting: 0, dead: 0 } });
});

describe("a receiver", () => {
  const SECRET = "TEST_ANSWER_SECRET";

  it("R-003.22: is told once whatever it answers at first; what it refuses for good is a dead letter", async () => {
    const at = lab();
    const first: Record<string, Answer> = {
      "/ok": { status: 200 },
      "/429-after": { status: 429, headers: { "retry-after": "1" } },
      "/429": { status: 429 },
      "/500": { status: 500 },
      "/hang": null,
      "/410": { status: 410 },
      "/404": { status: 404 },
    };
    const hooks = await receiver((request, before) => {
      if (request.path === "/redirect") return { status: 307, headers: { location: hooks.url("/inside") } };
      return before === 0 ? (first[request.path] as Answer) : { status: 204 };
    });
    variable(SECRET, hooks.secret);
    const paths = [...Object.keys(first), "/redirect"];
    const routes = Object.fromEntries(
      paths.map((path) => [
        path.slice(1),
        { to: "webhook", url: hooks.url(path), secret: { env: SECRET }, private: true },
      ]),
    );
    const alerts = fastAlerts(at.root, { routes }, undefined, { timeoutMs: patient(1500) });
    onTestFinished(() => alerts.close());
    await alerts.round();
    for (let i = 0; i < 3; i++) await error(at, `number ${i}`);
    configure(at, { routes });
    const configured = at.open();
    const settled = async (): Promise<boolean> =>
      (await configured.alerts.status()).every(({ waiting }) => waiting === 0);
    await until(async () => {
      await alerts.round();
      return hooks.received.length >= 12 && (await settled());
    });
    const found = Object.fromEntries((await configured.alerts.status()).map((one) => [one.route, one]));
    for (const path of ["/ok", "/429-after", "/429", "/500", "/hang"]) {
      const got = hooks.at(path);
      expect(got.length, path).toBeGreaterThanOrEqual(path === "/ok" ? 1 : 2);
      // Tried again, it is the same message: a receiver that keeps ids handles it once.
      expect(new Set(got.map(({ headers }) => headers["webhook-id"])).size, path).toBe(1);
      for (const one of got)
        expect(hooks.verified(one).data, path).toMatchObject({ text: "number 0\n(x 2 more)", more: 2 });
      expect(found[path.slice(1)], path).toMatchObject({ state: "ok", delivered: 1, dead: 0 });
    }
    expect(hooks.at("/inside")).toEqual([]);
    expect(found["410"]).toMatchObject({ state: "off", dead: 1, error: expect.stringContaining("410") });
    expect(found["404"]).toMatchObject({ state: "failing", dead: 1 });
    expect(found["redirect"]).toMatchObject({ state: "failing", dead: 1, error: expect.stringContaining("redirect") });
    expect(
      deadLetters(at)
        .map(({ route }) => route)
        .sort(),
    ).toEqual(["404", "410", "redirect"]);
    expect(await configured.up.health()).toMatchObject({ alerts: { failing: ["404", "410", "redirect"], dead: 3 } });

    // A closed route gets nothing more, until a person has tried it.
    await error(at, "another");
    await until(async () => {
      await alerts.round();
      return deadLetters(at).some(({ route, alert }) => route === "410" && alert.text === "another");
    });
    expect(hooks.at("/410")).toHaveLength(1);
    await alerts.idle();
    const tried = await midwatch(at.folder, ["alert", "test", "410", "--json", "--workspace", at.root]);
    expect([tried.code, JSON.parse(tried.stdout)]).toMatchObject([0, { delivered: true, error: null }]);
    expect((await status(at))["410"]).toMatchObject({ state: "ok" });
    await error(at, "and one more");
    await until(async () => {
      await alerts.round(); // The first notices that somebody else has changed the state.
      return hooks.at("/410").some((one) => one.body.includes("and one more"));
    });
    // What failed became no event: nothing that could alert again.
    const events = text(join(at.root, "events.log")).split("\n").filter(Boolean);
    expect(events).toHaveLength(5);
  });

  it("R-003.22: in a private network is refused, by the address that would be connected to, and is not connected to", async () => {
    const hooks = await receiver();
    const alert = makeAlert(makeEvent({ interaction: 0, actor: "a", type: "error", content: "x" }), []);
    let asked = 0;
    const outside = {
      env: process.env,
      folder: "/",
      tell: () => undefined,
      signal: new AbortController().signal,
      resolve: ((_name, _options, callback) => {
        asked++;
        // One public address beside it changes nothing.
        callback(null, [
          { address: "93.184.216.34", family: 4 },
          { address: "127.0.0.1", family: 4 },
        ]);
      }) as NonNullable<Parameters<typeof send>[2]["resolve"]>,
    };
    const route = { name: "r", to: "slack" as const, private: false };
    const never = { state: "never", error: expect.stringContaining("private network") };
    for (const host of ["rebinding.example", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]"])
      expect(await send({ ...route, url: new URL(`http://${host}:${hooks.port}/`) }, alert, outside), host).toEqual(
        never,
      );
    expect([asked, hooks.received.length]).toEqual([1, 0]);
    const only = {
      ...outside,
      resolve: ((_n, _o, done) => done(null, [{ address: "127.0.0.1", family: 4 }])) as typeof outside.resolve,
    };
    const allowed = { ...route, private: true, url: new URL(`http://rebinding.example:${hooks.port}/`) };
    expect(await send(allowed, alert, only)).toEqual({ state: "delivered" });
  });

  it("R-003.22: that hangs delays neither the rounds of up nor other routes, nor its end", async () => {
    const at = lab();
    const hooks = await receiver(({ path }) => (path === "/hang" ? null : { status: 200 }));
    variable(SECRET, hooks.secret);
    const to = (path: string) => ({ to: "webhook", url: hooks.url(path), secret: { env: SECRET }, private: true });
    configure(at, {
      routes: { hangs: to("/hang"), works: to("/works") },
      rules: [{ type: ["error", "agent.ended"], routes: ["hangs", "works"] }],
    });
    const up = at.node(CLI, "up", "--no-http", "--workspace", at.root);
    await until(() => begun(at));
    await error(at, "first");
    await until(() => hooks.at("/hang").length === 1);
    await at.run("true"); // Seen to its end by the rounds, while the first message hangs.
    await until(() => hooks.at("/works").length === 2);
    expect(hooks.at("/hang")).toHaveLength(1);
    const gone = new Promise((resolve) => up.once("exit", resolve));
    up.kill("SIGINT");
    expect(await gone).toBe(130);
    expect(await status(at)).toMatchObject({ hangs: { waiting: 2 }, works: { waiting: 0, delivered: 2 } });
  });
});

it("R-003.22: a configuration that cannot work is refused at the start, by alert test and by doctor", async () => {
  const at = lab();
  configure(at, { routes: { ops: { to: "slack", url: { env: "NO_SUCH_VARIABLE" } } } });
  for (const command of [["up"], ["up", "--once"], ["alert", "test", "ops"], ["alert", "status"]]) {
    const { code, stderr } = await midwatch(at.folder, [...command, "--workspace", at.root]);
    expect([command, code, stderr]).toEqual([
      command,
      2,
      expect.stringContaining('"NO_SUCH_VARIABLE", which is not set'),
    ]);
  }
  const { code, stdout } = await midwatch(at.folder, ["doctor", "--workspace", at.root]);
  expect([code, stdout]).toEqual([5, expect.stringMatching(/failed +alerts +`url` of the route ops/i)]);
  configure(at, { routes: { mail: { to: "command", argv: ["no-such-program"] } } });
  expect((await midwatch(at.folder, ["up", "--workspace", at.root])).stderr).toContain(
    '"no-such-program" was not found',
  );
  configure(at, { routes: { bell: { to: "bell" } }, rules: [{ routes: ["bel"] }] });
  expect((await midwatch(at.folder, ["up", "--workspace", at.root])).stderr).toContain("Did you mean bell?");
  configure(at, { routes: { phone: { to: "bell" } } });
  const test = await midwatch(at.folder, ["alert", "test", "fone", "--workspace", at.root]);
  expect([test.code, test.stderr]).toEqual([3, expect.stringContaining("Did you mean phone?")]);
  expect(begun(at)).toBe(false);
});

it("R-003.22: alert test says whether a message arrives", async () => {
  const at = lab();
  const hooks = await receiver(({ path }) => ({ status: path === "/ok" ? 200 : 403 }));
  const to = (path: string) => ({ to: "ntfy", url: hooks.url(path), private: true });
  configure(at, {
    routes: {
      good: to("/ok/topic"),
      bad: to("/no/topic"),
      mail: { to: "command", argv: ["false"] },
      bell: { to: "bell" },
    },
  });
  const call = async (route: string) => {
    const { code, stdout } = await midwatch(at.folder, ["alert", "test", route, "--workspace", at.root]);
    return [code, stdout];
  };
  expect(await call("bad")).toEqual([1, "No message arrived at bad: the receiver answered 403.\n"]);
  expect(await call("mail")).toEqual([1, "No message arrived at mail: the command: exit 1.\n"]);
  expect(await call("bell")).toEqual([1, "No message arrived at bell: there is no terminal.\n"]);
  expect(hooks.at("/ok/")).toHaveLength(0);
  await call("good");
  expect(JSON.parse(hooks.at("/ok/")[0]?.body ?? "{}")).toMatchObject({ topic: "topic", title: "alert.test" });
});

it("R-003.22: on a terminal up rings for every ended agent and for errors, without any configuration", async () => {
  const at = lab();
  const told: string[] = [];
  const ending = new AbortController();
  const house = at.workspace.up.keep({ signal: ending.signal, tell: (line) => void told.push(line), terminal: true });
  const kept = (async () => {
    for await (const _ of house);
  })();
  try {
    await until(() => begun(at));
    const { agent } = await at.run("true");
    await error(at, "it \u001b[2Jbroke");
    const bells = () => told.filter((line) => line.startsWith("\u0007"));
    await until(() => bells().length === 2);
    expect(bells().sort()).toEqual([
      "\u0007error: error: Agent A: it broke",
      `\u0007info: agent.ended: ${agent}: ${agent} ended: completed`,
    ]);
  } finally {
    ending.abort();
    await kept;
  }
});

it("R-003.22: what waits on a route that is taken out of the configuration becomes a dead letter", async () => {
  const at = lab();
  const hooks = await receiver(({ path }) => ({ status: path === "/works/" ? 200 : 500 }));
  const route = (path: string) => ({ to: "ntfy", url: hooks.url(path), private: true });
  const both = { routes: { works: route("/works/topic"), fails: route("/fails/topic") } };
  const rounds = async (configured: unknown): Promise<void> => {
    const alerts = fastAlerts(at.root, configured, undefined, { timing: TIMING });
    await alerts.round();
    await error(at, "broken");
    await alerts.round();
    await alerts.idle();
    await alerts.close();
  };
  await rounds(both);
  expect([hooks.at("/works/").length, hooks.at("/fails/").length]).toEqual([1, 1]);
  await rounds({ routes: { works: both.routes.works } });
  expect(deadLetters(at)).toMatchObject([{ v: 1, route: "fails", tries: 1, alert: { text: "broken" } }]);
  expect(hooks.received).toHaveLength(2); // The second is the same news.
});

it("R-003.22: a storm of 10,000 errors is at most 12 messages in a minute, and each error is in one", async () => {
  const at = lab();
  const hooks = await receiver();
  variable("TEST_STORM_SECRET", hooks.secret);
  const hook = { to: "webhook", url: hooks.url("/"), secret: { env: "TEST_STORM_SECRET" }, private: true };
  let clock = 0;
  const alerts = fastAlerts(at.root, { routes: { hook } }, undefined, { timing: TIMING, now: () => clock });
  await alerts.round();
  const log = new EmbeddedLog(join(at.root, "events.log"));
  const content = (i: number): string => `${"abcdefghij"[i % 10]}${"klmnopqrst"[Math.floor(i / 10) % 10]} is broken`;
  for (let done = 0; done < 10_000; done += 1000, clock += 1000) {
    const storm = Array.from({ length: 1000 }, (_, i) => content(done + i));
    await log.append(storm.map((text) => makeEvent({ interaction: 1, actor: "a", type: "error", content: text })));
    await alerts.round();
    await alerts.idle();
  }
  const minutes: number[] = [];
  for (let told = 0; told < 10_000 && minutes.length < 20; clock += 1000) {
    const minute = Math.floor(clock / 60_000);
    await alerts.round();
    await alerts.idle();
    minutes[minute] = hooks.received.length;
    told = hooks.received.reduce((sum, one) => sum + eventsIn(hooks.verified(one)), 0);
  }
  await log.close();
  for (const [i, count] of minutes.entries()) expect(count - (minutes[i - 1] ?? 0)).toBeLessThanOrEqual(12);
  expect(hooks.received.reduce((sum, one) => sum + eventsIn(hooks.verified(one)), 0)).toBe(10_000);
});

it("a burst of refusals that heals, and comes and heals again, rings once and says once that it is over", async () => {
  const at = lab();
  const hooks = await receiver();
  variable("TEST_HOOK_SECRET", hooks.secret);
  const hook = { to: "webhook", url: hooks.url("/"), secret: { env: "TEST_HOOK_SECRET" }, private: true };
  const rules = [{ severity: "error", routes: ["hook"] }];
  let clock = 0;
  const alerts = fastAlerts(at.root, { routes: { hook }, rules }, undefined, { timing: TIMING, now: () => clock });
  await alerts.round();
  const log = new EmbeddedLog(join(at.root, "events.log"));
  const tell = async (verdict: string, seconds: number): Promise<void> => {
    const content = `a-190000-000001 is ${verdict} (overloaded)`;
    const data = { run: 1, verdict, level: verdict === "blocked" ? "alert" : "none" };
    const agent = "a-190000-000001";
    await log.append([makeEvent({ interaction: 0, actor: "midwatch", type: "verdict.changed", content, agent, data })]);
    for (let i = 0; i < seconds; i++, clock += 1000) {
      await alerts.round();
      await alerts.idle();
    }
  };
  for (const [verdict, seconds] of [
    ["blocked", 15],
    ["on_track", 5],
    ["blocked", 15],
    ["on_track", 400],
  ] as const)
    await tell(verdict, seconds);
  await log.close();
  const received = hooks.received.map((one) => hooks.verified(one));
  expect(received.map(({ data }) => data.severity)).toEqual(["error", "info"]);
});

it("R-003.22: of two that send at once, none loses, adds or changes anything", async () => {
  const at = lab();
  const hooks = await receiver();
  variable("TEST_PAIR_SECRET", hooks.secret);
  const hook = { to: "webhook", url: hooks.url("/"), secret: { env: "TEST_PAIR_SECRET" }, private: true };
  const pair = [1, 2].map(() => fastAlerts(at.root, { routes: { hook } }));
  await pair[0]?.round();
  for (let i = 0; i < 30; i++) {
    await error(at, `${"abcde"[i % 5]} is broken`);
    await Promise.all(pair.map((one) => one.round()));
  }
  const messages = () => new Map(hooks.received.map((one) => [one.headers["webhook-id"], hooks.verified(one)]));
  const told = (): number => [...messages().values()].reduce((sum, one) => sum + eventsIn(one), 0);
  await until(async () => {
    await Promise.all(pair.map((one) => one.round()));
    return told() >= 30;
  });
  await Promise.all(pair.map((one) => one.close()));
  expect(told()).toBe(30);
  expect(new Set(hooks.received.map(({ body }) => body)).size).toBe(messages().size);
});
