import { expect, it } from "vitest";
import { powerCuts } from "../soak/power-cut.ts";
import { noLoopDisk } from "../support/fault/loop-disk.ts";

const reason = noLoopDisk();
if (reason !== undefined) console.warn(`SKIPPED: power cuts are not tried, ${reason}`);

it.skipIf(reason !== undefined)(
  "R-003.4: what was acknowledged survives a power cut; without fdatasync it does not",
  async () => {
    expect((await powerCuts(3, 11)).failures).toEqual([]);
  },
);
