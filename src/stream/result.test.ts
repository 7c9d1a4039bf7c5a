import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { expect, it } from "vitest";
import { folder } from "../../test/support/folder.ts";
import { WHOLE } from "../../test/support/whole-facts.ts";
import { parseAgentId, parseTaskId } from "../core/ids.ts";
import { layout } from "../disk/layout.ts";
import { readFacts } from "../facts/facts.ts";
import type { Context } from "../workspace/context.ts";
import { sessionBefore } from "./streams.ts";

const task = parseTaskId(WHOLE.intent.task);
const agent = parseAgentId(WHOLE.intent.agent);

it("a resumed run knows what its session had counted, also behind a number that was given up and a run that told nothing", () => {
  const paths = layout(folder());
  const context = { layout: paths } as Context;
  const { done } = WHOLE;
  const tokens = { input: 1, output: 1, cache_read: 0, cache_write: 0 };
  const use = (cost_usd: number): object => ({ tokens, cost_usd });
  const write = (run: number, facts: Record<string, object>): void => {
    for (const [name, fact] of Object.entries(facts)) {
      const path = paths.run(task, agent, run)[name as "done"];
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, JSON.stringify(fact));
    }
  };
  const over = (session: string | null, session_use: object | null): object => ({
    ...WHOLE.cleanup,
    result: { ...WHOLE.result, session, session_use },
  });
  const intent = (run: number, resume: boolean, session: string | null): object => ({
    ...WHOLE.intent,
    run,
    resume,
    session,
  });
  const before = (run: number): object | null =>
    sessionBefore(context, { task, agent, run, facts: readFacts(paths.run(task, agent, run)) });
  write(1, { intent: intent(1, false, null), done, cleanup: over("s-1", use(0.5)) });
  write(2, { claim: WHOLE.claim }); // Given up before its intent.
  write(4, { intent: intent(4, true, "s-1"), done, cleanup: over(null, null) }); // It never told its session.
  write(5, { intent: intent(5, true, "s-1") });
  expect(before(4)).toEqual(use(0.5));
  expect(before(5)).toEqual(use(0.5));
  write(5, { done, cleanup: over("s-1", use(0.9)) });
  write(6, { intent: intent(6, false, null), done, cleanup: over("s-2", use(0.1)) });
  write(7, { intent: intent(7, true, "s-2") });
  expect(before(6)).toBeNull();
  expect(before(7)).toEqual(use(0.1));
  expect(before(1)).toBeNull();
});
