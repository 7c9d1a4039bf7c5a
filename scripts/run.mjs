// `node scripts/run.mjs [file args...]`: makes the clone ready, then runs the file with the right Node.
import { ready } from "./ready.mjs";
import { step } from "./step.mjs";

const node = await ready();
const args = process.argv.slice(2);
// What midwatch itself leaves running is meant to stay; of a bench or a soak nothing is.
const alone = args[0] !== "dist/midwatch.js";
if (args.length > 0) process.exit((await step([node, ...args], { decides: true, alone })).code);
