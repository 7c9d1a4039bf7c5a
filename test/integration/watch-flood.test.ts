import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { AgentSummary, RunRecord } from "../../src/fleet/workspace.ts";
import { speaker } from "../support/cli/speaker.ts";
import { lab } from "../support/lab.ts";
import { until } from "../support/workspace.ts";

/** Of one log in one round. */
const BUDGET = 4 << 20;
const BURST_LINES = 40_000;
/** Of 1000 lines: at least so many, and on until the flood was told, at most for a minute. */
const BLOCKS = 25;
const MOST_BLOCKS = 600;

const INIT = { type: "system", subtype: "init", session_id: "s", model: "scripted" };
const same = (n: number): object[] => [
  {
    type: "assistant",
    message: { id: `m${n}`, content: [{ type: "tool_use", id: `t${n}`, name: "Bash", input: { command: "make" } }] },
  },
  {
    type: "user",
    message: { content: [{ type: "tool_result", tool_use_id: `t${n}`, is_error: true, content: "Error: no rule" }] },
  },
];

/** 6 MB at once, then 1000 lines each tenth of a second: as long as nobody has said that it floods. */
const FLOOD = `
line='{"type":"system","subtype":"status","text":"${"word ".repeat(20)}"}'
block=$(mktemp -p "$HOME")
yes "$line" | head -n 1000 >"$block"
yes "$line" | head -n ${BURST_LINES}
i=0
while [ $i -lt ${BLOCKS} ] || { [ $i -lt ${MOST_BLOCKS} ] && [ ! -e "$HOME/told" ]; }; do cat "$block"; sleep 0.1; i=$((i+1)); done
rm "$block"
echo $i >"$HOME/blocks"
echo '{"type":"result","subtype":"success","is_error":false,"result":"Done."}'`;

it("R-001.13, R-001.25: a flood is said, read within its budget a round and to its end, and hides nobody", async () => {
  const made = lab();
  const start = (name: string, lines: readonly object[], then: string): Promise<RunRecord> => {
    const env = { ...speaker(join(made.folder, name), lines, then), HOME: made.folder };
    return made.open({ env }).runs.start({ driver: "claude", prompt: "Mend it" });
  };
  const flood = await start("flood", [INIT], FLOOD);
  const looping = await start("looping", [INIT, ...Array.from({ length: 8 }, (_, n) => same(n)).flat()], "sleep 60");
  const watcher = made.workspace.verdicts.rounds();
  const said = new Map<string, AgentSummary[]>([flood, looping].map(({ agent }) => [agent, []]));
  const of = ({ agent }: RunRecord): AgentSummary[] => said.get(agent) ?? [];
  const floods = ({ evidence }: AgentSummary): boolean => evidence.some(({ rule }) => rule === "flood");
  await until(async () => {
    for (const one of (await watcher.round()).summaries) said.get(one.instance_id)?.push(one);
    if (of(flood).some(floods)) writeFileSync(join(made.folder, "told"), "");
    return of(flood).at(-1)?.final;
  }, 90_000);

  const told = of(flood).find(floods);
  expect(told).toMatchObject({ level: "watch", recommended_action: expect.stringMatching(/flood/) });
  expect(of(flood).filter(({ on_track_status }) => on_track_status === "blocked")).toEqual([]);
  const reason = told?.evidence.find(({ rule }) => rule === "flood");
  expect(reason?.value).toBeGreaterThanOrEqual(2000);
  const place = reason?.log as NonNullable<typeof reason>["log"] & object;
  const log = readFileSync(flood.log);
  const lines = log.subarray(place.byte_start, place.byte_end).toString().split("\n").length - 1;
  expect(lines).toBe(place.line_end - place.line_start + 1);

  let before = 0;
  for (const { position } of of(flood)) {
    expect(position.offset - before).toBeLessThanOrEqual(BUDGET);
    before = position.offset;
  }
  const total = log.toString().split("\n").length - 1;
  expect(total).toBe(2 + BURST_LINES + 1000 * Number(readFileSync(join(made.folder, "blocks"), "utf8")));
  expect(of(flood).at(-1)?.position).toMatchObject({ offset: log.length, line: total, missed_bytes: 0 });
  expect(of(looping).some(({ on_track_status }) => on_track_status === "blocked")).toBe(true);
});
