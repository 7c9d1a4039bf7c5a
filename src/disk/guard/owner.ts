/** Who a file belongs to. What another user owns may change at any moment, and says what that user wants. */
import { lstatSync, statSync } from "node:fs";
import { MidwatchError } from "../../core/errors.ts";
import { diskFault } from "../fault.ts";

/** The user that this process works for: its own, or the one that called sudo. */
function isOwner(uid: number, env: Readonly<Record<string, string | undefined>>): boolean {
  const own = process.geteuid?.();
  // Only root can be somebody else's sudo; for others the variable is text that anybody may have set.
  return own === undefined || uid === own || (own === 0 && env["SUDO_UID"] === String(uid));
}

/** Throws REFUSED_OWNER for a file or folder of another user. */
export function assertOwner(path: string, what: string, env: Readonly<Record<string, string | undefined>>): void {
  const uid = ownerOf(path);
  if (isOwner(uid, env)) return;
  throw new MidwatchError("REFUSED_OWNER", `${what} ${path} belongs to another user (uid ${uid}).`, {
    hint: "Run midwatch as that user, or make it yours with chown. A workspace of your own: --workspace DIR.",
    data: { path, uid },
  });
}

/** Of a link, the owner of what it leads to unless the link itself is somebody else's. */
function ownerOf(path: string): number {
  try {
    const link = lstatSync(path);
    return link.isSymbolicLink() && link.uid === process.geteuid?.() ? statSync(path).uid : link.uid;
  } catch (error) {
    throw diskFault(error, path);
  }
}
