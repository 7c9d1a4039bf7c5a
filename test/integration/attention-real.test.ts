/** What the real Claude Code leaves to a person while it says "success" and exits with 0. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CliOptions, startCli } from "../support/cli/cli-trial.ts";
import { isInstalled } from "../support/cli/real-clis.ts";
import { midwatch } from "../support/cli.ts";
import { lab } from "../support/lab.ts";
import type { Step } from "../support/model/model-api/scenario.ts";
import { ModelApi } from "../support/model/model-api/server.ts";

const TIMEOUT_MS = 120_000;

let api: ModelApi;
beforeAll(async () => {
  api = await ModelApi.start();
});
afterAll(() => api.close());

describe.skipIf(!isInstalled("claude"))("claude, the real one", () => {
  it.each<[string, Step[], CliOptions, object]>([
    [
      "one of its tools was denied",
      [{ call: { bash: "ls" } }, { call: { write: "result.txt", content: "one\n" } }, { say: "I could not write it." }],
      { permission: "ask" },
      { kind: "denied", why: expect.stringMatching(/^Not permitted: Write \(.*result\.txt\)\.$/) },
    ],
    [
      "every tool call failed and it gave up",
      [...Array.from({ length: 25 }, (_, n) => ({ call: { bash: `cat missing-${n}` } })), { say: "I give up." }],
      {},
      { kind: "gave_up", why: "It ended after 25 tool calls that all failed." },
    ],
    [
      "its last words ask",
      [{ call: { bash: "ls" } }, { say: "Which database should I use? Please tell me." }],
      {},
      { kind: "asks", why: "It asks: Which database should I use? Please tell me." },
    ],
    ["it did its work", [{ call: { bash: "echo one" } }, { say: "Done." }], {}, null as unknown as object],
  ])(
    "%s",
    async (_, steps, options, attention) => {
      const { lab: at, record } = await startCli(lab(), api, "claude", { steps }, options);
      await at.workspace.runs.wait([record.agent], { timeoutMs: 100_000 });
      const { stdout } = await midwatch(at.folder, ["ls", "--json"]);
      const listed = JSON.parse(stdout);
      expect(listed).toMatchObject({ outcome: "completed", exit: { code: 0 }, attention });
      const text = await midwatch(at.folder, []);
      expect(text.stdout).toMatch(attention === null ? /^Nobody needs you/ : /^1 needs you/);
    },
    TIMEOUT_MS,
  );
});
