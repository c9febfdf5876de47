/** Reads the data of a server into the types of the page: a broken server may send anything in their place. */

import type {
  Block,
  Choice,
  InputSchema,
  Prompt,
  PropertySchema,
  Resource,
  ResourceTemplate,
  Tool,
} from './mcpTypes.ts';

type Data = Readonly<Record<string, unknown>>;

/** The members of an object; none for any other value. */
const dataIn = (value: unknown): Data =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Data) : {};

const listIn = (value: unknown): readonly unknown[] | undefined =>
  Array.isArray(value) ? (value as readonly unknown[]) : undefined;

/**
 * A text as it is, and any other value as JSON, so that people see the mistake of the server. Many servers write `null` for
 * a member that they do not have.
 */
export const textIn = (value: unknown): string | undefined => {
  if (value === null || value === undefined) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
};

const isText = (value: unknown): value is string => typeof value === 'string';

/** The members that have a value. */
const known = <Members extends object>(members: Members) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Members]?: Exclude<Members[Name], undefined>;
  };

/** @returns undefined for a tool without a name, as in the other functions for items */
export function toolIn(item: unknown): Tool | undefined {
  const { name, title, description, inputSchema, annotations } = dataIn(item);
  if (!isText(name)) return undefined;
  return {
    name,
    inputSchema: schemaIn(inputSchema),
    ...known({ title: textIn(title), description: textIn(description) }),
    annotations: dataIn(annotations),
  };
}

export function promptIn(item: unknown): Prompt | undefined {
  const { name, description, arguments: all } = dataIn(item);
  if (!isText(name)) return undefined;
  const read = (listIn(all) ?? []).map(dataIn).flatMap((argument) =>
    isText(argument['name'])
      ? [
          {
            name: argument['name'],
            required: argument['required'] === true,
            ...known({ description: textIn(argument['description']) }),
          },
        ]
      : [],
  );
  return { name, arguments: read, ...known({ description: textIn(description) }) };
}

export function resourceIn(item: unknown): Resource | undefined {
  const { uri, name, description } = dataIn(item);
  if (!isText(uri)) return undefined;
  return { uri, name: textIn(name) ?? uri, ...known({ description: textIn(description) }) };
}

export function templateIn(item: unknown): ResourceTemplate | undefined {
  const { uriTemplate, name, description } = dataIn(item);
  if (!isText(uriTemplate)) return undefined;
  return { uriTemplate, name: textIn(name) ?? uriTemplate, ...known({ description: textIn(description) }) };
}

/** The schema of a form. */
export function schemaIn(value: unknown): InputSchema {
  const { properties, required } = dataIn(value);
  return { properties: propertiesIn(properties), required: (listIn(required) ?? []).filter(isText) };
}

const propertiesIn = (value: unknown): Readonly<Record<string, PropertySchema>> =>
  Object.fromEntries(Object.entries(dataIn(value)).map(([name, one]) => [name, propertyIn(one)]));

function propertyIn(value: unknown): PropertySchema {
  const { type, title, description, properties, items, ...rest } = dataIn(value);
  const ofItems = dataIn(items);
  return known({
    type: isText(type) ? type : undefined,
    title: textIn(title),
    description: textIn(description),
    enum: listIn(rest['enum']),
    oneOf: choicesIn(rest['oneOf']),
    items: known({ enum: listIn(ofItems['enum']), anyOf: choicesIn(ofItems['anyOf']) }),
    default: rest['default'],
    properties: properties === undefined ? undefined : propertiesIn(properties),
    'x-mcp-header': rest['x-mcp-header'],
  });
}

const choicesIn = (value: unknown): readonly Choice[] | undefined =>
  listIn(value)
    ?.map(dataIn)
    .map(({ const: one, title }) => known({ const: one, title: textIn(title) }));

/** A part of a content; members of other types are left out. */
export function blockIn(value: unknown): Block {
  const { type, text, data, blob, mimeType, uri, resource } = dataIn(value);
  const texts = Object.entries({ type, text, data, blob, mimeType, uri }).filter(([, one]) => isText(one));
  return { ...Object.fromEntries(texts), ...(resource === undefined ? {} : { resource: dataIn(resource) }) };
}
