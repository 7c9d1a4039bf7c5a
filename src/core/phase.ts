/** What the phase of a run answers. The registry's SQL, the page and every door ask here. */
import type { Phase } from "./types.ts";

interface Phased {
  phase: Phase | "unreachable";
}

/** Phases after which nothing of the run can be alive. `lost` is not among them: its processes may live on. */
export const ENDED_PHASES: readonly Phased["phase"][] = ["drained", "archived", "launch_failed"];
const AT_WORK: readonly Phased["phase"][] = ["running", "stopping", "stuck", "lost"];

/** Nothing of it can be alive, and nothing more comes from it. */
export function isOver({ phase }: Phased): boolean {
  return ENDED_PHASES.includes(phase);
}

/** Over, or nothing more happens to it by itself: who waits for it waits in vain. */
export function isSettled({ phase }: Phased): boolean {
  return isOver({ phase }) || phase === "lost" || phase === "stuck";
}

/** Its processes have begun and may work. */
export function isAtWork({ phase }: Phased): boolean {
  return AT_WORK.includes(phase);
}
