/**
 * Would thresholds chosen without a part of the data hold there? Left out in turn: each model of the stuck set, that whole set,
 * and the runs whose loops people marked.
 */
import { type Scored, scoreOf } from "./score.ts";
import { print } from "./table.ts";
import { type Choices, fires, OUR_CHOICES, PEER_CHOICES, tune, type Valued } from "./tune.ts";

export function leaveOut(peers: readonly Valued[], own: readonly Valued[], mostFalse: number): void {
  const groups = [...new Set(own.filter(({ kind }) => kind !== "healthy").map(({ group }) => group))].sort();
  const sets = [...new Set(groups.map(setOf))];
  if (groups.length < 2) return;
  const sides: [readonly Valued[], Choices][] = [
    [peers, PEER_CHOICES],
    [own, OUR_CHOICES],
  ];
  const rows = [...groups, ...(sets.length > 1 ? sets.filter((set) => !groups.includes(set)) : [])].map((left) => {
    const inside = ({ group, kind }: Valued): boolean =>
      kind !== "healthy" && (group === left || setOf(group) === left);
    const positives = own.filter((run) => inside(run) && run.kind === "positive").length;
    return [
      left,
      String(positives),
      ...sides.map(([runs, choices]) => figure(without(runs, inside, choices, mostFalse))),
    ];
  });
  const pooled = sides.map(([runs, choices]) =>
    figure(
      groups.flatMap((left) =>
        without(runs, ({ group, kind }) => kind !== "healthy" && group === left, choices, mostFalse),
      ),
    ),
  );
  print(
    ["left out while tuning", "positive", "F1 peers' union", "F1 midwatch's rules"],
    [...rows, ["the first ones together", "", ...pooled]],
  );
}

function setOf(group: string): string {
  return group.split("/")[0] ?? group;
}

function figure(scored: readonly Scored[]): string {
  return scoreOf(scored).f1.toFixed(2);
}

function without(
  runs: readonly Valued[],
  left: (run: Valued) => boolean,
  choices: Choices,
  mostFalse: number,
): Scored[] {
  const union = tune(
    runs.filter((run) => !left(run)),
    choices,
    mostFalse,
  );
  return runs
    .filter(left)
    .map((run) => ({ task: run.task, positive: run.kind === "positive", flagged: fires(union, run.values) }));
}
