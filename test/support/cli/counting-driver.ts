/** The driver of a shell that speaks Claude Code's lines; it counts how often each line of a log is parsed in this process. */
import { claude } from "../../../src/drivers/claude.ts";
import type { Driver } from "../../../src/drivers/driver.ts";

/** By line, over all readers. The module may be loaded twice: by the test, and by the workspace that is told of it. */
const shared = globalThis as { parsedLines?: Map<string, number> };
shared.parsedLines ??= new Map();
export const parsed: Map<string, number> = shared.parsedLines;

const driver: Driver = {
  ...claude,
  name: "counting",
  program: "/bin/sh",
  launch: (request) => ({ ...claude.launch(request), argv: ["/bin/sh", "-c", request.prompt ?? ""] }),
  reader(before) {
    const reader = claude.reader(before);
    return {
      read(line, atMs) {
        const key = JSON.stringify(line);
        parsed.set(key, (parsed.get(key) ?? 0) + 1);
        return reader.read(line, atMs);
      },
      result: () => reader.result(),
    };
  },
};

export default driver;
