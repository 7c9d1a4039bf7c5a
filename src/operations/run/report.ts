import { MidwatchError } from "../../core/errors.ts";
import { AGENT_ID } from "../../core/ids.ts";
import { SEVERITIES } from "../../messages/report.ts";
import { parseData } from "../fields.ts";
import { type Operation, operation, usage, workspaceOf, z } from "../operation.ts";

const word = (about: string) => z.string().min(1).describe(about);

interface ReportAnswer {
  agent_id: string;
  peer_progress: { agent_id: string; status: string; message: string }[];
  peer_findings: { agent_id: string; severity: string; message: string }[];
}

function told(report: ReportAnswer, what: string): string {
  const lines = [`${report.agent_id}  ${what}`];
  for (const { agent_id, status, message } of report.peer_progress) lines.push(`  ${agent_id}  ${status}: ${message}`);
  for (const { agent_id, severity, message } of report.peer_findings)
    lines.push(`  ${agent_id}  found (${severity}): ${message}`);
  return lines.join("\n");
}

/** `progress ID STATUS MESSAGE`; inside a run the id may be left out. */
function withId(words: readonly string[], most: number): { agent: string | undefined; rest: string[] } {
  const usage = new MidwatchError("USAGE", `${most} words are expected, and before them an agent id.`, {
    hint: "Inside a run the id may be left out.",
  });
  if (words.length === most) return { agent: undefined, rest: [...words] };
  const [agent, ...rest] = words;
  if (agent === undefined || rest.length !== most || !AGENT_ID.test(agent.toLowerCase())) throw usage;
  return { agent, rest };
}

export const progress: Operation = operation({
  name: "progress",
  summary: "Report what an agent does, in its own words",
  details:
    "Written to progress/<agent>_progress.jsonl. The answer tells what the peers on the task reported lately. After completed, failed, error or terminated an agent that lives on and is silent for 10 s (`done_silence`) is ended, and its files are archived when it has ended.",
  positionals: ["words"],
  input: z.strictObject({
    words: z.array(word("ID (inside a run it may be left out), STATUS such as working or completed, MESSAGE")).min(2),
    percent: z.number().min(0).max(100).describe("How far it has come").meta({ value: "N" }).optional(),
  }),
  changes: true,
  examples: [
    'midwatch progress build-1 working "two of five files done" --percent 40',
    'midwatch progress completed "all tests pass"',
  ],
  run: async (context, { words, percent }) => {
    const { agent, rest } = withId(words, 2);
    const { mail } = workspaceOf(context);
    const report = mail.progress(agent, rest[0] as string, rest[1] as string, percent);
    await mail.watched();
    return report;
  },
  render: (report) => told(report, report.status),
  next: ({ agent_id }) => `midwatch summary ${agent_id}`,
});

export const finding: Operation = operation({
  name: "finding",
  summary: "Report something that others should know",
  details: "Written to findings/<agent>_findings.jsonl. The answer tells what the peers on the task reported lately.",
  positionals: ["words"],
  input: z.strictObject({
    words: z
      .array(word(`ID (inside a run it may be left out), TYPE, SEVERITY (${SEVERITIES.join(", ")}), MESSAGE`))
      .min(3),
    data: z.string().describe("Facts for other programs, as JSON").meta({ value: "JSON" }).optional(),
  }),
  changes: true,
  examples: ['midwatch finding review-1 bug high "the parser loses the last line" --data \'{"file":"src/parse.ts"}\''],
  run: (context, { words, data }) => {
    const { agent, rest } = withId(words, 3);
    const severity = SEVERITIES.find((one) => one === rest[1]);
    if (severity === undefined)
      throw usage(`${JSON.stringify(rest[1])} is not a severity.`, `One of ${SEVERITIES.join(", ")}.`);
    return workspaceOf(context).mail.finding(agent, rest[0] as string, severity, rest[2] as string, parseData(data));
  },
  render: (report) => told(report, `${report.finding_type} (${report.severity})`),
  next: () => "midwatch events",
});
