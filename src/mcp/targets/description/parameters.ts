import type { ApiParameter, ParameterPlace, ParameterStyle } from '../../../model/index.ts';
import { DescriptionError, isObject, type JsonObject } from './descriptionText.ts';
import { namesMembers, objectMembers, typesOf } from './describedMembers.ts';
import type { References } from './references.ts';
import type { Schema, SchemaWriter } from './schemaWriter.ts';
import { isServerField } from './serverFields.ts';

/** The places of parameters, in the order in which tools show them, and the styles of each; the first is the default. */
const styles: Readonly<Record<ParameterPlace, readonly ParameterStyle[]>> = {
  path: ['simple', 'label', 'matrix'],
  query: ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'],
  header: ['simple'],
  cookie: ['form'],
};

export const places = Object.keys(styles) as readonly ParameterPlace[];

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** A parameter with the schema of its value. */
export interface ReadParameter {
  readonly parameter: ApiParameter;
  readonly schema: Schema;
}

export interface ParameterTools {
  readonly references: References;
  readonly writer: SchemaWriter;
  /** Parameters that carry credentials, `place name`: `backendAuth` sends them. */
  readonly credentials: ReadonlySet<string>;
  readonly warn: (message: string) => void;
}

/**
 * The parameters of an operation: those of its path, and its own, which replace those of the path.
 * @throws DescriptionError
 */
export function readParameters(lists: readonly unknown[], tools: ParameterTools): readonly ReadParameter[] {
  const found = new Map<string, JsonObject>();
  for (const list of lists) {
    if (list === undefined) continue;
    if (!Array.isArray(list)) throw new DescriptionError('`parameters` is no list');
    for (const one of list) {
      const parameter = tools.references.follow(one, 'a parameter');
      const { in: place, name } = parameter;
      if (typeof name !== 'string' || name === '') throw new DescriptionError('a parameter has no name');
      if (!places.includes(place as ParameterPlace))
        throw new DescriptionError(
          `the parameter ${name} has no place: expected \`in\` ${places.join(', ')}`,
        );
      found.set(keyOf(place as ParameterPlace, name), parameter);
    }
  }
  return [...found.values()].flatMap((parameter) => readParameter(parameter, tools) ?? []);
}

/** The names of headers have no case. */
export const keyOf = (place: ParameterPlace, name: string): string =>
  `${place} ${place === 'header' ? name.toLowerCase() : name}`;

function readParameter(given: JsonObject, tools: ParameterTools): ReadParameter | undefined {
  const name = given['name'] as string;
  const place = given['in'] as ParameterPlace;
  const refusal = refusalOf(place, name, tools.credentials);
  if (refusal !== undefined) {
    tools.warn(`the ${place} parameter ${name} is left out: ${refusal}`);
    return undefined;
  }
  if ((place === 'header' || place === 'cookie') && !token.test(name))
    throw new DescriptionError(`${JSON.stringify(name)} is no name of a ${place}`);
  const { content } = given;
  const required = place === 'path' || given['required'] === true;
  if (content !== undefined) {
    const schema = contentSchema(name, content);
    const parameter: ApiParameter = { place, name, required, style: 'json', explode: false };
    return { parameter, schema: described(given, tools.writer.write(schema)) };
  }
  const [usual] = styles[place];
  const style = (given['style'] ?? usual) as ParameterStyle;
  if (!styles[place].includes(style))
    throw new DescriptionError(
      `the ${place} parameter ${name} has the style ${JSON.stringify(style)}: expected ${styles[place].join(', ')}`,
    );
  const explode = typeof given['explode'] === 'boolean' ? given['explode'] : style === 'form';
  const members = namesMembers({ style, explode })
    ? objectMembers(given['schema'], tools.references)
    : undefined;
  const types = typesOf(given['schema'], tools.references);
  const parameter: ApiParameter = {
    place,
    name,
    required,
    style,
    explode,
    ...(types === undefined ? {} : { types }),
    ...(members === undefined ? {} : { members }),
    ...(place === 'query' && given['allowReserved'] === true ? { allowReserved: true } : {}),
  };
  return { parameter, schema: described(given, tools.writer.write(given['schema'])) };
}

/** The reason why a parameter is no business of a caller. */
function refusalOf(
  place: ParameterPlace,
  name: string,
  credentials: ReadonlySet<string>,
): string | undefined {
  if (credentials.has(keyOf(place, name))) return 'it is a credential, which the policy backendAuth sends';
  if (place === 'header' && isServerField(name.toLowerCase())) return 'the gateway sets this header itself';
  return undefined;
}

/** The schema of a parameter with a media type, which must be JSON. */
function contentSchema(name: string, content: unknown): unknown {
  const [[type, media] = ['', undefined], ...others] = isObject(content) ? Object.entries(content) : [];
  if (others.length > 0 || !/^application\/(?:[^;\s]+\+)?json\s*(?:;|$)/i.test(type) || !isObject(media))
    throw new DescriptionError(`the parameter ${name} has a \`content\` that is not JSON`);
  return media['schema'];
}

/** The description of a parameter stands beside the schema of its value. */
function described({ description, deprecated }: JsonObject, schema: Schema): Schema {
  if (typeof schema === 'boolean') return schema;
  return {
    ...schema,
    ...(typeof description === 'string' && description !== '' ? { description } : {}),
    ...(deprecated === true ? { deprecated: true } : {}),
  };
}
