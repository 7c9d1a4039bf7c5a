import { expect, it } from "vitest";
import { argvOf } from "./argv.ts";

it.each([
  ["make test", ["make", "test"]],
  ["  a   b ", ["a", "b"]],
  [`sh -c 'echo "hi there"; exit 2'`, ["sh", "-c", 'echo "hi there"; exit 2']],
  ['echo "a \\"b\\" $c" d\\ e', ["echo", 'a "b" $c', "d e"]],
  ["echo '' \"\"", ["echo", "", ""]],
  ["", []],
])("%s", (text, words) => {
  expect(argvOf(text)).toEqual(words);
});
