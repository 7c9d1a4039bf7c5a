/** What an agent did, as a line for people. */

import { stripVTControlCharacters } from "node:util";
import { oneLine } from "../core/text/one-line.ts";
import type { Activity } from "../fleet/workspace.ts";

const CUT = 200;

/** Undefined for what only programs want to know. */
export function activityText(activity: Activity): string | undefined {
  switch (activity.kind) {
    case "started":
      return `-- begins${activity.model === null ? "" : ` (${activity.model})`}`;
    case "said":
    case "unparsed":
      return stripVTControlCharacters(activity.text);
    case "thought":
      return `.. ${short(activity.text)}`;
    case "tool":
      return `-> ${activity.name} ${short(JSON.stringify(activity.input) ?? "")}`;
    case "tool_result":
      return `<- ${activity.ok ? "" : "failed: "}${short(activity.text)}`;
    case "permission":
      return `!! ${activity.tool} ${activity.denied ? "was not permitted" : "needs a permission"}`;
    case "trouble":
      return `!! ${short(activity.text)}`;
    case "finished":
      return activity.ok ? "-- done" : `-- failed: ${short(activity.why ?? "it does not say why")}`;
    case "note":
      return activity.name === "message_received" ? "-- took up a message" : undefined;
    case "usage":
      return undefined;
  }
}

function short(text: string): string {
  return oneLine(stripVTControlCharacters(text), CUT);
}
