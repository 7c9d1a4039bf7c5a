import { onTestFinished } from "vitest";
import type { ConfigInput } from "../../src/core/config/config.ts";
import { patient } from "./patience.ts";
import { Lab } from "./workspace.ts";

/** A workspace for this test; when the test ends, nothing of it is left and that is checked. */
export function lab(config: ConfigInput = {}, folder?: string): Lab {
  const made = new Lab(config, folder);
  onTestFinished(() => made.end(), patient(60_000));
  return made;
}
