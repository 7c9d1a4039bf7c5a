import { describe, expect, it } from "vitest";
import { random } from "../../test/support/data/random.ts";
import { makeEvent } from "../journal/event.ts";
import { type Alert, fullText, makeAlert } from "./message.ts";
import { emptyQueue, Queue, type QueuedAlert, rebase, TIMING } from "./queue.ts";
import { severityOf, troubleIn } from "./rules.ts";

const MINUTE = 60_000;

function alert(content: string, type = "error"): Alert {
  return makeAlert(makeEvent({ interaction: 0, actor: "midwatch", type, content }), []);
}

function queue(): Queue {
  return new Queue(emptyQueue(TIMING, 0), TIMING, () => 0.5);
}

function standsFor({ more, rest }: Alert): number {
  return rest === null ? 1 + more : Object.values(rest).reduce((sum, one) => sum + one, 0);
}

/** Sends what may be sent at each second of a time; gives when which went out. */
function run(
  made: Queue,
  fromMs: number,
  toMs: number,
  sent: (entry: QueuedAlert) => void = (one) => made.delivered(one),
): number[] {
  const times: number[] = [];
  for (let now = fromMs; now <= toMs; now += 1000) {
    made.closeWindows(now);
    for (let entry = made.take(now); entry !== undefined; entry = made.take(now)) {
      times.push(now);
      sent(entry);
    }
  }
  return times;
}

describe("the trouble of an agent", () => {
  const AGENT = "a-190000-000001";
  const event = (type: string, data: object, content: string) =>
    makeEvent({ interaction: 0, actor: "midwatch", type, content, agent: AGENT, data: { run: 1, ...data } });
  const verdict = (word: string, cause: string | null = null) =>
    event("verdict.changed", { verdict: word, level: "alert", cause }, `${AGENT} is ${word} (${cause})`);
  /** As the rounds do: what is over is told to the queue, what is bad becomes a message. */
  const hear = (made: Queue, heard: ReturnType<typeof event>, now: number): void => {
    const trouble = troubleIn(heard);
    if (trouble?.state === null) made.heal(trouble.agent);
    if (severityOf(heard) === "error") made.add(makeAlert(heard, []), now, trouble);
  };

  it("two bursts of refusals that heal ring once", () => {
    const made = queue();
    hear(made, verdict("blocked", "overloaded"), 0);
    expect(run(made, 0, 10_000)).toHaveLength(1);
    hear(made, verdict("on_track"), 20_000);
    hear(made, verdict("blocked", "overloaded"), 30_000);
    hear(made, verdict("on_track"), 40_000);
    hear(made, event("agent.ended", { outcome: "completed" }, "ended"), 41_000);
    expect(run(made, 41_000, 20 * MINUTE)).toEqual([]);
  });

  it("that was told and is over says so once; one that nobody heard of says nothing", () => {
    const made = queue();
    hear(made, verdict("blocked", "again"), 0);
    expect(run(made, 0, 10_000)).toHaveLength(1);
    expect(made.heal(AGENT)).toBe("told");
    expect(made.heal(AGENT)).toBeNull();
    hear(made, verdict("blocked", "again"), 20_000);
    expect(made.heal(AGENT)).toBe("dropped");
  });

  it("that healed before it was told does not ring", () => {
    const made = queue();
    hear(made, verdict("blocked", "overloaded"), 0);
    hear(made, verdict("on_track"), 500);
    expect(run(made, 1000, 20 * MINUTE)).toEqual([]);
  });

  it("rings once while it lasts, whatever cause is named; once more when it came again and stays", () => {
    const made = queue();
    for (const cause of ["repeat", "cycle", "again", "repeat"]) hear(made, verdict("blocked", cause), 0);
    expect(run(made, 0, 20 * MINUTE)).toHaveLength(1);
    hear(made, verdict("on_track"), 21 * MINUTE);
    hear(made, verdict("blocked", "repeat"), 22 * MINUTE);
    expect(run(made, 22 * MINUTE, 40 * MINUTE)).toHaveLength(1);
  });

  it("that ended the run rings once: for the end", () => {
    const made = queue();
    const texts: string[] = [];
    hear(made, verdict("blocked", "auth"), 0);
    hear(made, event("agent.ended", { outcome: "failed" }, "it failed"), 100);
    hear(made, verdict("blocked", "failed"), 200);
    run(made, 1000, 20 * MINUTE, (entry) => {
      texts.push(entry.alert.text);
      made.delivered(entry);
    });
    expect(texts).toEqual(["it failed"]);
  });
});

describe("a queue of alerts", () => {
  it("R-003.22: 10,000 errors give at most 12 messages in a minute, and every error is in one", () => {
    for (const content of [(i: number) => `failed ${i}`, (i: number) => `failed ${"abcdefghij"[i % 10]}${word(i)}`]) {
      const made = queue();
      const found: Alert[] = [];
      for (let i = 0; i < 10_000; i++) made.add(alert(content(i)), i % 1000);
      const times = run(made, 1000, 40 * MINUTE, (entry) => {
        found.push(entry.alert);
        made.delivered(entry);
      });
      for (const time of times)
        expect(times.filter((t) => t >= time && t < time + MINUTE).length).toBeLessThanOrEqual(12);
      expect(found.reduce((sum, one) => sum + standsFor(one), 0)).toBe(10_000);
      expect(new Set(found.map(({ id }) => id)).size).toBe(found.length);
      expect(made.state.waiting).toEqual([]);
    }
  });

  it("tells the same news once in five minutes, then how often it came", () => {
    const made = queue();
    const texts: string[] = [];
    const sent = (entry: QueuedAlert): void => {
      texts.push(fullText(entry.alert));
      made.delivered(entry);
    };
    made.add(alert("port 8080 is taken"), 0);
    run(made, 0, 0, sent);
    for (let i = 1; i <= 7; i++) made.add(alert(`port ${8080 + i} is taken`), i * 1000);
    expect(run(made, 8000, 299_000, sent)).toEqual([]);
    expect(run(made, 300_000, 301_000, sent)).toEqual([300_000]);
    expect(texts).toEqual(["port 8080 is taken", "port 8081 is taken\n(x 6 more)"]);
    made.add(alert("port 1 is taken"), 302_000); // The summary was news, too.
    expect(run(made, 302_000, 310_000, sent)).toEqual([]);
  });

  it("does not change a message that may have been sent", () => {
    const made = queue();
    made.add(alert("a"), 0);
    const entry = made.take(0) as QueuedAlert;
    made.add(alert("a"), 1);
    expect(entry.alert.more).toBe(0);
    made.add(alert("b"), 2);
    made.add(alert("b"), 3);
    expect(made.state.waiting.map((one) => one.alert.more)).toEqual([0, 1]);
  });

  it("tries again after 5 s, 30 s, 2 m, 10 m and 1 h, then gives up", () => {
    const made = queue();
    made.add(alert("a"), 0);
    let now = 0;
    for (const pause of TIMING.retryMs) {
      const entry = made.take(now) as QueuedAlert;
      expect(made.failed(entry, { again: true }, now)).toBe(false);
      expect(made.take(now + pause - 1)).toBeUndefined();
      now += pause;
    }
    expect(made.failed(made.take(now) as QueuedAlert, { again: true }, now)).toBe(true);
    expect(made.failed({ ...(made.state.waiting[0] as QueuedAlert), tries: 0 }, { again: false }, now)).toBe(true);
  });

  it("spreads tries by a fifth, and waits as long as the receiver asks, all messages of the route", () => {
    for (const [random, due] of [
      [0, 4000],
      [0.999_999_9, 6000],
    ] as const) {
      const made = new Queue(emptyQueue(TIMING, 0), TIMING, () => random);
      made.add(alert("a"), 0);
      const entry = made.take(0) as QueuedAlert;
      made.failed(entry, { again: true }, 0);
      expect(Math.round(entry.due)).toBe(due);
    }
    const made = queue();
    made.add(alert("a"), 0);
    made.add(alert("b"), 0);
    const entry = made.take(0) as QueuedAlert;
    made.failed(entry, { again: true, afterMs: 20_000 }, 0);
    expect(made.take(19_999)).toBeUndefined();
    expect(made.take(20_000)).toBe(entry);
    made.failed(entry, { again: true, afterMs: 1e12 }, 20_000);
    expect(made.state.quiet).toBe(20_000 + 3_600_000); // Nobody is silent for longer than an hour at a stranger's word.
  });

  it("keeps at most three messages between their tries, so that the others can still be joined", () => {
    const made = queue();
    for (const text of ["a", "b", "c", "d", "e"]) made.add(alert(text), 0);
    const tried: QueuedAlert[] = [];
    for (let entry = made.take(0); entry !== undefined; entry = made.take(0)) {
      made.failed(entry, { again: true }, 0);
      tried.push(entry);
    }
    expect(tried).toHaveLength(3);
    expect(made.take(4000)).toBeUndefined();
    made.delivered(tried[0] as QueuedAlert);
    expect(made.take(4000)?.alert.text).toBe("d");
  });

  it("counts what came too fast by type, and begins another count when that may have been sent", () => {
    const made = queue();
    for (let i = 0; i < 20; i++) made.add(alert(`n ${word(i)}`), 0);
    for (const type of ["error", "agent.ended", "error"]) made.add(alert(`more ${word(99)} ${type}`, type), 0);
    const last = made.state.waiting.at(-1) as QueuedAlert;
    expect(last.alert.rest).toEqual({ error: 2, "agent.ended": 1 });
    expect(fullText(last.alert)).toBe("and 3 more events that came too fast: error 2, agent.ended 1");
    last.sent = true;
    made.add(alert("one more"), 0);
    expect(made.state.waiting.at(-1)?.alert.rest).toEqual({ error: 1 });
    expect(made.state.waiting).toHaveLength(22);
  });

  it("holds no times of another boot against anybody", () => {
    const made = queue();
    made.add(alert("a"), 1e9);
    made.failed(made.take(1e9) as QueuedAlert, { again: true, afterMs: 60_000 }, 1e9);
    rebase(made.state, TIMING, 10);
    expect(made.take(10)?.alert.text).toBe("a");
    made.add(alert("a"), 20);
    expect(made.state.waiting).toHaveLength(1);
  });

  it("loses and repeats nothing, however events, failures and times fall", () => {
    for (let seed = 1; seed <= 20; seed++) {
      const next = random(seed);
      const made = new Queue(emptyQueue(TIMING, 0), TIMING, next);
      const done: Alert[] = [];
      const times: number[] = [];
      let added = 0;
      for (let now = 0; now < 3_600_000; now += Math.floor(next() * 20_000)) {
        for (let i = Math.floor(next() ** 6 * 40); i > 0; i--, added++)
          made.add(alert(`${word(Math.floor(next() * 50))}`, next() < 0.5 ? "error" : "note"), now);
        for (let entry = made.take(now); entry !== undefined; entry = made.take(now)) {
          times.push(now);
          const before = JSON.stringify(entry.alert);
          const over = next() < 0.4 ? made.failed(entry, { again: next() < 0.9 }, now) : true;
          expect(JSON.stringify(entry.alert)).toBe(before);
          if (over) done.push(entry.alert);
          if (over) made.delivered(entry);
        }
        expect(made.state.waiting.length).toBeLessThanOrEqual(24);
      }
      const held = Object.values(made.state.windows).flatMap((one) => one.held ?? []);
      const all = [...done, ...held, ...made.state.waiting.map((one) => one.alert)];
      expect(
        all.reduce((sum, one) => sum + standsFor(one), 0),
        `seed ${seed}`,
      ).toBe(added);
      expect(new Set(all.map(({ id }) => id)).size, `seed ${seed}`).toBe(all.length);
      for (const [i, time] of times.entries())
        expect((times[i + 12] ?? Number.POSITIVE_INFINITY) - time).toBeGreaterThan(MINUTE);
    }
  });
});

/** Without digits: numbers are not what makes news. */
function word(n: number): string {
  return [...String(n)].map((digit) => "klmnopqrst"[Number(digit)]).join("");
}
