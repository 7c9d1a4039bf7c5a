/** A configuration file of the user's that another program owns: replaced whole, in its mode, and the old one kept beside it. */
import { chmodSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { diskFault, errno } from "./fault.ts";
import { replaceKeeping } from "./replace.ts";

/** Returns where the old one is; undefined when there was none. */
export function replaceUserFile(path: string, text: string): string | undefined {
  // Often a link into a folder of dotfiles: what it leads to is replaced, the link stays.
  const real = resolved(path);
  if (real === undefined) {
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    } catch (error) {
      throw diskFault(error, path);
    }
    replaceKeeping(path, text, `${path}.bak`);
    return undefined;
  }
  const { mode } = statSync(real);
  replaceKeeping(real, text, `${real}.bak`);
  chmodSync(real, mode & 0o777);
  return `${real}.bak`;
}

function resolved(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch (error) {
    if (errno(error) === "ENOENT") return undefined;
    throw diskFault(error, path);
  }
}
