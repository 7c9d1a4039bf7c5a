/** A workspace full of life: agents of every kind on real tasks, a conversation, a server with a page. For pictures, tests and benches. */
import type { ChildProcess } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CLI, type Lab, supportFile } from "../../workspace.ts";

/** A folder for PATH with `claude` in it. */
export function placeActor(folder: string, speed: number): string {
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  const actor = supportFile("net/scene/actor.ts");
  writeFileSync(join(bin, "claude"), `#!/bin/sh\nexec "${process.execPath}" "${actor}" ${speed}\n`, { mode: 0o755 });
  return bin;
}

const SUITE = `printf '\\033[1;36m RUN \\033[0m v5.1.0 /repo\\n\\n'
n=0
while :; do
  n=$((n + 1))
  printf ' \\033[32m✓\\033[0m src/log/page-%s.test.ts \\033[2m(%s tests)\\033[0m \\033[33m%sms\\033[0m\\n' $n $((n % 9 + 3)) $((n * 7 % 90 + 10))
  [ $((n % 7)) -eq 0 ] && printf ' \\033[31m✗\\033[0m src/log/page-%s.test.ts \\033[41m FAIL \\033[0m expected 3 lines\\n' $n
  sleep 0.4
done`;

/** Starts everybody. With a higher speed they get to the point sooner. */
export async function playScene(lab: Lab, speed = 1): Promise<void> {
  const bin = placeActor(lab.folder, speed);
  const workspace = lab.open({ env: { ...process.env, PATH: `${bin}:${process.env["PATH"]}` } });
  const claude = (name: string, prompt: string, more: object = {}) =>
    workspace.runs.start({ driver: "claude", name, prompt, permission: "edit", ...more });
  const parser = workspace.runs.makeTask("Port the parser to the new tokenizer without changing what users see", {
    labels: ["parser"],
  });
  const lead = await claude("lead", "Port the parser to the new tokenizer. Keep the tests green.", {
    task: parser.task,
    role: "lead",
    permission: "all", // It has a child that is a command.
  });
  await claude("reviewer", "Review the parser for edge cases of the new tokenizer.", {
    task: parser.task,
    parent: lead.agent,
    role: "review",
  });
  await workspace.runs.start({
    argv: ["sh", "-c", SUITE],
    name: "suite",
    task: parser.task as never,
    parent: lead.agent as never,
  });
  const upload = workspace.runs.makeTask("Make the upload test reliable", { priority: "high" });
  await claude("flake-hunter", "Fix the flaky upload test.", { task: upload.task });
  const release = workspace.runs.makeTask("Release 1.5.0");
  await claude("bump", "Upgrade the dependencies to their newest versions.", { task: release.task });
  await claude("notes", "Write the release notes of 1.5.0.", { task: release.task });
  await claude("migrate", "Run the migration 0042 on staging.", { task: release.task });
  await claude("schema", "Generate the schema with make schema.", { task: release.task });
  await claude("store", "Give the store a database.", { task: release.task });
  await claude("publish", "Publish the package.", { task: release.task });
  await workspace.runs.start({
    argv: ["sh", "-c", "echo 'building image'; sleep 1; echo 'error: no space left on device' >&2; exit 2"],
    name: "image",
    task: release.task as never,
  });
  await talk(workspace);
}

async function talk(workspace: ReturnType<Lab["open"]>): Promise<void> {
  const say = (interaction: number, actor: string, type: string, content: string) =>
    workspace.journal.append({ interaction, actor, type, content });
  await say(1, "lead", "question", "Which of the tokenizer's modes does the template parser need?");
  await say(
    1,
    "reviewer",
    "answer",
    "Only `template` and `expression`. The third one is for the old printer, which nobody calls any more.",
  );
  await say(1, "lead", "followup", "Then I leave it out and delete the printer in a commit of its own.");
  await say(2, "bump", "question", "vite 8.3.5 needs an override for rolldown. May I add one?");
  await say(2, "person", "answer", "Yes. Write down why, beside it.");
  await say(
    3,
    "flake-hunter",
    "note",
    "The upload test fails only when two parts arrive at once.\nIt expects 4 parts and gets 3.",
  );
  await say(3, "reviewer", "answer", "The order of `Promise.all` is not the order of arrival: see upload.ts line 61.");
}

/** `midwatch up` on a port; gives the link that logs in. */
export async function serveScene(lab: Lab, port = 0): Promise<{ server: ChildProcess; link: string; port: number }> {
  const server = lab.node(CLI, "--workspace", lab.root, "up", "--port", String(port));
  let text = "";
  const link = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no link within 30 s: ${text}`)), 30_000);
    const hear = (part: unknown): void => {
      text += String(part);
      const found = /http:\/\/\S+\/login\/\S+/.exec(text)?.[0];
      if (found === undefined) return;
      clearTimeout(timer);
      resolve(found);
    };
    server.stdout?.on("data", hear);
    server.stderr?.on("data", hear);
  });
  return { server, link, port: Number(new URL(link).port) };
}
