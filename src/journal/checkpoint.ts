/**
 * How far an agent has come: `agent-<id>.checkpoint`. Its first line is the number of the last interaction it handled, for people and
 * shell scripts (`read -r n < agent-x.checkpoint`); the second is the exact place, as JSON. A file with a number alone, such as a
 * script or a person writes, is as good: work goes on with the interactions above it.
 */
import { MidwatchError } from "../core/errors.ts";
import { type AgentId, quote } from "../core/ids.ts";
import { parseJson } from "../core/json.ts";
import type { Layout } from "../disk/layout.ts";
import { readText, replace } from "../disk/replace.ts";
import type { Cursor } from "./engine.ts";

export interface Checkpoint {
  /** The last interaction that was handled; the highest when they come out of order. */
  interaction: number;
  place: CheckpointState | undefined;
}

interface CheckpointState {
  /** Behind the last event that was handled. */
  after: Cursor;
  /** The proven terms at that place. */
  terms: Record<string, number>;
  /** Ids that were handled lately: a copy of one is not handled again. */
  ids: string[];
}

/** Where a consumer keeps its checkpoint. */
export interface CheckpointStore {
  read(): Checkpoint | undefined;
  write(checkpoint: Checkpoint): void;
}

export function checkpointFile(layout: Layout, agent: AgentId): CheckpointStore {
  const path = layout.checkpoint(agent);
  return {
    read: () => {
      const text = readText(path);
      return text === undefined ? undefined : parse(text, path);
    },
    write: ({ interaction, place }) =>
      replace(path, `${interaction}\n${place === undefined ? "" : `${JSON.stringify(place)}\n`}`),
  };
}

function parse(text: string, path: string): Checkpoint {
  const [first = "", second = ""] = text.split("\n");
  if (!/^\d{1,15}$/.test(first.trim())) {
    throw new MidwatchError(
      "BAD_NUMBER",
      `${path} does not begin with the number of an interaction: ${quote(first)}.`,
      {
        hint: "Write the last handled number into it with `midwatch checkpoint AGENT N`, or remove it to begin anew.",
      },
    );
  }
  return { interaction: Number(first), place: parsePlace(second) };
}

function parsePlace(line: string): CheckpointState | undefined {
  // A number alone, or a place that somebody damaged: the number says enough.
  const { after, terms, ids } = (parseJson(line) ?? {}) as Partial<CheckpointState>;
  return typeof after === "string" ? { after, terms: terms ?? {}, ids: ids ?? [] } : undefined;
}
