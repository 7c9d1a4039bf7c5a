import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folder } from "../../test/support/folder.ts";
import { Log } from "./log.ts";
import { fileOf, openPiece, type Piece } from "./piece.ts";

it("a log that moved on is searched where it is now, not the one that has its name since", () => {
  const place = folder();
  const [current, moved] = [join(place, "agent.log"), join(place, "run-1.log")];
  writeFileSync(current, "old line\n");
  const log = Log.open(current, undefined, { type: "stdout", json: false }) as Log;
  const piece: Piece = { places: [current, moved], file: fileOf(log), index: [], text: "line", from: 0, to: 9 };
  log.close();
  const found = (): string => {
    const opened = openPiece(piece);
    const bytes = Buffer.alloc(20);
    const text = bytes.toString("utf8", 0, opened.source.read(bytes, 0));
    opened.close();
    return text;
  };
  expect(found()).toBe("old line\n");
  renameSync(current, moved);
  expect(found()).toBe("old line\n");
  writeFileSync(current, "new line\n");
  expect(found()).toBe("old line\n");
  rmSync(moved);
  expect(found).toThrow("taken away");
});
