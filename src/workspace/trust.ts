/** Who said that this workspace may act (src/trust), for the functions over it. */
import { MidwatchError } from "../core/errors.ts";
import type { StateFolder } from "../disk/guard/state-folder.ts";
import type { ConfigTrust } from "../trust/config-trust.ts";
import type { Ownership } from "../trust/workspace-trust.ts";

export interface Trust {
  state: StateFolder;
  config: ConfigTrust;
  ownership: Ownership;
}

/** Whether anything in this workspace may be started, signalled, changed or deleted. Otherwise it is only read. */
export function isOurs({ trust }: { readonly trust: Trust }): boolean {
  return trust.ownership.why === undefined;
}

/** Throws REFUSED_WORKSPACE for one that can only be read. */
export function assertOurs(context: { readonly trust: Trust; readonly layout: { root: string } }): void {
  const { why, old = false } = context.trust.ownership;
  if (why !== undefined) throw notOurs(context.layout.root, why, old);
}

function notOurs(root: string, why: string, old: boolean): MidwatchError {
  return new MidwatchError("REFUSED_WORKSPACE", `The workspace ${root} can only be read: ${why}.`, {
    hint: "`midwatch trust --workspace` shows what would run and takes it over; `midwatch logs` and `midwatch show` work without.",
    data: { root, why, old },
  });
}
