/**
 * Eight processes of ours append to one journal without a lock, beside eight shells that write as the seed's log_event.sh does: a lock, and
 * under it an `echo` or `printf` of 9 KB, which is several writes. Nobody is killed: every event is there once and none is in quarantine,
 * for a reader of the whole, for readers that begin in the middle, and for one that read on while all of that was written.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { layout } from "../../src/disk/layout.ts";
import { openWorkspace } from "../../src/fleet/workspace.ts";
import { EmbeddedLog } from "../../src/journal/embedded.ts";
import type { BadLine, Stored } from "../../src/journal/engine.ts";
import { fileOf, gather, readJournal } from "../support/data/journal.ts";
import { supportFile } from "../support/workspace.ts";
import { campaign, type Report } from "./report.ts";

const WRITERS = 8;
const BYTES = 9000;
/** Between two events of one of ours, in ms: about what a shell takes for one. */
const GAP = 10;

/** As the seed has it (with its quotes mended): the event made, then one `flock` of the file round a shell that writes it. */
const SHELLS = [
  { shell: "bash", write: 'echo "$1" >> "$2"', jq: "-n" },
  { shell: "bash", write: 'printf \'%s\\n\' "$1" >> "$2"', jq: "-nc" },
  { shell: "bash", write: 'echo "$1" >> "$2"', jq: "-nc" },
  { shell: "dash", write: 'printf \'%s\\n\' "$1" >> "$2"', jq: "-nc" },
  // Held up in mid-line, inside a character too: then others surely come in between.
  {
    shell: "dash",
    write: 'printf %s "$1" | head -c 5001 >> "$2"; sleep 0.02; printf "%s\\n" "$1" | tail -c +5002 >> "$2"',
    jq: "-nc",
  },
];
const LOOP = `template=$(jq "$3" --arg actor "$1" --arg content "@ $4" '{interaction: 7, actor: $actor, type: "note", content: $content, timestamp: "2026-11-15T19:00:00Z"}')
head=\${template%%@*} tail=\${template#*@} i=0
while [ $i -lt "$2" ]; do i=$((i+1))
  flock --exclusive "$5" "$6" -c "$7" "$6" "$head$1 $i$tail" "$5" || exit 1
done`;

/** Several bytes a character, and newlines, quotes and backslashes that JSON writes as two. */
const TEXT = 'ä→🦉 "said"\n\\ {"v":1, {"interaction": }'.repeat(BYTES / 45);

/** `count` events in all. */
export function seedWriters(count: number, seed = 1): Promise<Report> {
  return campaign("the seed's writers beside ours (events)", count, seed, async (fail, figures) => {
    const place = realpathSync(mkdtempSync(join(tmpdir(), "midwatch-seed-writers-")));
    const children: ChildProcess[] = [];
    try {
      using workspace = openWorkspace({ workspace: join(place, ".agent-workspace"), make: true, cwd: place });
      const { events } = layout(workspace.root);
      const each = String(Math.max(1, Math.round(count / WRITERS / 2)));
      for (let n = 0; n < WRITERS; n++) {
        const worker = supportFile("worker/paced-writer.ts");
        children.push(
          spawn(process.execPath, [worker, workspace.root, `ours${n}`, each, String(BYTES), String(GAP)], IO),
        );
        const { shell, write, jq } = SHELLS[n % SHELLS.length] as (typeof SHELLS)[number];
        children.push(spawn("sh", ["-c", LOOP, "sh", `shell${n}`, each, jq, TEXT, events, shell, write], IO));
      }
      const ended = Promise.all(children.map(async (child) => ((await once(child, "exit")) as [number | null])[0]));
      const reading = readBeside(events, ended, (meanwhile) => fail(`while it was written: ${meanwhile}`));
      for (const [n, code] of (await ended).entries()) if (code !== 0) fail(`writer ${n} ended with ${code}`);
      const { stored, bad } = await readJournal(workspace.root);
      for (const { line, reason, bytes } of bad)
        fail(`line ${line} is bad (${reason}): ${Buffer.from(bytes).toString().slice(0, 200)}`);
      check(stored, Number(each), fail);
      const shown = stored.map(show);
      same("read while it was written", await reading, shown, fail);
      const log = new EmbeddedLog(events);
      for (const part of [0.1, 0.5, 0.9]) {
        const { next = "" } = stored[Math.floor(stored.length * part)] ?? {};
        const behind = shown.slice(Math.floor(stored.length * part) + 1);
        same(`from ${next}`, await rest(log, next), behind, fail);
        const lines = Math.floor(stored.length * part);
        const tail = await rest(log, await log.tail(lines));
        same(`the last ${lines} lines`, tail, shown.slice(shown.length - tail.length), fail);
      }
      const { bad_lines, events: folded } = await workspace.journal.snapshot();
      if (bad_lines > 0 || folded !== stored.length)
        fail(`the snapshot has ${folded} events and ${bad_lines} bad lines`);
      if (fileOf(workspace.root, "events.error.log") !== "") fail("something is in quarantine");
      const torn = readFileSync(events, "utf8").split('{"v":1,"id":').slice(0, -1).filter(isInside).length;
      Object.assign(figures, { events: stored.length, "lines of ours inside of others": torn });
    } finally {
      for (const child of children) if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      rmSync(place, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    }
  });
}
const IO = { stdio: ["ignore", "ignore", "inherit"] as ("ignore" | "inherit")[] };

type Fail = (what: string) => void;

function check(stored: readonly Stored[], each: number, fail: Fail): void {
  const said = new Map<string, number>();
  for (const { event } of stored) {
    const [name = "", n = ""] = event.content.split(" ", 2);
    said.set(`${name} ${n}`, (said.get(`${name} ${n}`) ?? 0) + 1);
    const text = event.content.slice(`${name} ${n} `.length);
    if (event.actor !== name || (name.startsWith("shell") ? text !== TEXT : !/^(?:ä→x)+$/.test(text)))
      fail(`${name} ${n} is damaged: ${text.slice(0, 100)}`);
  }
  for (const [key, times] of said) if (times > 1) fail(`${key} is there ${times} times`);
  for (let n = 0; n < WRITERS; n++)
    for (const name of [`ours${n}`, `shell${n}`])
      for (let i = 1; i <= each; i++) if (!said.has(`${name} ${i}`)) fail(`${name} ${i} is lost`);
  if (new Set(stored.map(({ event }) => event.id)).size !== stored.length) fail("an id came twice");
}

/** Reads on from its cursor again and again, each time as another process would. */
async function readBeside(path: string, ended: Promise<unknown>, onBad: Fail): Promise<string[]> {
  const seen: string[] = [];
  let [after, last]: [string | undefined, boolean] = [undefined, false];
  const over = ended.then(() => {
    last = true;
  });
  for (let final = false; !final; ) {
    final = last;
    for await (const item of new EmbeddedLog(path).read({ after })) {
      after = item.next;
      if ("bad" in item) onBad(`line ${item.bad.line} is bad (${item.bad.reason})`);
      else seen.push(show(item));
    }
    await sleep(5);
  }
  await over;
  return seen;
}

async function rest(log: EmbeddedLog, after: string | undefined): Promise<string[]> {
  return (await gather<Stored | BadLine>(log.read({ after }))).map((item) => ("event" in item ? show(item) : "bad"));
}

const show = ({ event, seq }: Stored): string => `${seq} ${event.id} ${event.content.slice(0, 20)}`;

function same(who: string, got: readonly string[], expected: readonly string[], fail: Fail): void {
  const at = expected.findIndex((one, i) => one !== got[i]);
  if (at >= 0 || got.length !== expected.length)
    fail(`${who}: ${got.length} of ${expected.length} events, ${got[at]} instead of ${expected[at]}`);
}

/** A line of ours begins here, and what is before it is no end of a line. */
function isInside(before: string): boolean {
  return before !== "" && !/\}\n+$/.test(before);
}
