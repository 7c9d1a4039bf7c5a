import { expect, it } from "vitest";
import { isPrivate, isPrivateHost } from "./address.ts";

it.each(
  "127.0.0.1 10.1.2.3 172.31.255.255 192.168.0.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 255.255.255.255 198.19.0.1 ::1 :: fe80::1%eth0 fd00::1 ff02::1 ::ffff:127.0.0.1 ::ffff:a9fe:a9fe 64:ff9b::7f00:1 2002:7f00:1:: ::127.0.0.1 nonsense".split(
    " ",
  ),
)("%s is private", (address) => expect(isPrivate(address)).toBe(true));

it.each("1.1.1.1 8.8.8.8 172.32.0.1 100.128.0.1 2606:4700::1111 2a00:1450::1 ::ffff:8.8.8.8".split(" "))(
  "%s is public",
  (address) => expect(isPrivate(address)).toBe(false),
);

it("a URL writes an address in one way only", () => {
  for (const host of ["0x7f.1", "2130706433", "0177.0.0.1", "[::1]", "LOCALHOST", "a.localhost"])
    expect(isPrivateHost(new URL(`https://${host}/`).hostname), host).toBe(true);
  expect(isPrivateHost(new URL("https://example.com/").hostname)).toBe(false);
});
