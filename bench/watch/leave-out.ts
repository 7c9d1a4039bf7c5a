/** Would thresholds chosen without a part of the data hold there? Each model of the stuck set is left out in turn. */
import { type Scored, scoreOf } from "./score.ts";
import { print } from "./table.ts";
import { type Choices, fires, OUR_CHOICES, PEER_CHOICES, tune, type Valued } from "./tune.ts";

export function leaveOut(peers: readonly Valued[], own: readonly Valued[], mostFalse: number): void {
  const models = [...new Set(own.filter(({ kind }) => kind !== "healthy").map(({ model }) => model))].sort();
  if (models.length < 2) return;
  const pooled: Record<string, Scored[]> = { peers: [], own: [] };
  const rows = models.map((model) => {
    const cells = [
      ["peers", peers, PEER_CHOICES],
      ["own", own, OUR_CHOICES],
    ] as const;
    const figures = cells.map(([name, runs, choices]) => {
      const scored = without(runs, model, choices, mostFalse);
      pooled[name]?.push(...scored);
      return scoreOf(scored).f1.toFixed(2);
    });
    const left = own.filter((run) => run.model === model && run.kind === "positive").length;
    return [model, String(left), ...figures];
  });
  const all = ["peers", "own"].map((name) => scoreOf(pooled[name] ?? []).f1.toFixed(3));
  print(
    ["left out while tuning", "stuck", "F1 peers' union", "F1 midwatch's rules"],
    [...rows, ["all, each left out once", String(pooled["own"]?.filter(({ positive }) => positive).length), ...all]],
  );
}

function without(runs: readonly Valued[], model: string, choices: Choices, mostFalse: number): Scored[] {
  const union = tune(
    runs.filter((run) => run.model !== model),
    choices,
    mostFalse,
  );
  return runs
    .filter((run) => run.model === model && run.kind !== "healthy")
    .map((run) => ({ task: run.task, positive: run.kind === "positive", flagged: fires(union, run.values) }));
}
