// `node scripts/run.mjs [file args...]`: makes the clone ready, then runs the file with the right Node.
import { ready } from "./ready.mjs";
import { step } from "./step.mjs";

const node = await ready();
const args = process.argv.slice(2);
// What midwatch leaves running is meant to stay, and a bench looks after itself; of a campaign that is broken off nothing may stay.
const alone = args[0] === "test/soak/run.ts";
if (args.length > 0) process.exit((await step([node, ...args], { decides: true, alone })).code);
