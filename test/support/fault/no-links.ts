// `node --import no-links.ts ...`: a process on a file system without hard links, once it has a workspace: link(2) answers EPERM.
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

fs.linkSync = (from, to) => {
  throw Object.assign(new Error(`EPERM: operation not permitted, link '${from}' -> '${to}'`), {
    code: "EPERM",
    syscall: "link",
  });
};
syncBuiltinESMExports();
