import { StateFolder } from "../../disk/guard/state-folder.ts";
import { installed } from "../../setup/installed.ts";
import { type Operation, operation, z } from "../operation.ts";
import { table } from "../render.ts";

interface Taken {
  what: string;
  path: string;
  action: "removed" | "shown" | "stays";
  next: string | null;
  backup: string | null;
}

export const uninstall: Operation = operation({
  name: "uninstall",
  summary: "Take back what midwatch wrote outside its projects: services, settings of MCP clients",
  details:
    "Without --yes it only shows. A file of another program loses our part alone, byte for byte, and the old file is kept as .bak. A service is ended first; agents go on. It says what stays, and how that goes.",
  input: z.strictObject({
    yes: z.boolean().describe("Take it back, do not only show it").meta({ short: "y" }).default(false),
  }),
  changes: true,
  cliOnly: true,
  examples: ["midwatch uninstall", "midwatch uninstall --yes"],
  run({ env }, { yes }): Taken[] {
    const taken = installed(env).map(({ what, path, remove }): Taken => {
      const backup = yes ? remove() : null;
      return { what, path, action: yes ? "removed" : "shown", next: null, backup };
    });
    const stays = (what: string, path: string, next: string): Taken => ({
      what,
      path,
      action: "stays",
      next,
      backup: null,
    });
    return [
      ...taken,
      stays("the program", process.argv[1] ?? "", "npm uninstall -g midwatch"),
      stays("workspaces, and agents that run", ".agent-workspace of each project", "midwatch stop, then delete it"),
      stays("what you trust and what was spent", new StateFolder(env).path, "delete it when no agent runs"),
      stays("completion of your shell", "where you put it", "delete its line or file"),
    ];
  },
  render: (all) =>
    table(
      all.map(({ what, path, action, next, backup }) => [
        action,
        what,
        path,
        next ?? (backup === null ? "" : `the old one is ${backup}`),
      ]),
    ),
  next: (all) => (all.some(({ action }) => action === "shown") ? "midwatch uninstall --yes" : undefined),
});
