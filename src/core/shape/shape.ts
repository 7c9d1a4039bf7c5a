/**
 * What a parsed file has to look like before anybody believes a field of it. By hand and small: every command reads facts, and a
 * library of schemas takes longer to load than they take to read. Fields that no shape names are left as they are.
 */
import { parseRfc3339 } from "../time.ts";

export type Check = (value: unknown) => boolean;
/** By field, in the order in which faults are told. */
export type Shape = Readonly<Record<string, Check>>;

/** No path, name or sentence of ours comes near. */
const NAME_MAX = 4096;
const TEXT_MAX = 8 << 20;
const LIST_MAX = 100_000;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
export const yesOrNo: Check = (value) => typeof value === "boolean";
export const anything: Check = () => true;
export const text: Check = (value) => typeof value === "string" && value.length <= TEXT_MAX;
/** May become an argument or a path: a NUL would cut it. */
export const name: Check = (value) => typeof value === "string" && value.length <= NAME_MAX && !value.includes("\0");
export const argument: Check = (value) => text(value) && !(value as string).includes("\0");
export const nonce: Check = (value) => typeof value === "string" && /^[0-9a-f]{32}$/.test(value);
/** 31 February is none, nor is one behind the last that a date can hold. */
export const time: Check = (value) =>
  typeof value === "string" && value.length <= 40 && parseRfc3339(value) !== undefined;
/** From 0 up. */
export const whole: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
export const quantity: Check = (value) => Number.isFinite(value) && (value as number) >= 0;
/** The kernel's numbers: of processes, and of users (-1: not known). */
export const pid: Check = (value) => whole(value) && (value as number) < 2 ** 31;
export const uid: Check = (value) =>
  Number.isSafeInteger(value) && (value as number) >= -1 && (value as number) < 2 ** 32;

export const is = (...values: readonly unknown[]): Check => {
  const known = new Set(values);
  return (value) => known.has(value);
};
export const orNull =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);
/** Older releases do not have it. */
export const maybe =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
export const listOf =
  (check: Check, most: number = LIST_MAX): Check =>
  (value) =>
    Array.isArray(value) && value.length <= most && value.every(check);
export const has =
  (shape: Shape): Check =>
  (value) =>
    faultOf(shape, value) === undefined;

/** The first field that is not as it should be, in words; undefined when all are. */
export function faultOf(shape: Shape, value: unknown): string | undefined {
  if (!isObject(value)) return "is not an object";
  for (const field in shape) {
    const given = Object.hasOwn(value, field) ? value[field] : undefined;
    if (!(shape[field] as Check)(given))
      return given === undefined ? `has no ${field}` : `${field} is not as it should be`;
  }
  return undefined;
}
