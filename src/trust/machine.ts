/** Which machine this is: the same after a reboot, another in a container or on a copy of the disk elsewhere. */
import { createHash } from "node:crypto";
import { hostname } from "node:os";
import { readText } from "../disk/replace.ts";

const PLACES = ["/etc/machine-id", "/var/lib/dbus/machine-id"];

/** Hashed: the id itself is not to be told to others (machine-id(5)). */
export function machineId(): string {
  const id = PLACES.map((path) => readText(path)?.trim()).find((text) => text) ?? hostname();
  return createHash("sha256").update(`midwatch ${id}`).digest("hex").slice(0, 32);
}
