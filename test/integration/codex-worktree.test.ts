import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { cliCommand, isInstalled } from "../support/cli/real-clis.ts";
import { midwatch } from "../support/cli.ts";
import { folder } from "../support/folder.ts";
import { lab } from "../support/lab.ts";
import { ModelApi } from "../support/model/model-api/server.ts";
import { gitIn, makeRepository } from "../support/net/repository.ts";
import { text } from "../support/workspace.ts";

let api: ModelApi;
beforeAll(async () => {
  api = await ModelApi.start();
});
afterAll(() => api.close());

const COMMIT = "echo mine >> mine.txt && git add mine.txt && git -c user.name=x -c user.email=x@x commit -qm mine";

it.skipIf(!isInstalled("codex"))(
  "Codex that may edit commits in its worktree from within its sandbox, in a resumed run too",
  async () => {
    const at = lab({}, folder());
    makeRepository(at.folder, { "a.txt": "a\n" });
    const home = folder();
    mkdirSync(join(home, "codex"));
    const steps = [{ call: { bash: COMMIT } }, { say: "Committed." }];
    const { args, env } = cliCommand("codex", { home: join(home, "codex"), url: api.play("commit", { steps }) });
    const options = ["--json", "--driver", "codex", "--permission", "edit", "--worktree", "--no-mcp", "--wait"];
    const began = await midwatch(at.folder, ["run", ...options, "Commit it", "--", ...args], env);
    const shown = JSON.parse(began.stdout.trim().split("\n").at(-1) ?? "");
    expect({ ...shown.worktree, log: text(shown.log) }).toMatchObject({ dirty: false, commits: 1 });
    expect(at.intent(shown).argv.filter((_, i, all) => all[i - 1] === "--add-dir")).toEqual(
      [`worktrees/${shown.agent}`, "objects", "refs/heads/midwatch", "logs/refs/heads/midwatch"].map((below) =>
        join(at.folder, ".git", below),
      ),
    );
    gitIn(at.folder, "pack-refs", "--all", "--prune");
    expect(await midwatch(at.folder, ["restart", shown.agent, "--resume", "Once more"], env)).toMatchObject({
      code: 0,
    });
    await at.workspace.runs.wait([shown.agent], { timeoutMs: 60_000 });
    const again = await at.workspace.runs.show(shown.agent);
    expect({ ...again.worktree, outcome: again.outcome, log: text(again.log) }).toMatchObject({
      outcome: "completed",
      dirty: false,
      commits: 2,
    });
  },
  120_000,
);
