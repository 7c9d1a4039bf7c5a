import { MidwatchError } from "../../core/errors.ts";
import { type Operation, operation, z } from "../operation.ts";

export const mcp: Operation = operation({
  name: "mcp",
  summary: "Serve the Model Context Protocol on stdin and stdout, for agents and editors",
  details:
    "Started by an MCP client, not by a person: `midwatch mcp install` tells a client of it. Ends when its input ends; agents that were started through it go on. `midwatch up` serves the same over HTTP at /mcp (docs/mcp.md).",
  input: z.strictObject({}),
  changes: true,
  cliOnly: true,
  examples: ["midwatch mcp", "midwatch mcp install --client claude"],
  run: async (context) => {
    if (context.serveMcp === undefined)
      throw new MidwatchError("USAGE", "Only the command line can serve on its own input.", { hint: "midwatch mcp" });
    await context.serveMcp();
  },
});
