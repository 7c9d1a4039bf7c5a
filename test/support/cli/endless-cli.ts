// A midwatch with one command that prints for ever, for tests of pipes and signals.
import { start } from "../../../src/doors/cli/main.ts";
import { z } from "../../../src/operations/input.ts";
import { operation } from "../../../src/operations/operation.ts";

const endless = operation({
  name: "endless",
  summary: "Prints numbers for ever",
  positionals: [],
  input: z.strictObject({}),
  changes: false,
  examples: [],
  run: async function* () {
    for (let n = 0; ; n++) {
      yield { n, padding: "x".repeat(1000) };
      if (n % 100 === 99) await new Promise((resolve) => setImmediate(resolve));
    }
  },
});

await start([endless]);
