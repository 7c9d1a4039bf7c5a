import { expect, it } from "vitest";
import { pidReuse, pidReuseNeeds } from "../soak/pid-reuse.ts";

const missing = pidReuseNeeds();
if (missing !== undefined) console.warn(`SKIPPED: pid reuse: ${missing}`);

// Another seed every day; `npm run soak` does a thousand.
it.skipIf(missing !== undefined)(
  "R-004.3: strangers that got the pids of a dead run are never signalled (30 trials)",
  async () => {
    const { failures, figures, seed } = await pidReuse(30, Math.floor(Date.now() / 86_400_000));
    console.log("pid reuse", figures);
    expect(failures, `seed ${seed}`).toEqual([]);
  },
);
