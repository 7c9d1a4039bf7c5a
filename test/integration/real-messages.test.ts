import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { cliCommand, cliProgram, isInstalled } from "../support/cli/real-clis.ts";
import { lab } from "../support/lab.ts";
import { ModelApi } from "../support/model/model-api/server.ts";
import { patient } from "../support/patience.ts";
import { text, until } from "../support/workspace.ts";

it.skipIf(!isInstalled("claude"))(
  "Claude Code, the real one: messages while it runs are echoed and answered; finished and left alone, it gets its end of input",
  async () => {
    const api = await ModelApi.start();
    const at = lab({ interactive_idle: "1s" });
    try {
      const home = join(at.folder, "home");
      mkdirSync(home);
      const url = api.play("talk", { steps: [{ say: "I have heard you." }] });
      const { env } = cliCommand("claude", { home, url });
      const workspace = at.open({ env: { ...env, PATH: `${dirname(cliProgram("claude"))}:${env["PATH"]}` } });
      const record = await workspace.runs.start({
        driver: "claude",
        prompt: "say one",
        interactive: true,
        permission: "plan",
      });
      const results = (): number => text(record.log).split('"type":"result"').length - 1;
      const answered = (n: number) => until(() => results() === n, 60_000, `${n}: ${text(record.log).slice(-800)}`);
      await answered(1);
      const second = await workspace.mail.send(record.agent, "say two");
      expect(await workspace.mail.delivered(second, { timeoutMs: patient(30_000) })).toMatchObject({
        state: "consumed",
      });
      await answered(2);
      await workspace.mail.send(record.agent, "say three");
      await answered(3);
      const [shown] = await workspace.runs.wait([record.agent], { timeoutMs: patient(60_000) });
      expect(shown).toMatchObject({ phase: "drained", outcome: "completed", exit: { code: 0 } });
      expect((await workspace.mail.list(record.agent)).map(({ state }) => state)).toEqual(Array(3).fill("consumed"));
    } finally {
      await api.close();
    }
  },
  120_000,
);
