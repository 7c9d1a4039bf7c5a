// Takes the prune lock of a workspace, says so and holds it until it is killed: ROOT.
import { layout } from "../../../src/disk/layout.ts";
import { alone } from "../../../src/disk/lock.ts";

const paths = layout(process.argv[2] as string);
await alone(paths, paths.locks.prune, async () => {
  process.stdout.write("held\n");
  await new Promise((resolve) => setTimeout(resolve, 60_000));
});
