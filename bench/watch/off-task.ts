/** How often a run that goes over to another task is told, and how often one that does not. */
import type { Groups } from "./groups.ts";
import { type Judged, ours } from "./ours.ts";
import { type Run, splice } from "./runs.ts";
import { count, print } from "./table.ts";

export function offTaskTable(groups: Groups, judgedOf: (run: Run) => Judged): void {
  const sets: [string, Run[]][] = [
    ["modern runs", [...groups.healthy, ...groups.unresolved]],
    ["terminal-bench", groups.others["tb_mini_sonnet4"] ?? []],
    ["weak models of 2024", [...groups.stuck, ...groups.submitted]],
  ];
  print(
    ["off-task by words", "another repository", "same repository", "told of runs that stay"],
    sets
      .map(([name, list]): [string, Run[]] => [name, list.filter(({ steps }) => steps.length >= 6)])
      .filter(([, list]) => list.length > 1)
      .map(([name, list]) => [
        name,
        ...[false, true].map((same) => count(splice(list, same), ({ run, at }) => ours(run, at).offTask >= 0)),
        count(list, (run) => judgedOf(run).offTask >= 0),
      ]),
  );
}
