import { describe, expect, it } from "vitest";
import { facts } from "../../test/support/facts.ts";
import type { AgentId, TaskId } from "../core/ids.ts";
import type { Report } from "../core/types.ts";
import {
  endingOf,
  failureEvents,
  lastStep,
  leftOf,
  nextStep,
  type Tried,
  type Urged,
  whoElse,
  whoFirst,
} from "./stop-plan.ts";

const intent = { agent: "a" };
const claim = { by: "keeper" };
const lives = { intent, claim, start: {}, stop: {}, keeperLives: true };
const lost = { ...lives, keeperLives: false };
const done = { ...lives, done: { verified: true } };
const stuck = { ...lives, stuck: { left: [] } };

/** With a grace of a second the keeper is wedged from 3,000 ms on, and without proof at 7,000 ms. */
const urge = (more: object): Urged => ({ begunMs: 0, graceMs: 1000, adoptedMs: [], ...more });
const look = (more: object) => ({ nowMs: 1, elsewhere: false, keeper: 7, isStanding: () => false, ...more });
const asked = { asked: 7 };
const gone = { keeper: undefined };

it.each([
  ["R-004.2: it is asked first", lives, {}, {}, { step: "ask" }],
  ["R-004.2: once asked it has its time", lives, { nowMs: 1000 }, asked, {}],
  ["R-004.2: whoever took over is asked too", lives, { keeper: 8 }, asked, { step: "ask" }],
  ["R-004.2: it is nudged after a second", lives, { nowMs: 1001 }, asked, { step: "nudge" }],
  ["R-004.2: not more often", lives, { nowMs: 2001 }, { ...asked, nudgedMs: 1001 }, {}],
  ["R-004.2: and again", lives, { nowMs: 2002 }, { ...asked, nudgedMs: 1001 }, { step: "nudge" }],
  ["R-002.2: over", done, { nowMs: 9000 }, {}, { over: true }],
  ["R-004.2: it never started", { claim: { by: "launcher" } }, {}, {}, { over: true }],
  ["R-004.3: stuck, but its time is not up", stuck, { nowMs: 3000 }, { ...asked, nudgedMs: 2500 }, {}],
  ["R-004.3: stuck, and its keeper has said who", stuck, { nowMs: 3001 }, asked, { over: true }],
  [
    "in another pid namespace nobody is told",
    lives,
    { ...gone, elsewhere: true },
    {},
    { over: true, problem: "it runs in another pid namespace: stop it from there" },
  ],
  ["R-004.3: a keeper that is gone is replaced", lost, gone, {}, { step: "adopt" }],
  ["R-004.8: not again at once", lost, { ...gone, nowMs: 109 }, { adoptedMs: [10] }, {}],
  ["R-004.8: again after 100 ms", lost, { ...gone, nowMs: 110 }, { adoptedMs: [10] }, { step: "adopt" }],
  ["R-004.8: then not for 200 ms", lost, { ...gone, nowMs: 309 }, { adoptedMs: [10, 110] }, {}],
  ["R-004.8: and so on", lost, { ...gone, nowMs: 310 }, { adoptedMs: [10, 110] }, { step: "adopt" }],
])("the next step: %s", (_, given, seen, urged, expected) =>
  expect(nextStep(facts(given), look(seen), urge(urged))).toEqual(expected),
);

const standing = { isStanding: () => true };
it.each([
  ["R-004.2: one that stands has its time", { nowMs: 3000, ...standing }, {}, undefined],
  ["R-004.2: then it goes", { nowMs: 3001, ...standing }, {}, "replace"],
  ["R-004.2: one that does not stand may still say who is stuck", { nowMs: 7000 }, {}, undefined],
  ["R-004.2: then it goes too", { nowMs: 7001 }, {}, "replace"],
  ["R-004.2: the next one has as long", { nowMs: 9001, ...standing }, { replacedMs: 3001 }, undefined],
  ["R-004.2: and is not replaced again", { nowMs: 9002, ...standing }, { replacedMs: 3001 }, "give up"],
  ["R-004.8: no keeper can be had, and there is time", { nowMs: 7000, ...gone }, {}, undefined],
  ["R-004.8: no keeper can be had", { nowMs: 7001, ...gone }, {}, "give up"],
])("the last step: %s", (_, seen, urged, expected) => expect(lastStep(look(seen), urge(urged))).toBe(expected));

it("the process table is not asked before it matters", () => {
  const isStanding = (): never => {
    throw new Error("asked");
  };
  expect(nextStep(facts(lives), look({ nowMs: 3001, isStanding }), urge(asked))).toEqual({ step: "nudge" });
  expect(lastStep(look({ nowMs: 3000, isStanding }), urge({}))).toBeUndefined();
  expect(lastStep(look({ nowMs: 3001, isStanding }), urge({ replacedMs: 3001 }))).toBeUndefined();
  expect(() => lastStep(look({ nowMs: 3001, isStanding }), urge({}))).toThrow("asked");
});

describe("whom a stop of a tree ends", () => {
  const ids = (...names: string[]) => names as AgentId[];
  const told = { report: { agent: "b" } as Report };
  const failed = (agent: string): Tried => ({ agent: agent as AgentId, error: new Error("no") });

  it("R-004.4: those below come first, each once, and the named ones after them", () => {
    expect(whoFirst(ids("c", "b", "c", "a"), ids("a"))).toEqual(["c", "b"]);
    expect(whoFirst([], ids("a"))).toEqual([]);
  });

  it.each([
    ["R-004.4: what was started meanwhile", ids("b", "c", "c"), [told], ids("c"), ["c"]],
    ["R-004.8: not again what could not be stopped", ids("b", "c"), [failed("b")], ids("b", "c"), ["c"]],
    ["nothing more", ids("b"), [told], [], []],
  ])("%s", (_, below, tried, live, expected) =>
    expect(whoElse(below, tried, (agent) => live.includes(agent))).toEqual(expected),
  );
});

it.each([
  ["R-002.2: proven gone", done, false, { verified: true, retires: false, forgets: false }],
  ["R-002.3: proven gone, with a purge", done, true, { verified: true, retires: true, forgets: false }],
  ["R-002.2: something is left", stuck, true, { verified: false, retires: false, forgets: false }],
  [
    "never started",
    { intent, claim: { by: "launcher" } },
    undefined,
    { verified: true, retires: false, forgets: false },
  ],
  [
    "never came to be an agent",
    { claim: { by: "launcher" } },
    undefined,
    { verified: true, retires: false, forgets: true },
  ],
])("after the processes: %s", (_, given, purge, expected) =>
  expect(endingOf(facts(given), [], purge)).toEqual(expected),
);

it("R-002.2: over without proof, until nobody is left of whom its keeper was in doubt", () => {
  const doubtful = facts({ ...lives, done: { verified: false, left: [] } });
  const somebody = { pid: 7, start_ticks: 1, name: "x", uid: 0, why: "its origin is unknown" };
  expect(endingOf(doubtful, [somebody], true)).toEqual({ verified: false, retires: false, forgets: false });
  expect(endingOf(doubtful, [], true)).toEqual({ verified: true, retires: true, forgets: false });
  const { start_ticks: _, ...left } = somebody;
  expect(leftOf(doubtful, [somebody], { ...left, why: "alive" })).toEqual([left]);
});

it("what could not be looked for is not proven, whatever its facts say", () =>
  expect(endingOf(facts(done), null, true)).toEqual({ verified: false, retires: false, forgets: false }));

it.each([
  [undefined, 1, ["stop.failed"]],
  [2, 2, ["stop.failed"]],
  [3, 3, ["stop.failed", "error"]],
  [4, 4, ["stop.failed"]],
])("R-004.22: a stop without proof is told, and as an error at the third time (%s)", (tries, told, types) => {
  const stop = facts({ stop: tries === undefined ? undefined : { tries } }).stop;
  const events = failureEvents({ task: "t" as TaskId, agent: "a" as AgentId, run: 1 }, stop, "why", [], 3);
  expect(events.map(({ type }) => type)).toEqual(types);
  for (const { content, data } of events) {
    expect(content).toBe(`a could not be stopped with proof (${told} times): why`);
    expect(data).toEqual({ run: 1, tries: told, why: "why" });
  }
});

it.each([
  [0, "; left: 4 more"],
  [1, "; left: 11 sh, 3 more"],
  [3, "; left: 11 sh, 12 sh, 13 sh, 1 more"],
  [4, "; left: 11 sh, 12 sh, 13 sh, 14"],
])("R-004.10, R-004.20: the message of a stop without proof names at most %d processes", (most, words) => {
  const left = [11, 12, 13, 14].map((pid) => ({ pid, name: pid === 14 ? "" : "sh", uid: 0, why: "alive" }));
  const [event] = failureEvents({ task: "t" as TaskId, agent: "a" as AgentId, run: 1 }, undefined, "why", left, most);
  expect(event?.content).toBe(`a could not be stopped with proof (1 times): why${words}`);
});
