/** Which runs count, as terms of SQL. */
import { ENDED_PHASES } from "../core/phase.ts";

/** A lost run counts while one of its processes was seen alive. The first term is the one of the index runs_live, word for word. */
export const LIVE: string = `(runs.phase NOT IN (${ENDED_PHASES.map((phase) => `'${phase}'`).join(", ")})
  AND (runs.phase <> 'lost' OR coalesce(runs.alive, '[]') <> '[]'))`;
/** Those that wait for their turn take no room. */
export const BUSY: string = `(${LIVE} AND runs.queued = 0)`;
export const NEWEST: string = "runs.run = (SELECT max(run) FROM runs AS later WHERE later.agent = runs.agent)";
