/** The table on the terminal and docs/bench.md. */
import { fileURLToPath } from "node:url";
import type { Row } from "./row.ts";

export const page: string = fileURLToPath(new URL("../../docs/bench.md", import.meta.url));

const HEADS = ["", "promise", "figure", "measured", "peer", "ratio", "bar", "note"] as const;

export function table(rows: readonly Row[]): string {
  const cells = rows.map((one) => [
    mark(one),
    one.promise,
    one.figure,
    one.measured,
    one.peer,
    one.ratio,
    one.bar,
    one.note,
  ]);
  const line = (texts: readonly string[]): string =>
    `| ${texts.map((text) => text.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(HEADS), `|${HEADS.map(() => "---|").join("")}`, ...cells.map(line)].join("\n");
}

const mark = ({ holds }: Row): string => (holds === null ? "" : holds ? "holds" : "**FAILS**");

export function document(about: readonly string[], rows: readonly Row[]): string {
  return `# Figures

<!-- Written by npm run bench; edit bench/support/page.ts instead. -->

${about.join("\n")}

${table(rows)}

${EXPLAINED}`;
}

const EXPLAINED = `## How to run it

\`\`\`sh
npm run bench                                     # everything, about 20 minutes on 2 cores, writes this page
node scripts/run.mjs bench/run.ts stop record     # only these; a name that is not known lists all
node scripts/run.mjs bench/run.ts --quick         # small sizes, 2 to 4 minutes, only prints (--write writes this page too)
\`\`\`

Run it on a machine that does nothing else: the load average above says whether it did. It ends with 1 when a bar does not hold.
It works in a folder of its own below \`$TMPDIR\` or /var/tmp and needs cc, tmux, ps and 3 GB of disk; afterwards no process, file,
cgroup or temporary folder of it is left, also when it is interrupted, and a bench that leaves something fails.

## How it is measured

Subject and peers take turns (A B A B ...), each round beginning with another one, after a warm-up. "best" and "median" are over the
rounds. Where a bar is on a figure of several rounds, the median decides. Times come from the monotonic clock; those of other
processes are taken by C programs (bench/load) and not by midwatch.

| promise | subject | peers, all run for real in the same run |
|---|---|---|
| record | an agent in C that prints and times its own writing, below a keeper | the same program with \`>> file\`; for the default sync \`>> file\` beside a C loop that looks each 20 ms and calls fdatasync after 250 ms or 16 MiB; \`\\| tee -a file\` |
| start, exit | \`workspace.run()\`, and an agent that writes down the moment of its exit; inotify tells when a fact is there | none; beside it what one write + fsync + rename + fsync costs on this disk |
| nothing lost | a Node program that prints 4 MB and calls process.exit() | the same through a pipe with a slow and with a prompt reader |
| take-over | 5 launchers start the runs and are killed with SIGKILL; 25 of 100 runs end while nobody looks; a fresh Node process lists | none |
| money | agents that tell the time and print the line that passes their limit of tokens, at times of their own; the time in \`stop.json\` | none |
| idle | the keepers of 100 agents that print nothing and, by itself, the \`midwatch up\` beside them; all threads, by the scheduler's clock, after 35 s of silence | a \`tail -F\` for the two files of each agent, which looks once a second (\`---disable-inotify\`) |
| unseen | the whole command \`ls\` in a workspace where 3,000 agents ended while nobody looked, each with a task of its own | \`find\` and \`cat\` of one fact of each agent |
| search | the whole command \`search\` over 3,000 small logs of ended agents | \`rg -uu -F\` over the same workspace |
| registry | 8 processes write to SQLite through the registry | the seeds' way: lock (mkdir), read the JSON of 100 agents, write a new file, fsync, rename, unlock |
| stop | agents with 5 descendants (plain; own session, retitled; daemon by double fork; deaf to INT, TERM, HUP; own session, empty environment, deaf) among 1,000 bystanders and 20 innocents with the agents' ids in their command lines; grace 1 s | process group: TERM, grace, KILL. tree-kill 1.2.2 with SIGKILL. The seed: tmux kill-session, then up to three looks at \`ps aux\` for the id and a word, with sleeps of 0.5, 1 and 2 s, then SIGKILL |

Rows of other promises name their peer in the table.

## What to know when reading it

- stop: the time is from the call to the end of the last process, seen by pidfd from outside. \`took_ms\` of a report begins when the
  stop of that agent begins, so in a stop of 100 it is less. tree-kill is faster than the grace because it gives none.
- stop: signals of the peers go only to processes that the bench started; what the seed's search would have hit beyond them is counted.
- stop: the seed's tmux server was started with a neutral session. Without that its own command line matches the search, and it dies with
  all agents.
- registry: a transaction of ours is not synced by itself, the seeds' is. That is a choice, not a trick: their file is the only copy, our
  registry is made again from facts that are synced one by one. The figure without fsync is given too.
- record: the agents here print as fast as they can, 0.2 to 2.5 GB/s, which no real agent does. On two cores the keeper's reading and any
  other load of the machine show in these figures before they show anywhere else. "Without waiting for a core" leaves out the time in
  which the agent was ready to run and no core was free (/proc/PID/schedstat); the bar is on the whole time.
- record: keeper CPU is what /proc/PID/stat says before the agent ends; the last look at the log's tail is not in it. Shapes with one
  small write a line are left out of it.
- memory is RSS of one keeper, program text included.
`;
