import { expect, it } from "vitest";
import { isTreeReady, signals } from "../soak/signals.ts";

const ready = isTreeReady();
if (!ready) console.warn("SKIPPED: this tree is not built. Next: node scripts/run.mjs");

// `npm run soak` does it in a clone, where it is found installing and building too.
it.skipIf(!ready)(
  "npm start is asked to end at 3 random moments by SIGTERM and by SIGHUP to its group: no process and no folder is left",
  async () => {
    const { failures, figures, seed } = await signals(3, Math.floor(Date.now() / 86_400_000));
    console.log("signals to npm start", figures);
    expect(failures, `seed ${seed}`).toEqual([]);
  },
);
