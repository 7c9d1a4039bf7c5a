/** The program of the companion, apart from the command line: it loads what it needs and no more (docs/companion.md). */
import { stricter } from "../core/config/stricter.ts";
import { MidwatchError, toMidwatchError } from "../core/errors.ts";
import { keepWatch, startCompanion } from "../up/companion.ts";
import { amCompanion, companionEnvironment } from "../workspace/companion.ts";
import type { Context } from "../workspace/context.ts";
import { assertOurs } from "../workspace/trust.ts";
import { open } from "./open.ts";

/** `companion start ROOT` and `companion watch ROOT`, which only midwatch calls; gives the exit code. */
export async function companion([verb, root = ""]: readonly string[]): Promise<number> {
  const ending = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => ending.abort());
  const tell = (text: string): void => void process.stderr.write(`${text}\n`);
  try {
    using opened = openFor(root);
    if (verb === "start") await startCompanion(opened.context);
    else if (verb === "watch" && amCompanion(opened.context)) {
      // One that says nothing is seen to begin and end by its runs.
      for await (const done of keepWatch(opened.context, { signal: ending.signal, tell }))
        process.stdout.write(`${JSON.stringify(done)}\n`);
    } else
      throw new MidwatchError("REFUSED_RIGHT", "Only midwatch itself starts the companion.", {
        hint: "It comes by itself while a run needs it: docs/companion.md.",
      });
    return 0;
  } catch (error) {
    const { message, hint, exitCode } = toMidwatchError(error);
    tell(`midwatch: ${[message, hint].filter(Boolean).join(" ")}`);
    return exitCode;
  }
}

/** With a person's rights, and no more than the person's configuration: whose environment this is nobody knows. */
function openFor(workspace: string): Disposable & { context: Context } {
  const { context } = open({ workspace, env: companionEnvironment(process.env), cwd: "/" });
  assertOurs(context);
  const config = stricter(context.persons, context.config);
  return {
    context: { ...context, config, caller: { agent: undefined } },
    [Symbol.dispose]: () => context.registries.close(),
  };
}
