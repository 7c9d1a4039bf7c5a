// `append-worker.ts FILE NAME COUNT`: appends COUNT records, some of them long.
import { append } from "../../../src/disk/append.ts";

const [file = "", source = "", count = "0"] = process.argv.slice(2);
for (let line = 0; line < Number(count); line++)
  append(file, [{ source, line, padding: "ä".repeat((line % 50) * 100) }]);
