// `exit FILE N`, `mixed FILE NAME N`, `endless FILE NAME`: writers for the tests of Appender.
import { Appender } from "../../../src/disk/appender.ts";

const [verb, file = "", name = "", count = "0"] = process.argv.slice(2);
const SIZES = [100, 4096, 65_536, 1_000_000];

if (verb === "exit") {
  const appender = new Appender(file, { durable: false });
  for (let n = 0; n < Number(name); n++) appender.write({ n, text: "x".repeat(100) });
  process.exit(3);
} else if (verb === "mixed") {
  const appender = new Appender(file, { durable: false });
  for (let line = 0; line < Number(count); line++)
    await appender.append([{ source: name, line, text: "x".repeat(SIZES[line % 4] as number) }]);
  appender.close();
} else {
  const appender = new Appender(file);
  for (let n = 0; ; n++) {
    const id = `${name}-${n}`;
    await appender.append([{ id, text: "x".repeat(n % 3000) }]);
    process.send?.(id);
  }
}
