import { expect, it } from "vitest";
import { operations } from "../operations/index.ts";
import { fieldsOf } from "./flags.ts";
import { inputSchema } from "./http/openapi.ts";

interface Property {
  type?: string | string[];
  items?: Property;
  description?: string;
  default?: unknown;
  enum?: string[];
  short?: string;
  value?: string;
  optionalValue?: boolean;
  suggest?: string[];
}

it("the flags that are read from the words of an input are those of its schema", () => {
  for (const operation of operations) {
    const { properties, required } = inputSchema(operation) as {
      properties: Record<string, Property>;
      required?: string[];
    };
    const expected = Object.entries(properties).map(([field, property]) => {
      const one = property.items ?? property;
      return {
        field,
        kind: Array.isArray(one.type) ? "string" : one.type === "integer" ? "number" : one.type,
        many: property.type === "array",
        short: property.short,
        value: property.value ?? one.enum?.join("|") ?? field.toUpperCase(),
        optionalValue: property.optionalValue === true,
        about: property.description ?? "",
        standard: property.default,
        choices: one.enum,
        suggestions: property.suggest,
        required: required?.includes(field) === true,
      };
    });
    expect(fieldsOf(operation).map(({ name, plain, ...flag }) => flag)).toEqual(expected);
  }
});

it("most of what is typed is plain", () => {
  const plain = (name: string): string[] => {
    const found = operations.find((operation) => operation.name === name);
    return found === undefined ? [] : fieldsOf(found).flatMap((flag) => (flag.plain ? [flag.field] : []));
  };
  expect(plain("ls")).toEqual(["all", "task", "all_hosts"]);
  expect(plain("logs")).toEqual(["agent", "task", "follow", "forever", "grep", "raw", "pretty", "mask", "stderr"]);
  expect(plain("stop")).toContain("agents");
  expect(plain("task")).not.toContain("description");
});
