import { expect, it } from "vitest";
import { findHolder } from "./lock-holder.ts";

const LOCKS = `1: POSIX  ADVISORY  READ  900 fe:00:131072 123 123
2: FLOCK  ADVISORY  WRITE 901 fe:00:131073 0 EOF
3: POSIX  ADVISORY  WRITE 4711 fe:00:131072 120 120
3: -> POSIX  ADVISORY  WRITE 4712 fe:00:131072 120 120
4: POSIX  ADVISORY  WRITE 0 fe:00:777 0 EOF
`;

it("finds who holds a byte of a file for writing", () => {
  expect(findHolder(LOCKS, 131072, 120)).toBe(4711);
  expect(findHolder(LOCKS, 131072, 121)).toBeUndefined();
  expect(findHolder(LOCKS, 131073)).toBe(901);
  expect(findHolder(LOCKS, 777)).toBeUndefined();
  expect(findHolder("", 1)).toBeUndefined();
});
