/** What the person is about to do to an agent; a dialog asks before it is done. */
import { signal } from "@preact/signals";
import type { FleetItem } from "./fleet.ts";

export interface Act {
  kind: "stop" | "restart";
  item: Pick<FleetItem, "agent" | "run" | "driver" | "phase" | "alive">;
}

export const act = signal<Act | undefined>(undefined);
