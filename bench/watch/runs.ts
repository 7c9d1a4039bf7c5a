/** Labelled runs of agents: `*.jsonl` or `*.jsonl.gz`, one run a line, read as what a driver would have told of them. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { Moment } from "../../src/judge/judge.ts";

export interface RunStep {
  i: number;
  t: number | null;
  tool: string;
  args: string;
  thought: string | null;
  obs: string | null;
  err: boolean | null;
  rc?: number | null;
}

export interface Run {
  ds: string;
  id: string;
  task_id: string;
  task: string;
  model: string;
  success: boolean | null;
  exit: string | null;
  steps: RunStep[];
  labels: Record<string, unknown>;
}

/** A step of SWE-agent's own that says how the run ended: it would give the label away. */
const MARKERS: readonly string[] = ["exit_cost", "exit_context", "exit_error"];

export function loadRuns(folder: string): Run[] {
  const files = readdirSync(folder).filter((name) => /\.jsonl(?:\.gz)?$/.test(name));
  return files.sort().flatMap((name) => {
    const bytes = readFileSync(join(folder, name));
    const text = (name.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8");
    const lines = text.split("\n").filter((line) => line !== "");
    // Labels of windows lie beside their runs.
    return lines.flatMap((line) => {
      const run = JSON.parse(line) as Run;
      return Array.isArray(run.steps) ? [readRun(run)] : [];
    });
  });
}

function readRun(run: Run): Run {
  return { ...run, steps: run.steps.filter(({ tool }) => !MARKERS.includes(tool)).map(bare) };
}

/** What the harness of each set wraps around an output is no output. */
function bare(step: RunStep): RunStep {
  const obs = (step.obs ?? "")
    .replace(/; Next action: [\s\S]*$/, "")
    .replace(/\n?; Action at iteration\d+ :[\s\S]*$/, "")
    .replace(/^Command \w+ returned: /, "")
    .replace(/^<returncode>-?\d+<\/returncode>\n<output>\n?/, "")
    .replace(/<\/output>\s*$/, "")
    .replace(/^The result of executing that last command is:\n /, "");
  return { ...step, obs };
}

/** Two lines a step, as the JSON-speaking CLIs print them: the call, then the result. */
export function momentsOf(steps: readonly RunStep[]): Moment[][] {
  return steps.map((step, index) => {
    const seq = index * 2 + 1;
    const moments: Moment[] = [];
    if (step.thought) moments.push({ activity: { kind: "thought", text: step.thought }, atMs: null, seq });
    const refused = step.tool === "message" ? /^API Error: (\d{3})?/.exec(step.args) : null;
    if (refused !== null) {
      // The CLI marks such a message as an error of the API; the sets keep its text alone.
      const [text, status] = [step.args, refused[1] === undefined ? null : Number(refused[1])];
      const trouble = status === 529 ? "overloaded" : "api_error";
      moments.push({
        activity: { kind: "trouble", trouble, text, status, resets_at: null, fatal: true },
        atMs: null,
        seq,
      });
      return moments;
    }
    if (step.tool === "message") {
      moments.push({ activity: { kind: "said", text: step.args }, atMs: null, seq });
      return moments;
    }
    const id = String(index);
    moments.push(
      { activity: { kind: "tool", id, name: step.tool, input: step.args, paths: [] }, atMs: null, seq },
      {
        activity: { kind: "tool_result", id, ok: step.err !== true, text: step.obs ?? "" },
        atMs: null,
        seq: seq + 1,
      },
    );
    return moments;
  });
}

function repoOf(run: Run): string {
  return run.task_id.replace(/-\d+$/, "");
}

/** A run that goes over to another task half-way: the second half of the next run that fits. */
export function splice(runs: readonly Run[], same: boolean): { run: Run; at: number }[] {
  return runs.flatMap((run, index) => {
    for (let step = 1; step < runs.length; step++) {
      const other = runs[(index * 7 + step) % runs.length];
      if (other === undefined || other.task_id === run.task_id || other.steps.length < 12) continue;
      if ((repoOf(other) === repoOf(run)) !== same) continue;
      const at = run.steps.length >> 1;
      const steps = [...run.steps.slice(0, at), ...other.steps.slice(other.steps.length >> 1)];
      return [{ run: { ...run, steps }, at }];
    }
    return [];
  });
}
