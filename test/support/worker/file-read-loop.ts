// `file-read-loop.ts WORKSPACE OUT FILE...`: reads new lines of the files without end. What it read is appended to OUT before the place is
// kept, with the places before and behind it, as one who does with each line what he may do again would.
import { FileConsumer } from "./file-consumer.ts";

const [root = "", out = "", ...files] = process.argv.slice(2);
const consumer = new FileConsumer(root, out);
process.stdout.write("ready\n");
for (;;) if (!consumer.look(files)) await new Promise((resolve) => setTimeout(resolve, 5));
