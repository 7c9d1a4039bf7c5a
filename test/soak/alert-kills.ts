/**
 * A process that sends alerts is killed at each of its steps, and at random, while events come in and its receiver fails now and then. In the
 * end every event is in exactly one message of those that the receiver got, once it leaves out copies by their id; and copies are
 * copies.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { layout } from "../../src/disk/layout.ts";
import { EmbeddedLog } from "../../src/journal/embedded.ts";
import { makeEvent } from "../../src/journal/event.ts";
import { pick, random } from "../support/data/random.ts";
import { fastAlerts } from "../support/net/alerts.ts";
import { eventsIn, Receiver } from "../support/net/receiver.ts";
import { patient } from "../support/patience.ts";
import { supportFile } from "../support/workspace.ts";
import { campaign, type Report, rounds } from "./report.ts";

const STEPS = ["taken", "marked", "sent", "kept", "random"] as const;
const BURST = 30;
const DRAIN_MS = patient(30_000);

/** `count` kills. */
export function alertKills(count: number, seed = 1): Promise<Report> {
  return campaign("kills of what sends alerts", count, seed, async (fail, figures) => {
    const root = realpathSync(mkdtempSync(join(tmpdir(), "midwatch-alerts-")));
    const log = new EmbeddedLog(layout(root).events);
    const next = random(seed);
    const receiver = await Receiver.open(() => ({ status: next() < 0.1 ? 500 : 200 }));
    process.env["ALERT_KILLS_SECRET"] = receiver.secret;
    const config = {
      routes: {
        hook: { to: "webhook", url: receiver.url("/"), secret: { env: "ALERT_KILLS_SECRET" }, private: true },
      },
      rules: [{ type: "error", routes: "hook" }],
    };
    let child: ChildProcess | undefined;
    let errors = 0;
    const talk = async (): Promise<void> => {
      for (let i = 0; i < BURST; i++) {
        const type = pick(next, ["error", "error", "note"]);
        const content = `${pick(next, ["alpha", "beta", "gamma", "delta", "epsilon"])} ${errors % 7 === 0 ? letters(errors) : i}`;
        await log.append([makeEvent({ interaction: 1, actor: pick(next, ["A", "B"]), type, content })]);
        if (type === "error") errors++;
        if (next() < 0.2) await sleep(next() * 20);
      }
    };
    try {
      const first = fastAlerts(root, config);
      await first.round(); // What comes from here on is news.
      await first.close();
      for (const round of rounds(count)) {
        const at = STEPS[round % STEPS.length] as (typeof STEPS)[number];
        const made = spawn(process.execPath, [supportFile("worker/alert-at.ts"), root, JSON.stringify(config)], {
          stdio: ["ignore", "pipe", "inherit"],
        });
        child = made;
        const ended = once(made, "exit");
        let [seen, text] = [0, ""];
        const wanted = 1 + Math.floor(next() * 6);
        made.stdout.on("data", (part: Buffer) => {
          text += part;
          seen = text.split(at).length - 1;
          if (at !== "random" && seen >= wanted) made.kill("SIGKILL");
        });
        const talking = talk();
        await Promise.race([ended, sleep(at === "random" ? 300 + next() * 300 : 3000)]);
        made.kill("SIGKILL");
        await Promise.all([ended, talking]);
        messages(receiver); // Signatures are good for five minutes.
      }
      const last = fastAlerts(root, config);
      const told = (): number => messages(receiver).reduce((sum, one) => sum + eventsIn(one), 0);
      for (const deadline = performance.now() + DRAIN_MS; told() !== errors && performance.now() < deadline; ) {
        await last.round();
        await sleep(5);
      }
      await last.idle();
      await last.close();
      if (told() !== errors) fail(`${told()} events arrived in messages, ${errors} errors were logged`);
      const bodies = new Map<string, string>();
      for (const { headers, body } of receiver.received) {
        const id = headers["webhook-id"] as string;
        if ((bodies.get(id) ?? body) !== body) fail(`two different messages with the id ${id}`);
        bodies.set(id, body);
      }
      const copies = receiver.received.filter(({ answered }) => answered === 200).length - messages(receiver).length;
      Object.assign(figures, { errors, messages: bodies.size, copies });
    } finally {
      child?.kill("SIGKILL");
      delete process.env["ALERT_KILLS_SECRET"];
      await receiver.close();
      await log.close();
      rmSync(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    }
  });
}

/** What was taken with 200, without copies; each signature is checked. */
function messages(receiver: Receiver): ReturnType<Receiver["verified"]>[] {
  const byId = new Map(
    receiver.received.filter((one) => one.answered === 200).map((one) => [one.headers["webhook-id"], one]),
  );
  return [...byId.values()].map((one) => receiver.verified(one));
}

/** Numbers do not make news, letters do. */
function letters(n: number): string {
  return [...String(n)].map((digit) => "klmnopqrst"[Number(digit)]).join("");
}
