/** Addresses that no message may go to unless its route allows it: this machine, private networks, and all that is not public. */
import { BlockList, isIP } from "node:net";

/** IANA's special-purpose registries; the translated ranges of IPv6 can hold any address of IPv4, and count as private, too. */
const V4 =
  "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4";
const V6 =
  "::/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 2002::/16 3fff::/20 5f00::/16 fc00::/7 fe80::/10 fec0::/10 ff00::/8";

function makeList(): BlockList {
  const made = new BlockList();
  for (const [ranges, family] of [
    [V4, "ipv4"],
    [V6, "ipv6"],
  ] as const) {
    for (const range of ranges.split(" ")) {
      const [address = "", bits = "0"] = range.split("/");
      made.addSubnet(address, Number(bits), family);
    }
  }
  return made;
}
let list: BlockList | undefined;

/** Of an address as the resolver or a socket gives it; what is no address counts as private. */
export function isPrivate(address: string): boolean {
  const plain = address.replace(/%.*$/, "");
  const family = isIP(plain);
  if (family === 0) return true;
  // ::ffff:127.0.0.1 is looked for among the ranges of IPv4.
  list ??= makeList();
  return list.check(plain, family === 4 ? "ipv4" : "ipv6");
}

/** Of a URL's host: what can be said before it is resolved. */
export function isPrivateHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
  if (isIP(host) !== 0) return isPrivate(host);
  return /(^|\.)localhost$/i.test(host);
}

/** What a connection ends with that would lead to such an address. */
export class RefusedAddress extends Error {
  constructor() {
    super("its name leads to this machine or a private network");
  }
}
