import { join } from "node:path";
import type { JournalEvent } from "../../../src/journal/event.ts";
import { type Lab, text } from "../workspace.ts";

export type Told = JournalEvent & { data?: Record<string, unknown> };

/** The lines of events.log whose type begins so. */
export function told(at: Pick<Lab, "root">, type = ""): Told[] {
  return text(join(at.root, "events.log"))
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Told)
    .filter((event) => event.type.startsWith(type));
}

/** How often each type was told. */
export function counts(at: Lab): Record<string, number> {
  const found: Record<string, number> = {};
  for (const { type } of told(at)) found[type] = (found[type] ?? 0) + 1;
  return found;
}
