/**
 * The tables of real sessions: how often something is told that should not be, how often trouble that was put in is told and how soon,
 * and what people who read windows of the same sessions say.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Injected, injections, KINDS, SPEEDS } from "./inject.ts";
import { type Detector, familySteps, geminiCli, openHands } from "./peers.ts";
import type { Run } from "./runs.ts";
import { poisson } from "./score.ts";
import { asRun, hoursOf, sessionsOf, type Task, tasksOf } from "./sessions.ts";
import { print } from "./table.ts";
import { type Onset, onsetsIn, onsetsOf, risesTo, type Told } from "./told.ts";
import { fires, type Union } from "./tune.ts";

/** Every onset of a task, by whom it is told. */
type Tell = (task: Task) => readonly Pick<Onset, "at">[];

export function alarmTables(runs: readonly Run[], folder: string, union: Union): void {
  const sessions = sessionsOf(runs);
  if (sessions.length === 0) return;
  const perSession = sessions.map(tasksOf);
  const tasks = perSession.flat();
  const told = new Map(perSession.flatMap((list) => [...onsetsIn(list)]));
  const ours = (task: Task): Onset[] => told.get(task) ?? [];
  const first =
    (detector: Detector): Tell =>
    (task) =>
      [detector(asRun(task))].filter((at) => at >= 0).map((at) => ({ at }));
  const tellers: [string, Tell][] = [
    ["OpenHands as shipped", first(openHands)],
    ["gemini-cli as shipped", first(geminiCli)],
    ["peers' union, tuned", first((run) => familySteps(run).findIndex((values) => fires(union, values)))],
    ["midwatch watch", (task) => risesTo(ours(task), "watch")],
    ["midwatch alert", (task) => risesTo(ours(task), "alert")],
    ["midwatch, facts of the run", (task) => ours(task).filter(({ fact, level }) => fact && level === "alert")],
  ];
  falseAlarms(sessions, tasks, tellers);
  whichRules(tasks, ours);
  injected(tasks, tellers.slice(0, 3));
  windows(sessions, tasks, tellers, folder);
}

function falseAlarms(sessions: readonly Run[], tasks: readonly Task[], tellers: readonly [string, Tell][]): void {
  const hours = hoursOf(tasks);
  console.log(`real sessions ${sessions.length}, tasks ${tasks.length}, hours of work ${hours.toFixed(1)}\n`);
  print(
    ["untouched real sessions", "onsets", "per 100 sessions (95 %)", "per 10 hours (95 %)", "sessions with one"],
    tellers.map(([name, tell]) => {
      const told = tasks.map((task) => ({ task, count: tell(task).length }));
      const onsets = told.reduce((sum, { count }) => sum + count, 0);
      const with1 = new Set(told.filter(({ count }) => count > 0).map(({ task }) => task.run.id)).size;
      return [name, String(onsets), rate(onsets, sessions.length / 100), rate(onsets, hours / 10), String(with1)];
    }),
  );
}

function rate(count: number, per: number): string {
  const [low, high] = poisson(count);
  return `${(count / per).toFixed(1)} (${(low / per).toFixed(1)} to ${(high / per).toFixed(1)})`;
}

function whichRules(tasks: readonly Task[], ours: (task: Task) => Onset[]): void {
  const count = (level: Told): Map<string, number> => {
    const by = new Map<string, number>();
    for (const task of tasks)
      for (const { rules } of risesTo(ours(task), level))
        for (const rule of rules) by.set(rule, (by.get(rule) ?? 0) + 1);
    return by;
  };
  const [watch, alert] = [count("watch"), count("alert")];
  print(
    ["rule, in untouched sessions", "watch", "alert"],
    [...new Set([...watch.keys(), ...alert.keys()])].map((rule) => [
      rule,
      String(watch.get(rule) ?? 0),
      String(alert.get(rule) ?? 0),
    ]),
  );
}

interface Caught {
  one: Injected;
  watch: number | null;
  alert: number | null;
  peers: boolean[];
  /** How often it rings for this one trouble. */
  rings: number;
  /** Onsets outside the trouble that the same stretch without it does not have. */
  further: number;
}

function caught(one: Injected, peers: readonly [string, Tell][]): Caught {
  const onsets = onsetsOf(one.task.steps, one.task.prompt);
  const inside = ({ at }: Pick<Onset, "at">): boolean => at >= one.from && at <= one.to;
  const delay = (level: Told): number | null => {
    const found = onsets.find(
      (onset) => !onset.fact && inside(onset) && (level === "watch" || onset.level === "alert"),
    );
    return found === undefined ? null : found.at - one.from + 1;
  };
  const outside = risesTo(onsets, "watch").filter((onset) => !inside(onset)).length;
  const without = risesTo(onsetsOf(one.host.steps, one.host.prompt), "watch").length;
  return {
    one,
    watch: delay("watch"),
    alert: delay("alert"),
    peers: peers.map(([, tell]) => tell(one.task).some(inside)),
    rings: risesTo(onsets, "alert").filter(inside).length,
    further: Math.max(0, outside - without),
  };
}

function injected(tasks: readonly Task[], peers: readonly [string, Tell][]): void {
  const all = tasks.flatMap((task, seed) => injections(task, seed + 1)).map((one) => caught(one, peers));
  const share = (list: readonly Caught[], test: (one: Caught) => boolean): string =>
    list.length === 0 ? "-" : (list.filter(test).length / list.length).toFixed(2);
  print(
    [
      "trouble put in",
      "cases",
      ...peers.map(([name]) => name),
      "watch",
      "steps",
      "alert",
      "steps",
      "rang twice",
      "further onsets",
    ],
    KINDS.flatMap((kind) =>
      [...SPEEDS, null].map((speed) => {
        const list = all.filter(({ one }) => one.kind === kind && (speed === null || one.speed === speed));
        return [
          speed === null ? `${kind}, all` : `${kind}, 1 step of ${speed}`,
          String(list.length),
          ...peers.map((_, at) => share(list, (one) => one.peers[at] === true)),
          share(list, ({ watch }) => watch !== null),
          median(list.flatMap(({ watch }) => watch ?? [])),
          share(list, ({ alert }) => alert !== null),
          median(list.flatMap(({ alert }) => alert ?? [])),
          String(list.filter(({ rings }) => rings > 1).length),
          String(list.reduce((sum, { further }) => sum + further, 0)),
        ];
      }),
    ),
  );
}

function median(list: readonly number[]): string {
  const sorted = [...list].sort((a, b) => a - b);
  return String(sorted[sorted.length >> 1] ?? "-");
}

export interface Window {
  id: string;
  from: number;
  to: number;
  alert: boolean[];
}

/** A window counts as told when an onset lies in it. */
function windows(
  sessions: readonly Run[],
  tasks: readonly Task[],
  tellers: readonly [string, Tell][],
  folder: string,
): void {
  const known = new Set(sessions.map(({ id }) => id));
  const labels = labelsIn(folder).filter(({ id }) => known.has(id));
  const wanted = labels.filter(({ alert }) => alert.every(Boolean)).length;
  print(
    ["labelled windows", "told", "right", "wrong", `missed of ${wanted}`],
    tellers.map(([name, tell]) => {
      const told = labels.filter(({ id, from, to }) =>
        tasks.some((task) => {
          if (task.run.id !== id || (task.steps.at(-1)?.i ?? 0) < from || (task.steps[0]?.i ?? 0) > to) return false;
          return tell(task).some(({ at }) => within(task.steps[at]?.i ?? -1, from, to));
        }),
      );
      const right = told.filter(({ alert }) => alert.every(Boolean)).length;
      return [name, told.length, right, told.length - right, wanted - right].map(String);
    }),
  );
}

export function labelsIn(folder: string): Window[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".labels.jsonl"))
    .flatMap((name) => readFileSync(join(folder, name), "utf8").split("\n"))
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Window);
}

function within(step: number, from: number, to: number): boolean {
  return step >= from && step <= to;
}
