/**
 * Workspaces that this process may only read (src/trust). Callers ask before they act; this is the wall behind them: what forgot to ask
 * writes nothing.
 */
import { MidwatchError } from "../../core/errors.ts";

const roots = new Set<string>();

export function setOnlyRead(root: string, only: boolean): void {
  if (only) roots.add(root);
  else roots.delete(root);
}

export function assertMayWrite(root: string): void {
  if (!roots.has(root)) return;
  throw new MidwatchError("REFUSED_WORKSPACE", `The workspace ${root} can only be read.`, {
    hint: "`midwatch trust --workspace` shows what would run and takes it over.",
  });
}
