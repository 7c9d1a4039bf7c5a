/** The driver of talker.ts: Claude Code's, with another program. */
import { claude } from "../../../src/drivers/claude.ts";
import type { Driver } from "../../../src/drivers/driver.ts";
import { supportFile } from "../workspace.ts";

const driver: Driver = {
  ...claude,
  name: "talker",
  program: process.execPath,
  launch(request) {
    const { argv, ...rest } = claude.launch(request);
    return { ...rest, argv: [process.execPath, supportFile("cli/talker.ts"), ...argv.slice(1)] };
  },
};

export default driver;
